/**
 * Finds the audit entries in the texts of a log, whatever wraps them: collectors, clouds and databases each have envelopes of their own, and change them. An
 * entry is known by its own members, wherever it is: in arrays and objects, in strings that are JSON, behind the prefix of a line (CRI, syslog, a time), in a
 * row of a table. What is inside an entry is never searched, so that an object which quotes an audit log is none.
 *
 * A text without an entry is one unknown entry; of an array, each element without one is. Never quotes a text, which may have secrets.
 */
import { isUtf8 } from "node:buffer"
import { gunzipSync } from "node:zlib"
import {
  exactJsonIn,
  isDeeper,
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listIn,
  MAX_DEPTH,
  textIn,
  withProperty,
} from "../../trace/index.ts"
import { type AuditEntry, unknownEntry } from "./audited-write.ts"
import {
  auditEventIn,
  cloudLoggingEntry,
  isCloudLoggingEntry,
  kubernetesEntry,
  writeVerbOf,
} from "./kubernetes-event.ts"
import { type LogText, longestText } from "./log-text.ts"

/**
 * The beginning of an event as an API server writes it: the members have the order of Kubernetes' own type. Four of five events are reads,
 * and many have a list for a response, which then need not be parsed.
 */
const eventStart =
  /^\{"kind":"Event","apiVersion":"audit\.k8s\.io\/v1","level":"[A-Za-z]+","auditID":"[^"\\]*","stage":"([A-Za-z]+)","requestURI":"(?:[^"\\]|\\.)*","verb":"([a-z]+)"/

/** Long enough for the addresses of requests with selectors. */
const startBytes = 4096

/**
 * What container runtimes put before a line; the flag P says that the line continues in the next one of its stream,
 * because runtimes cut lines at 16 KiB.
 */
const criPrefix = /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) (stdout|stderr) ([PF])(?::\S*)? /

/** Envelopes inside one another. Real ones are two or three; each may take an array, an object and a text. */
const deepest = 32

const noWrite: ReadonlyArray<AuditEntry> = [{ tag: "no-write", time: undefined }]

/** Takes the texts of one log in order. Memory: lines whose end has not come, not more than a text may have. */
export class LogEntries {
  /** The parts of lines, by stream. */
  readonly #parts = new Map<string, string[]>()
  #partBytes = 0

  /** The entries of a text. `needsTimes`: reads are parsed too, because their times count. */
  of({ bytes, isCut }: LogText, needsTimes = false): ReadonlyArray<AuditEntry> {
    const head = bytes.toString("latin1", 0, startBytes)
    const [prefix = "", stream = "", flag = ""] = criPrefix.exec(head) ?? []
    if (flag === "P") return this.#keep(stream, bytes.toString("utf8", prefix.length))
    if (this.#parts.has(stream) && flag === "F")
      return this.#entries(this.#joined(stream) + bytes.toString("utf8", prefix.length), isCut)
    const begin = prefix.length || Math.max(head.indexOf("{"), 0)
    const start = eventStart.exec(begin === 0 ? head : head.slice(begin))
    if (!needsTimes && start !== null && (start[1] !== "ResponseComplete" || writeVerbOf(start[2] ?? "") === undefined))
      return noWrite
    return this.#entries(bytes, isCut)
  }

  /** What the end of the log leaves without an end. */
  end(): ReadonlyArray<AuditEntry> {
    const unended = [...this.#parts.keys()].map(() => unknownEntry("a line in parts whose end the log does not have"))
    this.#parts.clear()
    this.#partBytes = 0
    return unended
  }

  #entries(text: string | Buffer, isCut: boolean): ReadonlyArray<AuditEntry> {
    const values = valuesIn(text)
    const [first] = values
    const part = values.length === 1 && isJsonObject(first) ? dockerPart(first) : undefined
    if (part !== undefined && !part.isLast) return this.#keep(part.stream, part.text)
    if (part !== undefined && this.#parts.has(part.stream))
      return this.#entries(this.#joined(part.stream) + part.text, isCut)
    if (values.length === 0 && isCut) return [unknownEntry("a beginning without its end: the log is cut off")]
    if (values.length === 0) return [unknownEntry(describeText(text))]
    return entriesOfAll(values)
  }

  #keep(stream: string, text: string): ReadonlyArray<AuditEntry> {
    if (this.#partBytes + text.length > longestText) {
      this.#joined(stream)
      return [unknownEntry(`a line in parts of more than ${longestText} bytes`)]
    }
    const parts = this.#parts.get(stream) ?? []
    this.#parts.set(stream, parts)
    parts.push(text)
    this.#partBytes += text.length
    return []
  }

  #joined(stream: string): string {
    const text = (this.#parts.get(stream) ?? []).join("")
    this.#parts.delete(stream)
    this.#partBytes -= text.length
    return text
  }
}

/** A line in the log of Docker, whose end may be in later ones: only the last one ends with a line feed. A whole entry needs none. */
const dockerPart = (value: JsonObject) => {
  const { log, stream } = value
  if (typeof log !== "string" || typeof stream !== "string" || !Object.hasOwn(value, "time")) return undefined
  return { stream, text: log, isLast: log.endsWith("\n") || exactJsonIn(log) !== undefined }
}

/** The entries in a JSON value; one without any is one unknown entry, but for an empty list. */
export const entriesIn = (value: JsonValue): ReadonlyArray<AuditEntry> => entriesOfAll([value])

const isKnown = ({ tag }: AuditEntry): boolean => tag !== "unknown"

/** In the values of one text. */
const entriesOfAll = (values: ReadonlyArray<JsonValue>): ReadonlyArray<AuditEntry> => {
  const found = values.flatMap((value) => entriesWithin(value, 0))
  const isEmpty = values.every((value) => Array.isArray(value) && value.length === 0)
  return found.length > 0 || isEmpty ? found : [unknownEntry(`JSON, but ${nameOf(values[0] ?? null)}`)]
}

const tooDeep = unknownEntry("an envelope inside too many others")

const entriesWithin = (value: JsonValue, depth: number): ReadonlyArray<AuditEntry> => {
  if (depth > deepest) return [tooDeep]
  if (typeof value === "string") return entriesOfString(value, depth)
  if (isJsonList(value)) {
    const fields = pairsOf(value)
    return fields === undefined
      ? value.flatMap((each) => entriesWithin(each, depth + 1))
      : entriesWithin(fields, depth + 1)
  }
  // The number of a process in brackets, the time beside a text.
  if (!isJsonObject(value)) return []
  const event = auditEventIn(value)
  if (event !== undefined) return [kubernetesEntry(event)]
  if (isCloudLoggingEntry(value)) return [cloudLoggingEntry(value)]
  const rows = rowsOf(value)
  const members = rows.length > 0 ? [rows] : Object.values(value).filter(mayHaveEntries)
  const found = members.map((each) => entriesWithin(each, depth + 1))
  const known = found.filter((entries) => entries.some(isKnown))
  if (known.length > 0) return known.flat()
  const unknown = found.find(
    (entries, index) => entries.includes(tooDeep) || (!isJsonObject(members[index]) && entries.length > 0),
  )
  return unknown ?? [unknownEntry(`an object with ${membersOf(value)}`)]
}

/** Not the texts and numbers of an envelope, and lists of them. */
const mayHaveEntries = (value: JsonValue): boolean =>
  typeof value === "string"
    ? mayBeEntry.test(value) || packed.test(value)
    : isJsonList(value)
      ? value.some(mayHaveEntries)
      : isJsonObject(value)

const mayBeEntry = /audit_?id|protoPayload|"(?:eyJ|H4sI)/i

/** JSON in base64, and the same compressed: Kinesis, Pub/Sub, Lambda. */
const packed = /^(?:eyJ|H4sI)[A-Za-z0-9+/]{16,}={0,2}$/

const entriesOfString = (text: string, depth: number): ReadonlyArray<AuditEntry> => {
  const plain = packed.test(text) ? unpacked(text) : text
  const values = plain === undefined ? [] : valuesIn(plain)
  if (values.length === 0) return [unknownEntry("a text without JSON, or with damaged JSON")]
  return values.flatMap((each) => entriesWithin(each, depth + 1))
}

const unpacked = (text: string): string | undefined => {
  const bytes = Buffer.from(text, "base64")
  if (text.startsWith("eyJ")) return bytes.toString("utf8")
  try {
    return gunzipSync(bytes, { maxOutputLength: longestText }).toString("utf8")
  } catch {
    // Not gzip, or too long: then it is a text without an entry, which is counted.
    return undefined
  }
}

/** The rows of a table, in which databases return results, as objects. */
const rowsOf = (value: JsonObject): ReadonlyArray<JsonValue> => {
  const columns = [...listIn(value, "columns"), ...listIn(value, "Columns")]
  const names = columns.map((column) => {
    const object = isJsonObject(column) ? column : undefined
    return textIn(object, "name") || textIn(object, "ColumnName")
  })
  const rows = columns.length === 0 ? [] : [...listIn(value, "rows"), ...listIn(value, "Rows")]
  return rows.map((row) => objectOf((isJsonList(row) ? row : []).map((each, index) => [names[index] ?? "", each])))
}

/** A row as a list of its fields with their values; `undefined`: the list is another one. */
const pairsOf = (elements: ReadonlyArray<JsonValue>): JsonValue | undefined => {
  const pairs = elements.map((each): [string, JsonValue] => {
    const pair = isJsonObject(each) ? each : undefined
    return [textIn(pair, "field") || textIn(pair, "name") || textIn(pair, "key"), pair?.value ?? null]
  })
  return pairs.length > 0 && pairs.every(([name]) => name !== "") && elements.every(hasValue)
    ? objectOf(pairs)
    : undefined
}

const hasValue = (pair: JsonValue): boolean => isJsonObject(pair) && Object.hasOwn(pair, "value")

const objectOf = (members: ReadonlyArray<readonly [string, JsonValue]>): JsonObject => {
  let object: Record<string, JsonValue> = {}
  for (const [name, value] of members) object = withProperty(object, name, value)
  return object
}

/** A shorter text cannot be nested so deeply that anything ends. */
const shortestDeep = 2 * MAX_DEPTH

/** `undefined`: not JSON, or nested more than {@link MAX_DEPTH} levels deep, which no other format of traces holds either. */
const parsedText = (text: string | Uint8Array): JsonValue | undefined => {
  const value = exactJsonIn(text)
  return text.length > shortestDeep && isDeeper(value, MAX_DEPTH) ? undefined : value
}

/** Brackets without their end that are no JSON, before the JSON of a line. */
const mostOpen = 8

/** The JSON values in a text: itself, or those between what is no JSON. Nothing inside a damaged object counts: it may be part of what an entry quotes. */
const valuesIn = (given: string | Buffer): ReadonlyArray<JsonValue> => {
  const whole = parsedText(given)
  if (whole !== undefined) return [whole]
  if (typeof given !== "string" && !isUtf8(given)) return []
  const text = typeof given === "string" ? given : given.toString("utf8")
  const values: JsonValue[] = []
  const first = text.search(/[{[]/)
  // The rest of JSON without its beginning.
  if (first > 0 && text.slice(0, first).includes('":')) return []
  // Of texts in quotes only those with escaped ones: they may be JSON.
  const start = /[{[]|"(?=(?:[^"\\]|\\[^"])*\\")/g
  for (let open = 0, found = start.exec(text); found !== null && open < mostOpen; found = start.exec(text)) {
    const rest = text[found.index] === "{" ? parsedText(text.slice(found.index)) : undefined
    if (rest !== undefined) return [...values, rest]
    const end = endOfValue(text, found.index)
    if (end < 0 && text[found.index] === "{") return values
    if (end < 0) {
      open++
      continue
    }
    const value = parsedText(text.slice(found.index, end))
    if (value !== undefined && (typeof value !== "string" || mayHaveEntries(value))) values.push(value)
    start.lastIndex = end
  }
  return values
}

/** The position after the brackets or the string that begin at `start`; -1 if they do not end. */
const endOfValue = (text: string, start: number): number => {
  let depth = 0
  let isInString = false
  for (let at = start; at < text.length; at++) {
    const letter = text[at]
    if (isInString && letter === "\\") at++
    else if (letter === '"') isInString = !isInString
    else if (!isInString && (letter === "{" || letter === "[")) depth++
    else if (!isInString && (letter === "}" || letter === "]")) depth--
    if (depth === 0 && !isInString) return at + 1
  }
  return -1
}

/** Never quotes the text, which may have secrets. */
const describeText = (text: string | Buffer): string => {
  const head = typeof text === "string" ? text.slice(0, 100) : text.toString("latin1", 0, 100)
  if (/^\s*[{[]/.test(head)) return `${text.length} bytes of damaged JSON, or of JSON nested too deeply`
  // klog: a letter for the severity, month and day.
  if (/^[IWEF]\d{4} \d\d:\d\d:\d\d/.test(head)) return "a line of a component's own log"
  return text.includes("\0") ? `${text.length} bytes that are no text` : `${text.length} bytes of text that are no JSON`
}

const nameOf = (value: JsonValue): string =>
  value === null
    ? "null"
    : Array.isArray(value)
      ? "an array"
      : `a ${typeof value === "bigint" ? "number" : typeof value}`

/** The first names, which say best what wrote it. */
const membersOf = (object: object): string => {
  const names = Object.keys(object)
  if (names.length === 0) return "no members"
  const shown = names.slice(0, 5).map((name) => JSON.stringify(name.slice(0, 40)))
  return `${shown.join(", ")}${names.length > shown.length ? ", …" : ""}`
}
