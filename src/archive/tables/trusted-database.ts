/**
 * The writer's database, and whether it can be trusted.
 *
 * After a write or a sync that failed, what is committed may be missing on the disk, even if a repetition succeeds: the system may have dropped what it could
 * not write, and reports that once. So from the first such error on nothing is read or written before the database has been closed, checked and
 * opened again.
 */
import { closeSync, existsSync, fdatasync, openSync } from "node:fs"
import { join } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import { ArchiveIoError, CorruptArchiveError, DiskFullError, toArchiveError } from "../directory/archive-errors.ts"
import { WriterDatabase } from "./database.ts"
import { BUSY_TIMEOUT_MILLISECONDS, faultOfLog, hasLog, logOf } from "./reading-access.ts"
import { DATABASE_FILE, lastSequenceOf } from "./schema.ts"
import { requireSoundStructure } from "./sound-rows.ts"

export class TrustedDatabase {
  readonly #directory: string
  readonly #database: WriterDatabase
  readonly #reopen: () => DatabaseSync
  #log: LogSync
  /** Why it must be checked; `undefined`: it can be trusted. */
  #distrust: ArchiveIoError | DiskFullError | undefined

  /** `reopen` makes further connections like the first one. */
  constructor(directory: string, connection: DatabaseSync, reopen: () => DatabaseSync) {
    this.#directory = directory
    this.#database = new WriterDatabase(join(directory, DATABASE_FILE), connection)
    this.#reopen = reopen
    this.#log = new LogSync(directory)
  }

  get shared(): DatabaseSync {
    return this.#database.shared
  }

  /** Whether an I/O error has left it in doubt, until it has been checked. */
  get isDistrusted(): boolean {
    return this.#distrust !== undefined
  }

  /**
   * Gives up the connection, checks the files, and continues with a new connection if they contain exactly what was
   * committed, up to the event `cut`. After a failed sync a checkpoint then writes all of the log into the database
   * once more and syncs it: what the system had dropped is on disk afterwards. A write that fails drops nothing, and on
   * a full disk a checkpoint would fail as well.
   *
   * @throws ArchiveIoError, DiskFullError: the disk still fails. CorruptArchiveError: they do not contain it.
   */
  regain(cut: number): void {
    if (this.#distrust === undefined) return
    try {
      this.#log.close()
      this.#database.abandon()
      this.#log = new LogSync(this.#directory)
      const reason = hasLog(this.#directory) ? faultOfLog(logOf(this.#directory)) : undefined
      if (reason !== undefined) throw new CorruptArchiveError({ directory: this.#directory, reason })
      const connection = this.#reopen()
      this.#database.replace(connection)
      requireSoundStructure(connection, this.#directory)
      const found = lastSequenceOf(connection)
      if (found !== cut) {
        const lost = `it ends at event ${found}, and event ${cut} was committed`
        throw new CorruptArchiveError({ directory: this.#directory, reason: lost })
      }
      if (isSyncTrouble(this.#distrust)) this.#writeLogOnceMore(connection)
      this.#distrust = undefined
    } catch (error) {
      throw toArchiveError(this.#directory, "the check after an I/O error", error)
    }
  }

  /** A reader that is in the way is no error to SQLite, which then leaves a part of the log where it is. */
  #writeLogOnceMore(connection: DatabaseSync): void {
    const { busy, log, checkpointed } = connection.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get() ?? {}
    if (busy === 0 || log === checkpointed) return
    const reason = `only ${checkpointed} of ${log} pages could be written: the recording is being read`
    throw new ArchiveIoError({ directory: this.#directory, operation: "checkpoint", code: "SQLITE 5", reason })
  }

  /** Runs `write` in a transaction, of which everything or nothing is committed. @throws ArchiveError */
  transaction(operation: string, write: () => void): void {
    const database = this.#database
    try {
      database.exec("BEGIN IMMEDIATE")
      write()
      database.exec("COMMIT")
    } catch (error) {
      // SQLite rolls back automatically after some errors (a full disk among them), but not after all.
      if (database.isTransaction) database.exec("ROLLBACK")
      throw this.noteTrouble(toArchiveError(this.#directory, operation, error))
    }
  }

  /** Flushes what is committed to the disk, off this thread. Rejects with ArchiveIoError or DiskFullError. */
  async sync(): Promise<void> {
    try {
      await this.#log.sync()
    } catch (error) {
      // Also after another trouble: only a failed sync makes all of the log be written once more.
      if (error instanceof ArchiveIoError || error instanceof DiskFullError) this.#distrust = error
      throw error
    }
  }

  /** Distrusts the database if the error leaves it in doubt; returns the error. */
  noteTrouble(error: unknown): unknown {
    if (error instanceof ArchiveIoError && !isLockTrouble(error)) this.#distrust ??= error
    return error
  }

  /** Writes the log into the database. @throws what SQLite throws */
  checkpoint(mode: "PASSIVE" | "TRUNCATE"): void {
    this.#database.exec(`PRAGMA wal_checkpoint(${mode})`)
  }

  /** Writes the log into the database and makes it empty, unless someone reads from it, for which this does not wait. @throws what SQLite throws */
  emptyLog(): void {
    this.#database.exec("PRAGMA busy_timeout = 0")
    try {
      this.checkpoint("TRUNCATE")
    } finally {
      this.#database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MILLISECONDS}`)
    }
  }

  /** Closes it; with a checkpoint only if it can be trusted, because that would spread what cannot. @throws ArchiveError */
  close(): void {
    this.#log.close()
    if (this.#distrust === undefined) this.#database.close()
    else this.abandon()
  }

  /** Closes it and leaves its files as they are. @throws ArchiveError */
  abandon(): void {
    this.#log.close()
    try {
      this.#database.abandon()
    } catch (error) {
      throw toArchiveError(this.#directory, "close", error)
    }
  }
}

/**
 * Flushes the write-ahead log of a recording to the disk, off the writer's thread. Owns one descriptor, opened on first use.
 *
 * With `synchronous=NORMAL` SQLite syncs only at checkpoints, so what was committed since is in the system's page cache. One fdatasync of
 * the log makes all of it durable: the database itself was synced by the checkpoint that emptied the log before. SQLite keeps no lock on
 * the log file, so closing a descriptor of our own is harmless (closing one on the database or its shared memory would free SQLite's locks,
 * https://www.sqlite.org/howtocorrupt.html §2.2).
 */
class LogSync {
  readonly #directory: string
  #descriptor: number | undefined
  #underWay = 0
  #isClosed = false

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Resolves when everything committed before the call is on the disk. Rejects with DiskFullError or ArchiveIoError. */
  async sync(): Promise<void> {
    const path = logOf(this.#directory)
    if (this.#isClosed || (this.#descriptor === undefined && !existsSync(path))) return
    this.#descriptor ??= openSync(path, "r")
    const descriptor = this.#descriptor
    this.#underWay++
    await new Promise<void>((resolve, reject) => {
      fdatasync(descriptor, (error) => {
        this.#underWay--
        this.#release()
        if (error === null) resolve()
        else reject(toArchiveError(this.#directory, "sync", error))
      })
    })
  }

  close(): void {
    this.#isClosed = true
    this.#release()
  }

  #release(): void {
    if (!this.#isClosed || this.#underWay > 0 || this.#descriptor === undefined) return
    closeSync(this.#descriptor)
    this.#descriptor = undefined
  }
}

/** SQLITE_BUSY and SQLITE_LOCKED: another connection is in the way. */
const isLockTrouble = ({ code }: ArchiveIoError): boolean =>
  /^SQLITE \d+$/.test(code) && [5, 6].includes(Number(code.slice(7)) & 0xff)

/** Of the log, or SQLITE_IOERR_FSYNC and SQLITE_IOERR_DIR_FSYNC. */
const isSyncTrouble = (error: ArchiveIoError | DiskFullError): boolean =>
  error.operation === "sync" || (error instanceof ArchiveIoError && ["SQLITE 1034", "SQLITE 1290"].includes(error.code))
