/**
 * Reads JSON objects as Go reads them into structs: an absent, null or wrongly typed member is the zero value. Only
 * own properties count, so a key named `__proto__` reads as any other.
 */

export const member = (value: unknown, ...path: ReadonlyArray<string>): unknown => {
  let current = value
  for (const key of path) {
    if (current === null || typeof current !== "object" || Array.isArray(current)) return undefined
    if (!Object.hasOwn(current, key)) return undefined
    current = (current as Readonly<Record<string, unknown>>)[key]
  }
  return current ?? undefined
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
  const found = member(value, ...path)
  return found !== null && typeof found === "object" && !Array.isArray(found) ? Object.entries(found) : []
}

/** A string or the number of an int-or-string or a quantity, as text; `undefined` when absent. */
export const scalar = (value: unknown, ...path: ReadonlyArray<string>): string | undefined => {
  const found = member(value, ...path)
  return typeof found === "string" || typeof found === "number" || typeof found === "boolean"
    ? String(found)
    : undefined
}
