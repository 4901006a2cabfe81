/**
 * Names of objects: one row for each object ever seen, written when its number first appears.
 *
 * Readers look them up by (kind, number), mostly in one of two orders: as the objects were listed, for which rows are fetched 64 at a time,
 * or as they change, in no order, for which they are fetched one by one (fetching 64 neighbours as well made an export of 96,000 events
 * over 100,000 objects take 16 s instead of 2 to 3, on a busy machine). Results are cached in two generations: when the younger one is full
 * it becomes the older one, and the previous older one is dropped.
 */

import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite"
import { CorruptArchiveError, toArchiveError } from "../directory/archive-errors.ts"
import { isSoundRow } from "../tables/tables.ts"

/** The identity of an object for as long as it lives. */
interface ObjectName {
  readonly number: number
  readonly uid: string
  readonly namespace: string
  readonly name: string
}

/** What lists are ordered by. */
type Named = Pick<ObjectName, "namespace" | "name">

interface ReadName extends ObjectName {
  readonly isSound: boolean
}

/** Rows per fetch while they are read in order. */
const RUN_OBJECTS = 64

/** Rows per fetch of a kind's. */
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
  database: DatabaseSync,
): ((gvk: string, numbers: ReadonlyArray<number>) => ReadonlyMap<number, Pick<ObjectName, "uid" | "name">>) => {
  const kind = database.prepare("SELECT id FROM kind WHERE gvk = ?")
  const rows = database.prepare(
    `SELECT number, uid, name FROM object WHERE kind = ? AND number IN (${Array(ASKED_OBJECTS).fill("?").join()})`,
  )
  return (gvk, numbers) => {
    const id = Number(kind.get(gvk)?.id ?? 0)
    const names = new Map<number, Pick<ObjectName, "uid" | "name">>()
    for (let start = 0; start < numbers.length; start += ASKED_OBJECTS) {
      const asked = Array.from({ length: ASKED_OBJECTS }, (_, at) => numbers[start + at] ?? 0)
      for (const { number, uid, name } of rows.all(id, ...asked))
        names.set(number as number, { uid: uid as string, name: name as string })
    }
    return names
  }
}

/** Reads names through one database connection. */
export class ObjectNames {
  readonly #directory: string
  readonly #range: StatementSync
  readonly #database: DatabaseSync
  readonly #ifOutran: () => Error | undefined
  #young = new Map<number, ObjectName>()
  #old = new Map<number, ObjectName>()
  /** Key that would continue the last fetched run. */
  #nextInRun = -1

  /** `ifOutran`: the error of a reader from which retention has removed something, and so maybe the row of an object that had ended. */
  constructor(database: DatabaseSync, directory: string, ifOutran: () => Error | undefined = () => undefined) {
    this.#directory = directory
    this.#ifOutran = ifOutran
    this.#database = database
    this.#range = database.prepare(`
      SELECT number, uid, namespace, name, ${isSoundRow("object")} AS is_sound FROM object
      WHERE kind = ? AND number >= ? AND number < ? ORDER BY number`)
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

  /**
   * A function like {@link nameOf} for one kind, for numbers that ascend from call to call and are most of the kind's: rows are fetched {@link PAGE_OBJECTS}
   * at a time, and not kept. `areSound`: rows of the kind are known to be as they were written, and are not checked again, which takes half of the time.
   */
  inOrder(kind: number, areSound: boolean): (number: number) => Named {
    const isSound = areSound ? "1" : isSoundRow("object")
    const page = this.#database.prepare(`
      SELECT number, namespace, name, ${isSound} AS is_sound FROM object
      WHERE kind = ? AND number >= ? ORDER BY number LIMIT ${PAGE_OBJECTS}`)
    page.setReturnArrays(true)
    let rows: ReadonlyArray<SQLOutputValue[]> = []
    let at = 0
    return (number) => {
      if (rows.length === 0 || (rows.at(-1)?.[0] as number) < number) {
        rows = this.#reading(() => page.all(kind, number)) as unknown as ReadonlyArray<SQLOutputValue[]>
        at = 0
      }
      while (at < rows.length && (rows[at]?.[0] as number) < number) at++
      const row = rows[at]
      // What is wrong is found out there.
      if (row?.[0] !== number || row[3] !== 1) return this.nameOf(kind, number)
      return { namespace: row[1] as string, name: row[2] as string }
    }
  }

  #fetch(key: number, kind: number, number: number): ObjectName {
    const count = key === this.#nextInRun ? RUN_OBJECTS : 1
    const names = this.#rows(kind, number, number + count)
    const name = names[0]
    if (name?.number !== number || !name.isSound) {
      const outran = name?.number === number ? undefined : this.#ifOutran()
      if (outran !== undefined) throw outran
      const fault = name?.number === number ? "a damaged row" : "no row"
      throw new CorruptArchiveError({
        directory: this.#directory,
        reason: `object ${number} of kind ${kind} has ${fault}`,
      })
    }
    this.#nextInRun = key + count
    for (const each of names) if (each.isSound) this.#keep(key - number + each.number, each)
    return name
  }

  #keep(key: number, name: ObjectName): void {
    if (this.#young.size >= GENERATION_OBJECTS) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, name)
  }

  #rows(kind: number, from: number, until: number): ReadonlyArray<ReadName> {
    return this.#reading(() => this.#range.all(kind, from, until)).map((row) => ({
      number: row.number as number,
      uid: row.uid as string,
      namespace: row.namespace as string,
      name: row.name as string,
      isSound: row.is_sound === 1,
    }))
  }

  #reading<Answer>(read: () => Answer): Answer {
    try {
      return read()
    } catch (error) {
      throw toArchiveError(this.#directory, "read", error)
    }
  }
}
