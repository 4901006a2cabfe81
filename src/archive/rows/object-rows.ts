/**
 * Names of objects: one row for each object ever seen, written when its number first appears.
 *
 * Readers look them up by (kind, number), mostly in one of two orders: as the objects were listed, for which rows are fetched 64 at a time,
 * or as they change, in no order, for which they are fetched one by one (fetching 64 neighbours as well made an export of 96,000 events
 * over 100,000 objects take 16 s instead of 2 to 3, on a busy machine). Results are cached in two generations: when the younger one is full
 * it becomes the older one, and the previous older one is dropped.
 */

import { CorruptArchiveError, reading } from "../directory/archive-errors.ts"
import { type Connection, prepare, prepareTuples, type Statement } from "../tables/database.ts"
import { isSoundRow } from "../tables/tables.ts"

interface ObjectName {
  readonly number: number
  readonly uid: string
  readonly namespace: string
  readonly name: string
}

type Named = Pick<ObjectName, "namespace" | "name">

interface ReadName extends ObjectName {
  /** 1, if it is as it was written. */
  readonly isSound: number
}

const RUN_OBJECTS = 64

const PAGE_OBJECTS = 1024

/** Names in one generation: two of them, all in use, are some 16 MB. */
const GENERATION_OBJECTS = 32_768

/** Rows of a kind that {@link knownNamesOf} asks for at once. */
const ASKED_OBJECTS = 64

/**
 * A function for the UIDs and names of objects of a kind, by number. One that is not in the answer has no row. Rows are not checked: use what they say only where it can
 * be compared with the object.
 */
export const knownNamesOf = (
  database: Connection,
): ((gvk: string, numbers: ReadonlyArray<number>) => ReadonlyMap<number, Pick<ObjectName, "uid" | "name">>) => {
  const kind = prepare<{ readonly id: number }>(database, "SELECT id FROM kind WHERE gvk = ?")
  const rows = prepare<Omit<ObjectName, "namespace">>(
    database,
    `SELECT number, uid, name FROM object WHERE kind = ? AND number IN (${Array(ASKED_OBJECTS).fill("?").join()})`,
  )
  return (gvk, numbers) => {
    const id = kind.get(gvk)?.id ?? 0
    const names = new Map<number, Pick<ObjectName, "uid" | "name">>()
    for (let start = 0; start < numbers.length; start += ASKED_OBJECTS) {
      const asked = Array.from({ length: ASKED_OBJECTS }, (_, at) => numbers[start + at] ?? 0)
      for (const row of rows.all(id, ...asked)) names.set(row.number, row)
    }
    return names
  }
}

/** Reads names through one database connection. */
export class ObjectNames {
  readonly #directory: string
  readonly #range: Statement<ReadName>
  readonly #database: Connection
  readonly #ifOutran: () => Error | undefined
  #young = new Map<number, ObjectName>()
  #old = new Map<number, ObjectName>()
  /** Key that would continue the last fetched run. */
  #nextInRun = -1

  /** `ifOutran`: the error of a reader from which retention has removed something, and so maybe the row of an object that had ended. */
  constructor(database: Connection, directory: string, ifOutran: () => Error | undefined = () => undefined) {
    this.#directory = directory
    this.#ifOutran = ifOutran
    this.#database = database
    this.#range = prepare(
      database,
      `SELECT number, uid, namespace, name, ${isSoundRow("object")} AS isSound FROM object
      WHERE kind = ? AND number >= ? AND number < ? ORDER BY number`,
    )
  }

  /**
   * The name of an object in an event on disk.
   *
   * @throws CorruptArchiveError if it has no row, which is stored in the same transaction as its first event, or a damaged one;
   *   RetentionOutranError if it has none any more
   */
  nameOf(kind: number, number: number): ObjectName {
    // Kinds are counted from 1 and number in the hundreds: kind · 2^32 + number stays below 2^53.
    const key = kind * 0x1_0000_0000 + number
    const known = this.#young.get(key)
    if (known !== undefined) return known
    const name = this.#old.get(key) ?? this.#fetch(key, kind, number)
    this.#keep(key, name)
    return name
  }

  /** Whether an object has a row. Damaged ones count. */
  has(kind: number, number: number): boolean {
    return this.#young.has(kind * 0x1_0000_0000 + number) || this.#rowsOf(kind, number, number + 1).length > 0
  }

  /**
   * A function like {@link nameOf} for one kind, for numbers that ascend from call to call and are most of the kind's: rows are fetched {@link PAGE_OBJECTS}
   * at a time, and not kept. `areSound`: rows of the kind are known to be as they were written, and are not checked again, which takes half of the time.
   */
  inOrder(kind: number, areSound: boolean): (number: number) => Named {
    const isSound = areSound ? "1" : isSoundRow("object")
    const page = prepareTuples<readonly [number: number, namespace: string, name: string, isSound: number]>(
      this.#database,
      `SELECT number, namespace, name, ${isSound} FROM object WHERE kind = ? AND number >= ? ORDER BY number LIMIT ${PAGE_OBJECTS}`,
    )
    let rows: ReturnType<typeof page.all> = []
    let at = 0
    return (number) => {
      if ((rows.at(-1)?.[0] ?? 0) < number) {
        rows = reading(this.#directory, () => page.all(kind, number))
        at = 0
      }
      let row = rows[at]
      while (row !== undefined && row[0] < number) row = rows[++at]
      // What is wrong is found out there.
      return row?.[0] === number && row[3] === 1 ? { namespace: row[1], name: row[2] } : this.nameOf(kind, number)
    }
  }

  #rowsOf(kind: number, first: number, end: number): ReadonlyArray<ReadName> {
    return reading(this.#directory, () => this.#range.all(kind, first, end))
  }

  #fetch(key: number, kind: number, number: number): ObjectName {
    const count = key === this.#nextInRun ? RUN_OBJECTS : 1
    const names = this.#rowsOf(kind, number, number + count)
    const name = names[0]
    if (name?.number !== number || name.isSound !== 1) {
      const outran = name?.number === number ? undefined : this.#ifOutran()
      if (outran !== undefined) throw outran
      const fault = name?.number === number ? "a damaged row" : "no row"
      throw new CorruptArchiveError({
        directory: this.#directory,
        reason: `object ${number} of kind ${kind} has ${fault}`,
      })
    }
    this.#nextInRun = key + count
    for (const each of names) if (each.isSound === 1) this.#keep(key - number + each.number, each)
    return name
  }

  #keep(key: number, name: ObjectName): void {
    if (this.#young.size >= GENERATION_OBJECTS) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, name)
  }
}
