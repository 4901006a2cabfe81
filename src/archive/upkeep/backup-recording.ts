/**
 * Copies a recording, also while it is being written, and checks the copy.
 *
 * The copy is what was committed when it began. One read transaction is held meanwhile, so that SQLite need not begin anew with every commit; the log of a
 * recording grows by what is recorded in that time. A copy that cannot be finished is removed.
 */
import { existsSync, rmSync } from "node:fs"
import { join } from "node:path"
import { backup, DatabaseSync } from "node:sqlite"
import { type Verification, verifyRecording } from "../damage/verify-recording.ts"
import { DirectoryNotWritableError, toArchiveError } from "../directory/archive-errors.ts"
import { lockDirectory } from "../directory/directory-lock.ts"
import { makePrivateFile } from "../directory/private-files.ts"
import { takeLease } from "../leases/lease.ts"
import { forgetCopies } from "../pins/pin-rows.ts"
import { WRITER_KEY } from "../rows/metadata.ts"
import { DATABASE_FILE, openForReading } from "../tables/schema.ts"
import { addChecksumFunction } from "../tables/sound-rows.ts"

/** Pages of one step, which other threads of the process wait for: 4 MiB. */
const PAGES_PER_STEP = 1024

/**
 * `target` is created, or is a directory without a recording. Resolves with what is wrong with the copy.
 *
 * @throws NotARecordingError, NewerRecordingError, OlderRecordingError, DirectoryInUseError, DirectoryNotWritableError, DiskFullError,
 * ArchiveIoError, CorruptArchiveError
 */
export const backupRecording = async (directory: string, target: string): Promise<Verification> => {
  using _ = takeLease(directory, { fromTime: 0, purpose: `backup to ${target}` })
  const source = openForReading(directory)
  try {
    const lock = lockDirectory(target)
    try {
      await copy(source, target)
    } finally {
      lock.release()
    }
  } catch (error) {
    throw toArchiveError(directory, "backup", error)
  } finally {
    source.close()
  }
  return verifyRecording(target)
}

const copy = async (source: DatabaseSync, target: string): Promise<void> => {
  const path = join(target, DATABASE_FILE)
  if (existsSync(path))
    throw new DirectoryNotWritableError({ directory: target, code: "EEXIST", reason: "it contains a recording" })
  let isWhole = false
  try {
    makePrivateFile(path)
    source.exec("BEGIN")
    // The transaction begins with the first read.
    source.prepare("SELECT count(*) FROM kind").get()
    await backup(source, path, { rate: PAGES_PER_STEP })
    source.exec("COMMIT")
    markClosed(path)
    isWhole = true
  } catch (error) {
    throw toArchiveError(target, "backup", error)
  } finally {
    if (!isWhole) for (const suffix of ["", "-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true })
  }
}

/** The copy has no log and lacks none. */
const markClosed = (path: string): void => {
  const database = new DatabaseSync(path)
  try {
    addChecksumFunction(database)
    database.prepare("INSERT OR REPLACE INTO metadata (key, value) VALUES (?, 'closed')").run(WRITER_KEY)
    forgetCopies(database)
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)")
  } finally {
    database.close()
  }
}
