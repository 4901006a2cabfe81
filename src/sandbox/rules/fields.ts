/** Reads JSON of uncertain shape: every function returns `undefined` or an empty value where the type is wrong. */

import { isRecord } from "../../is-record.ts"
import type { LabelSelectorObject } from "../../kube/offline.ts"
import type { Fields, MutableObject } from "./kind-rules.ts"

export const isFields: (value: unknown) => value is Fields = isRecord

export const fieldsOf = (value: unknown): Fields | undefined => (isFields(value) ? value : undefined)

/** Whether it has metadata, as every whole object. */
export const isWhole = (object: Readonly<Fields>): object is MutableObject => isFields(object.metadata)

/** The object under a key, or `undefined`. */
export const child = (parent: Fields | undefined, key: string): Fields | undefined => fieldsOf(parent?.[key])

/** The object under a key, created if absent. */
export const ensured = (parent: Fields, key: string): Fields => {
  const present = fieldsOf(parent[key])
  if (present !== undefined) return present
  const made: Fields = {}
  parent[key] = made
  return made
}

/** The object at the end of a path, or `undefined`. */
export const at = (parent: Fields | undefined, ...path: ReadonlyArray<string>): Fields | undefined =>
  path.reduce<Fields | undefined>(child, parent)

/** A label selector, as far as it is one: its readers look at nothing else. */
export const selectorIn = (parent: Fields | undefined, key: string): LabelSelectorObject | undefined =>
  child(parent, key)

/** The JSON of a value, read again: nothing of it is shared. */
export const copied = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value))

const none: ReadonlyArray<never> = []

export const list = (parent: Fields | undefined, key: string): ReadonlyArray<unknown> => {
  const value = parent?.[key]
  return Array.isArray(value) ? value : none
}

/** The objects of a list; an item of another type counts as an empty object, so that indices stay right. */
export const items = (parent: Fields | undefined, key: string): ReadonlyArray<Fields> => {
  const value = parent?.[key]
  return Array.isArray(value) ? value.map((item) => (isFields(item) ? item : {})) : none
}

/** The strings of a list. */
export const texts = (parent: Fields | undefined, key: string): ReadonlyArray<string> =>
  list(parent, key).filter((item) => typeof item === "string")

/** Go's reading of a string field: absent is empty. */
export const text = (parent: Fields | undefined, key: string): string => {
  const value = parent?.[key]
  return typeof value === "string" ? value : ""
}

export const number = (parent: Fields | undefined, key: string): number | undefined => {
  const value = parent?.[key]
  return typeof value === "number" ? value : undefined
}

/** A member of a map whose keys clients choose: `constructor` and `__proto__` are keys like any other. */
export const own = (map: Fields | undefined, key: string): unknown =>
  map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined

/** Absent, or null: Go's nil. */
export const isAbsent = (value: unknown): value is undefined | null => value === undefined || value === null

/** Whether Go's `omitempty` omits the value, which is also a Go struct's value for an omitted field. */
export const isZero = (value: unknown): boolean =>
  isAbsent(value) || value === "" || value === 0 || value === false || (Array.isArray(value) && value.length === 0)

export const isEmptyMap = (value: unknown): boolean => !isFields(value) || Object.keys(value).length === 0

/** Go's `equality.Semantic.DeepEqual` for JSON: an absent value, null, an empty list and an empty map are equal. */
export const isSame = (left: unknown, right: unknown): boolean => {
  if (left === right) return true
  if (Array.isArray(left) || Array.isArray(right)) return sameLists(left, right)
  if (isFields(left) || isFields(right)) return sameFields(left, right)
  return isAbsent(left) && isAbsent(right)
}

/** The keys under which two objects differ, sorted. */
export const changedKeys = (left: Fields, right: Fields): ReadonlyArray<string> =>
  [...new Set([...Object.keys(left), ...Object.keys(right)])]
    .filter((key) => !isSame(own(left, key), own(right, key)))
    .sort()

const sameLists = (left: unknown, right: unknown): boolean => {
  const [ours, theirs] = [Array.isArray(left) ? left : none, Array.isArray(right) ? right : none]
  const comparable = (Array.isArray(left) || isAbsent(left)) && (Array.isArray(right) || isAbsent(right))
  return comparable && ours.length === theirs.length && ours.every((item, index) => isSame(item, theirs[index]))
}

const sameFields = (left: unknown, right: unknown): boolean => {
  if (!(isFields(left) || isAbsent(left)) || !(isFields(right) || isAbsent(right))) return false
  for (const key in left) if (!isSame(left[key], own(fieldsOf(right), key))) return false
  for (const key in right) if (own(fieldsOf(left), key) === undefined && !isSame(undefined, right[key])) return false
  return true
}

/** The server stores protobuf, in which an empty list is none; the client that sent it owns it nevertheless. */
export const emptyIsNone =
  (...keys: ReadonlyArray<string>): ((object: Fields) => void) =>
  (object) => {
    for (const key of keys) if (list(object, key).length === 0) object[key] = null
  }
