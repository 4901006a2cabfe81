/**
 * Where in an object something is: which fields a path matches, what is there, and the object with something else there. Objects are never changed; copies
 * share what is the same.
 */
import { memberOf } from "../../own-member.ts"
import { isJsonObject, type JsonObject, type JsonValue } from "../json/exact-json.ts"
import { withMember, withoutMember } from "../json/members.ts"
import type { Path, Step } from "./language/program.ts"

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
export const placesOf = (root: JsonObject, { variable, steps }: Path, bindings: Bindings): ReadonlyArray<Place> => {
  let found: ReadonlyArray<Place> = variable === null ? [[]] : (bindings.get(variable) ?? [])
  for (const step of steps) found = found.flatMap((place) => stepsInto(root, place, step))
  return found.filter((place) => valueAt(root, place) !== undefined)
}

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
