/**
 * Opens the recording of a directory for its recorder, also if it is damaged: what cannot be trusted is moved into a directory beside it whose
 * name says so, and a new recording begins with a gap of each kind for which the old one still says up to when it was complete.
 *
 * The directory with the old files is a data directory itself, for `reel store salvage` and for people.
 */
import { closeSync, existsSync, openSync, readdirSync, readSync, renameSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { ArchiveWriter } from "./archive-writer.ts"
import { CorruptArchiveError, isDamage, NotARecordingError, toArchiveError } from "./directory/archive-errors.ts"
import { lockDirectory } from "./directory/directory-lock.ts"
import { makePrivateDirectory } from "./directory/private-files.ts"
import { PINS } from "./pins/pin-copies.ts"
import { type KindState, readKinds } from "./rows/kind-table.ts"
import { beginningOf, type LostBeginning, SET_ASIDE_KEY } from "./rows/metadata.ts"
import { DATABASE_FILE, faultOfLog, hasLog, isBeingWritten, logOf, openDamaged } from "./tables/reading-access.ts"
import { addChecksumFunction, faultOfTable } from "./tables/sound-rows.ts"
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
    return { ...openWithGaps(directory, options), lost }
  } catch (error) {
    const known = toArchiveError(directory, "open", error)
    const isLost = known instanceof NotARecordingError && isBlank(join(directory, DATABASE_FILE))
    if (!(known instanceof CorruptArchiveError) && !isLost) throw known
    const reason = isLost ? "its beginning never reached the disk" : known.reason
    const setAside = { path: moveAside(directory, timeOf(options), options), reason }
    return { ...openWithGaps(directory, options, setAside), lost: undefined }
  }
}

/**
 * Opens a recording and gives it the gaps after those that were set aside. Which of them it has is kept in it: setting aside may be interrupted
 * at any point, as by a full disk, and the gaps must not be missing then. `setAside`: the one that was moved just now.
 */
const openWithGaps = (
  directory: string,
  options: ArchiveWriterOptions,
  setAside?: SetAside,
): Pick<OpenRecording, "writer" | "setAside"> => {
  const nowMicros = timeOf(options)
  // What is no directory is reported when it is opened.
  const isDirectory = statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true
  const names = isDirectory ? namesOfSetAside(directory) : []
  const isSuccessor = names.length > 0 && !existsSync(join(directory, DATABASE_FILE))
  // Frames for the old recording may still be on their way: they belong to lives with lower numbers.
  const fence = isSuccessor && {
    incarnationsAbove: Math.floor(nowMicros / 1_000_000),
    lostBeginning: lostBeginning(directory, names, nowMicros),
  }
  const writer = ArchiveWriter.open(directory, { ...options, ...fence })
  try {
    const noted = (writer.metadata.get(SET_ASIDE_KEY) ?? "").split(" ")
    const others = names.filter((name) => !noted.includes(name))
    const [first] = others
    if (first === undefined) return { writer, setAside: undefined }
    for (const { name, kind } of lastKnown(directory, others)) {
      // What exactly is damaged is in the log: here it would be repeated for each kind.
      const detail = `the previous recording was damaged and was set aside in ${name}`
      writer.recordGap(kind.gvk, gapAfter(kind, nowMicros, detail))
    }
    writer.commit()
    writer.metadata.set(SET_ASIDE_KEY, names.join(" "))
    const interrupted = { path: join(directory, first), reason: "an earlier start found that, and was interrupted" }
    return { writer, setAside: setAside ?? interrupted }
  } catch (cause) {
    writer.abandon()
    throw cause
  }
}

/** https://www.sqlite.org/fileformat2.html#the_database_header */
const sqliteHeaderBytes = 100

/**
 * Whether the beginning of a file never reached the disk: what a power failure or a failed sync leaves of a young recording. A file of another program begins
 * with something.
 */
const isBlank = (path: string): boolean => {
  const beginning = Buffer.alloc(sqliteHeaderBytes, 1)
  const file = openSync(path, "r")
  try {
    const length = readSync(file, beginning, 0, sqliteHeaderBytes, 0)
    return length === sqliteHeaderBytes && beginning.every((byte) => byte === 0)
  } finally {
    closeSync(file)
  }
}

const timeOf = ({ now = () => Date.now() * 1000 }: ArchiveWriterOptions): number => now()

/** Names of the directories with recordings that were set aside in this one, the oldest first. */
export const namesOfSetAside = (directory: string, prefix = SET_ASIDE_PREFIX): ReadonlyArray<string> =>
  readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name.startsWith(prefix))
    .map(({ name }) => name)
    .sort()

/** What names of directories begin with in which a recording is whose stream another recorder has taken over; `disk-metrics.ts` has the same. */
export const REPLACED_PREFIX = "replaced-"

/** Replaced recordings that are kept: two recorders that take a stream from each other at each start would fill the disk with them. */
const mostReplaced = 2

/**
 * Moves the recording of a directory, if it has one, into a directory of its own, whose path is returned; the last two of these are kept. Nothing of it is a
 * gap: what follows has its place. @throws ArchiveError
 */
export const setAsideReplaced = (directory: string, nowMicros: number): string | undefined => {
  if (!DATABASE_FILES.some((file) => existsSync(join(directory, file)))) return undefined
  const path = moveAside(directory, nowMicros, {}, REPLACED_PREFIX)
  try {
    for (const name of namesOfSetAside(directory, REPLACED_PREFIX).slice(0, -mostReplaced))
      rmSync(join(directory, name), { recursive: true, force: true })
  } catch (error) {
    throw toArchiveError(directory, "set aside", error)
  }
  return path
}

/** The log last: without its database it makes the next start notice that setting aside was interrupted. */
const DATABASE_FILES = ["-shm", "", "-wal"].map((suffix) => `${DATABASE_FILE}${suffix}`)

const moveAside = (
  directory: string,
  nowMicros: number,
  options: ArchiveWriterOptions,
  prefix = SET_ASIDE_PREFIX,
): string => {
  const lock = lockDirectory(directory, options.holder, options.fileSystemTypeOf)
  try {
    const stamp = new Date(nowMicros / 1000).toISOString().replaceAll(/[-:]|\.\d+/g, "")
    let path = join(directory, `${prefix}${stamp}`)
    for (let number = 2; !makePrivateDirectory(path); number++) path = join(directory, `${prefix}${stamp}-${number}`)
    // Copies of pinned windows belong to the pins of that recording. First: they must not be left to one that begins after an interruption.
    if (existsSync(join(directory, PINS))) renameSync(join(directory, PINS), join(path, PINS))
    for (const file of DATABASE_FILES) {
      if (existsSync(join(directory, file))) renameSync(join(directory, file), join(path, file))
    }
    return path
  } catch (error) {
    throw toArchiveError(directory, "set aside", error)
  } finally {
    lock.release()
  }
}

/** Of recordings that do not even tell which kinds they had; `undefined`: all do. */
const lostBeginning = (
  directory: string,
  names: ReadonlyArray<string>,
  nowMicros: number,
): LostBeginning | undefined => {
  const lost = names.filter((name) => kindsOf(join(directory, name)).length === 0)
  if (lost.length === 0) return undefined
  const begun = lost.map((name) => beginningOf(join(directory, name)) ?? nowMicros)
  const detail = `the previous recording was damaged and was set aside in ${lost.join(", ")}; which kinds it had is unknown`
  return { fromTime: Math.min(nowMicros, ...begun), detail }
}

interface KnownKind {
  readonly name: string
  readonly kind: KindState
}

/** Each kind that these recordings tell of, as of the one that was complete for longest. */
const lastKnown = (directory: string, names: ReadonlyArray<string>): Iterable<KnownKind> => {
  const last = new Map<string, KnownKind>()
  for (const name of names) {
    for (const kind of kindsOf(join(directory, name))) {
      const before = last.get(kind.gvk)?.kind.completeThroughTime ?? 0
      if (kind.completeThroughTime > before) last.set(kind.gvk, { name, kind })
    }
  }
  return last.values()
}

/** The kinds of a damaged recording, if that much of it is sound. */
const kindsOf = (path: string): ReadonlyArray<KindState> => {
  try {
    const database = openDamaged(path, () => undefined)
    try {
      addChecksumFunction(database)
      const isSound = ["kind", "kind_namespace"].every((table) => faultOfTable(database, table) === undefined)
      return isSound ? readKinds(database) : []
    } finally {
      database.close()
    }
  } catch (error) {
    const known = toArchiveError(path, "read", error)
    // An empty file is not even a database.
    if (isDamage(known) || known instanceof NotARecordingError) return []
    throw known
  }
}

/** All that the other recording had of the kind is missing from this one, and what followed. */
const gapAfter = ({ recordedSince, completeThroughTime }: KindState, nowMicros: number, detail: string) => ({
  ...{ fromVersion: "", toVersion: "", fromTime: recordedSince || completeThroughTime },
  ...{ toTime: Math.max(nowMicros, completeThroughTime), reason: "damaged" as const, detail, namespace: "" },
})
