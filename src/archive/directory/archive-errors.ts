/**
 * Everything that can go wrong with a recording on disk, as one closed union, and the translation of what SQLite and the file system throw
 * into it.
 *
 * Retryable: after `DiskFullError` and `ArchiveIoError` the writer is as before, so the same commit can be retried once there is room. The
 * others need a person: their messages say what to do.
 */
import * as Schema from "effect/Schema"
import { messageOf } from "../../message-of.ts"
import { MalformedFrameError } from "../../wire/index.ts"

/** Another recorder holds the data directory. The facts come from its side file; "unknown" and 0 if that is missing. */
export class DirectoryInUseError extends Schema.TaggedError<DirectoryInUseError>()("DirectoryInUseError", {
  directory: Schema.String,
  host: Schema.String,
  pid: Schema.Number,
  /** ISO 8601. */
  startedAt: Schema.String,
  /** NAMESPACE/NAME of the Lease that the other one holds. */
  lease: Schema.optionalKey(Schema.String),
}) {
  override get message(): string {
    const advice = "Stop that process, or choose another --data-dir"
    return `${this.facts}. ${this.lease === undefined ? advice : `${advice}, or stand by for it with --lease ${this.lease}`}.`
  }

  /** The message without its advice. */
  get facts(): string {
    return (
      `data directory ${this.directory} is in use by another recorder: process ${this.pid} on host ${this.host}, ` +
      `running since ${this.startedAt}${this.lease === undefined ? "" : `, which holds the Lease ${this.lease}`}`
    )
  }
}

/** The data directory cannot be created or written to. */
export class DirectoryNotWritableError extends Schema.TaggedError<DirectoryNotWritableError>()(
  "DirectoryNotWritableError",
  {
    directory: Schema.String,
    /** `EACCES`, `EROFS`, `ENOTDIR` … */
    code: Schema.String,
    reason: Schema.String,
  },
) {
  override get message(): string {
    const why = `(${this.code}: ${this.reason})`
    if (this.reason === "it contains a recording")
      return `data directory ${this.directory} contains a recording. Choose another one.`
    // For a path that leads through a file, or where no directory can exist, permissions are not the problem.
    if (this.code === "ENOTDIR" || this.code === "EEXIST") {
      return `data directory ${this.directory} is not a directory, or is below a file ${why}. Choose another --data-dir.`
    }
    if (this.code === "ENOENT") {
      return `data directory ${this.directory} cannot be created ${why}. Choose another --data-dir.`
    }
    return (
      `data directory ${this.directory} is not writable ${why}. ` +
      "Give this user write permission to it, or choose another --data-dir."
    )
  }
}

/** The data directory lies on a file system whose locks and shared memory SQLite cannot rely on. */
export class NetworkFileSystemError extends Schema.TaggedError<NetworkFileSystemError>()("NetworkFileSystemError", {
  directory: Schema.String,
  /** `NFS`, `SMB` … */
  fileSystem: Schema.String,
}) {
  override get message(): string {
    return (
      `data directory ${this.directory} is on a network file system (${this.fileSystem}), where a database can be ` +
      "damaged by two writers. Choose a --data-dir on a local disk or a block volume."
    )
  }
}

/** There is no recording in the directory, or its database belongs to another program. */
export class NotARecordingError extends Schema.TaggedError<NotARecordingError>()("NotARecordingError", {
  directory: Schema.String,
  reason: Schema.String,
}) {
  override get message(): string {
    return `${this.directory} contains no recording: ${this.reason}. Check the path given with --data-dir.`
  }
}

/** A newer kubereel wrote the recording. */
export class NewerRecordingError extends Schema.TaggedError<NewerRecordingError>()("NewerRecordingError", {
  directory: Schema.String,
  found: Schema.Number,
  supported: Schema.Number,
}) {
  override get message(): string {
    return (
      `the recording in ${this.directory} has format ${this.found}; this version reads only format ${this.supported}. ` +
      "Upgrade kubereel, or record into another --data-dir."
    )
  }
}

/** A build before the first release wrote the recording. */
export class OlderRecordingError extends Schema.TaggedError<OlderRecordingError>()("OlderRecordingError", {
  directory: Schema.String,
  found: Schema.Number,
  supported: Schema.Number,
}) {
  override get message(): string {
    return (
      `the recording in ${this.directory} has format ${this.found}; this version reads only format ${this.supported}. ` +
      "It was written by a build before the first release. Record into another --data-dir."
    )
  }
}

/** No room left. Nothing of the failed commit is on disk, nothing in memory is lost: commit again when there is room. */
export class DiskFullError extends Schema.TaggedError<DiskFullError>()("DiskFullError", {
  directory: Schema.String,
  /** The operation that failed: `commit`, `open` … */
  operation: Schema.String,
}) {
  override get message(): string {
    return `no space left for ${this.operation} in ${this.directory}. Free some space or enlarge the volume.`
  }
}

/** The disk or the database reported an error. As with a full disk, a failed commit can be retried. */
export class ArchiveIoError extends Schema.TaggedError<ArchiveIoError>()("ArchiveIoError", {
  directory: Schema.String,
  operation: Schema.String,
  /** A system code such as `EIO`, or `SQLITE 1034`: SQLite's extended result code. */
  code: Schema.String,
  reason: Schema.String,
}) {
  override get message(): string {
    return `${this.operation} failed in ${this.directory} (${this.code}: ${this.reason}). Check the disk and its mount.`
  }
}

/** The content of the files is inconsistent. */
export class CorruptArchiveError extends Schema.TaggedError<CorruptArchiveError>()("CorruptArchiveError", {
  directory: Schema.String,
  reason: Schema.String,
  /** Salvaging has been tried. */
  isBeyondSalvage: Schema.optionalKey(Schema.Boolean),
  /** What is damaged is in an object store. */
  isFar: Schema.optionalKey(Schema.Boolean),
}) {
  override get message(): string {
    const what = `the recording in ${this.directory} is damaged: ${this.reason}`
    if (this.isFar) return `${what}. Restore that object from a copy or an earlier version of it.`
    if (this.isBeyondSalvage) return `${what}. Nothing of it can be read. Restore it from a backup.`
    return (
      `${what}. ` +
      `reel store salvage --data-dir ${this.directory} --to DIR copies what is sound into another directory.`
    )
  }
}

/**
 * The directory is a mirror of an object store, which has to be asked for this part of it, and did not return it. What else is in the directory can be read: it
 * is no damage.
 */
export class StoreUnreadableError extends Schema.TaggedError<StoreUnreadableError>()("StoreUnreadableError", {
  directory: Schema.String,
  /** Of the object. */
  location: Schema.String,
  reason: Schema.String,
}) {
  override get message(): string {
    return `a part of the recording is only in the object store, and ${this.location} cannot be read: ${this.reason}`
  }
}

/** A recorder was started in a directory that was being read as one that nothing writes to. What was read since then proves nothing. */
export class RecordingDisturbedError extends Schema.TaggedError<RecordingDisturbedError>()("RecordingDisturbedError", {
  directory: Schema.String,
}) {
  override get message(): string {
    return `a recorder was started in ${this.directory} while it was being read; try again`
  }
}

/** Retention removed what was being read: the reader held no lease (leases/lease.ts), or lost it. What was read before is right. */
export class RetentionOutranError extends Schema.TaggedError<RetentionOutranError>()("RetentionOutranError", {
  directory: Schema.String,
}) {
  override get message(): string {
    return (
      `retention removed the beginning of the recording in ${this.directory} while it was being read; ` +
      "try again, with a window that begins later"
    )
  }
}

/** The state of a kind was requested while frames of it wait for a commit: the result would repeat their events. */
export class UncommittedFramesError extends Schema.TaggedError<UncommittedFramesError>()("UncommittedFramesError", {
  gvk: Schema.String,
}) {
  override get message(): string {
    return `frames of ${this.gvk} wait for a commit; commit before asking for its state`
  }
}

const classes = [
  DirectoryInUseError,
  DirectoryNotWritableError,
  NetworkFileSystemError,
  NotARecordingError,
  NewerRecordingError,
  OlderRecordingError,
  DiskFullError,
  ArchiveIoError,
  CorruptArchiveError,
  StoreUnreadableError,
  RecordingDisturbedError,
  RetentionOutranError,
  UncommittedFramesError,
] as const

export type ArchiveError = InstanceType<(typeof classes)[number]>

export const isArchiveError = (cause: unknown): cause is ArchiveError => classes.some((known) => cause instanceof known)

/** Whether there is something in a directory, in place of a recording, that this version cannot continue. */
export const isRecordingUnusable = (error: unknown): boolean =>
  [CorruptArchiveError, NotARecordingError, NewerRecordingError, OlderRecordingError].some(
    (each) => error instanceof each,
  )

/** SQLite result codes, https://www.sqlite.org/rescode.html; the low byte of an extended code is its primary code. */
const SQLITE_BUSY = 5
const SQLITE_CORRUPT = 11
const SQLITE_FULL = 13
const SQLITE_NOTADB = 26
/** The file with the index of the log could not be made larger, for which a full disk is the reason. */
const SQLITE_IOERR_SHMSIZE = 4874

/** SQLite's extended result code of a thrown value, or `undefined` if SQLite did not throw it. */
const sqliteCodeOf = (error: unknown): number | undefined =>
  error instanceof Error && "errcode" in error && typeof error.errcode === "number" ? error.errcode : undefined

/** Whether another connection holds the requested lock. */
export const isBusy = (error: unknown): boolean => ((sqliteCodeOf(error) ?? 0) & 0xff) === SQLITE_BUSY

/** The system's error code (`ENOSPC` …) of a thrown value. */
export const systemCodeOf = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string" && /^E[A-Z0-9]+$/.test(error.code)
    ? error.code
    : undefined

/** The system's message without its code, which Node prepends: `EACCES: permission denied, open …`. */
export const systemReasonOf = (error: unknown, code: string): string => {
  const reason = messageOf(error)
  return reason.startsWith(`${code}: `) ? reason.slice(code.length + 2) : reason
}

/** node:zlib reports damage as `ZSTD_error_…`, and output beyond the expected size as ERR_BUFFER_TOO_LARGE. */
const isDecompressionError = (error: unknown): boolean =>
  error instanceof Error &&
  "code" in error &&
  typeof error.code === "string" &&
  (error.code.startsWith("ZSTD_") || error.code.startsWith("Z_") || error.code === "ERR_BUFFER_TOO_LARGE")

/** node:sqlite refuses integers that a number cannot represent, none of which was ever written: a flipped bit in a row makes them. */
const isImpossibleInteger = (error: unknown): boolean =>
  error instanceof RangeError &&
  "code" in error &&
  error.code === "ERR_OUT_OF_RANGE" &&
  error.message.startsWith("Value is too large to be represented")

/** Whether what was thrown while something was read shows that it is damaged, or that the disk does not return it. */
export const isDamage = (error: unknown): boolean => {
  const known = toArchiveError("", "read", error)
  return known instanceof CorruptArchiveError || known instanceof ArchiveIoError
}

/**
 * Turns what was thrown while the recording was read or written during `operation` into a tagged error: by SQLite, by the file system, or
 * by decoding what is on disk. Anything else (a tagged error, a defect of this program) is returned unchanged, to be thrown again.
 */
export const toArchiveError = (directory: string, operation: string, error: unknown): unknown => {
  if (isArchiveError(error)) return error
  const reason = messageOf(error)
  if (error instanceof MalformedFrameError || isDecompressionError(error) || isImpossibleInteger(error)) {
    return new CorruptArchiveError({ directory, reason })
  }
  const result = sqliteCodeOf(error)
  if (result !== undefined) {
    const primary = result & 0xff
    if (primary === SQLITE_FULL || result === SQLITE_IOERR_SHMSIZE) return new DiskFullError({ directory, operation })
    if (primary === SQLITE_NOTADB && operation === "open") {
      // The first bytes identify the file: without them another program's file and a damaged recording look alike.
      const what = "recording.db is not a database, or its beginning was overwritten"
      return new NotARecordingError({ directory, reason: what })
    }
    if (primary === SQLITE_CORRUPT || primary === SQLITE_NOTADB) return new CorruptArchiveError({ directory, reason })
    return new ArchiveIoError({ directory, operation, code: `SQLITE ${result}`, reason })
  }
  const code = systemCodeOf(error)
  if (code === undefined) return error
  if (code === "ENOSPC" || code === "EDQUOT") return new DiskFullError({ directory, operation })
  return new ArchiveIoError({ directory, operation, code, reason: systemReasonOf(error, code) })
}

/** What `read` returns; what it throws, as by SQLite, becomes an ArchiveError ({@link toArchiveError}). */
export const reading = <Answer>(directory: string, read: () => Answer): Answer => {
  try {
    return read()
  } catch (error) {
    throw toArchiveError(directory, "read", error)
  }
}

/** What `read` returns; `undefined`: what it reads is damaged. Everything else is thrown. */
export const unlessDamaged = <Answer>(read: () => Answer): Answer | undefined => {
  try {
    return read()
  } catch (error) {
    if (isDamage(error)) return undefined
    throw error
  }
}

/**
 * What `read` returns, or in words why it cannot be read: it is damaged, or the disk does not return it. Damage that is confined to a block is an
 * answer of its own (docs/decisions/0035-damage-is-confined.md). Everything else is thrown.
 */
export const confined = <Answer extends object>(read: () => Answer): Answer | string => {
  try {
    return read()
  } catch (error) {
    if (error instanceof CorruptArchiveError) return error.reason
    if (error instanceof ArchiveIoError) return `${error.code}: ${error.reason}`
    throw error
  }
}
