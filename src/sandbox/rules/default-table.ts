/**
 * Defaults as data: a tree of fields with defaults, applied to an object. Present fields are left alone, so applying a
 * table twice changes nothing. A table costs one look-up for each of its fields and allocates only the values that it
 * fills in.
 */

import { ensured, isFields } from "./fields.ts"
import type { Fields } from "./kind-rules.ts"

/** Defaults of one type of object. The members are applied in this order. */
export interface DefaultTable {
  /** Values of fields that are absent, null or an empty string; an object means a new, empty one. */
  readonly set?: Readonly<Record<string, string | number | boolean | Readonly<Record<string, never>>>>
  /** Tables of objects that are created if absent. */
  readonly make?: Readonly<Record<string, DefaultTable>>
  /** Tables of objects that may be absent. */
  readonly within?: Readonly<Record<string, DefaultTable>>
  /** Tables of the items of lists. */
  readonly each?: Readonly<Record<string, DefaultTable>>
  /** Sets fields that depend on others. */
  readonly derive?: (object: Fields) => void
}

/** Fills in the defaults of a table. */
export type Defaulting = (object: Fields) => void

const nothing: Defaulting = () => undefined

/** Turns a table into a function, once; that function runs for every object. */
export const compiled = (table: DefaultTable): Defaulting => {
  const values = Object.entries(table.set ?? {})
  const made = tablesOf(table.make)
  const within = tablesOf(table.within)
  const each = tablesOf(table.each)
  const derive = table.derive ?? nothing
  return (object) => {
    for (const [key, value] of values) {
      const present = object[key]
      if (present === undefined || present === null || present === "")
        object[key] = typeof value === "object" ? {} : value
    }
    for (const [key, run] of made) run(ensured(object, key))
    for (const [key, run] of within) {
      const present = object[key]
      if (isFields(present)) run(present)
    }
    for (const [key, run] of each) {
      const present = object[key]
      if (Array.isArray(present)) for (const item of present) if (isFields(item)) run(item)
    }
    derive(object)
  }
}

const tablesOf = (
  tables: Readonly<Record<string, DefaultTable>> | undefined,
): ReadonlyArray<readonly [string, Defaulting]> =>
  Object.entries(tables ?? {}).map(([key, table]) => [key, compiled(table)])
