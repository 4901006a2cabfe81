/**
 * A copy of a recording that deltas are applied to: in the directory {@link UNFINISHED} of its own, so that nothing takes it for a recording before it is
 * one. A process may end at any moment: what was applied is there with its mark, or not at all, and the next one goes on behind it.
 */
import { existsSync, readdirSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import { type Verification, verifyRecording } from "../damage/verify-recording.ts"
import { DirectoryNotWritableError, isRecordingUnusable, toArchiveError } from "../directory/archive-errors.ts"
import { type DirectoryLock, lockDirectory } from "../directory/directory-lock.ts"
import { makePrivateDirectory } from "../directory/private-files.ts"
import { readMetadata, WRITER_KEY } from "../rows/metadata.ts"
import { prepare } from "../tables/database.ts"
import { DATABASE_FILE, openForWriting } from "../tables/schema.ts"
import type { DeltaRow } from "./delta.ts"
import { type AppliedDelta, DeltaApplier } from "./delta-applier.ts"

/** Directory of a copy that is not whole, in the one that it is for. */
const UNFINISHED = "restoring"

/** Key of the metadata of such a copy: what the caller says of the last delta. */
const MARK_KEY = "restoring"

/** Writes one copy, whose directory it holds. */
export class RecordingCopy {
  readonly #directory: string
  readonly #place: string
  readonly #lock: DirectoryLock
  #database: DatabaseSync | undefined
  #applier: DeltaApplier | undefined

  /**
   * Takes a directory, creating it if necessary, that has no recording.
   *
   * @throws DirectoryNotWritableError, also if it has one; DirectoryInUseError, NetworkFileSystemError, DiskFullError, ArchiveIoError
   */
  constructor(directory: string) {
    this.#directory = directory
    this.#place = join(directory, UNFINISHED)
    this.#lock = lockDirectory(directory)
    try {
      if (existsSync(join(directory, DATABASE_FILE)))
        throw new DirectoryNotWritableError({ directory, code: "EEXIST", reason: "it contains a recording" })
      makePrivateDirectory(this.#place)
    } catch (error) {
      this.close()
      throw toArchiveError(directory, "restore", error)
    }
  }

  /** What was said of the last delta that is here; `undefined`: none is, or the copy cannot be continued. @throws ArchiveError */
  mark(): string | undefined {
    try {
      return readMetadata(this.#open()).get(MARK_KEY)
    } catch (error) {
      const known = toArchiveError(this.#place, "open", error)
      if (!isRecordingUnusable(known)) throw known
      return undefined
    }
  }

  /** Removes what is here. @throws ArchiveError */
  beginAnew(): void {
    try {
      this.#applier = undefined
      this.#database?.close()
      this.#database = undefined
      for (const name of readdirSync(this.#place)) rmSync(join(this.#place, name), { recursive: true })
    } catch (error) {
      throw toArchiveError(this.#directory, "restore", error)
    }
  }

  /**
   * Applies a delta and its mark, or nothing of it, as {@link DeltaApplier} does.
   *
   * @throws DiskFullError, ArchiveIoError, CorruptArchiveError if it is of another format, and what `rows` throw
   */
  apply(delta: AppliedDelta, rows: Iterable<DeltaRow>, mark: string): void {
    const database = this.#open()
    this.#applier ??= new DeltaApplier(this.#directory, database)
    try {
      database.exec("BEGIN IMMEDIATE")
      this.#applier.apply(delta, rows, [MARK_KEY, mark])
      database.exec("COMMIT")
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK")
      throw toArchiveError(this.#directory, "restore", error)
    }
  }

  /** Checks the copy, and makes it the recording of its directory if it is sound. @throws ArchiveError */
  finish(): Verification {
    try {
      const database = this.#open()
      prepare(database, "DELETE FROM metadata WHERE key = ?").run(MARK_KEY)
      prepare(database, "INSERT OR REPLACE INTO metadata (key, value) VALUES (?, 'closed')").run(WRITER_KEY)
      database.exec("PRAGMA wal_checkpoint(TRUNCATE)")
      this.#applier = undefined
      database.close()
      this.#database = undefined
      const verification = verifyRecording(this.#place)
      if (!verification.isSound) return verification
      renameSync(join(this.#place, DATABASE_FILE), join(this.#directory, DATABASE_FILE))
      rmSync(this.#place, { recursive: true })
      return verification
    } catch (error) {
      throw toArchiveError(this.#directory, "restore", error)
    }
  }

  /** Frees the directory. Calling it again has no effect. */
  close(): void {
    this.#applier = undefined
    this.#database?.close()
    this.#database = undefined
    this.#lock.release()
  }

  #open(): DatabaseSync {
    this.#database ??= openForWriting(this.#place, { fsync: "interval" })
    return this.#database
  }
}
