/** The data directory that a command reads: one that was named, or the mirror of a stream whose address was named. */
import { existsSync } from "node:fs"
import { join, resolve } from "node:path"
import { DATABASE_FILE, isArchiveError } from "../../../archive/index.ts"
import { readStorePlace, readStoreUrl, TargetError } from "../../../blob/index.ts"
import {
  cachePlace,
  isStream,
  isStreamError,
  type Mirror,
  NoStreamError,
  openMirror,
  shardsOf,
} from "../../../fleet/index.ts"
import { Misasked } from "../../command-line/exit-codes.ts"
import { RecordingUnreadable } from "./export-errors.ts"

interface DirectoryToRead extends Pick<Mirror, "directory" | "update" | "close"> {
  /** For people: what was named. */
  readonly name: string
  /** Whether it is that of a stream. */
  readonly isMirror: boolean
}

/** `undefined`: it names no object store, and no directory with a stream or the shards of a cluster. @throws Misasked */
const placeOf = (named: string) => {
  const isLocal = readStoreUrl(named).tag === "answer" && !/^file:/i.test(named)
  const has = (file: string): boolean => existsSync(join(named, file))
  if (isLocal && (has(DATABASE_FILE) || !(has("stream.json") || has("shards.json")))) return undefined
  const reading = readStorePlace(named)
  if (reading.tag === "refused") throw new Misasked(`${reading.path}: ${reading.reason}`)
  return reading.place
}

/** Whether an operand, which may also name a trace, names a stream or a cluster in shards. With a damaged `shards.json` it is such a cluster; opening it reports the damage. */
export const namesStream = async (named: string): Promise<boolean> => {
  const place = named === "-" || readStoreUrl(named).tag === "refused" ? undefined : placeOf(named)
  if (place === undefined || place.provider === "file") return place !== undefined
  if (await isStream(place)) return true
  try {
    return (await shardsOf(place)).length > 0
  } catch (cause) {
    // There may be a right to read one object only, a trace.
    if (cause instanceof TargetError) return false
    if (isStreamError(cause)) return true
    throw cause
  }
}

/** What is read of what was named: itself, or the streams of all shards of a cluster. Rejects with RecordingUnreadable. */
export const recordingsOf = async (
  named: string,
  environment: ReadingSurroundings["environment"],
): Promise<readonly [string, ...string[]]> => {
  const place = placeOf(named)
  if (place === undefined || (await isStream(place, cachePlace(environment)))) return [named]
  const [first, ...others] = await readable(() => shardsOf(place))
  return first === undefined ? [named] : [first, ...others]
}

/** Rejects with RecordingUnreadable if a stream cannot be read. */
const readable = async <Value>(read: () => Promise<Value>): Promise<Value> => {
  try {
    return await read()
  } catch (cause) {
    const isKnown = isStreamError(cause) || isArchiveError(cause) || cause instanceof TargetError
    if (!isKnown) throw cause
    const isAbsent = cause instanceof NoStreamError || (cause instanceof TargetError && cause.code === "no-bucket")
    throw new RecordingUnreadable({ message: cause.message, isAbsent })
  }
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

/** Rejects with RecordingUnreadable, and with Misasked for a cluster in shards, of which {@link recordingsOf} names each. */
export const directoryToRead = async (
  named: string,
  { environment, ...surroundings }: ReadingSurroundings,
): Promise<DirectoryToRead> => {
  const place = placeOf(named)
  if (place === undefined) {
    const directory = resolve(named)
    return { directory, name: directory, isMirror: false, update: async () => false, close: () => undefined }
  }
  return await readable(async () => {
    const mirror = await openMirror(place, { ...surroundings, cache: cachePlace(environment) }).catch(async (cause) => {
      const shards = cause instanceof NoStreamError ? await shardsOf(place) : []
      if (shards.length === 0) throw cause
      throw new Misasked(`${named} is a cluster in ${shards.length} shards; name one of them: ${shards.join(", ")}`)
    })
    const { directory } = mirror
    return { directory, name: named, isMirror: true, update: () => mirror.update(), close: () => mirror.close() }
  })
}
