/**
 * The settings of one kind: SimKube's four keys, read as SimKube reads them, and kubereel's. Every key is read even if another one
 * is invalid; an entry with any mistake yields no kind.
 */
import { isScalar, type Node } from "yaml"
import { pointerFault } from "../../kube/index.ts"
import {
  fieldSelectorTerms,
  formatGvk,
  type GroupVersionKind,
  parseFieldSelector,
  parseLabelSelector,
} from "../../kube/offline.ts"
import { nearest, quoted } from "../../text/index.ts"
import { fixedTemplatePaths } from "./known-kinds.ts"
import { readRetainBytes, readRetainFor } from "./retention-limits.ts"
import type { Entry, PlacedText, SettingReader } from "./setting-reader.ts"
import type { ConfiguredKind, Detect, SkipOwned } from "./tracked-kind.ts"
import type { Position } from "./yaml-document.ts"

/**
 * Why `text` is not a field selector, as part of a sentence; `undefined` if it is one. An empty text is rejected, and so are empty conditions. Only the
 * server knows which fields a kind supports; it returns 400 for others.
 */
export const fieldSelectorFault = (text: string): string | undefined => {
  if (text.trim() === "") return "it is empty"
  for (const term of fieldSelectorTerms(text).map((each) => each.trim())) {
    if (term === "") return "a condition is missing before or after a comma"
    const parsed = parseFieldSelector(term)
    if ("problem" in parsed) return `${quoted(term)} is not of the form field=value or field!=value`
    for (const { field } of parsed)
      if (!/^[A-Za-z][A-Za-z0-9]*(?:\.[A-Za-z0-9_-]+)*$/.test(field))
        return `${quoted(field)} is not a field path such as metadata.name`
  }
  return undefined
}

/** The keys of a kind, in the order in which messages list them. */
export const kindKeys = [
  "podSpecTemplatePaths",
  "trackLifecycle",
  "skipOwned",
  "detect",
  "ignore",
  "keepManagedFields",
  "labelSelector",
  "fieldSelector",
  "namespaces",
  "retainFor",
  "retainBytes",
] as const

/** Read, but not listed. */
const deprecatedKey = "podSpecTemplatePath"
const detections: readonly string[] = ["all", "content", "spec"] satisfies readonly Detect[]

/** How a value is read that has settings of its own. */
interface ReadAs {
  /** What messages call the kind. */
  readonly name: string
  /** The keys it may have. */
  readonly keys: ReadonlyArray<string>
  /** Called for each key, whatever it is. */
  readonly readMore?: (key: string, value: Node | undefined) => void
}

/** Reads the value of a kind's key. `key: {}`, `key:` and `key: null` all mean the defaults. Default: as a single kind. */
export const readKind = (
  reader: SettingReader,
  gvk: GroupVersionKind,
  keyPosition: Position,
  node: Node | undefined,
  { name: gvkText, keys, readMore }: ReadAs = { name: formatGvk(gvk), keys: kindKeys },
): ConfiguredKind | undefined => {
  const problemsBefore = reader.problems.length
  const settings = readEntries(reader, gvkText, node, keys)
  if (settings === undefined) return undefined
  for (const [key, { value }] of settings) readMore?.(key, value)
  const at = (key: string): Position => settings.get(key)?.keyPosition ?? keyPosition
  const read = <T>(
    key: string,
    readValue: (value: Node | undefined, where: string) => T | undefined,
  ): T | undefined => {
    const entry = settings.get(key)
    return entry === undefined ? undefined : readValue(entry.value, `${key} of ${gvkText}`)
  }

  const podSpecTemplatePaths = readTemplatePaths(reader, gvk, settings, at)
  const trackLifecycle = read("trackLifecycle", (value, where) => reader.boolean(value, where)) ?? false
  const skipOwned = read("skipOwned", (value, where) => readSkipOwned(reader, value, where)) ?? false
  const detect = read("detect", (value, where) => readDetect(reader, value, where))
  const ignore = read("ignore", (value) => readIgnore(reader, value, gvkText))
  const keepManagedFields = read("keepManagedFields", (value, where) => reader.boolean(value, where)) ?? true
  const labelSelector = read("labelSelector", (value, where) => readSelector(reader, value, where, labelSelectorFault))
  const fieldSelector = read("fieldSelector", (value, where) => readSelector(reader, value, where, fieldSelectorFault))
  const namespaces = read("namespaces", (value) => readNamespaces(reader, value, gvkText))
  const retainFor = read("retainFor", (value, where) => readLimit(reader, value, where, readRetainFor))
  const retainBytes = read("retainBytes", (value, where) =>
    readLimit(reader, value, where, (text) => readRetainBytes(text, true)),
  )
  if (reader.problems.length > problemsBefore) return undefined
  return {
    gvk,
    gvkText,
    podSpecTemplatePaths,
    trackLifecycle,
    skipOwned,
    keepManagedFields,
    ...(detect === undefined ? {} : { detect }),
    ...(ignore === undefined ? {} : { ignore }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
    ...(namespaces === undefined ? {} : { namespaces }),
    ...(retainFor === undefined ? {} : { retainFor }),
    ...(retainBytes === undefined ? {} : { retainBytes }),
  }
}

/** Checks the keys: unknown and repeated ones are mistakes, as in SimKube. */
const readEntries = (
  reader: SettingReader,
  gvkText: string,
  node: Node | undefined,
  keys: ReadonlyArray<string>,
): ReadonlyMap<string, Entry> | undefined => {
  if (reader.isEmpty(node)) return new Map()
  const entries = reader.entries(node, gvkText, "a mapping of settings; write {} for the defaults")
  if (entries === undefined) return undefined
  const settings = new Map<string, Entry>()
  for (const entry of entries) {
    const first = settings.get(entry.key)
    if (!keys.includes(entry.key) && !(keys === kindKeys && entry.key === deprecatedKey)) {
      const suggestion = nearest(entry.key, keys)
      const hint = suggestion === undefined ? {} : { suggestion }
      const allowed = [...keys]
      reader.problem({ _tag: "UnknownKey", ...entry.keyPosition, key: entry.key, where: gvkText, allowed, ...hint })
    } else if (first !== undefined) {
      const firstLine = first.keyPosition.line
      reader.problem({ _tag: "DuplicateKey", ...entry.keyPosition, key: entry.key, where: gvkText, firstLine })
    } else settings.set(entry.key, entry)
  }
  return settings
}

/**
 * SimKube's normalisation. The plural key is used unless it is missing or empty; then the deprecated singular key is. SimKube fixes
 * the paths of the kinds that it knows and rejects traces with other paths, so they are rejected here too. Other kinds accept any
 * path and, unlike in SimKube, no path at all: a ConfigMap has no pod template.
 */
const readTemplatePaths = (
  reader: SettingReader,
  gvk: GroupVersionKind,
  settings: ReadonlyMap<string, Entry>,
  at: (key: string) => Position,
): readonly string[] => {
  const gvkText = formatGvk(gvk)
  const plural = settings.get("podSpecTemplatePaths")?.value
  const singular = settings.get("podSpecTemplatePath")?.value
  const paths: Omit<PlacedText, "where">[] = reader.isEmpty(plural)
    ? []
    : (reader.texts(plural, listOf("podSpecTemplatePaths", gvkText)) ?? [])
  if (!reader.isEmpty(singular)) {
    const text = reader.text(singular, `podSpecTemplatePath of ${gvkText}`)
    const position = at("podSpecTemplatePath")
    const isUsed = paths.length === 0
    reader.warning({ _tag: isUsed ? "DeprecatedPath" : "IgnoredDeprecatedPath", ...position, gvk: gvkText })
    if (isUsed && text !== undefined) paths.push({ text, position })
  }
  const texts = paths.map(({ text }) => text)
  const fixed = fixedTemplatePaths(gvk)
  if (fixed !== undefined) {
    const [first] = paths
    if (first !== undefined && !sameTexts(texts, fixed))
      reader.problem({ _tag: "FixedPaths", ...first.position, gvk: gvkText, found: texts, allowed: fixed })
    return fixed
  }
  for (const { text, position } of paths) {
    const reason = pointerFault(text)
    if (reason !== undefined) reader.warning({ _tag: "UnusualPath", ...position, gvk: gvkText, path: text, reason })
  }
  return texts
}

const sameTexts = (left: readonly string[], right: readonly string[]): boolean =>
  left.length === right.length && left.every((text, index) => text === right[index])

const readSkipOwned = (reader: SettingReader, value: Node | undefined, where: string): SkipOwned | undefined => {
  const target = reader.document.follow(value)
  if (isScalar(target) && target.value === "ingest") return "ingest"
  const flag = reader.boolean(value, where, "true, false or ingest")
  return flag === undefined ? undefined : flag ? "export" : false
}

const readDetect = (reader: SettingReader, value: Node | undefined, where: string): Detect | undefined => {
  const text = reader.text(value, where)
  if (text === undefined) return undefined
  if (text === "all" || text === "content" || text === "spec") return text
  const suggestion = nearest(text, detections)
  const hint = suggestion === undefined ? {} : { suggestion }
  const reason = `it must be one of ${detections.join(", ")}`
  reader.problem({ _tag: "InvalidValue", ...reader.document.positionOf(value), where, found: text, reason, ...hint })
  return undefined
}

/** Names for messages: a list setting (`ignore of v1.Pod`) and its items (`ignore[0] of v1.Pod`). */
const listOf =
  (key: string, gvkText: string) =>
  (index: number | ""): string =>
    `${key}${index === "" ? "" : `[${index}]`} of ${gvkText}`

const readIgnore = (reader: SettingReader, value: Node | undefined, gvkText: string): readonly string[] | undefined =>
  reader.texts(value, listOf("ignore", gvkText))?.map(({ text, position, where }) => {
    const fault = text === "" ? "names the whole object, so no change would ever be recorded" : pointerFault(text)
    if (fault !== undefined) {
      const reason = `it ${fault}; it must be a JSON pointer such as /metadata/annotations/example.com~1heartbeat`
      reader.problem({ _tag: "InvalidValue", ...position, where, found: text, reason })
    } else if (text.split("/").includes("*")) reader.warning({ _tag: "LiteralStar", ...position, where, pointer: text })
    return text
  })

const labelSelectorFault = (text: string): string | undefined => {
  const selector = parseLabelSelector(text)
  if ("problem" in selector) return selector.problem
  // It would select everything, which is what no selector means.
  return selector.length === 0 ? "it is empty" : undefined
}

const readSelector = (
  reader: SettingReader,
  value: Node | undefined,
  where: string,
  faultOf: (text: string) => string | undefined,
): string | undefined => {
  const found = reader.text(value, where)
  const fault = found === undefined ? undefined : faultOf(found)
  if (found === undefined || fault === undefined) return found
  const reason = `${fault}. Omit the key to record all objects`
  reader.problem({ _tag: "InvalidValue", ...reader.document.positionOf(value), where, found, reason })
  return undefined
}

/** Reads how long or how much is kept. */
export const readLimit = (
  reader: SettingReader,
  value: Node | undefined,
  where: string,
  readText: (text: string) => number | { readonly problem: string },
): number | undefined => {
  const found = reader.text(value, where)
  if (found === undefined) return undefined
  const limit = readText(found)
  if (typeof limit === "number") return limit
  const reason = limit.problem
  reader.problem({ _tag: "InvalidValue", ...reader.document.positionOf(value), where, found, reason })
  return undefined
}

const namespaceName = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

const readNamespaces = (
  reader: SettingReader,
  value: Node | undefined,
  gvkText: string,
): readonly string[] | undefined => {
  const texts = reader.texts(value, listOf("namespaces", gvkText))
  if (texts === undefined) return undefined
  if (texts.length === 0) {
    const where = listOf("namespaces", gvkText)("")
    const allowed = "a list of at least one namespace. Omit the key to record all namespaces"
    const position = reader.document.positionOf(value)
    reader.problem({ _tag: "WrongType", ...position, where, found: "an empty list", allowed })
  }
  for (const { text, position, where } of texts) {
    const reason = "it is not a valid namespace name (at most 63 lower-case letters, digits and -)"
    if (!namespaceName.test(text)) reader.problem({ _tag: "InvalidValue", ...position, where, found: text, reason })
  }
  return [...new Set(texts.map(({ text }) => text))]
}
