/**
 * The database of a recording: its tables, how it is opened, and which formats this program understands.
 *
 * Events stand only inside blocks. A block row with `sealed` 0 is a part of the block that is still being gathered: at
 * low rates each commit adds one, and sealing replaces them all by one row in one transaction. Rows are keyed by their last
 * sequence number, so that "the block that holds sequence n" is one look-up and stays right across that replacement.
 *
 * Write-ahead log with `synchronous=NORMAL`: a crash of the process loses nothing committed, because the log lies in the
 * system's page cache; a power loss cannot damage the database and loses what was committed after the last `sync`.
 * `OFF` would cost less at checkpoints and could leave a damaged database.
 */

import { existsSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { NewerRecordingError, NotARecordingError, toArchiveError } from "./archive-errors.ts"

/** File name of the database inside a data directory; SQLite puts `-wal` and `-shm` files beside it. */
export const DATABASE_FILE = "recording.db"

/** "reel" in ASCII: tells our databases from others (`PRAGMA application_id`). */
export const APPLICATION_ID = 0x7265656c

/** The format this program writes, and the newest it reads (`PRAGMA user_version`). */
export const FORMAT_VERSION = 3

/** What format 2 added: lifecycles of pods and who owns whom. A recording of format 1 gets them, empty, when it is written on. */
const TABLES_OF_FORMAT_2 = `
  -- Pods that were ever seen to run. is_gone: it exists no more.
  CREATE TABLE pod (
    number INTEGER PRIMARY KEY,
    uid TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    spec_hash INTEGER NOT NULL,
    first_sequence INTEGER NOT NULL,
    is_gone INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX pod_of_uid ON pod (uid);
  CREATE INDEX living_pod ON pod (number) WHERE is_gone = 0;

  -- One row per change of a pod's life, in the sequence of events. Seconds are those of the node's clock, time is when it was
  -- observed, µs since the Unix epoch. owner_references is null where it is as before.
  CREATE TABLE pod_life (
    sequence INTEGER PRIMARY KEY,
    pod INTEGER NOT NULL,
    start_seconds INTEGER NOT NULL,
    end_seconds INTEGER,
    is_gone INTEGER NOT NULL,
    time INTEGER NOT NULL,
    owner_references TEXT
  ) STRICT;
  CREATE INDEX pod_life_of_pod ON pod_life (pod, sequence);

  -- source: recorded | learnt | gone; owner_references is a JSON array, or empty for none.
  CREATE TABLE owner_edge (
    uid TEXT PRIMARY KEY,
    gvk TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    owner_references TEXT NOT NULL,
    source TEXT NOT NULL,
    time INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`

const TABLES = `
  CREATE TABLE metadata (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- The state from which a kind's next watcher goes on; times are µs since the Unix epoch.
  CREATE TABLE kind (
    id INTEGER PRIMARY KEY,
    gvk TEXT NOT NULL UNIQUE,
    epoch INTEGER NOT NULL,
    complete_through TEXT NOT NULL,
    complete_through_time INTEGER NOT NULL,
    next_object_number INTEGER NOT NULL,
    last_event_time INTEGER NOT NULL,
    cluster_uid TEXT NOT NULL,
    list_reason TEXT NOT NULL DEFAULT '',
    selection TEXT NOT NULL DEFAULT ''
  ) STRICT;

  -- incarnation and frame are the last ones stored; handed_out is the last incarnation given to a starting sender.
  CREATE TABLE sender (
    name TEXT PRIMARY KEY,
    handed_out INTEGER NOT NULL,
    incarnation INTEGER NOT NULL,
    frame INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE object (
    kind INTEGER NOT NULL,
    number INTEGER NOT NULL,
    uid TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    first_sequence INTEGER NOT NULL,
    PRIMARY KEY (kind, number)
  ) STRICT, WITHOUT ROWID;

  -- Sizes are those before compression, checksums CRC-32 of what is stored.
  -- The two BLOBs stand last so that what is read without them needs no overflow page.
  CREATE TABLE block (
    last_sequence INTEGER PRIMARY KEY,
    first_sequence INTEGER NOT NULL,
    min_time INTEGER NOT NULL,
    max_time INTEGER NOT NULL,
    events INTEGER NOT NULL,
    sealed INTEGER NOT NULL,
    toc_size INTEGER NOT NULL,
    toc_checksum INTEGER NOT NULL,
    data_size INTEGER NOT NULL,
    data_checksum INTEGER NOT NULL,
    toc BLOB NOT NULL,
    data BLOB NOT NULL
  ) STRICT;

  -- Which blocks hold a kind. A kind's times never decrease, so these ranges are ordered and do not overlap.
  CREATE TABLE block_kind (
    kind INTEGER NOT NULL,
    last_sequence INTEGER NOT NULL,
    min_time INTEGER NOT NULL,
    max_time INTEGER NOT NULL,
    events INTEGER NOT NULL,
    PRIMARY KEY (kind, last_sequence)
  ) STRICT, WITHOUT ROWID;

  -- States of one kind's objects: all alive ones (is_full 1), or those changed since the checkpoint before.
  CREATE TABLE checkpoint (
    kind INTEGER NOT NULL,
    through_sequence INTEGER NOT NULL,
    last_time INTEGER NOT NULL,
    is_full INTEGER NOT NULL,
    objects INTEGER NOT NULL,
    states_size INTEGER NOT NULL,
    states_checksum INTEGER NOT NULL,
    states BLOB NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX checkpoint_of_kind ON checkpoint (kind, through_sequence, last_time, is_full);

  CREATE TABLE gap (
    sequence INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    from_version TEXT NOT NULL,
    to_version TEXT NOT NULL,
    from_time INTEGER NOT NULL,
    to_time INTEGER NOT NULL,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL
  ) STRICT;

  ${TABLES_OF_FORMAT_2}
`

/** `interval`: the owner calls `sync` each second. `always`: every commit reaches the disk before it returns. */
export type FsyncMode = "interval" | "always"

/** How the writer's database is opened. */
export interface WriterDatabaseOptions {
  readonly fsync: FsyncMode
  /** Upper limit of the database file; without it the disk is the limit. */
  readonly maximumBytes?: number
}

const PAGE_BYTES = 4096

/** 4 MiB of log between checkpoints: larger ones make the one commit that runs a checkpoint stall for longer. */
const CHECKPOINT_PAGES = 1000

/** What a long reader made the log grow to is given back at the next checkpoint. */
const LOG_BYTES_KEPT = 16 * 1024 * 1024

/**
 * Opens or creates the database of a recording for its only writer, who holds the directory's lock.
 *
 * @throws NewerRecordingError, NotARecordingError, DiskFullError, ArchiveIoError, CorruptArchiveError
 */
export const openForWriting = (directory: string, options: WriterDatabaseOptions): DatabaseSync => {
  const database = opened(directory, false)
  try {
    database.exec(`PRAGMA page_size = ${PAGE_BYTES}`)
    if (isEmpty(database)) create(database)
    else {
      const found = checkFormat(database, directory)
      if (found < FORMAT_VERSION) extend(database, found)
    }
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
 * Opens a recording for reading, also while it is being written.
 *
 * @throws NotARecordingError, NewerRecordingError, ArchiveIoError, CorruptArchiveError
 */
export const openForReading = (directory: string): DatabaseSync => {
  if (!existsSync(join(directory, DATABASE_FILE))) {
    throw new NotARecordingError({ directory, reason: `there is no ${DATABASE_FILE}` })
  }
  const database = opened(directory, true)
  try {
    checkFormat(database, directory)
    database.exec(`PRAGMA cache_size = -${READER_CACHE_KIBIBYTES}`)
    return database
  } catch (error) {
    database.close()
    throw toArchiveError(directory, "open", error)
  }
}

/** Names of objects are looked up in no order; with SQLite's 2 MB most look-ups of 100,000 objects go to the system. */
const READER_CACHE_KIBIBYTES = 8192

/** Sequence number of the last event, gap or record of a pod's life that is committed, 0 in an empty recording. */
export const lastSequenceOf = (database: DatabaseSync): number => {
  const lives = hasTable(database, "pod_life") ? "coalesce((SELECT max(sequence) FROM pod_life), 0)" : "0"
  return Number(
    database
      .prepare(`
        SELECT max(coalesce((SELECT max(last_sequence) FROM block), 0), coalesce((SELECT max(sequence) FROM gap), 0),
          ${lives}) AS last`)
      .get()?.last,
  )
}

/** Whether the recording has a table that older formats lack. */
export const hasTable = (database: DatabaseSync, name: "pod" | "pod_life" | "owner_edge"): boolean =>
  database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(name) !== undefined

/** A reader may meet the writer's checkpoint or the creation of the log: both last milliseconds. */
const BUSY_TIMEOUT_MILLISECONDS = 5000

const opened = (directory: string, readOnly: boolean): DatabaseSync => {
  try {
    return new DatabaseSync(join(directory, DATABASE_FILE), { readOnly, timeout: BUSY_TIMEOUT_MILLISECONDS })
  } catch (error) {
    throw toArchiveError(directory, "open", error)
  }
}

const isEmpty = (database: DatabaseSync): boolean =>
  database.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined && pragma(database, "user_version") === 0

const create = (database: DatabaseSync): void => {
  database.exec(`
    BEGIN IMMEDIATE;
    ${TABLES}
    PRAGMA application_id = ${APPLICATION_ID};
    PRAGMA user_version = ${FORMAT_VERSION};
    COMMIT;
  `)
}

/** What format 3 added: whether a kind's list was under way, and what of the kind is recorded. */
const COLUMNS_OF_FORMAT_3 = `
  ALTER TABLE kind ADD COLUMN list_reason TEXT NOT NULL DEFAULT '';
  ALTER TABLE kind ADD COLUMN selection TEXT NOT NULL DEFAULT '';
`

/** Brings a recording of an earlier format to this one. */
const extend = (database: DatabaseSync, found: number): void => {
  database.exec(`
    BEGIN IMMEDIATE;
    ${found < 2 ? TABLES_OF_FORMAT_2 : ""}
    ${COLUMNS_OF_FORMAT_3}
    PRAGMA user_version = ${FORMAT_VERSION};
    COMMIT;
  `)
}

/** The format found. */
const checkFormat = (database: DatabaseSync, directory: string): number => {
  const application = pragma(database, "application_id")
  const found = pragma(database, "user_version")
  if (application !== APPLICATION_ID || found < 1) {
    throw new NotARecordingError({ directory, reason: `its ${DATABASE_FILE} was not written by kubereel` })
  }
  if (found > FORMAT_VERSION) throw new NewerRecordingError({ directory, found, supported: FORMAT_VERSION })
  return found
}

const pragma = (database: DatabaseSync, name: "application_id" | "user_version"): number =>
  Number(database.prepare(`PRAGMA ${name}`).get()?.[name])
