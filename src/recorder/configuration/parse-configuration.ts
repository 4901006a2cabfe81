/**
 * The configuration file: SimKube's tracer configuration, unchanged, plus kubereel's settings per kind.
 *
 * Guarantees: never throws; all mistakes in a file are reported together, each with its position; every file that SimKube accepts
 * is accepted and means the same (docs/reference/configuration.md names the two exceptions, with which SimKube cannot start
 * either). Keys that SimKube ignores are accepted with a warning.
 */
import * as Result from "effect/Result"
import { isScalar, type Node } from "yaml"
import { defaultRedaction, defaultRules, pointerFault, type RedactionSettings, redactionOf } from "../../kube/index.ts"
import { formatGvk, type GroupVersionKind, parseGvk } from "../../kube/offline.ts"
import { nearest, quoted } from "../../text/index.ts"
import { everyKindKey, readEveryKind } from "./every-kind.ts"
import { kindKeys, readKind, readLimit } from "./kind-settings.ts"
import { suggestFamiliarKind, suggestKind } from "./known-kinds.ts"
import { ConfigurationInvalidError, type ConfigurationWarning } from "./problem.ts"
import { readRetainBytes, readRetainFor } from "./retention-limits.ts"
import { type Entry, SettingReader } from "./setting-reader.ts"
import {
  type DetectionDefaults,
  type EveryKind,
  type RecorderConfiguration,
  resolveKind,
  type TrackedKind,
} from "./tracked-kind.ts"
import { readYaml, type YamlDocument } from "./yaml-document.ts"

// The key `redact` of a configuration: what is replaced in addition to the default rules, and which of those do not apply.

/** The keys of `redact`, in the order in which messages list them. */
export const redactionKeys = ["env", "annotations", "pointers", "without"] as const

/** Reads the value of the key. Mistakes are recorded, and what is right of the rest is returned. */
const readRedaction = (reader: SettingReader, node: Node | undefined): RedactionSettings => {
  if (reader.isEmpty(node)) return defaultRedaction
  const entries = reader.entries(node, "redact", `a mapping with the keys ${redactionKeys.join(", ")}`) ?? []
  const values = new Map<string, Node | undefined>()
  const lines = new Map<string, number>()
  for (const { key, keyPosition, value } of entries) {
    const firstLine = lines.get(key)
    if (!redactionKeys.some((known) => known === key)) {
      const suggestion = nearest(key, redactionKeys)
      const hint = suggestion === undefined ? {} : { suggestion }
      reader.problem({ _tag: "UnknownKey", ...keyPosition, key, where: "redact", allowed: [...redactionKeys], ...hint })
    } else if (firstLine !== undefined)
      reader.problem({ _tag: "DuplicateKey", ...keyPosition, key, where: "redact", firstLine })
    else {
      values.set(key, value)
      lines.set(key, keyPosition.line)
    }
  }
  return {
    env: readNames(reader, values.get("env"), "env"),
    annotations: readNames(reader, values.get("annotations"), "annotations"),
    pointers: readPointers(reader, values.get("pointers")),
    without: readWithout(reader, values.get("without")),
  }
}

const listOf =
  (where: string) =>
  (index: number | ""): string =>
    `${index === "" ? where : `${where}[${index}]`} of redact`

const readNames = (reader: SettingReader, node: Node | undefined, key: string): ReadonlyArray<string> => {
  if (reader.isEmpty(node)) return []
  return (reader.texts(node, listOf(key)) ?? []).map(({ text, position, where }) => {
    const reason = "it names nothing; write a name such as *_DSN, in which * is any text"
    if (text === "") reader.problem({ _tag: "InvalidValue", ...position, where, found: text, reason })
    return text
  })
}

const readPointers = (reader: SettingReader, node: Node | undefined): RedactionSettings["pointers"] => {
  const pointers = new Map<string, ReadonlyArray<string>>()
  if (reader.isEmpty(node)) return pointers
  const allowed = "a mapping of kinds to lists of JSON pointers, such as v1.ConfigMap: [/data/*]"
  for (const { key, keyPosition, value } of reader.entries(node, "pointers of redact", allowed) ?? []) {
    const gvk = parseGvk(key)
    if (gvk === undefined && key !== "*") {
      const suggestion = suggestKind(key)
      const hint = suggestion === undefined ? {} : { suggestion }
      const reason = "write a kind as group/version.Kind, as version.Kind for the core group, or * for every kind"
      reader.problem({ _tag: "InvalidKind", ...keyPosition, found: key, reason, ...hint })
    }
    const texts = reader.texts(value, listOf(`pointers.${key}`)) ?? []
    for (const { text, position, where } of texts) {
      const fault = pointerFault(text) ?? placeFault(text)
      const reason = `it ${fault}; it must be a JSON pointer such as /data/password or /spec/users/*/token`
      if (fault !== undefined) reader.problem({ _tag: "InvalidValue", ...position, where, found: text, reason })
    }
    const name = gvk === undefined ? key : formatGvk(gvk)
    pointers.set(name, [...(pointers.get(name) ?? []), ...texts.map(({ text }) => text)])
  }
  return pointers
}

/** A recorder cannot do without an object's identity, its owners and its version. */
const placeFault = (pointer: string): string | undefined => {
  const [first, second] = pointer.slice(1).split("/")
  if (pointer === "" || first === "*") return "names the object as a whole"
  if (first === "apiVersion" || first === "kind") return "names what kind of object it is"
  if (first === "metadata" && second !== "annotations")
    return "names metadata other than annotations, without which the object cannot be told from others"
  return undefined
}

const readWithout = (reader: SettingReader, node: Node | undefined): ReadonlyArray<string> => {
  if (reader.isEmpty(node)) return []
  const names = [...defaultRules.keys()]
  return (reader.texts(node, listOf("without")) ?? []).map(({ text, position, where }) => {
    if (!defaultRules.has(text)) {
      const suggestion = nearest(text, names)
      const hint = suggestion === undefined ? {} : { suggestion }
      const reason = `it is not a default rule; they are ${names.join(", ")}`
      reader.problem({ _tag: "InvalidValue", ...position, where, found: text, reason, ...hint })
    }
    return text
  })
}

export interface ParseOptions {
  /** Name of the file, for messages. */
  readonly source: string
  /** Record `v1.Secret` as it is. Default false: its values are redacted, because recordings and traces get copied around. */
  readonly secretsInPlainText?: boolean
  readonly defaults: DetectionDefaults
}

export interface ParsedConfiguration {
  readonly configuration: RecorderConfiguration
  /** The rules of `redact`, for kinds that the file does not name. */
  readonly redaction: RedactionSettings
  /** In the order of the file, at most 100. */
  readonly warnings: readonly ConfigurationWarning[]
}

const rootKey = "trackedObjects"
const redactKey = "redact"

/** Our own keys beside it. SimKube ignores them. */
const limitKeys = ["retainFor", "retainBytes"] as const

interface Root {
  readonly redaction: RedactionSettings
  readonly every?: EveryKind
  readonly kinds: readonly TrackedKind[]
  readonly retainFor?: number
  readonly retainBytes?: number
}

/** Reads the bytes of a configuration file. */
export const parseConfiguration = (
  bytes: Uint8Array,
  options: ParseOptions,
): Result.Result<ParsedConfiguration, ConfigurationInvalidError> => {
  const document = readYaml(bytes)
  if (Result.isFailure(document))
    return Result.fail(new ConfigurationInvalidError({ file: options.source, problems: document.failure }))
  const reader = new SettingReader(document.success)
  const { redaction, ...root } = reader.withinBudget(() => readRoot(reader, document.success, options)) ?? noKinds
  if (reader.problems.length > 0)
    return Result.fail(new ConfigurationInvalidError({ file: options.source, problems: inOrder(reader.problems) }))
  return Result.succeed({
    configuration: { ...root, source: options.source },
    redaction,
    warnings: inOrder(reader.warnings),
  })
}

const inOrder = <T extends { readonly line: number; readonly column: number }>(notes: readonly T[]): readonly T[] =>
  notes.toSorted((left, right) => left.line - right.line || left.column - right.column)

const noKinds: Root = { redaction: defaultRedaction, kinds: [] }

const readRoot = (reader: SettingReader, document: YamlDocument, options: ParseOptions): Root => {
  const allowed = `a mapping with the key ${rootKey}`
  if (isScalar(document.root) && !reader.isEmpty(document.root)) {
    // Not quoted, because a file with a single word is most likely a token.
    reader.problem({
      _tag: "WrongType",
      line: 1,
      column: 1,
      where: "the file",
      found: "a single word or string",
      allowed,
    })
    return noKinds
  }
  const entries = reader.isEmpty(document.root) ? [] : reader.entries(document.root, "the file", allowed)
  if (entries === undefined) return noKinds
  const [root, ...repeated] = entries.filter(({ key }) => key === rootKey)
  const [redact, ...redactAgain] = entries.filter(({ key }) => key === redactKey)
  const limits = entries.filter(({ key }) => isLimitKey(key))
  const others = entries.filter(({ key }) => key !== rootKey && key !== redactKey && !isLimitKey(key))
  if (root === undefined) {
    const position = others[0]?.keyPosition ?? { line: 1, column: 1 }
    reader.problem({ _tag: "MissingKey", ...position, key: rootKey, advice: missingRootAdvice(others) })
    return noKinds
  }
  const where = "the file"
  for (const { key, keyPosition } of repeated)
    reader.problem({ _tag: "DuplicateKey", ...keyPosition, key, where, firstLine: root.keyPosition.line })
  for (const { key, keyPosition } of redactAgain)
    reader.problem({ _tag: "DuplicateKey", ...keyPosition, key, where, firstLine: redact?.keyPosition.line ?? 1 })
  const redaction = redact === undefined ? defaultRedaction : readRedaction(reader, redact.value)
  for (const { key, keyPosition } of others)
    reader.warning({ _tag: "IgnoredKey", ...keyPosition, key, advice: ignoredKeyAdvice(key) })
  return { ...readKinds(reader, root, options, redaction), ...readLimits(reader, limits) }
}

const isLimitKey = (key: string): boolean => limitKeys.some((each) => each === key)

const readLimits = (reader: SettingReader, limits: readonly Entry[]): Pick<Root, "retainFor" | "retainBytes"> => {
  for (const [index, { key, keyPosition }] of limits.entries()) {
    const first = limits.findIndex((each) => each.key === key)
    const firstLine = limits[first]?.keyPosition.line ?? 0
    if (first !== index) reader.problem({ _tag: "DuplicateKey", ...keyPosition, key, where: "the file", firstLine })
  }
  const read = (
    wanted: (typeof limitKeys)[number],
    readText: (text: string) => number | { readonly problem: string },
  ) => {
    const entry = limits.find(({ key }) => key === wanted)
    return entry === undefined ? undefined : readLimit(reader, entry.value, wanted, readText)
  }
  const retainFor = read("retainFor", readRetainFor)
  const retainBytes = read("retainBytes", (text) => readRetainBytes(text, false))
  return { ...(retainFor !== undefined && { retainFor }), ...(retainBytes !== undefined && { retainBytes }) }
}

const readKinds = (reader: SettingReader, root: Entry, options: ParseOptions, redaction: RedactionSettings): Root => {
  if (reader.isEmpty(root.value)) {
    const allowed = "a mapping of kinds, indented below it, such as apps/v1.Deployment: {}"
    reader.problem({ _tag: "WrongType", ...root.keyPosition, where: rootKey, found: "empty", allowed })
    return noKinds
  }
  const entries = reader.entries(root.value, rootKey, "a mapping of kinds, such as apps/v1.Deployment: {}")
  if (entries === undefined) return noKinds
  if (entries.length === 0) reader.warning({ _tag: "NothingTracked", ...root.keyPosition })
  // If a kind appears twice, the last one wins, as in SimKube; the Map keeps it at the position of the first.
  const kinds = new Map<string, TrackedKind>()
  const firstLines = new Map<string, number>()
  let every: Omit<EveryKind, "redactionSettings"> | undefined
  for (const entry of entries) {
    const { key, keyPosition, value } = entry
    if (key === everyKindKey) {
      every = readEveryKind(reader, entry)
      continue
    }
    const gvk = readGvk(reader, key, keyPosition)
    if (gvk === undefined) continue
    const configured = readKind(reader, gvk, keyPosition, value)
    if (configured === undefined) continue
    const kind = resolveKind(configured, options.defaults, redactionOf(gvk, redaction, options))
    const firstLine = firstLines.get(kind.gvkText)
    if (firstLine !== undefined) reader.warning({ _tag: "RepeatedKind", ...keyPosition, gvk: kind.gvkText, firstLine })
    firstLines.set(kind.gvkText, firstLine ?? keyPosition.line)
    kinds.set(kind.gvkText, kind)
    const suggestion = suggestFamiliarKind(gvk)
    if (suggestion !== undefined)
      reader.warning({ _tag: "UnfamiliarKind", ...keyPosition, gvk: kind.gvkText, suggestion })
  }
  return {
    redaction,
    kinds: [...kinds.values()],
    ...(every !== undefined && { every: { ...every, redactionSettings: redaction } }),
  }
}

/** Group: a DNS subdomain; version: a DNS label; kind: a Go type name. No API server can serve anything else. */
const groupName = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*)?$/
const versionName = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/
const kindName = /^[A-Za-z][A-Za-z0-9-]*$/

const readGvk = (
  reader: SettingReader,
  found: string,
  position: Entry["keyPosition"],
): GroupVersionKind | undefined => {
  const gvk = parseGvk(found)
  const reason =
    gvk === undefined ? "write a kind as group/version.Kind, or as version.Kind for the core group" : faultOf(gvk)
  if (reason === undefined) return gvk
  const suggestion = suggestKind(found)
  const hint = suggestion === undefined ? {} : { suggestion }
  reader.problem({ _tag: "InvalidKind", ...position, found, reason, ...hint })
  return undefined
}

const faultOf = (gvk: GroupVersionKind): string | undefined => {
  if (gvk.group === "" && gvk.version !== "v1") return "the core group has only the version v1"
  if (!groupName.test(gvk.group)) return "its group is not a DNS name"
  if (!versionName.test(gvk.version)) return "its version is not a name such as v1 or v1beta1"
  if (!kindName.test(gvk.kind)) return "its kind is not a name such as Deployment"
  return undefined
}

const missingRootAdvice = (others: readonly Entry[]): string => {
  const keys = new Set(others.map(({ key }) => key))
  if (keys.has("clusters") || keys.has("current-context"))
    return "this looks like a kubeconfig; pass it with --kubeconfig"
  if (keys.has("apiVersion") && keys.has("kind")) return "this looks like a Kubernetes object, not a configuration"
  for (const { key, keyPosition } of others) {
    if (nearest(key, [rootKey]) !== undefined) return `rename ${quoted(key)} in line ${keyPosition.line}`
    if (parseGvk(key) !== undefined) return `write ${rootKey}: above the kinds and indent them below it`
  }
  return `begin the file with ${rootKey}: and indent the kinds below it, such as apps/v1.Deployment: {}`
}

const ignoredKeyAdvice = (key: string): string => {
  if (nearest(key, [rootKey]) !== undefined) return `did you mean ${rootKey}?`
  if (kindKeys.some((known) => known === key)) return `it belongs inside a kind below ${rootKey}`
  if (parseGvk(key) !== undefined) return `indent it below ${rootKey} to record that kind`
  if (nearest(key, [redactKey]) !== undefined) return `did you mean ${redactKey}?`
  return `only ${rootKey} and ${redactKey} are read`
}
