/**
 * Where the recording of each kind begins: what retention has removed of it, as rows of the database say.
 *
 * A beginning only moves forward. A reader holds no transaction, so it looks where the beginning is after each piece that it read, and what it read
 * counts only if nothing that it needs has been removed meanwhile.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite"

/** What has been removed of one kind. */
export interface Beginning {
  /** Events up to this sequence number are no changes any more; the last state of each object is kept. 0: nothing was removed. */
  readonly throughSequence: number
  /** All of them happened, and were received, up to this moment, µs since the Unix epoch: a window that begins later lacks nothing. */
  readonly removedThrough: number
}

/** Of a kind from which nothing was removed. */
export const fromTheFirst: Beginning = { throughSequence: 0, removedThrough: 0 }

/** The row of one kind. */
export interface RetainedRow extends Beginning {
  readonly kind: number
  /** Up to here blocks have been freed of the kind's events. */
  readonly sweptSequence: number
}

/** Reads beginnings through one database connection. */
export class Beginnings {
  readonly #row: StatementSync
  readonly #all: StatementSync
  readonly #last: StatementSync

  constructor(database: DatabaseSync) {
    this.#row = database.prepare("SELECT through_sequence, removed_through FROM retained WHERE kind = ?")
    this.#all = database.prepare("SELECT kind, through_sequence, removed_through FROM retained")
    this.#last = database.prepare("SELECT coalesce(max(through_sequence), 0) AS last FROM retained")
  }

  /** Of a kind, now. @throws what SQLite throws */
  of(kind: number): Beginning {
    const row = this.#row.get(kind)
    return row === undefined ? fromTheFirst : beginningIn(row)
  }

  /** Of all kinds of which something was removed, at one moment. @throws what SQLite throws */
  all(): ReadonlyMap<number, Beginning> {
    return new Map(this.#all.all().map((row) => [row.kind as number, beginningIn(row)]))
  }

  /** The last event that was removed of any kind. @throws what SQLite throws */
  last(): number {
    return Number(this.#last.get()?.last)
  }
}

const beginningIn = (row: Record<string, unknown>): Beginning => ({
  throughSequence: row.through_sequence as number,
  removedThrough: row.removed_through as number,
})

/** All rows. @throws what SQLite throws */
export const readRetained = (database: DatabaseSync): ReadonlyArray<RetainedRow> =>
  database
    .prepare("SELECT kind, through_sequence, removed_through, swept_sequence FROM retained ORDER BY kind")
    .all()
    .map((row) => ({
      kind: Number(row.kind),
      throughSequence: Number(row.through_sequence),
      removedThrough: Number(row.removed_through),
      sweptSequence: Number(row.swept_sequence),
    }))

// The beginnings of all kinds, as the writer's rows say, kept in memory: looked at for each block.

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
