/**
 * Reads JSON objects as Go reads them into structs: an absent, null or wrongly typed member is the zero value. Only
 * own properties count, so a key named `__proto__` reads as any other.
 */

import { isRecord } from "../../is-record.ts"

export const member = (value: unknown, ...path: ReadonlyArray<string>): unknown => {
  let current = value
  for (const key of path) {
    if (!isRecord(current) || !Object.hasOwn(current, key)) return undefined
    current = current[key]
  }
  return current ?? undefined
}

/** An object; `undefined` when absent. */
export const record = (value: unknown, ...path: ReadonlyArray<string>): Record<string, unknown> | undefined => {
  const found = member(value, ...path)
  return isRecord(found) ? found : undefined
}

/** A string, the empty one by default. */
export const text = (value: unknown, ...path: ReadonlyArray<string>): string => {
  const found = member(value, ...path)
  return typeof found === "string" ? found : ""
}

/** A number, 0 by default. */
export const number = (value: unknown, ...path: ReadonlyArray<string>): number => {
  const found = member(value, ...path)
  return typeof found === "number" ? found : 0
}

/** An array, empty by default. */
export const list = (value: unknown, ...path: ReadonlyArray<string>): ReadonlyArray<unknown> => {
  const found = member(value, ...path)
  return Array.isArray(found) ? found : []
}

/** The members of an object, none by default. */
export const entries = (value: unknown, ...path: ReadonlyArray<string>): ReadonlyArray<readonly [string, unknown]> => {
  return Object.entries(record(value, ...path) ?? {})
}

/** A string or the number of an int-or-string or a quantity, as text; `undefined` when absent. */
export const scalar = (value: unknown, ...path: ReadonlyArray<string>): string | undefined => {
  const found = member(value, ...path)
  return typeof found === "string" || typeof found === "number" || typeof found === "boolean"
    ? String(found)
    : undefined
}
