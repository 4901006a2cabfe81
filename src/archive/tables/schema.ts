/**
 * The database of a recording: its tables, how it is opened, and the format that this program reads.
 *
 * Events are stored only inside blocks. A block row with `sealed` 0 is a part of the open block: at low rates each commit adds one, and
 * sealing replaces them all by one row, `sealed` 1, in one transaction. Later several of those are merged into one, `sealed` 2. Rows are keyed by their last sequence number, so that "the block with sequence
 * n" is one look-up and remains correct across that replacement.
 *
 * Everything has a checksum: rows (tables.ts), BLOBs (block.ts), frames of the log (SQLite's own, reading-access.ts).
 *
 * Write-ahead log with `synchronous=NORMAL`: a crash of the process loses nothing committed, because the log is in the system's page cache;
 * a power failure cannot damage the database, but loses what was committed after the last `sync`. `OFF` would cost less at checkpoints and
 * could leave a damaged database.
 */

import { existsSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import {
  CorruptArchiveError,
  DirectoryNotWritableError,
  NewerRecordingError,
  NotARecordingError,
  OlderRecordingError,
  reading,
  toArchiveError,
} from "../directory/archive-errors.ts"
import { makePrivateFile } from "../directory/private-files.ts"
import { type Connection, numberOf, pragmaOf } from "./database.ts"
import {
  BUSY_TIMEOUT_MILLISECONDS,
  DATABASE_FILE,
  hasLog,
  isMirror,
  openReadOnly,
  requireContent,
} from "./reading-access.ts"
import {
  addChecksumFunction,
  CENTRAL_TABLES,
  requireDefinitions,
  requireSoundTables,
  TABLES_OF_ROWS,
} from "./sound-rows.ts"
import { TABLES } from "./tables.ts"

export { DATABASE_FILE } from "./reading-access.ts"

/** "reel" in ASCII: distinguishes our databases from others (`PRAGMA application_id`). */
const APPLICATION_ID = 0x7265656c

/** The only format that this program reads and writes (`PRAGMA user_version`). */
export const FORMAT_VERSION = 12

/** `interval`: the owner calls `sync` each second. `always`: every commit reaches the disk before it returns. */
export type FsyncMode = "interval" | "always"

/** How the writer's database is opened. */
interface WriterDatabaseOptions {
  readonly fsync: FsyncMode
  /** Upper limit of the database file; without it the disk is the limit. */
  readonly maximumBytes?: number | undefined
  /** Who writes a mirror says so: nobody else may. Its readers check the rows of large tables. */
  readonly isMirror?: boolean
}

const PAGE_BYTES = 4096

/** 4 MiB of log between checkpoints: larger ones make the one commit that runs a checkpoint stall for longer. */
const CHECKPOINT_PAGES = 1000

/** The log's growth during a long read is undone at the next checkpoint. */
const LOG_BYTES_KEPT = 16 * 1024 * 1024

/**
 * Opens or creates the database of a recording for its only writer, who holds the directory's lock.
 *
 * @throws NewerRecordingError, OlderRecordingError, NotARecordingError, DiskFullError, ArchiveIoError, CorruptArchiveError
 */
export const openForWriting = (directory: string, options: WriterDatabaseOptions): DatabaseSync => {
  const path = join(directory, DATABASE_FILE)
  const database = opened(directory, () => {
    if (isMirror(directory) && !options.isMirror)
      throw new DirectoryNotWritableError({ directory, code: "EROFS", reason: "it is a mirror of an object store" })
    if (!existsSync(path)) {
      if (hasLog(directory))
        throw new CorruptArchiveError({ directory, reason: `${DATABASE_FILE} is missing, although its log is there` })
      createDatabase(path)
    }
    requireContent(directory)
    return new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MILLISECONDS })
  })
  try {
    addChecksumFunction(database)
    requireRecordingOfOurs(database, directory)
    requireSoundTables(database, directory, options.isMirror ? CENTRAL_TABLES : TABLES_OF_ROWS)
    database.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = ${options.fsync === "always" ? "FULL" : "NORMAL"};
      PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES};
      PRAGMA journal_size_limit = ${LOG_BYTES_KEPT};
    `)
    if (options.maximumBytes !== undefined) {
      database.exec(`PRAGMA max_page_count = ${Math.ceil(options.maximumBytes / PAGE_BYTES)}`)
    }
    return database
  } catch (error) {
    database.close()
    throw toArchiveError(directory, "open", error)
  }
}

/**
 * Opens a recording for reading, also while it is being written. Changes nothing in the directory.
 *
 * @throws NotARecordingError, NewerRecordingError, OlderRecordingError, ArchiveIoError, CorruptArchiveError
 */
export const openForReading = (directory: string): DatabaseSync => {
  const database = opened(directory, () => openReadOnly(directory))
  try {
    addChecksumFunction(database)
    requireRecordingOfOurs(database, directory)
    requireSoundTables(database, directory, CENTRAL_TABLES)
    database.exec(`PRAGMA cache_size = -${READER_CACHE_KIBIBYTES}`)
    return database
  } catch (error) {
    database.close()
    throw toArchiveError(directory, "open", error)
  }
}

/**
 * What `read` returns of a recording that is opened for it, and closed afterwards. What it throws becomes an ArchiveError.
 *
 * @throws NotARecordingError, NewerRecordingError, OlderRecordingError, ArchiveIoError, CorruptArchiveError
 */
export const readingRecording = <Answer>(directory: string, read: (database: DatabaseSync) => Answer): Answer => {
  const database = openForReading(directory)
  try {
    return reading(directory, () => read(database))
  } finally {
    // Also ends a transaction.
    database.close()
  }
}

/** Names of objects are looked up in no order; with SQLite's default of 2 MB most look-ups among 100,000 objects would be system calls. */
const READER_CACHE_KIBIBYTES = 8192

/** Sequence number of the last event, gap or lifecycle record that is committed, 0 in an empty recording. */
export const lastSequenceOf = (database: Connection): number =>
  numberOf(
    database,
    // What retention removed may have been the last.
    `SELECT max(coalesce((SELECT max(last_sequence) FROM block_kind), 0), coalesce((SELECT max(sequence) FROM gap), 0),
          coalesce((SELECT max(sequence) FROM pod_life), 0), coalesce((SELECT max(through_sequence) FROM retained), 0)) AS value`,
  )

const opened = (directory: string, open: () => DatabaseSync): DatabaseSync => {
  try {
    return open()
  } catch (error) {
    throw toArchiveError(directory, "open", error)
  }
}

/**
 * Makes a whole database under another name first: a recording.db that is empty or cut off has been damaged since, and must not look like
 * one that was just begun. `synchronous`: `OFF` does not wait for the disk.
 */
export const createDatabase = (path: string, synchronous: "FULL" | "OFF" = "FULL"): void => {
  const draft = `${path}.new`
  for (const left of [draft, `${draft}-journal`]) rmSync(left, { force: true })
  makePrivateFile(draft)
  const database = new DatabaseSync(draft)
  try {
    addChecksumFunction(database)
    database.exec(`
      PRAGMA synchronous = ${synchronous};
      PRAGMA page_size = ${PAGE_BYTES};
      PRAGMA auto_vacuum = INCREMENTAL;
      BEGIN IMMEDIATE;
      ${TABLES}
      PRAGMA application_id = ${APPLICATION_ID};
      PRAGMA user_version = ${FORMAT_VERSION};
      COMMIT;
    `)
  } finally {
    database.close()
  }
  renameSync(draft, path)
}

const notOurs = (directory: string): NotARecordingError =>
  new NotARecordingError({ directory, reason: `its ${DATABASE_FILE} was not written by kubereel` })

const requireRecordingOfOurs = (database: DatabaseSync, directory: string): void => {
  if (pragmaOf(database, "application_id") !== APPLICATION_ID) throw notOurs(directory)
  requireFormat(database, directory)
  requireDefinitions(database, directory)
}

/** A database of another program seldom has a version. @throws NotARecordingError, NewerRecordingError, OlderRecordingError, or what SQLite throws */
export const requireFormat = (database: DatabaseSync, directory: string): void => {
  const found = pragmaOf(database, "user_version")
  if (found < 1) throw notOurs(directory)
  if (found > FORMAT_VERSION) throw new NewerRecordingError({ directory, found, supported: FORMAT_VERSION })
  if (found < FORMAT_VERSION) throw new OlderRecordingError({ directory, found, supported: FORMAT_VERSION })
}
