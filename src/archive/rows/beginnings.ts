/**
 * Where the recording of each kind begins: what retention has removed of it, as rows of the database say.
 *
 * A beginning only moves forward. A reader holds no transaction, so it looks where the beginning is after each piece that it read, and what it read
 * counts only if nothing that it needs has been removed meanwhile.
 */
import { type Connection, prepare, type Statement } from "../tables/database.ts"
import { fieldsOf, rowWriter } from "../tables/tables.ts"

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

/** Reads beginnings through one database connection. Every method throws what SQLite throws. */
export class Beginnings {
  readonly #row: Statement<Beginning>
  readonly #all: Statement<RetainedRow>
  readonly #last: Statement<{ readonly last: number }>

  constructor(database: Connection) {
    const columns = fieldsOf("retained")
    this.#row = prepare(database, `SELECT ${columns} FROM retained WHERE kind = ?`)
    this.#all = prepare(database, `SELECT ${columns} FROM retained ORDER BY kind`)
    this.#last = prepare(database, "SELECT coalesce(max(through_sequence), 0) AS last FROM retained")
  }

  of(kind: number): Beginning {
    return this.#row.get(kind) ?? fromTheFirst
  }

  /** Of all kinds of which something was removed, at one moment. */
  all(): ReadonlyMap<number, RetainedRow> {
    return new Map(this.#all.all().map((row) => [row.kind, row]))
  }

  /** The last event that was removed of any kind. */
  last(): number {
    return this.#last.get()?.last ?? 0
  }
}

/** The beginnings of all kinds, as the writer's rows say, kept in memory: looked at for each block. Reads and writes through the writer's connection. */
export class RetainedKinds {
  readonly #beginnings: Beginnings
  readonly #put: (row: Readonly<Record<string, unknown>>) => void
  #rows: ReadonlyMap<number, RetainedRow> = new Map()

  /** @throws what SQLite throws */
  constructor(database: Connection) {
    this.#beginnings = new Beginnings(database)
    this.#put = rowWriter(database, "retained", { or: "REPLACE" })
    this.reload()
  }

  /** Takes what the rows say, after a transaction that may have failed. @throws what SQLite throws */
  reload(): void {
    this.#rows = this.#beginnings.all()
  }

  /** `undefined`: nothing was removed of the kind. */
  get(kind: number): RetainedRow | undefined {
    return this.#rows.get(kind)
  }

  /** Of a kind of which nothing may have been removed. */
  of(kind: number): RetainedRow {
    return this.#rows.get(kind) ?? { kind, ...fromTheFirst, sweptSequence: 0 }
  }

  /** Of those of which blocks are still to be freed. */
  unswept(): ReadonlyArray<RetainedRow> {
    return [...this.#rows.values()].filter((row) => row.sweptSequence < row.throughSequence)
  }

  lastSequence(): number {
    return Math.max(0, ...[...this.#rows.values()].map(({ throughSequence }) => throughSequence))
  }

  /** Writes a row, in a transaction of the caller, who calls {@link took} once it is committed. @throws what SQLite throws */
  write(row: RetainedRow): void {
    this.#put({ ...row })
  }

  took(rows: ReadonlyArray<RetainedRow>): void {
    this.#rows = new Map([...this.#rows, ...rows.map((row) => [row.kind, row] as const)])
  }
}
