/**
 * The messages of Kubernetes whose JSON is not an object of their fields. Each function gets the message's bytes; empty
 * ones mean zero.
 */

import * as Schema from "effect/Schema"
import protobuf from "protobufjs/minimal.js"
import { messageOf } from "../../message-of.ts"

/** Bytes that are not a message of the kind they claim to be, with the reason. */
export class ProtobufError extends Schema.TaggedError<ProtobufError>()("ProtobufError", { problem: Schema.String }) {
  override get message(): string {
    return this.problem
  }
}

/** Calls back for every field; what the callback does not read is skipped. Throws ProtobufError, or RangeError for damage. */
export const eachField = (
  bytes: Uint8Array,
  read: (reader: protobuf.Reader, number: number, wireType: number) => boolean,
): void => {
  const reader = protobuf.Reader.create(bytes)
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    if (tag >>> 3 === 0) throw new ProtobufError({ problem: `proto: illegal tag 0 (wire type ${tag & 7})` })
    if (!read(reader, tag >>> 3, tag & 7)) reader.skipType(tag & 7)
  }
}

/** Rounded beyond 2^53, as by JSON.parse. */
export const readInteger = (reader: protobuf.Reader): number => Number(reader.int64())

/** RFC 3339 in whole seconds, or with six decimal digits; null for the zero time. */
export const timeValue = (bytes: Uint8Array, digits: 0 | 6): string | null => {
  // An empty message is Go's zero time, not the epoch.
  if (bytes.length === 0) return null
  let seconds = 0
  let nanos = 0
  eachField(bytes, (reader, number) => {
    if (number === 1) seconds = readInteger(reader)
    else if (number === 2) nanos = reader.int32()
    else return false
    return true
  })
  const date = new Date(seconds * 1000)
  if (Number.isNaN(date.getTime())) throw new ProtobufError({ problem: "Time.MarshalJSON: year outside of range" })
  const whole = date.toISOString().slice(0, 19)
  return digits === 0 ? `${whole}Z` : `${whole}.${String(Math.trunc(nanos / 1000)).padStart(6, "0")}Z`
}

export const quantityValue = (bytes: Uint8Array): string => stringsValue(bytes).at(-1) ?? "0"

export const intOrStringValue = (bytes: Uint8Array): number | string => {
  let isText = false
  let integer = 0
  let text = ""
  eachField(bytes, (reader, number) => {
    if (number === 1) isText = readInteger(reader) === 1
    else if (number === 2) integer = reader.int32()
    else if (number === 3) text = reader.string()
    else return false
    return true
  })
  return isText ? text : integer
}

/** The JSON inside the message; null if it is empty. Throws ProtobufError for invalid JSON. */
export const rawValue = (bytes: Uint8Array): unknown => {
  const text = stringsValue(bytes).at(-1) ?? ""
  if (text === "") return null
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ProtobufError({ problem: `raw JSON: ${messageOf(error)}` })
  }
}

/** A list with its own message type, since protobuf maps cannot contain lists; a single text is its last item. */
export const stringsValue = (bytes: Uint8Array): ReadonlyArray<string> => {
  const texts: string[] = []
  eachField(bytes, (reader, number) => {
    if (number !== 1) return false
    texts.push(reader.string())
    return true
  })
  return texts
}
