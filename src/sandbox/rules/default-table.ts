/**
 * Defaults as data: a tree of the fields a kind fills in, run over an object. Fields that are there are left alone, so
 * running a table twice changes nothing. A table costs one look at each field it names and allocates only what it fills
 * in.
 */

import { ensured, isFields } from "./fields.ts"
import type { Fields } from "./kind-rules.ts"

/** Defaults of one type of object. The members run in the order in which they stand here. */
export interface DefaultTable {
  /** Values of fields that are absent, null or an empty string; an object stands for a fresh, empty one. */
  readonly set?: Readonly<Record<string, string | number | boolean | Readonly<Record<string, never>>>>
  /** Tables of objects that are made if absent. */
  readonly make?: Readonly<Record<string, DefaultTable>>
  /** Tables of objects that may be absent. */
  readonly within?: Readonly<Record<string, DefaultTable>>
  /** Tables of the items of lists. */
  readonly each?: Readonly<Record<string, DefaultTable>>
  /** What depends on other fields. */
  readonly derive?: (object: Fields) => void
}

/** Fills in what the table says. */
export type Defaulting = (object: Fields) => void

const nothing: Defaulting = () => undefined

/** Turns a table into a function, once; the function is what runs per object. */
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
