/**
 * The JSON of an object that a client wrote, with its keys in the real server's order: built-in kinds begin like
 * their Go structs (kind, apiVersion, metadata in the order of ObjectMeta), custom kinds have all keys sorted.
 *
 * The resourceVersion is left open, so that one encoding shows whether anything changed and then gets its version.
 */

import {
  type Change,
  type JsonFormat,
  metadataOrder,
  parseObject,
  type Resource,
  typeMembers,
} from "../../apiserver/index.ts"
import { isRecord } from "../../is-record.ts"
import { isEmptyObject } from "../../own-member.ts"
import { isSame } from "../rules/fields.ts"
import type { MutableObject } from "../rules/kind-rules.ts"

/** The JSON before and after the digits of `metadata.resourceVersion`. */
export interface Encoding {
  readonly head: string
  readonly tail: string
}

const versionPlace = metadataOrder.indexOf("resourceVersion")
const beforeVersion = metadataOrder.slice(0, versionPlace)
const afterVersion = metadataOrder.slice(versionPlace + 1)

/** Never throws; undefined members are omitted, as are the empty members of `metadata` (Go's omitempty). */
export const encodeObject = (resource: Resource, object: MutableObject): Encoding =>
  resource.custom === true ? encodeCustom(resource, object) : encodeBuiltin(resource, object)

export const withVersion = ({ head, tail }: Encoding, revision: bigint): string => `${head}${revision}${tail}`

/** A state that was never stored (the response to a dry run): without a version. */
export const withoutVersion = ({ head, tail }: Encoding): string =>
  head.slice(0, -versionKey.length).replace(/,$/, "") +
  tail.slice(1).replace(/^,/, head.endsWith(`{${versionKey}`) ? "" : ",")

/** Whether the encoding equals the state, apart from the version. `before` is the state, parsed. */
export const isUnchanged = (
  state: Change,
  before: MutableObject,
  encoding: Encoding,
  after: MutableObject,
  format: JsonFormat,
): boolean => {
  const text = format(withVersion(encoding, state.revision))
  const { line, objectStart, objectEnd } = state
  const length = objectEnd - objectStart
  // The same members in another order have the same length; anything else differs.
  if (Buffer.byteLength(text) !== length) return false
  if (scratch.length < length) scratch = Buffer.allocUnsafeSlow(length * 2)
  scratch.write(text)
  return line.compare(scratch, 0, length, objectStart, objectEnd) === 0 || isSame(before, after)
}

/** Reused for every comparison: a new buffer for each was a twentieth of a patch's cost. */
let scratch = Buffer.allocUnsafeSlow(64 * 1024)

const versionKey = '"resourceVersion":"'

const member = (key: string, value: unknown): string => {
  const text = isOmitted(value) ? undefined : JSON.stringify(value)
  return text === undefined ? "" : `,${JSON.stringify(key)}:${text}`
}

const encodeBuiltin = (resource: Resource, object: MutableObject): Encoding => {
  const { metadata } = object
  let before = ""
  for (const key of beforeVersion) before += member(key, metadata[key])
  let tail = '"'
  for (const key of afterVersion) tail += member(key, metadata[key])
  tail += "}"
  for (const key of Object.keys(object)) {
    if (key === "kind" || key === "apiVersion" || key === "metadata") continue
    const text = JSON.stringify(object[key])
    if (text !== undefined) tail += `,${JSON.stringify(key)}:${text}`
  }
  const separator = before === "" ? "" : ","
  return { head: `{${typeMembers(resource)},"metadata":{${before.slice(1)}${separator}${versionKey}`, tail: `${tail}}` }
}

const encodeCustom = (resource: Resource, object: MutableObject): Encoding => {
  let head = ""
  let tail = '"'
  for (const key of Object.keys(object.metadata).sort()) {
    if (key === "resourceVersion") continue
    const text = member(key, sorted(object.metadata[key]))
    if (key < "resourceVersion") head += text
    else tail += text
  }
  const separator = head === "" ? "" : ","
  let before = `{${typeMembers(resource)}`
  let after = ""
  for (const key of Object.keys(object).sort()) {
    if (key === "kind" || key === "apiVersion" || key === "metadata") continue
    const text = JSON.stringify(sorted(object[key]))
    if (text === undefined) continue
    if (key < "metadata") before += `,${JSON.stringify(key)}:${text}`
    else after += `,${JSON.stringify(key)}:${text}`
  }
  return { head: `${before},"metadata":{${head.slice(1)}${separator}${versionKey}`, tail: `${tail}}${after}}` }
}

/** Go's omitempty, as far as `metadata` uses it: an absent value, the empty text, the empty list and the empty map. */
export const isOmitted = (value: unknown): boolean => {
  if (value === undefined || value === null || value === "") return true
  return typeof value === "object" && isEmptyObject(value)
}

/** The value with the keys of all its objects sorted. `fromEntries` defines members, so `__proto__` stays a key. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isRecord(value)) return value
  const keys = Object.keys(value).sort()
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key])]))
}

/** The object of a state, newly parsed; the caller may change it. */
export const stateOf = (change: Change): MutableObject => parseObject(change)
