/**
 * Opens the recording of a directory for its recorder, also if it is damaged: what cannot be trusted is moved into a directory beside it whose
 * name says so, and a new recording begins with a gap of each kind for which the old one still says up to when it was complete.
 *
 * The directory with the old files is a data directory itself, for `reel store salvage` and for people.
 */
import { existsSync, renameSync } from "node:fs"
import { basename, join } from "node:path"
import { CorruptArchiveError, isDamage, toArchiveError } from "./archive-errors.ts"
import { ArchiveWriter } from "./archive-writer.ts"
import { lockDirectory } from "./directory-lock.ts"
import { makePrivateDirectory } from "./private-files.ts"
import { DATABASE_FILE, hasLog, isBeingWritten, logOf, openDamaged } from "./reading-access.ts"
import { type KindState, readKinds } from "./rows/kind-table.ts"
import { faultOfLog } from "./soundness/sound-log.ts"
import { addChecksumFunction, faultOfTable } from "./soundness/sound-rows.ts"
import type { ArchiveWriterOptions } from "./writing.ts"

/** What names of directories with damaged recordings begin with; `disk-metrics.ts`, which may not load this module, has the same. */
export const SET_ASIDE_PREFIX = "damaged-"

interface SetAside {
  /** Where the damaged files are now. */
  readonly path: string
  /** What is damaged. */
  readonly reason: string
}

interface OpenRecording {
  readonly writer: ArchiveWriter
  /** `undefined`: the recording continues. */
  readonly setAside: SetAside | undefined
  /** What of its log cannot be read; `undefined`: nothing is missing. The recording continues before that. */
  readonly lost: string | undefined
}

/** @throws as ArchiveWriter.open does, except CorruptArchiveError */
export const openOrBegin = (directory: string, options: ArchiveWriterOptions = {}): OpenRecording => {
  try {
    const lost = hasLog(directory) && !isBeingWritten(directory) ? faultOfLog(logOf(directory)) : undefined
    return { writer: ArchiveWriter.open(directory, options), setAside: undefined, lost }
  } catch (error) {
    if (!(error instanceof CorruptArchiveError)) throw error
    const nowMicros = (options.now ?? (() => Date.now() * 1000))()
    const path = moveAside(directory, nowMicros, options)
    const before = kindsOf(path)
    // Frames for the old recording may still be on their way: they belong to lives with lower numbers.
    const writer = ArchiveWriter.open(directory, { ...options, incarnationsAbove: Math.floor(nowMicros / 1_000_000) })
    try {
      const detail = `the previous recording was damaged (${error.reason}) and was set aside in ${basename(path)}`
      for (const kind of before) writer.recordGap(kind.gvk, gapAfter(kind, nowMicros, detail))
      writer.commit()
    } catch (cause) {
      writer.abandon()
      throw cause
    }
    return { writer, setAside: { path, reason: error.reason }, lost: undefined }
  }
}

const moveAside = (directory: string, nowMicros: number, options: ArchiveWriterOptions): string => {
  const lock = lockDirectory(directory, options.holder, options.fileSystemTypeOf)
  try {
    const stamp = new Date(nowMicros / 1000).toISOString().replaceAll(/[-:]|\.\d+/g, "")
    let path = join(directory, `${SET_ASIDE_PREFIX}${stamp}`)
    for (let number = 2; !makePrivateDirectory(path); number++)
      path = join(directory, `${SET_ASIDE_PREFIX}${stamp}-${number}`)
    // The log last: without its database it makes the next start notice that it was interrupted here.
    for (const suffix of ["-shm", "", "-wal"]) {
      const file = `${DATABASE_FILE}${suffix}`
      if (existsSync(join(directory, file))) renameSync(join(directory, file), join(path, file))
    }
    return path
  } catch (error) {
    throw toArchiveError(directory, "set aside", error)
  } finally {
    lock.release()
  }
}

/** The kinds of a damaged recording, if that much of it is sound. */
const kindsOf = (path: string): ReadonlyArray<KindState> => {
  try {
    const database = openDamaged(path, () => undefined)
    try {
      addChecksumFunction(database)
      const isSound = ["kind", "kind_namespace"].every((table) => faultOfTable(database, table) === undefined)
      return isSound ? readKinds(database).filter(({ completeThroughTime }) => completeThroughTime > 0) : []
    } finally {
      database.close()
    }
  } catch (error) {
    const known = toArchiveError(path, "read", error)
    // An empty file is not even a database.
    if (isDamage(known) || (known instanceof Error && "_tag" in known && known._tag === "NotARecordingError")) return []
    throw known
  }
}

const gapAfter = ({ completeThrough, completeThroughTime }: KindState, nowMicros: number, detail: string) => ({
  ...{ fromVersion: completeThrough, toVersion: "", fromTime: completeThroughTime },
  ...{ toTime: Math.max(nowMicros, completeThroughTime), reason: "damaged" as const, detail, namespace: "" },
})
