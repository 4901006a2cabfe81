/**
 * Reads what the byte scanner does not understand, with the same result: rare, allocating, some twenty times slower.
 *
 * `JSON.parse` decides what is JSON. Then the object is brought into a form that the scanner understands and scanned by
 * the very same code, so both ways agree on every field and on the fingerprint. What cannot be read this way either is
 * an {@link UnreadableError}, returned as a value: the caller counts it, logs it with kind and offset, and lists anew.
 */

import * as Schema from "effect/Schema"
import { canonicalObject, readMembers } from "./canonical-json.ts"
import { JsonBytes } from "./json-bytes.ts"
import type { ObjectScanner } from "./object-scanner.ts"
import { WatchEventType, type WatchLineScanner, watchEventTypeOf } from "./watch-line.ts"
import { isWhiteSpace } from "./white-space.ts"

/** A watch line or list item that is no JSON, or no Kubernetes object. */
export class UnreadableError extends Schema.TaggedError<UnreadableError>()("UnreadableError", {
  reason: Schema.String,
}) {
  override get message() {
    return this.reason
  }
}

/**
 * Where the object stands, byte for byte as the server sent it. The scanner's spans are positions in `bytes` too, which
 * holds text of its own behind the object: use these bytes with them, not the buffer that was passed in.
 */
export interface SlowScan {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
}

type JsonRecord = Readonly<Record<string, unknown>>

const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === "object" && value !== null && !Array.isArray(value)

interface Parsed {
  readonly value: JsonRecord
  /** The JSON text without white space around it. */
  readonly start: number
  readonly end: number
}

const parse = (bytes: Buffer, from: number, to: number): Parsed | UnreadableError => {
  let start = from
  let end = to
  while (start < end && isWhiteSpace(bytes[start] as number)) start++
  while (end > start && isWhiteSpace(bytes[end - 1] as number)) end--
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8", start, end))
    return isRecord(value) ? { value, start, end } : new UnreadableError({ reason: "not a JSON object" })
  } catch (error) {
    return new UnreadableError({ reason: `not JSON: ${error instanceof Error ? error.message : String(error)}` })
  }
}

const strings = ["name", "namespace", "uid", "resourceVersion"] as const

/** Says what about a JSON object keeps it from being a Kubernetes object. */
const objectionTo = (value: JsonRecord): UnreadableError => {
  const isText = (text: unknown): boolean => text === undefined || text === null || typeof text === "string"
  const metadata = value.metadata
  if (!isRecord(metadata)) return new UnreadableError({ reason: "an object without metadata" })
  for (const name of strings) {
    if (!isText(metadata[name])) return new UnreadableError({ reason: `metadata.${name} is not a string` })
  }
  const reason =
    isText(value.apiVersion) && isText(value.kind)
      ? "metadata.ownerReferences is not an array"
      : "apiVersion or kind is not a string"
  return new UnreadableError({ reason })
}

const reported = [...strings, "apiVersion", "kind"] as const

/** Appends the text of reported strings that JSON cannot write without escapes, and points their spans there. */
const withPlainStrings = (scanner: ObjectScanner, bytes: Buffer): Buffer => {
  const parts = [bytes]
  let length = bytes.length
  for (const name of reported) {
    const from = scanner[`${name}Start`]
    const to = scanner[`${name}End`]
    if (!bytes.subarray(from, to).includes(92)) continue
    const text = Buffer.from(String(JSON.parse(bytes.toString("utf8", from - 1, to + 1))))
    parts.push(text)
    scanner[`${name}Start`] = length
    length += text.length
    scanner[`${name}End`] = length
  }
  return parts.length === 1 ? bytes : Buffer.concat(parts)
}

/**
 * Reads the object in [start, end), white space around it allowed, and fills the fields of `scanner` as its `scan` would.
 *
 * @returns where object and spans stand, or why this is no Kubernetes object
 */
export const scanObjectSlowly = (
  scanner: ObjectScanner,
  bytes: Buffer,
  start: number,
  end: number,
): SlowScan | UnreadableError => {
  const parsed = parse(bytes, start, end)
  if (parsed instanceof UnreadableError) return parsed
  const original = bytes.subarray(parsed.start, parsed.end)
  const canonical = canonicalObject(scanner.root, original)
  const both = Buffer.concat([original, canonical.bytes])
  if (!scanner.scanCanonical(both, original.length, both.length)) return objectionTo(parsed.value)
  if (canonical.managedFieldsEnd !== 0) {
    scanner.placeManagedFields(canonical.managedFieldsStart, canonical.managedFieldsEnd)
  }
  return { bytes: withPlainStrings(scanner, both), start: 0, end: original.length }
}

/**
 * Reads the watch line in [start, end) and fills the fields of `scanner` as its `scan` would.
 *
 * @returns where object and spans stand (for ERROR the object only), or why this is no watch line
 */
export const scanWatchLineSlowly = (
  scanner: WatchLineScanner,
  bytes: Buffer,
  start: number,
  end: number,
): SlowScan | UnreadableError => {
  const line = parse(bytes, start, end)
  if (line instanceof UnreadableError) return line
  const type = typeof line.value.type === "string" ? watchEventTypeOf(line.value.type) : WatchEventType.unknown
  if (type === WatchEventType.unknown) {
    return new UnreadableError({ reason: `a watch event of unknown type ${JSON.stringify(line.value.type)}` })
  }
  const json = new JsonBytes()
  json.load(bytes, line.end)
  const object = readMembers(json, line.start).findLast(({ key }) => key === "object")
  if (object === undefined || !isRecord(line.value.object)) {
    return new UnreadableError({ reason: "a watch event without an object" })
  }
  const scan =
    type === WatchEventType.error
      ? { bytes, start: object.valueStart, end: object.end }
      : scanObjectSlowly(scanner.object, bytes, object.valueStart, object.end)
  if (scan instanceof UnreadableError) return scan
  scanner.type = type
  scanner.objectStart = scan.start
  scanner.objectEnd = scan.end
  return scan
}
