/**
 * `"*"` in `trackedObjects`: every kind of the server that can be watched, with exceptions. Which those are is known only from the server, and
 * changes while the recorder runs.
 */
import type { Node } from "yaml"
import { type DiscoveredKind, redactionOf, watchableKinds } from "../../kube/index.ts"

import { formatGvk, type GroupVersionKind, parseGvk } from "../../kube/offline.ts"
import { readKind } from "./kind-settings.ts"
import { fixedTemplatePaths } from "./known-kinds.ts"
import type { Entry, SettingReader } from "./setting-reader.ts"
import { type DetectionDefaults, type EveryKind, resolveKind, type TrackedKind } from "./tracked-kind.ts"

/** The key that means every kind. */
export const everyKindKey = "*"

/** The settings of a kind that make sense for all of them, and the exceptions. */
const everyKindKeys = [
  "except",
  "skipOwned",
  "detect",
  "keepManagedFields",
  "labelSelector",
  "namespaces",
  "retainFor",
  "retainBytes",
] as const

/**
 * What is not recorded unless `except` says otherwise. Leases are renewed every few seconds by each node and controller and say nothing else;
 * metrics are readings; Endpoints repeat EndpointSlices.
 */
export const defaultExceptions: ReadonlyArray<string> = [
  "coordination.k8s.io/*",
  "metrics.k8s.io/*",
  "custom.metrics.k8s.io/*",
  "external.metrics.k8s.io/*",
  "v1.Endpoints",
]

/** The same objects in a second group: each would be recorded twice. By the kind that is left out. */
const sameObjects: ReadonlyMap<string, string> = new Map([["events.k8s.io/Event", "/Event"]])

/** Stands for all kinds while their settings are read. */
const everyGvk: GroupVersionKind = { group: "", version: everyKindKey, kind: everyKindKey }

/** The text of a configuration that records every kind but the default exceptions and those of `except`. */
export const everyKindConfiguration = (except: ReadonlyArray<string>): string =>
  JSON.stringify({ trackedObjects: { [everyKindKey]: { except: [...defaultExceptions, ...except] } } })

/** Reads the value of the key `"*"`. */
export const readEveryKind = (
  reader: SettingReader,
  entry: Entry,
): Omit<EveryKind, "redactionSettings"> | undefined => {
  let except: ReadonlyArray<string> | undefined
  const kind = readKind(reader, everyGvk, entry.keyPosition, entry.value, {
    name: everyKindKey,
    keys: everyKindKeys,
    readMore: (key, value) => {
      if (key === "except") except = readExceptions(reader, value)
    },
  })
  if (kind === undefined) return undefined
  const { gvk: _, gvkText: __, podSpecTemplatePaths: ___, trackLifecycle: ____, ...settings } = kind
  return { ...settings, except: except ?? defaultExceptions }
}

const readExceptions = (reader: SettingReader, value: Node | undefined): ReadonlyArray<string> | undefined =>
  reader
    .texts(value, (index) => `except${index === "" ? "" : `[${index}]`} of ${everyKindKey}`)
    ?.map(({ text, position, where }) => {
      const reason = "write a kind as group/version.Kind or v1.Kind, or all kinds of a group as group/*"
      if (!isException(text)) reader.problem({ _tag: "InvalidValue", ...position, where, found: text, reason })
      return text
    })

/** `apps/v1.Deployment`, `v1.Pod`, or `apps/*`. Of an excepted kind every version is. */
export const isException = (text: string): boolean =>
  parseGvk(text) !== undefined || /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?\/\*$/.test(text)

/** Whether a kind is one of the exceptions, in whatever version. */
export const isExcepted = (exceptions: ReadonlyArray<string>, gvk: GroupVersionKind): boolean =>
  exceptions.some((text) => {
    if (text === `${gvk.group}/*`) return true
    const excepted = parseGvk(text)
    return excepted?.group === gvk.group && excepted.kind === gvk.kind
  })

/** The kinds to record now: named ones with their own settings, and all others of the server that are not excepted. */
export const expandEveryKind = (
  named: ReadonlyArray<TrackedKind>,
  every: EveryKind,
  discovered: ReadonlyArray<DiscoveredKind>,
  options: { readonly secretsInPlainText: boolean; readonly defaults: DetectionDefaults },
): ReadonlyArray<TrackedKind> => {
  // The store has the limits of all kinds at once (retention-limits.ts): of those too that the server no longer has.
  const { except, redactionSettings, retainFor: _, retainBytes: __, ...settings } = every
  // Another version of a named kind has the same objects.
  const objects = new Set(named.map(({ gvk }) => objectsOf(gvk)))
  const others = watchableKinds(discovered).flatMap(({ gvk, isNamespaced }): ReadonlyArray<TrackedKind> => {
    if (objects.has(objectsOf(gvk)) || isExcepted(except, gvk)) return []
    const other = sameObjects.get(objectsOf(gvk))
    if (other !== undefined && discovered.some((each) => objectsOf(each.gvk) === other)) return []
    // The restriction says that only these namespaces may be read.
    if (!isNamespaced && settings.namespaces !== undefined) return []
    const kind = { ...settings, gvk, gvkText: formatGvk(gvk), podSpecTemplatePaths: fixedTemplatePaths(gvk) ?? [] }
    const redaction = redactionOf(gvk, redactionSettings, options)
    return [resolveKind({ ...kind, trackLifecycle: false }, options.defaults, redaction)]
  })
  return [...named, ...others]
}

/** The same for all versions of a kind, which have the same objects. */
export const objectsOf = ({ group, kind }: Omit<GroupVersionKind, "version">): string => `${group}/${kind}`
