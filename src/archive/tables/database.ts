/**
 * The writer's connection to its database, which can be replaced by a new one under the statements that others have prepared.
 *
 * After an I/O error what SQLite keeps in memory cannot be trusted, nor can a checkpoint that it makes when a connection closes: it copies
 * frames of the log without looking at their checksums. So the connection is given up without one, and everything is read anew.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"

/** A statement of the present connection; it is prepared again after each replacement. */
class LastingStatement {
  readonly #owner: WriterDatabase
  readonly #sql: string
  #connection: DatabaseSync | undefined
  #statement: StatementSync | undefined

  constructor(owner: WriterDatabase, sql: string) {
    this.#owner = owner
    this.#sql = sql
    this.#current()
  }

  run(...values: SQLInputValue[]) {
    return this.#current().run(...values)
  }

  get(...values: SQLInputValue[]) {
    return this.#current().get(...values)
  }

  all(...values: SQLInputValue[]) {
    return this.#current().all(...values)
  }

  iterate(...values: SQLInputValue[]) {
    return this.#current().iterate(...values)
  }

  #current(): StatementSync {
    const { connection } = this.#owner
    if (this.#statement === undefined || this.#connection !== connection) {
      this.#statement = connection.prepare(this.#sql)
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

  get isOpen(): boolean {
    return this.#isOpen
  }

  get isTransaction(): boolean {
    return this.#connection.isTransaction
  }

  prepare(sql: string): StatementSync {
    return new LastingStatement(this, sql) as unknown as StatementSync
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

  /** Goes on with a new connection. */
  replace(connection: DatabaseSync): void {
    this.#connection = connection
    this.#isOpen = true
  }

  close(): void {
    if (this.#isOpen) this.#connection.close()
    this.#isOpen = false
  }
}
