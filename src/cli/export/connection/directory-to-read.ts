/** The data directory that a command reads: one that was named, or the mirror of a stream whose address was named. */
import { existsSync } from "node:fs"
import { join, resolve } from "node:path"
import { DATABASE_FILE, isArchiveError } from "../../../archive/index.ts"
import { readStorePlace, readStoreUrl, TargetError } from "../../../blob/index.ts"
import { cachePlace, isStream, isStreamError, type Mirror, openMirror } from "../../../fleet/index.ts"
import { Misasked } from "../../command-line/exit-codes.ts"
import { RecordingUnreadable } from "./export-errors.ts"

interface DirectoryToRead extends Pick<Mirror, "directory" | "update" | "close"> {
  /** For people: what was named. */
  readonly name: string
  /** Whether it is that of a stream. */
  readonly isMirror: boolean
}

/** `undefined`: it names no object store, and no directory with a stream. @throws Misasked */
const placeOf = (named: string) => {
  const isLocal = readStoreUrl(named).tag === "answer" && !/^file:/i.test(named)
  if (isLocal && (!existsSync(join(named, "stream.json")) || existsSync(join(named, DATABASE_FILE)))) return undefined
  const reading = readStorePlace(named)
  if (reading.tag === "refused") throw new Misasked(`${reading.path}: ${reading.reason}`)
  return reading.place
}

/** Whether an operand that may also name a trace names a stream. */
export const namesStream = async (named: string): Promise<boolean> => {
  const place = named === "-" || readStoreUrl(named).tag === "refused" ? undefined : placeOf(named)
  return place !== undefined && (place.provider === "file" || (await isStream(place)))
}

interface ReadingSurroundings {
  /** Says where mirrors are. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Takes what a person should know, a line each. Default: nobody is told. */
  readonly say?: (line: string) => void
  readonly signal?: AbortSignal
  /** ms for which what is known of a stream counts as new. Default 20,000. */
  readonly everyMs?: number
}

/** Rejects with RecordingUnreadable. */
export const directoryToRead = async (
  named: string,
  { environment, ...surroundings }: ReadingSurroundings,
): Promise<DirectoryToRead> => {
  const place = placeOf(named)
  if (place === undefined) {
    const directory = resolve(named)
    return { directory, name: directory, isMirror: false, update: async () => false, close: () => undefined }
  }
  try {
    const mirror = await openMirror(place, { ...surroundings, cache: cachePlace(environment) })
    const { directory } = mirror
    return { directory, name: named, isMirror: true, update: () => mirror.update(), close: () => mirror.close() }
  } catch (cause) {
    const isKnown = isStreamError(cause) || isArchiveError(cause) || cause instanceof TargetError
    throw isKnown ? new RecordingUnreadable({ message: cause.message }) : cause
  }
}
