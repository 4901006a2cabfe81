/**
 * How the database of a recording can be opened without changing anything in its directory, also one of another user, and whether or not a recorder
 * writes to it.
 *
 * A database in WAL mode is made of recording.db and, unless its recorder ended in order, recording.db-wal. An ordinary connection also
 * needs recording.db-shm: it creates the file, or recovers what is in it, which a reader of someone else's directory must not do and on a
 * full or read-only file system cannot. So it is used only while a recorder holds the directory, whose files exist then; a recorder that waits
 * for room on its disk holds none. Otherwise nothing writes, and either the log
 * has no transaction and the database is opened as immutable, or it is read with an index in memory. Ignoring a log (`immutable` beside one) that has
 * one would show the older state of the last checkpoint as if it were all.
 *
 * A recorder that starts while such a reader is open rewrites pages that the reader believes constant; {@link isBeingWritten} shows it.
 */
import { closeSync, existsSync, fstatSync, openSync, readdirSync, readSync, statSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { pathToFileURL } from "node:url"
import {
  ArchiveIoError,
  CorruptArchiveError,
  isBusy,
  NotARecordingError,
  systemCodeOf,
  systemReasonOf,
} from "../directory/archive-errors.ts"
import { LOCK_FILE } from "../directory/directory-lock.ts"

/** File name of the database inside a data directory; SQLite puts `-wal` and `-shm` files beside it. */
export const DATABASE_FILE = "recording.db"

/** File that makes a data directory a mirror (blocks/far-blobs.ts): what it is of. Any process may bring it up to date at any time. */
export const MIRROR_FILE = "mirror.json"

/** Whether a directory is a mirror. */
export const isMirror = (directory: string): boolean => existsSync(join(directory, MIRROR_FILE))

/** A reader may coincide with the writer's checkpoint or the creation of the log: both take milliseconds. */
export const BUSY_TIMEOUT_MILLISECONDS = 5000

/** Identity of the database file, which a mirror that was removed and made anew has another of; 0: there is none. @throws what the file system throws */
export const databaseIdentity = (directory: string): number =>
  statSync(join(directory, DATABASE_FILE), { throwIfNoEntry: false })?.ino ?? 0

/** Whether a recorder holds the directory now, or it is a mirror. False if that cannot be found out because there is no lock file. */
export const isBeingWritten = (directory: string): boolean => {
  if (isMirror(directory)) return true
  const path = join(directory, LOCK_FILE)
  if (!existsSync(path)) return false
  let lock: DatabaseSync | undefined
  try {
    // Takes a shared lock for some µs. Nothing is ever stored in this database.
    lock = new DatabaseSync(path, { readOnly: true, timeout: 0 })
    lock.prepare("SELECT 1 FROM sqlite_schema").all()
    return false
  } catch (error) {
    // A lock that may not even be looked at: then SQLite's own locks have to arbitrate, as beside a recorder.
    if (isBusy(error) || existsSync(path)) return true
    throw error
  } finally {
    lock?.close()
  }
}

/** Whether there is a log with changes that are not in the database file yet. */
export const hasLog = (directory: string): boolean => sizeOf(logOf(directory)) > 0

/**
 * Opens the database for reading.
 *
 * @throws NotARecordingError, ArchiveIoError, or what SQLite throws
 */
export const openReadOnly = (directory: string): DatabaseSync =>
  open(directory, (reason) => {
    throw new CorruptArchiveError({ directory, reason })
  })

/**
 * Opens a database that may be damaged, as far as SQLite can. `onFault` takes what is wrong with its log.
 *
 * @throws NotARecordingError, ArchiveIoError, CorruptArchiveError, or what SQLite throws
 */
export const openDamaged = (directory: string, onFault: (reason: string) => void): DatabaseSync =>
  open(directory, onFault)

const open = (directory: string, onFault: (reason: string) => void): DatabaseSync => {
  requireRecording(directory)
  const path = join(directory, DATABASE_FILE)
  if (isBeingWritten(directory)) return new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MILLISECONDS })
  const { fault, hasTransactions } = contentOfLogIn(directory)
  if (fault !== undefined) onFault(fault)
  // The database is all there is. SQLite must not see such a log: closing the connection would remove it, even if a recorder has started meanwhile.
  if (!hasTransactions) {
    const cut = missingEnd(directory)
    if (cut !== undefined)
      throw new CorruptArchiveError({
        directory,
        reason: `${DATABASE_FILE} is cut off: ${cut.bytes} of ${cut.expectedBytes} bytes are left`,
      })
    return openImmutable(path)
  }
  const location = pathToFileURL(path)
  // Without locks there is no shared index either: SQLite then keeps it in memory (https://www.sqlite.org/wal.html#noshm).
  location.search = "mode=ro&vfs=unix-none"
  const database = new DatabaseSync(location, { readOnly: true })
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE")
    if (database.prepare("PRAGMA journal_mode").get()?.journal_mode !== "wal")
      onFault(`the header of ${DATABASE_FILE} does not mention its log`)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

const contentOfLogIn = (directory: string): LogContent =>
  hasLog(directory) ? contentOfLog(logOf(directory)) : { fault: undefined, hasTransactions: false }

const openImmutable = (path: string): DatabaseSync => {
  const location = pathToFileURL(path)
  location.search = "mode=ro&immutable=1"
  return new DatabaseSync(location, { readOnly: true })
}

/** @throws NotARecordingError, ArchiveIoError, or CorruptArchiveError if the database has no header */
export const requireRecording = (directory: string): void => {
  requireDatabase(directory)
  requireContent(directory)
}

const requireDatabase = (directory: string): void => {
  const missing = (reason: string): NotARecordingError => new NotARecordingError({ directory, reason })
  try {
    if (!statSync(directory).isDirectory()) throw missing("it is not a directory")
    const files = readdirSync(directory)
    if (files.length === 0) throw missing("it is empty")
    if (!files.includes(DATABASE_FILE)) throw missing(`there is no ${DATABASE_FILE}`)
  } catch (error) {
    const code = systemCodeOf(error)
    if (code === undefined) throw error
    if (code === "ENOENT") throw missing("there is no such directory")
    if (code === "ENOTDIR") throw missing("its path leads through a file")
    throw new ArchiveIoError({ directory, operation: "open", code, reason: systemReasonOf(error, code) })
  }
}

/** Of an SQLite database: https://www.sqlite.org/fileformat.html#the_database_header. */
const HEADER_BYTES = 100

/**
 * To SQLite a file without a whole header is an empty database. Its size is looked up without opening it, which would free the process's locks.
 *
 * @throws CorruptArchiveError, or what the file system throws
 */
export const requireContent = (directory: string): void => {
  const size = sizeOf(join(directory, DATABASE_FILE))
  if (size < HEADER_BYTES)
    throw new CorruptArchiveError({ directory, reason: `${DATABASE_FILE} is ${size === 0 ? "empty" : "cut off"}` })
}

/** Bytes that a file has, and those that it had. */
interface CutOff {
  readonly bytes: number
  readonly expectedBytes: number
}

/**
 * Whether the end of the database is missing. `undefined`: it is not, or a recorder or the transactions of a log say how large the database is.
 *
 * @throws what the file system throws
 */
export const cutOff = (directory: string): CutOff | undefined =>
  isBeingWritten(directory) || contentOfLogIn(directory).hasTransactions ? undefined : missingEnd(directory)

/** Of a database that is all there is. */
const missingEnd = (directory: string): CutOff | undefined => {
  const path = join(directory, DATABASE_FILE)
  const header = Buffer.alloc(HEADER_BYTES)
  const file = openSync(path, "r")
  try {
    readSync(file, header)
  } finally {
    closeSync(file)
  }
  // The number of pages counts if it was written with the last change.
  if (header.readUInt32BE(24) !== header.readUInt32BE(92)) return undefined
  const pageBytes = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16)
  const expectedBytes = pageBytes * header.readUInt32BE(28)
  const bytes = sizeOf(path)
  return bytes < expectedBytes ? { bytes, expectedBytes } : undefined
}

/** The write-ahead log. */
export const logOf = (directory: string): string => `${join(directory, DATABASE_FILE)}-wal`

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

// Whether the write-ahead log of a recording is as it was written.
//
// Each of its frames has a checksum that includes all frames before it, and SQLite takes the log to end at the first frame whose checksum is
// wrong: after one changed bit it shows an older state as if it were all. What follows there may be left over: from before the log was last
// begun again, when it had other salts; or from a transaction that was not finished, because a write failed or the process was killed, and over
// which others were written. Such a transaction has no frame that ends it. So if an ending frame with a salt of this log follows, a
// transaction that was committed cannot be read: the log is damaged.
//
// A log that was cut off at the end of a frame cannot be told from one that was written only so far.

/** https://www.sqlite.org/fileformat.html#the_write_ahead_log */
const LOG_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
const LITTLE_ENDIAN = 0x377f0682
const BIG_ENDIAN = 0x377f0683
const PAGE_SIZE_AT = 8
const SALT_AT = 16
const CHECKSUM_AT = 24
/** In the header of a frame. Not 0 in the frame that ends a transaction. */
const FRAME_END_AT = 4
const FRAME_SALT_AT = 8
const FRAME_CHECKSUM_AT = 16

interface RunningSum {
  first: number
  second: number
}

/** What a log holds. */
interface LogContent {
  /** What is wrong with it, in words; `undefined` if nothing is. */
  readonly fault: string | undefined
  /** Whether it has a transaction that was committed, so that the database alone is an older state. */
  readonly hasTransactions: boolean
}

/** What is wrong with a log, in words; `undefined` if nothing is. Reads all of it, some MiB. @throws what the file system throws */
export const faultOfLog = (path: string): string | undefined => contentOfLog(path).fault

/** Reads all of a log, some MiB. @throws what the file system throws */
const contentOfLog = (path: string): LogContent => {
  const descriptor = openSync(path, "r")
  try {
    return contentOf(descriptor, fstatSync(descriptor).size)
  } finally {
    closeSync(descriptor)
  }
}

const contentOf = (descriptor: number, size: number): LogContent => {
  let hasTransactions = false
  const content = (fault?: string): LogContent => ({ fault, hasTransactions })
  if (size === 0) return content()
  const header = Buffer.alloc(LOG_HEADER_BYTES)
  if (readSync(descriptor, header, 0, LOG_HEADER_BYTES, 0) < LOG_HEADER_BYTES) return content("its log is cut off")
  const magic = header.readUInt32BE(0)
  const sum: RunningSum = { first: 0, second: 0 }
  const isLittle = magic === LITTLE_ENDIAN
  add(sum, header, 0, CHECKSUM_AT, isLittle)
  const pageSize = header.readUInt32BE(PAGE_SIZE_AT)
  if ((!isLittle && magic !== BIG_ENDIAN) || !isSum(sum, header, CHECKSUM_AT))
    return content("the beginning of its log is damaged")
  const salts = [header.readUInt32BE(SALT_AT), header.readUInt32BE(SALT_AT + 4)] as const
  const frame = Buffer.alloc(FRAME_HEADER_BYTES + pageSize)
  let isValid = true
  let firstInvalid: number | undefined
  for (let index = 0; ; index++) {
    const length = readSync(descriptor, frame, 0, frame.length, LOG_HEADER_BYTES + index * frame.length)
    if (length < frame.length) return content()
    const [isFirst, isSecond] = salts.map((salt, at) => frame.readUInt32BE(FRAME_SALT_AT + 4 * at) === salt)
    if (isValid) {
      add(sum, frame, 0, 8, isLittle)
      add(sum, frame, FRAME_HEADER_BYTES, frame.length, isLittle)
      isValid = isFirst === true && isSecond === true && isSum(sum, frame, FRAME_CHECKSUM_AT)
    }
    const isEnd = frame.readUInt32BE(FRAME_END_AT) !== 0
    if (isValid) {
      hasTransactions ||= isEnd
      continue
    }
    firstInvalid ??= index + 1
    if ((isFirst || isSecond) && isEnd)
      return content(`its log is damaged at frame ${firstInvalid}; what follows there cannot be read`)
  }
}

/** SQLite's checksum: two sums over pairs of words. */
const add = (sum: RunningSum, bytes: Buffer, from: number, until: number, isLittle: boolean): void => {
  let { first, second } = sum
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  for (let at = from; at < until; at += 8) {
    first = (first + view.getUint32(at, isLittle) + second) >>> 0
    second = (second + view.getUint32(at + 4, isLittle) + first) >>> 0
  }
  sum.first = first
  sum.second = second
}

const isSum = ({ first, second }: RunningSum, bytes: Buffer, at: number): boolean =>
  bytes.readUInt32BE(at) === first && bytes.readUInt32BE(at + 4) === second
