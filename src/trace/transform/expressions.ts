/** The values of what is written in a program, for one object. */

import { quantityOf } from "../../kube/offline.ts"
import { memberOf } from "../../own-member.ts"
import {
  IntegralFloat,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseExactJson,
  withProperty,
} from "../json/exact-json.ts"
import { withMember, withoutMember } from "../json/members.ts"
import type { Comparison, Path, Step, Value } from "./language/program.ts"

/** Names and indices from the object down. */
export type Place = ReadonlyArray<string | number>

/** What the variables of a command are bound to. */
export type Bindings = ReadonlyMap<string, ReadonlyArray<Place>>

/** What is there; `undefined`: nothing. */
export const valueAt = (root: JsonValue, place: Place): JsonValue | undefined => {
  let value: JsonValue | undefined = root
  for (const key of place) {
    value = below(value, key)
    if (value === undefined) return undefined
  }
  return value
}

/** An index of an array may be written as a name, as in a JSON pointer: `containers.0`. */
const below = (value: JsonValue | undefined, key: string | number): JsonValue | undefined => {
  if (isJsonObject(value)) return memberOf(value, String(key))
  if (Array.isArray(value)) return value[indexOf(key)]
  return undefined
}

const indexOf = (key: string | number): number => (/^\d+$/.test(String(key)) ? Number(key) : -1)

/** The places of all that a path matches, each once, in the order of the object. */
export const placesOf = (root: JsonObject, path: Path, bindings: Bindings): ReadonlyArray<Place> =>
  targetsOf(root, path, bindings).filter((place) => valueAt(root, place) !== undefined)

const stepsInto = (root: JsonObject, place: Place, step: Step): ReadonlyArray<Place> => {
  if (step !== null) return [[...place, step]]
  const list = valueAt(root, place)
  return Array.isArray(list) ? list.map((_, index) => [...place, index]) : []
}

/**
 * The places to which a path can assign: as {@link placesOf}, but what is behind the last element of an array, or behind the last bound place, need not be there.
 */
export const targetsOf = (root: JsonObject, { variable, steps }: Path, bindings: Bindings): ReadonlyArray<Place> => {
  let found: ReadonlyArray<Place> = variable === null ? [[]] : (bindings.get(variable) ?? [])
  for (const step of steps) found = found.flatMap((place) => stepsInto(root, place, step))
  return found
}

/**
 * The value with another one at that place, and parents where there are none: objects, and arrays for the index 0. `undefined`: there is no such place, because
 * a parent is neither an object nor an array, or an index is beyond the end of its array.
 */
export const withValueAt = (root: JsonValue | undefined, place: Place, value: JsonValue): JsonValue | undefined => {
  const [key, ...rest] = place
  if (key === undefined) return value
  if (Array.isArray(root) || (root === undefined && typeof key === "number")) {
    const list = root ?? []
    const index = indexOf(key)
    if (index < 0 || index > list.length) return undefined
    const item = withValueAt(list[index], rest, value)
    return item === undefined ? undefined : [...list.slice(0, index), item, ...list.slice(index + 1)]
  }
  if (root !== undefined && !isJsonObject(root)) return undefined
  const object = root ?? {}
  const member = withValueAt(memberOf(object, String(key)), rest, value)
  return member === undefined ? undefined : withMember(object, String(key), member)
}

/** The value without what is at these places. */
export const withoutPlaces = (root: JsonObject, places: ReadonlyArray<Place>): JsonObject => {
  let left: JsonValue = root
  // From the last one on, because removing an element moves those after it.
  for (const place of places.toReversed()) left = withoutPlace(left, place)
  return left as JsonObject
}

const withoutPlace = (root: JsonValue, [key, ...rest]: Place): JsonValue => {
  const value = below(root, key ?? "")
  if (key === undefined || value === undefined) return root
  if (Array.isArray(root)) {
    const index = indexOf(key)
    return rest.length === 0 ? root.toSpliced(index, 1) : root.with(index, withoutPlace(value, rest))
  }
  const name = String(key)
  return rest.length === 0
    ? withoutMember(root as JsonObject, name)
    : withMember(root as JsonObject, name, withoutPlace(value, rest))
}

/**
 * Whether they are equal. Numbers are if they are the same number, however written (`1` and `1.0`); all else as JSON.
 */
export const isSame = (one: JsonValue | undefined, other: JsonValue | undefined): boolean => {
  if (one === other) return true
  const [first, second] = [numberOf(one), numberOf(other)]
  // Not ===, because one may be a bigint.
  // biome-ignore lint/suspicious/noDoubleEquals: 2n == 2, and neither is anything but a number here
  if (first !== undefined || second !== undefined) return first == second
  if (Array.isArray(one))
    return Array.isArray(other) && one.length === other.length && one.every((item, index) => isSame(item, other[index]))
  if (!isJsonObject(one) || !isJsonObject(other)) return false
  const keys = Object.keys(one)
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSame(one[key], other[key]))
  )
}

const numberOf = (value: JsonValue | undefined): number | bigint | undefined => {
  if (value instanceof IntegralFloat) return value.value
  return typeof value === "number" || typeof value === "bigint" ? value : undefined
}

/**
 * Whether `one` is in that relation to `other`. The order is that of numbers; of quantities, which are texts such as
 * `500m` and `1Gi`, also beside numbers; and of other texts by their characters, so that times of the same form are in
 * their order. Values of different sorts have no order.
 */
export const isOrdered = (one: JsonValue, operator: Exclude<Comparison, "==" | "!=">, other: JsonValue): boolean => {
  const [first, second] = comparable(one, other)
  if (first === undefined || second === undefined) return false
  switch (operator) {
    case "<":
      return first < second
    case "<=":
      return first <= second
    case ">":
      return first > second
    case ">=":
      return first >= second
  }
}

type Comparable = number | bigint | string | undefined

const comparable = (one: JsonValue, other: JsonValue): readonly [Comparable, Comparable] => {
  const [first, second] = [amountOf(one), amountOf(other)]
  if (first !== undefined && second !== undefined) return [first, second]
  return typeof one === "string" && typeof other === "string" ? [one, other] : [undefined, undefined]
}

const amountOf = (value: JsonValue): number | bigint | undefined =>
  typeof value === "string" ? quantityOf(value) : numberOf(value)

/** What a value or a condition is evaluated with. */
export interface Scope {
  readonly object: JsonObject
  /** When the object was in this state: µs since the Unix epoch. */
  readonly time: number
  readonly bindings: Bindings
}

/** What a path matches. */
export const matchesOf = (path: Path, { object, bindings }: Scope): ReadonlyArray<JsonValue> =>
  targetsOf(object, path, bindings).flatMap((place) => {
    const value = valueAt(object, place)
    return value === undefined ? [] : [value]
  })

/** What a value can be: one thing, or each match of a path; none if a path in it matches nothing. */
export const valuesOf = (value: Value, scope: Scope): ReadonlyArray<JsonValue> => {
  switch (value.type) {
    case "literal":
      return [value.value]
    case "number":
      return [parseExactJson(value.text)]
    case "path":
      return matchesOf(value, scope)
    case "array": {
      const items = value.items.map((item) => onlyValue(item, scope))
      return items.every((item) => item !== undefined) ? [items] : []
    }
    case "object": {
      let object: Record<string, JsonValue> = {}
      for (const [key, member] of value.members) {
        const only = onlyValue(member, scope)
        if (only === undefined) return []
        object = withProperty(object, key, only)
      }
      return [object]
    }
  }
}

/** Several values where there can only be one. */
export class ManyValues extends Error {
  readonly at: number

  constructor(at: number, count: number) {
    super(`${count} different values`)
    this.at = at
  }
}

/** The one value, however often it is matched; `undefined`: there is none. Throws {@link ManyValues}. */
export const onlyValue = (value: Value, scope: Scope): JsonValue | undefined => {
  const [first, ...rest] = valuesOf(value, scope)
  if (first === undefined) return undefined
  const others = rest.filter((other) => !isSame(first, other))
  if (others.length > 0) throw new ManyValues(value.at, others.length + 1)
  return first
}

/** What `in` looks through: the items of an array as written, else what the path matches and the elements of arrays that it matches. */
export const membersOf = (value: Value, scope: Scope): ReadonlyArray<JsonValue> =>
  value.type === "array"
    ? value.items.flatMap((item) => valuesOf(item, scope))
    : valuesOf(value, scope).flatMap((found): ReadonlyArray<JsonValue> => (Array.isArray(found) ? found : [found]))
