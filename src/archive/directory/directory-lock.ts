/**
 * Ensures one recorder per data directory with a lock that the kernel frees when the process ends, in any way.
 *
 * Node has no flock(2). A separate SQLite database, in rollback-journal mode with an exclusive transaction held open and never written to,
 * is the same kind of lock (POSIX byte ranges). It is not the recording's database, because a held exclusive lock would exclude readers.
 * The side file is only for the message: it may be stale, the lock never is.
 *
 * Not guaranteed: code in this process that opens and closes the lock file by other means than SQLite frees the lock (POSIX locks belong to
 * the process, https://www.sqlite.org/howtocorrupt.html §2.2). Copy data directories from another process.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs"
import { hostname } from "node:os"
import { dirname, join, resolve } from "node:path"
import { DatabaseSync } from "node:sqlite"
import {
  DirectoryInUseError,
  DirectoryNotWritableError,
  isBusy,
  NetworkFileSystemError,
  NotARecordingError,
  systemCodeOf,
  systemReasonOf,
  toArchiveError,
} from "./archive-errors.ts"
import { makePrivateDirectory, makePrivateFile } from "./private-files.ts"

/** The file whose lock a recorder holds. */
export const LOCK_FILE = "recorder.lock"
const SIDE_FILE = "recorder.json"

/** The holder of a directory, for the message to a second recorder. */
export interface LockHolder {
  readonly host: string
  readonly pid: number
  /** ISO 8601. */
  readonly startedAt: string
  /** NAMESPACE/NAME of the Lease by which it was chosen, if it was. */
  readonly lease?: string
}

/** This process, since it started; with the Lease that it holds, if any. */
export const thisProcess = (lease?: string): LockHolder => ({
  host: hostname(),
  pid: process.pid,
  startedAt: new Date(Date.now() - process.uptime() * 1000).toISOString(),
  ...(lease !== undefined && { lease }),
})

/** A held lock. */
export interface DirectoryLock {
  /** Frees the directory. Calling it again has no effect. */
  release(): void
}

/**
 * Creates the directory if necessary and takes its lock.
 *
 * @throws DirectoryNotWritableError
 * @throws NetworkFileSystemError
 * @throws DirectoryInUseError if another process, or this one, holds it.
 */
export const lockDirectory = (
  directory: string,
  holder: LockHolder = thisProcess(),
  fileSystemTypeOf?: FileSystemTypeOf,
): DirectoryLock => {
  makeWritable(directory)
  refuseNetworkFileSystem(directory, fileSystemTypeOf)
  const lock = openLock(directory)
  try {
    writeSideFile(directory, holder)
  } catch (error) {
    lock.close()
    throw toArchiveError(directory, "open", error)
  }
  let isHeld = true
  return {
    release: () => {
      if (!isHeld) return
      isHeld = false
      rmSync(join(directory, SIDE_FILE), { force: true })
      lock.close()
    },
  }
}

/**
 * The holder of the directory, as an error; `undefined` if it has none. Creates it if necessary.
 *
 * @throws DirectoryNotWritableError, NetworkFileSystemError and others, if it cannot be locked for another reason.
 */
export const directoryInUse = (directory: string): DirectoryInUseError | undefined => {
  try {
    lockDirectory(directory).release()
  } catch (error) {
    if (error instanceof DirectoryInUseError) return error
    throw error
  }
  return undefined
}

/** Tests whether a file can be created: permission bits do not reveal read-only mounts and root squashing. */
const makeWritable = (directory: string): void => {
  const probe = join(directory, `.probe-${process.pid}`)
  try {
    makeDirectory(resolve(directory))
    makePrivateFile(probe)
    rmSync(probe)
  } catch (error) {
    const code = systemCodeOf(error)
    if (code === undefined || code === "ENOSPC" || code === "EIO") throw toArchiveError(directory, "open", error)
    throw new DirectoryNotWritableError({ directory, code, reason: systemReasonOf(error, code) })
  }
}

/**
 * The directory itself is private, those above it are made as mkdir(1) would. Not `mkdirSync(…, { recursive: true })`: if a parent rejects
 * children with ENOENT, as /proc does, that never returns.
 */
const makeDirectory = (directory: string): void => {
  if (existsSync(directory)) return
  makeParent(dirname(directory))
  makePrivateDirectory(directory)
}

const makeParent = (directory: string): void => {
  if (existsSync(directory)) return
  const parent = dirname(directory)
  if (parent !== directory) makeParent(parent)
  try {
    mkdirSync(directory)
  } catch (error) {
    if (systemCodeOf(error) !== "EEXIST") throw error
  }
}

/** A reader that looks whether a recorder runs (`isBeingWritten`) holds a shared lock for some µs. */
const READER_LOOKS_MILLISECONDS = 100

const openLock = (directory: string): DatabaseSync => {
  const lock = openLockFile(directory)
  try {
    lock.exec("BEGIN EXCLUSIVE")
    return lock
  } catch (error) {
    lock.close()
    if (isBusy(error)) throw new DirectoryInUseError({ directory, ...readSideFile(directory) })
    throw toArchiveError(directory, "open", error)
  }
}

/** Something else than a file may have its name. */
const openLockFile = (directory: string): DatabaseSync => {
  const path = join(directory, LOCK_FILE)
  try {
    makePrivateFile(path)
    return new DatabaseSync(path, { timeout: READER_LOOKS_MILLISECONDS })
  } catch (error) {
    if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) {
      const what = `${LOCK_FILE}, the file that a recorder locks, is something else there`
      throw new NotARecordingError({ directory, reason: what })
    }
    throw toArchiveError(directory, "open", error)
  }
}

const writeSideFile = (directory: string, holder: LockHolder): void => {
  const path = join(directory, SIDE_FILE)
  const draft = `${path}.${holder.pid}.new`
  rmSync(draft, { force: true })
  makePrivateFile(draft)
  writeFileSync(draft, `${JSON.stringify(holder)}\n`)
  renameSync(draft, path)
}

const UNKNOWN_HOLDER: LockHolder = { host: "unknown", pid: 0, startedAt: "an unknown time" }

/** The holder may not have written the file yet, or may be removing it: then the message has fewer facts. */
const readSideFile = (directory: string): LockHolder => {
  let content: unknown
  try {
    content = JSON.parse(readFileSync(join(directory, SIDE_FILE), "utf8"))
  } catch (error) {
    if (systemCodeOf(error) !== undefined || error instanceof SyntaxError) return UNKNOWN_HOLDER
    throw error
  }
  if (typeof content !== "object" || content === null) return UNKNOWN_HOLDER
  const { host, pid, startedAt, lease } = content as Partial<Record<keyof LockHolder, unknown>>
  return {
    host: typeof host === "string" ? host : UNKNOWN_HOLDER.host,
    pid: typeof pid === "number" ? pid : UNKNOWN_HOLDER.pid,
    startedAt: typeof startedAt === "string" ? startedAt : UNKNOWN_HOLDER.startedAt,
    ...(typeof lease === "string" && { lease }),
  }
}

// Detects directories on network file systems.
//
// SQLite's write-ahead log needs shared memory and byte-range locks that every process sees; network file systems provide them late, partly
// or not at all, and a second writer then damages the recording (https://www.sqlite.org/wal.html §1, https://www.sqlite.org/faq.html#q5).
// FUSE is not rejected: rootless containers keep their root on it, and its magic number does not distinguish local from remote. Operating
// systems other than Linux return other numbers and pass.

/** `f_type` of statfs(2), from linux/magic.h and the file systems' own sources. */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x00c36400, "Ceph"],
  [0x01021997, "9p"],
  [0x5346414f, "AFS"],
  [0x6b414653, "AFS"],
  [0x73757245, "Coda"],
  [0x0bd00bd0, "Lustre"],
  [0x47504653, "GPFS"],
  [0x19830326, "BeeGFS"],
  [0x7461636f, "OCFS2"],
  [0x01161970, "GFS2"],
  [0xaad7aaea, "PanFS"],
])

/** Returns the type of the file system of a path; `fs.statfsSync(path).type` except in tests. */
export type FileSystemTypeOf = (path: string) => number

const systemTypeOf: FileSystemTypeOf = (path) => statfsSync(path).type

/** Name of the network file system with this `f_type`, `undefined` for all others. */
export const networkFileSystemOf = (type: number): string | undefined => NETWORK_FILE_SYSTEMS.get(type >>> 0)

/** @throws NetworkFileSystemError if the existing directory is on one. */
const refuseNetworkFileSystem = (directory: string, typeOf: FileSystemTypeOf = systemTypeOf): void => {
  const fileSystem = networkFileSystemOf(typeOf(directory))
  if (fileSystem !== undefined) throw new NetworkFileSystemError({ directory, fileSystem })
}
