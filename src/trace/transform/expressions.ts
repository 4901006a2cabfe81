/** The values of what is written in a program, for one object. */
import { type JsonObject, type JsonValue, parseExactJson, withProperty } from "../json/exact-json.ts"
import { isSame } from "./comparison.ts"
import type { Path, Value } from "./language/program.ts"
import { type Bindings, placesOf, valueAt } from "./places.ts"

/** What a value or a condition is evaluated with. */
export interface Scope {
  readonly object: JsonObject
  /** When the object was in this state: µs since the Unix epoch. */
  readonly time: number
  readonly bindings: Bindings
  /** Of a deletion only {@link isIdentity} is known: other fields, which are not there, may have been in its object. */
  readonly isDeletion: boolean
}

/** What a path matches. */
export const matchesOf = (path: Path, { object, bindings }: Scope): ReadonlyArray<JsonValue> =>
  placesOf(object, path, bindings).map((place) => valueAt(object, place) as JsonValue)

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
  readonly count: number

  constructor(at: number, count: number) {
    super(`${count} different values`)
    this.at = at
    this.count = count
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
