/** The beginnings of all kinds, as the writer's rows say, kept in memory: looked at for each block. */
import type { DatabaseSync, StatementSync } from "node:sqlite"
import { fromTheFirst, type RetainedRow, readRetained } from "./beginnings.ts"

/** Reads and writes through the writer's connection. */
export class RetainedKinds {
  readonly #database: DatabaseSync
  readonly #put: StatementSync
  #rows: ReadonlyMap<number, RetainedRow> = new Map()

  /** @throws what SQLite throws */
  constructor(database: DatabaseSync) {
    this.#database = database
    this.#put = database.prepare(
      "INSERT OR REPLACE INTO retained (kind, through_sequence, removed_through, swept_sequence) VALUES (?, ?, ?, ?)",
    )
    this.reload()
  }

  /** Takes what the rows say, after a transaction that may have failed. @throws what SQLite throws */
  reload(): void {
    this.#rows = new Map(readRetained(this.#database).map((row) => [row.kind, row]))
  }

  /** `undefined`: nothing was removed of the kind. */
  get(kind: number): RetainedRow | undefined {
    return this.#rows.get(kind)
  }

  /** Of a kind of which nothing may have been removed. */
  of(kind: number): RetainedRow {
    return this.#rows.get(kind) ?? { kind, ...fromTheFirst, sweptSequence: 0 }
  }

  all(): ReadonlyArray<RetainedRow> {
    return [...this.#rows.values()]
  }

  /** Of those of which blocks are still to be freed. */
  unswept(): ReadonlyArray<RetainedRow> {
    return this.all().filter((row) => row.sweptSequence < row.throughSequence)
  }

  /** The last event that was removed of any kind. */
  lastSequence(): number {
    return Math.max(0, ...this.all().map(({ throughSequence }) => throughSequence))
  }

  /** Writes a row, in a transaction of the caller, who calls {@link took} once it is committed. @throws what SQLite throws */
  write({ kind, throughSequence, removedThrough, sweptSequence }: RetainedRow): void {
    this.#put.run(kind, throughSequence, removedThrough, sweptSequence)
  }

  took(rows: ReadonlyArray<RetainedRow>): void {
    this.#rows = new Map([...this.#rows, ...rows.map((row) => [row.kind, row] as const)])
  }
}
