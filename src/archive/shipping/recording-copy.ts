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
import { readMetadata, SET_ASIDE_KEY, WRITER_KEY } from "../rows/metadata.ts"
import { namesOfSetAside } from "../set-aside.ts"
import { prepare, rowsOf } from "../tables/database.ts"
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

  /** Where its rows are until it is finished, as a recording without a check. One of deltas that begin in the middle of a stream answers no questions. */
  get place(): string {
    return this.#place
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

  /**
   * Checks the copy, which more may be applied to. Blocks that were damaged when they were sent do no harm: those that read it name them. `sealedThrough`: of
   * the position of the last delta.
   *
   * @throws ArchiveError
   */
  verify(sealedThrough = 0): Verification & { readonly lostBlocks: number } {
    try {
      const database = this.#open()
      // The block that parts were sealed into was damaged before it was sent.
      prepare(database, "UPDATE block SET sealed = 1 WHERE sealed = 0 AND last_sequence <= ?").run(sealedThrough)
      const lost = lostBlocks(database)
      this.#settle(database)
      const found = verifyRecording(this.#place)
      const isSound =
        found.faults.length === 0 && found.damagedBlocks.every(({ lastSequence }) => lost.has(lastSequence))
      return { ...found, isSound, lostBlocks: lost.size }
    } catch (error) {
      throw toArchiveError(this.#directory, "restore", error)
    }
  }

  /** Makes the copy, which was found sound, the recording of its directory. `kept`: more for the metadata. @throws ArchiveError */
  finish(kept: Readonly<Record<string, string>> = {}): void {
    try {
      const database = this.#open()
      // What was set aside here was another recording: this one has no gap for it.
      const own = { ...kept, [WRITER_KEY]: "closed", [SET_ASIDE_KEY]: namesOfSetAside(this.#directory).join(" ") }
      database.exec("BEGIN IMMEDIATE")
      prepare(database, "DELETE FROM metadata WHERE key = ?").run(MARK_KEY)
      const put = prepare(database, "INSERT OR REPLACE INTO metadata (key, value) VALUES (?, ?)")
      for (const [key, value] of Object.entries(own)) put.run(key, value)
      database.exec("COMMIT")
      this.#settle(database)
      renameSync(join(this.#place, DATABASE_FILE), join(this.#directory, DATABASE_FILE))
      rmSync(this.#place, { recursive: true })
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

  /** Brings everything into the one file, and closes it. */
  #settle(database: DatabaseSync): void {
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)")
    this.#applier = undefined
    database.close()
    this.#database = undefined
  }

  #open(): DatabaseSync {
    this.#database ??= openForWriting(this.#place, { fsync: "interval" })
    return this.#database
  }
}

/** Blocks that are listed and were not sent. A part whose events are in the block that it was sealed into is listed no more. */
const lostBlocks = (database: DatabaseSync): ReadonlySet<number> => {
  const lost = new Set<number>()
  const listed = rowsOf<{ readonly key: number }>(
    database,
    `SELECT DISTINCT last_sequence AS key FROM block_kind
    WHERE NOT EXISTS (SELECT 1 FROM block WHERE block.last_sequence = block_kind.last_sequence)`,
  )
  for (const { key } of listed) {
    const [next] = rowsOf<{ readonly first: number }>(
      database,
      "SELECT first_sequence AS first FROM block WHERE last_sequence > ? ORDER BY last_sequence LIMIT 1",
      key,
    )
    if (next === undefined || next.first > key) lost.add(key)
    else prepare(database, "DELETE FROM block_kind WHERE last_sequence = ?").run(key)
  }
  return lost
}
