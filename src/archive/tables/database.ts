/**
 * Statements whose rows have types, and the writer's connection, which can be replaced by a new one under the statements that others have prepared.
 *
 * After an I/O error what SQLite keeps in memory cannot be trusted, nor can a checkpoint that it makes when a connection closes: it copies
 * frames of the log without looking at their checksums. So the connection is given up without one, and everything is read anew.
 */
import { DatabaseSync, type SQLInputValue, type SQLOutputValue } from "node:sqlite"

/** A prepared statement. Integers are numbers: node:sqlite throws for those that a number cannot represent, which this program never writes. */
export interface Statement<Row> {
  run(...values: ReadonlyArray<SQLInputValue>): void
  get(...values: ReadonlyArray<SQLInputValue>): Row | undefined
  all(...values: ReadonlyArray<SQLInputValue>): ReadonlyArray<Row>
  iterate(...values: ReadonlyArray<SQLInputValue>): Iterable<Row>
}

/** What statements are prepared with. */
export type Connection = Pick<DatabaseSync, "prepare">

/** Prepares a statement. `Row`: the columns that it selects, as SQL names them. @throws what SQLite throws */
export const prepare = <Row = never>(database: Connection, sql: string): Statement<Row> =>
  database.prepare(sql) as unknown as Statement<Row>

/** The same with rows that are arrays of their columns, which are made twice as fast; not on the writer's connection. */
export const prepareTuples = <Row extends ReadonlyArray<SQLOutputValue>>(
  database: Connection,
  sql: string,
): Statement<Row> => {
  const statement = database.prepare(sql)
  statement.setReturnArrays(true)
  return statement as unknown as Statement<Row>
}

/** All rows of a query that is asked once. @throws what SQLite throws */
export const rowsOf = <Row>(database: Connection, sql: string, ...values: SQLInputValue[]): ReadonlyArray<Row> =>
  prepare<Row>(database, sql).all(...values)

/** The column `value` of the only row of a query. @throws what SQLite throws */
export const numberOf = (database: Connection, sql: string, ...values: SQLInputValue[]): number =>
  prepare<{ readonly value: number | null }>(database, sql).get(...values)?.value ?? 0

/** The value of a pragma. @throws what SQLite throws */
export const pragmaOf = (database: Connection, name: string): number =>
  prepare<Readonly<Record<string, number>>>(database, `PRAGMA ${name}`).get()?.[name] ?? 0

/**
 * The rows of a query in pages of `size`, each a short transaction of its own. `page` takes the last row of the page before, `undefined` for the first.
 * The last page may be empty.
 */
export function* pagesOf<Row>(
  size: number,
  page: (last: Row | undefined) => ReadonlyArray<Row>,
): Generator<ReadonlyArray<Row>, void, void> {
  for (let last: Row | undefined; ; ) {
    const rows = page(last)
    last = rows.at(-1)
    yield rows
    if (rows.length < size) return
  }
}

/** The same rows one by one. */
export function* rowsInPages<Row>(
  size: number,
  page: (last: Row | undefined) => ReadonlyArray<Row>,
): Generator<Row, void, void> {
  for (const rows of pagesOf(size, page)) yield* rows
}

/** A statement of the present connection; it is prepared again after each replacement. */
class LastingStatement implements Statement<unknown> {
  readonly #owner: WriterDatabase
  readonly #sql: string
  #connection: DatabaseSync | undefined
  #statement: Statement<unknown> | undefined

  constructor(owner: WriterDatabase, sql: string) {
    this.#owner = owner
    this.#sql = sql
    this.#current()
  }

  run(...values: SQLInputValue[]): void {
    this.#current().run(...values)
  }

  get(...values: SQLInputValue[]): unknown {
    return this.#current().get(...values)
  }

  all(...values: SQLInputValue[]): ReadonlyArray<unknown> {
    return this.#current().all(...values)
  }

  iterate(...values: SQLInputValue[]): Iterable<unknown> {
    return this.#current().iterate(...values)
  }

  #current(): Statement<unknown> {
    const { connection } = this.#owner
    if (this.#statement === undefined || this.#connection !== connection) {
      this.#statement = prepare(connection, this.#sql)
      this.#connection = connection
    }
    return this.#statement
  }
}

export class WriterDatabase {
  readonly #path: string
  #connection: DatabaseSync
  #isOpen = true

  constructor(path: string, connection: DatabaseSync) {
    this.#path = path
    this.#connection = connection
  }

  /** For those that only prepare and execute statements, as long as they live. */
  get shared(): DatabaseSync {
    return this as unknown as DatabaseSync
  }

  get connection(): DatabaseSync {
    return this.#connection
  }

  get isTransaction(): boolean {
    return this.#connection.isTransaction
  }

  prepare(sql: string): Statement<unknown> {
    return new LastingStatement(this, sql)
  }

  exec(sql: string): void {
    this.#connection.exec(sql)
  }

  /**
   * Closes the connection without a checkpoint. SQLite makes one when the last connection closes that may write, so the last one here may not.
   * If that one cannot be opened, this one stays open, and the call is to be repeated.
   *
   * @throws what SQLite throws
   */
  abandon(): void {
    if (!this.#isOpen) return
    const other = new DatabaseSync(this.#path, { readOnly: true, timeout: 0 })
    try {
      // Until it has read, it is not connected to the log.
      other.prepare("SELECT count(*) FROM sqlite_schema").get()
      this.#isOpen = false
      this.#connection.close()
    } finally {
      other.close()
    }
  }

  replace(connection: DatabaseSync): void {
    this.#connection = connection
    this.#isOpen = true
  }

  close(): void {
    if (this.#isOpen) this.#connection.close()
    this.#isOpen = false
  }
}
