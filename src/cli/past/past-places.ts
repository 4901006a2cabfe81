/** The recordings that a question about the past is asked of: the options that name them, and how they are opened. */
import { type OptionValues, repeated } from "../command-line/arguments.ts"
import { RecordingUnreadable } from "../export/connection/export-errors.ts"
import { faultOfPlace, type OpenPlace, openPlace, placeOptions } from "../export/connection/recorder-place.ts"
import type { Terminal } from "../terminal/terminal.ts"

/** Which recordings to ask. */
export const pastOptions = {
  ...placeOptions,
  dataDir: repeated(
    "DIR",
    "ask the recording in this directory instead, which may be a copy or belong to someone else, or the stream at s3://BUCKET/PREFIX, gs://, azure:// or in a directory",
  ),
  trace: repeated(
    "FILE",
    "ask this trace instead, a file of reel export or reel snapshot in NDJSON, compressed or not",
  ),
}

export type PastOptions = OptionValues<typeof pastOptions>

/** Rejects places that contradict each other, as {@link faultOfPlace} does. */
export const faultOfPast = ({ dataDir, trace, ...others }: PastOptions): string | undefined =>
  faultOfPlace({ ...others, dataDir: dataDir[0] ?? trace[0] })

/** Those that name a directory, or the address of a stream, and nothing else. */
export const ofDirectory = (dataDir: string): PastOptions => ({
  ...{ server: undefined, inCluster: undefined, kubeconfig: undefined, context: undefined, tokenFile: undefined },
  ...{ timeout: 0, trace: [], dataDir: [dataDir] },
})

/** Recordings that can be asked. Close them afterwards. */
export interface OpenPast {
  /** At least one. */
  readonly places: ReadonlyArray<OpenPlace>
  /** Whether they are one recording, or shards of one: no object is in two of them. */
  readonly isOne: boolean
  /** Addresses of shards that have no stream yet. */
  readonly absent: ReadonlyArray<string>
  /** µs since the Unix epoch: the last moment of the recordings; `undefined` if one of them is a running recorder, whose end is now. */
  readonly end: number | undefined
  /** Also removes what was made for traces. */
  readonly close: () => Promise<void>
}

interface OpeningSurroundings {
  readonly terminal: Pick<Terminal, "environment">
  /** Takes what a person should know of a recording as a whole, a line each. */
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

/** µs by which a recording ends before the present if its recorder runs: what is newer is not in the store yet. */
export const usualLag = 300_000_000

/** Opens all of them, or none; shards that have no stream yet are left out if others have one. Rejects with an ExportError. */
export const openPast = async (
  options: PastOptions,
  { terminal, say, signal }: OpeningSurroundings,
): Promise<OpenPast> => {
  const { dataDir: directories, trace: traces, ...others } = options
  const places: OpenPlace[] = []
  const absent: string[] = []
  /** Of what was made for traces. */
  const removals: (() => Promise<void>)[] = []
  const close = async (): Promise<void> => {
    for (const place of places) await place.close()
    for (const remove of removals) await remove()
  }
  try {
    if (directories.length + traces.length === 0)
      places.push(await openPlace({ ...others, dataDir: undefined }, terminal, say, signal))
    for (const named of directories) {
      const { recordingsOf } = await import("../export/connection/directory-to-read.ts")
      const parts = await recordingsOf(named, terminal.environment)
      for (const dataDir of parts)
        try {
          places.push(await openPlace({ ...others, dataDir }, terminal, say, signal))
        } catch (cause) {
          const isMissing = parts.length > 1 && cause instanceof RecordingUnreadable && cause.isAbsent === true
          if (!isMissing || absent.push(dataDir) === parts.length) throw cause
        }
    }
    for (const path of traces) {
      const { traceDirectory } = await import("./trace-place.ts")
      const { directory, close: remove } = await traceDirectory(path, signal)
      removals.push(remove)
      places.push(await openPlace({ ...others, dataDir: directory }, terminal, say, signal))
    }
  } catch (cause) {
    await close()
    throw cause
  }
  const ends = places.map(({ recorder }) => recorder.offline?.knownUntil)
  const known = ends.flatMap((end) => (end === undefined ? [] : [end - 1]))
  const [first, last] = [Math.min(...known), Math.max(...known)]
  const isOne = directories.length + traces.length <= 1
  // Up to where all shards are known, unless the recorder of one of them has ended.
  const end = isOne && last - first < usualLag ? first : last
  return { places, isOne, absent, end: known.length === ends.length ? end : undefined, close }
}
