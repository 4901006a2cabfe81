/**
 * Reads what the byte scanner does not understand, with the same result: rare, allocating, about twenty times slower.
 *
 * The object is converted to a form that the scanner understands and scanned by the same code, so both paths agree on every field and on
 * the fingerprint. An object that cannot be read this way either is an {@link UnreadableError}, returned as a value: the caller counts it,
 * logs it with kind and offset, and lists again.
 *
 * `JSON.parse` decodes single strings only, never an object: in Node 24 and 26 it may mistake a key with escapes for another that it met
 * before (nodejs/node#63785), and anyone who may create objects in a cluster could choose which.
 */

import * as Schema from "effect/Schema"
import { isWhiteSpace, JsonBytes } from "./json/json-bytes.ts"

import { canonicalObject, decodeString, type Member, readMembers } from "./object/canonical-json.ts"
import type { ObjectScanner } from "./object/object-scanner.ts"
import { WatchEventType, type WatchLineScanner, watchEventTypeOf } from "./watch-line.ts"

/** A watch line or list item is not JSON, or not a Kubernetes object. */
export class UnreadableError extends Schema.TaggedError<UnreadableError>()("UnreadableError", {
  reason: Schema.String,
}) {
  override get message() {
    return this.reason
  }
}

/**
 * The position of the object, byte for byte as the server sent it. The scanner's spans are positions in `bytes` too, which has additional
 * text after the object: use these bytes with them, not the buffer that was passed in.
 */
interface SlowScan {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
}

/** One JSON object: its members, and its position without the white space around it. */
interface Parsed {
  readonly members: ReadonlyArray<Member>
  readonly start: number
  readonly end: number
}

const QUOTE = 34
const LETTER_N = 110
const OPEN_BRACE = 123

/**
 * Bytes that are read this way at most. A list of members takes many times the memory of the text if they are short, and no object of that size is
 * written by a server so that the fast scanner does not understand it.
 */
export const longestReadSlowly = 4 * 1024 * 1024

const parse = (bytes: Buffer, from: number, to: number, longest = longestReadSlowly): Parsed | UnreadableError => {
  if (to - from > longest) return new UnreadableError({ reason: `more than ${longest} bytes of unusual JSON` })
  let start = from
  let end = to
  while (start < end && isWhiteSpace(bytes[start] ?? 0)) start++
  while (end > start && isWhiteSpace(bytes[end - 1] ?? 0)) end--
  const json = new JsonBytes()
  const isObject = bytes[start] === OPEN_BRACE && json.load(bytes, end) && json.skipValue(start) === end
  if (isObject) return { members: readMembers(json, start), start, end }
  const value = bytes.subarray(start, end)
  return new UnreadableError({ reason: isJson(value) ? "not a JSON object" : `not JSON: ${whyNotJson(value)}` })
}

/** Whether these bytes are one JSON value. */
const isJson = (value: Buffer): boolean => {
  // A cursor needs a bracket at its end.
  const array = Buffer.concat([Buffer.from("["), value, Buffer.from("]")])
  const json = new JsonBytes()
  return json.load(array, array.length) && json.skipValue(1) === array.length - 1
}

/** For people who look for the cause. Quotes nothing, because it may be a Secret. */
const whyNotJson = (text: Buffer): string => {
  if (text.length === 0) return "nothing but white space"
  return text.at(-1) === OPEN_BRACE + 2 ? "there is a syntax error before its last byte" : "no closing brace at its end"
}

/** If a key occurs twice, the last one wins, as in `JSON.parse` and in the API server's decoder. */
const memberNamed = (members: ReadonlyArray<Member>, name: string): Member | undefined =>
  members.findLast(({ key }) => key === name)

const strings = ["name", "namespace", "uid", "resourceVersion"] as const

/** Why a JSON object is not a Kubernetes object. */
const objectionTo = (bytes: Buffer, object: Parsed): UnreadableError => {
  /** Go clients write null for members they leave out. */
  const isText = (member: Member | undefined): boolean => {
    const first = member === undefined ? LETTER_N : bytes[member.valueStart]
    return first === LETTER_N || first === QUOTE
  }
  const metadata = memberNamed(object.members, "metadata")
  const parsed = metadata && parse(bytes, metadata.valueStart, metadata.end)
  if (parsed === undefined || parsed instanceof UnreadableError) {
    return new UnreadableError({ reason: "an object without metadata" })
  }
  for (const name of strings) {
    if (!isText(memberNamed(parsed.members, name))) {
      return new UnreadableError({ reason: `metadata.${name} is not a string` })
    }
  }
  const isNamed = ["apiVersion", "kind"].every((name) => isText(memberNamed(object.members, name)))
  const reason = isNamed ? "metadata.ownerReferences is not an array" : "apiVersion or kind is not a string"
  return new UnreadableError({ reason })
}

const reported = [...strings, "apiVersion", "kind"] as const

/** Appends the text of reported strings that JSON cannot write without escapes, and points their spans at it. */
const withPlainStrings = (scanner: ObjectScanner, bytes: Buffer): Buffer => {
  const parts = [bytes]
  let length = bytes.length
  for (const name of reported) {
    const from = scanner[`${name}Start`]
    const to = scanner[`${name}End`]
    if (!bytes.subarray(from, to).includes(92)) continue
    const text = Buffer.from(decodeString(bytes, from - 1, to + 1))
    parts.push(text)
    scanner[`${name}Start`] = length
    length += text.length
    scanner[`${name}End`] = length
  }
  return parts.length === 1 ? bytes : Buffer.concat(parts)
}

/**
 * Reads the object in [start, end) and fills the fields of `scanner` as its `scan` would. Returns where it is, or why
 * this is not a Kubernetes object. `longest`: bytes, default {@link longestReadSlowly}.
 */
export const scanObjectSlowly = (
  scanner: ObjectScanner,
  bytes: Buffer,
  start: number,
  end: number,
  longest?: number,
): SlowScan | UnreadableError => {
  const parsed = parse(bytes, start, end, longest)
  if (parsed instanceof UnreadableError) return parsed
  const original = bytes.subarray(parsed.start, parsed.end)
  const canonical = canonicalObject(scanner.root, original)
  const both = Buffer.concat([original, canonical.bytes])
  if (!scanner.scanCanonical(both, original.length, both.length)) return objectionTo(bytes, parsed)
  if (canonical.managedFieldsEnd !== 0) {
    scanner.placeManagedFields(canonical.managedFieldsStart, canonical.managedFieldsEnd)
  }
  return { bytes: withPlainStrings(scanner, both), start: 0, end: original.length }
}

const typeOf = (bytes: Buffer, { valueStart, end }: Member): WatchEventType =>
  bytes[valueStart] === QUOTE ? watchEventTypeOf(decodeString(bytes, valueStart, end)) : WatchEventType.unknown

/**
 * Reads the watch line in [start, end) and fills the fields of `scanner` as its `scan` would. Returns where the
 * object is, or why this is not a watch line.
 */
export const scanWatchLineSlowly = (
  scanner: WatchLineScanner,
  bytes: Buffer,
  start: number,
  end: number,
): SlowScan | UnreadableError => {
  const line = parse(bytes, start, end)
  if (line instanceof UnreadableError) return line
  const spelled = memberNamed(line.members, "type")
  const type = spelled === undefined ? WatchEventType.unknown : typeOf(bytes, spelled)
  if (type === WatchEventType.unknown) {
    // Quoted only if it can be a type: a line that was mangled on the way may have anything here.
    const text = spelled && bytes.toString("utf8", spelled.valueStart, Math.min(spelled.end, spelled.valueStart + 40))
    const shown = text === undefined || /^"[A-Z]{1,16}"$/.test(text) ? ` ${text}` : ""
    return new UnreadableError({ reason: `a watch event of unknown type${shown}` })
  }
  const object = memberNamed(line.members, "object")
  if (object === undefined || bytes[object.valueStart] !== OPEN_BRACE) {
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
