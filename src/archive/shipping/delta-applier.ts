/**
 * Applies deltas to the database of a copy, within a transaction of the caller. docs/reference/stream-format.md has the rules by which rows take the place of others.
 */
import type { DatabaseSync } from "node:sqlite"
import { CorruptArchiveError } from "../directory/archive-errors.ts"
import { UNSENT_WRITES_KEY, withoutSent } from "../rows/unsent-writes.ts"
import { numberOf, prepare, type Statement } from "../tables/database.ts"
import { FORMAT_VERSION } from "../tables/schema.ts"
import { columnsOf } from "../tables/tables.ts"
import { blobsOf, type Delta, type DeltaRow, type ShippedTable } from "./delta.ts"

/** What is needed of a delta beside its rows. */
export type AppliedDelta = Pick<Delta, "recordingFormat" | "isWhole" | "position">

/** Writes through one connection. */
export class DeltaApplier {
  readonly #directory: string
  readonly #database: DatabaseSync
  readonly #inserts = new Map<ShippedTable, Statement<never>>()

  constructor(directory: string, database: DatabaseSync) {
    this.#directory = directory
    this.#database = database
  }

  /**
   * `rows`: in the order of `shippedTables`, and within a table as they were read. `mark`: what the metadata then say of this delta, under that key.
   *
   * @throws CorruptArchiveError if it is of another format, what SQLite throws, and what `rows` throw
   */
  apply(
    { recordingFormat: format, ...delta }: AppliedDelta,
    rows: Iterable<DeltaRow>,
    mark: readonly [string, string],
  ): void {
    if (format !== FORMAT_VERSION) {
      const reason = `a delta has recording format ${format}, and this version reads only format ${FORMAT_VERSION}`
      throw new CorruptArchiveError({ directory: this.#directory, reason })
    }
    const database = this.#database
    if (delta.isWhole) database.exec("DELETE FROM kind_namespace")
    for (const row of rows) this.#row(database, row)
    const put = prepare(database, "INSERT OR REPLACE INTO metadata (key, value) VALUES (?, ?)")
    put.run(...mark)
    if (delta.position.writes > 0) put.run(UNSENT_WRITES_KEY, withoutSent(delta.position.writes))
  }

  #row(database: DatabaseSync, { table, values, blobs }: DeltaRow): void {
    let insert = this.#inserts.get(table)
    if (insert === undefined) {
      const columns = [...columnsOf(table), ...blobsOf(table)]
      const row = `INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`
      // What retention carried over never takes the place of what was sent before.
      insert = prepare(database, `INSERT OR ${table === "block" ? "IGNORE" : "REPLACE"} ${row}`)
      this.#inserts.set(table, insert)
    }
    if (table === "block") this.#makeRoom(database, values)
    insert.run(...values, ...blobs)
    if (table === "pod_life" && valueIn(table, values, "is_gone") === 1) {
      const markGone = prepare(database, "UPDATE pod SET is_gone = 1 WHERE number = ?")
      markGone.run(valueIn(table, values, "pod"))
    }
  }

  /** A block takes the place of the parts that it was sealed from. What retention has carried over, and nothing else, does not: then they stay. */
  #makeRoom(database: DatabaseSync, values: DeltaRow["values"]): void {
    const [first, last, events, carried, sealed] = [
      "first_sequence",
      "last_sequence",
      "events",
      "carried",
      "sealed",
    ].map((column) => valueIn("block", values, column))
    if (sealed === 0) return
    const range = [first ?? null, last ?? null]
    if (events === carried) {
      prepare(database, "UPDATE block SET sealed = 1 WHERE sealed = 0 AND last_sequence BETWEEN ? AND ?").run(...range)
      return
    }
    if (numberOf(database, "SELECT count(*) AS value FROM block WHERE last_sequence BETWEEN ? AND ?", ...range) === 0)
      return
    prepare(database, "DELETE FROM block WHERE last_sequence BETWEEN ? AND ?").run(...range)
    const kinds = "kind IN (SELECT DISTINCT kind FROM block_kind) AND last_sequence BETWEEN ? AND ?"
    prepare(database, `DELETE FROM block_kind WHERE ${kinds}`).run(...range)
  }
}

/** Whether a row is a part of the open block, which gives way to the block that it is sealed into. */
export const isOpenPart = ({ table, values }: Pick<DeltaRow, "table" | "values">): boolean =>
  table === "block" && valueIn(table, values, "sealed") === 0

const valueIn = (table: ShippedTable, values: DeltaRow["values"], column: string): string | number | null =>
  values[columnsOf(table).indexOf(column)] ?? null
