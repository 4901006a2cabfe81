/**
 * A protobuf message of Kubernetes as the value that Go's encoding/json makes of the same struct: names, order and absence
 * of fields included. Go writes all fields that are not pointers, zero or not, so the bytes do not show which fields a
 * client has set; the descriptors do.
 *
 * Unknown fields are skipped. Throws ProtobufError, and RangeError or Error from the reader for damaged bytes.
 */

import type protobuf from "protobufjs/minimal.js"
import { type Descriptors, type FieldDescriptor, protobufDescriptors } from "./descriptors.ts"
import {
  eachField,
  intOrStringValue,
  ProtobufError,
  quantityValue,
  rawValue,
  readInteger,
  stringsValue,
  timeValue,
} from "./special-values.ts"

type JsonObject = Record<string, unknown>

/** Schemas of custom kinds nest; nothing else exceeds a dozen levels. The server's JSON allows more. */
const maximumDepth = 500

const schemaMessage = "apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaProps"

/** `name` must be one of the descriptors' messages. */
export const decodeMessage = (name: string, bytes: Uint8Array): JsonObject =>
  messageValue(protobufDescriptors(), name, bytes, 0)

const messageValue = (descriptors: Descriptors, name: string, bytes: Uint8Array, depth: number): JsonObject => {
  if (depth > maximumDepth) throw new ProtobufError({ problem: "exceeded max depth" })
  const fields = descriptors.messages.get(name)
  if (fields === undefined) throw new ProtobufError({ problem: `no message ${name}` })
  const found = new Map<number, unknown>()
  eachField(bytes, (reader, number, wireType) => {
    const field = fields.find((candidate) => candidate.number === number)
    if (field === undefined) return false
    collect(descriptors, field, reader, wireType, found, depth)
    return true
  })
  const entries: Array<[string, unknown]> = []
  for (const field of fields) {
    const value = jsonValue(descriptors, field, found.get(field.number), depth)
    if (field.isInline && value !== undefined) entries.push(...Object.entries(value as JsonObject))
    else if (value !== undefined) entries.push([field.name, value])
  }
  return Object.fromEntries(entries)
}

/** A list's items so far, a map's entries so far, or the last value. */
const collect = (
  descriptors: Descriptors,
  field: FieldDescriptor,
  reader: protobuf.Reader,
  wireType: number,
  found: Map<number, unknown>,
  depth: number,
): void => {
  const { number, type } = field
  if (field.shape === "single") {
    found.set(number, readValue(descriptors, type, reader, wireType, depth))
  } else if (field.shape === "list") {
    const items = (found.get(number) ?? []) as unknown[]
    found.set(number, items)
    const isPacked = wireType === 2 && (type === "int" || type === "bool")
    const end = isPacked ? reader.uint32() + reader.pos : reader.pos + 1
    while (reader.pos < end) items.push(readValue(descriptors, type, reader, isPacked ? 0 : wireType, depth))
  } else {
    const entries = (found.get(number) ?? new Map()) as Map<string, unknown>
    found.set(number, entries)
    readEntry(descriptors, type, lengthDelimited(reader, wireType), entries, depth)
  }
}

const readEntry = (
  descriptors: Descriptors,
  type: string,
  bytes: Uint8Array,
  entries: Map<string, unknown>,
  depth: number,
): void => {
  let key = ""
  let value: unknown
  eachField(bytes, (reader, number, wireType) => {
    if (number === 1) key = reader.string()
    else if (number === 2) value = readValue(descriptors, type, reader, wireType, depth)
    else return false
    return true
  })
  entries.set(key, value ?? zeroOf(descriptors, type, depth))
}

/** With damaged bytes a reader may take any type for any other; what Go refuses is refused here. */
const wireTypes: Readonly<Record<string, number>> = { bool: 0, double: 1, int: 0 }

const readValue = (
  descriptors: Descriptors,
  type: string,
  reader: protobuf.Reader,
  wireType: number,
  depth: number,
): unknown => {
  const expected = wireTypes[type] ?? 2
  if (wireType !== expected) throw new ProtobufError({ problem: `proto: wrong wireType = ${wireType} for field` })
  if (type === "bool") return reader.bool()
  if (type === "double") return reader.double()
  if (type === "int") return readInteger(reader)
  if (type === "string") return reader.string()
  if (type === "bytes") return Buffer.from(reader.bytes()).toString("base64")
  return ofBytes(descriptors, type, reader.bytes(), depth)
}

const ofBytes = (descriptors: Descriptors, type: string, bytes: Uint8Array, depth: number): unknown => {
  switch (type) {
    case "time":
      return timeValue(bytes, 0)
    case "micro-time":
      return timeValue(bytes, 6)
    case "quantity":
      return quantityValue(bytes)
    case "int-or-string":
      return intOrStringValue(bytes)
    case "raw":
      return rawValue(bytes)
    case "strings":
      return stringsValue(bytes)
    case "schema-or-array":
    case "schema-or-bool":
    case "schema-or-strings":
      return schemaChoice(descriptors, type, bytes, depth)
    default:
      return messageValue(descriptors, type, bytes, depth + 1)
  }
}

/** A schema where JSON also allows a boolean, a list of schemas or a list of names. */
const schemaChoice = (descriptors: Descriptors, type: string, bytes: Uint8Array, depth: number): unknown => {
  let allows = false
  let schema: JsonObject | undefined
  const list: unknown[] = []
  const nested = (reader: protobuf.Reader): JsonObject =>
    messageValue(descriptors, schemaMessage, reader.bytes(), depth + 1)
  eachField(bytes, (reader, number) => {
    if (type === "schema-or-bool") {
      if (number === 1) allows = reader.bool()
      else if (number === 2) schema = nested(reader)
    } else if (number === 1) schema = nested(reader)
    else if (number === 2) list.push(type === "schema-or-array" ? nested(reader) : reader.string())
    return number === 1 || number === 2
  })
  if (type === "schema-or-bool") return schema ?? allows
  return list.length > 0 ? list : (schema ?? null)
}

/** The value of a field as encoding/json writes it; `undefined` to omit it. */
const jsonValue = (descriptors: Descriptors, field: FieldDescriptor, found: unknown, depth: number): unknown => {
  const { type, shape, isPointer, omitEmpty, omitZero } = field
  if (shape === "map" && found !== undefined) {
    const sorted = [...(found as Map<string, unknown>)].sort(([left], [right]) => (left < right ? -1 : 1))
    return Object.fromEntries(sorted)
  }
  if (isPointer || shape !== "single") return found ?? (omitEmpty ? undefined : null)
  const value = found ?? zeroOf(descriptors, type, depth)
  if (omitZero && value === null) return undefined
  return omitEmpty && (value === "" || value === 0 || value === false) && isOmittedWhenZero(type) ? undefined : value
}

const isOmittedWhenZero = (type: string): boolean =>
  type === "string" || type === "int" || type === "bool" || type === "double" || type === "bytes"

const zeroOf = (descriptors: Descriptors, type: string, depth: number): unknown => {
  if (type === "string" || type === "bytes") return ""
  if (type === "int" || type === "double") return 0
  return type === "bool" ? false : ofBytes(descriptors, type, nothing, depth)
}

const nothing = Buffer.alloc(0)

const lengthDelimited = (reader: protobuf.Reader, wireType: number): Uint8Array => {
  if (wireType !== 2) throw new ProtobufError({ problem: `proto: wrong wireType = ${wireType} for field` })
  return reader.bytes()
}
