/**
 * Writes a mirror (blocks/far-blobs.ts), whose directory it holds meanwhile. Others read it at the same time: each of their statements sees it as it is behind a
 * whole delta. While it is made anew they see what was there before.
 */
import { rmSync } from "node:fs"
import { join } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import { isRecordingUnusable, toArchiveError } from "../directory/archive-errors.ts"
import { type DirectoryLock, lockDirectory } from "../directory/directory-lock.ts"
import { logOf } from "../tables/reading-access.ts"
import { DATABASE_FILE, openForWriting } from "../tables/schema.ts"
import { type DeltaRow, shippedTables } from "./delta.ts"
import { type AppliedDelta, DeltaApplier } from "./delta-applier.ts"

/** Key of the metadata of a mirror: what its writer says of the last whole delta. */
export const MIRROR_KEY = "mirror"

export class RecordingMirror {
  readonly #directory: string
  readonly #lock: DirectoryLock
  #database: DatabaseSync | undefined
  #applier: DeltaApplier | undefined
  #isAnew = false

  /**
   * Takes the directory, creating it if necessary.
   *
   * @throws DirectoryInUseError, DirectoryNotWritableError, NetworkFileSystemError, DiskFullError, ArchiveIoError
   */
  constructor(directory: string) {
    this.#directory = directory
    this.#lock = lockDirectory(directory)
  }

  /**
   * Applies a delta. One that is partial is there only with the whole one that ends it, and `mark` with that. After {@link beginAnew} nothing is there before
   * {@link endAnew}.
   *
   * @throws DiskFullError, ArchiveIoError, CorruptArchiveError if it is of another format, and what `rows` throw
   */
  apply(delta: AppliedDelta, rows: Iterable<DeltaRow>, mark: string): void {
    try {
      const database = this.#begin()
      this.#applier ??= new DeltaApplier(this.#directory, database)
      this.#applier.apply(delta, rows, [MIRROR_KEY, mark])
      if (delta.isWhole && !this.#isAnew) database.exec("COMMIT")
    } catch (error) {
      this.giveUp()
      throw toArchiveError(this.#directory, "update", error)
    }
  }

  /** Forgets what was applied after the last whole delta, or since {@link beginAnew}. */
  giveUp(): void {
    this.#isAnew = false
    if (this.#database?.isTransaction) this.#database.exec("ROLLBACK")
  }

  /**
   * Removes everything. Readers see it until {@link endAnew}, so all of it is one transaction: SQLite writes what does not fit into its cache to the log,
   * which takes as much disk as the new rows meanwhile.
   *
   * @throws ArchiveError
   */
  beginAnew(): void {
    try {
      this.giveUp()
      const database = this.#begin()
      for (const table of shippedTables) database.exec(`DELETE FROM ${table}`)
      this.#isAnew = true
    } catch (error) {
      throw toArchiveError(this.#directory, "update", error)
    }
  }

  /** What was applied since {@link beginAnew}, up to a whole delta, takes the place of what was there. Otherwise nothing happens. @throws ArchiveError */
  endAnew(): void {
    try {
      if (this.#isAnew) this.#database?.exec("COMMIT")
      this.#isAnew = false
    } catch (error) {
      this.giveUp()
      throw toArchiveError(this.#directory, "update", error)
    }
  }

  /** Frees the directory. */
  close(): void {
    this.giveUp()
    this.#database?.close()
    this.#lock.release()
  }

  #begin(): DatabaseSync {
    this.#database ??= this.#open()
    if (!this.#database.isTransaction) this.#database.exec("BEGIN IMMEDIATE")
    return this.#database
  }

  /** A mirror that cannot be continued is removed: everything in it can be fetched again. */
  #open(): DatabaseSync {
    const open = (): DatabaseSync => openForWriting(this.#directory, { fsync: "interval", isMirror: true })
    try {
      return open()
    } catch (error) {
      if (!isRecordingUnusable(error)) throw error
      const database = join(this.#directory, DATABASE_FILE)
      for (const path of [database, logOf(this.#directory), `${database}-shm`]) rmSync(path, { force: true })
      return open()
    }
  }
}
