/** The recordings that a question about the past is asked of: the options that name them, and how they are opened. */
import { type OptionValues, repeated } from "../command-line/arguments.ts"
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

/** Recordings that can be asked. Close them afterwards. */
export interface OpenPast {
  /** At least one. */
  readonly places: ReadonlyArray<OpenPlace>
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

/** Opens all of them, or none. Rejects with an ExportError. */
export const openPast = async (
  options: PastOptions,
  { terminal, say, signal }: OpeningSurroundings,
): Promise<OpenPast> => {
  const { dataDir: directories, trace: traces, ...others } = options
  const places: OpenPlace[] = []
  /** Of what was made for traces. */
  const removals: (() => Promise<void>)[] = []
  const close = async (): Promise<void> => {
    for (const place of places) await place.close()
    for (const remove of removals) await remove()
  }
  try {
    for (const dataDir of directories.length + traces.length === 0 ? [undefined] : directories)
      places.push(await openPlace({ ...others, dataDir }, terminal, say, signal))
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
  const isOffline = ends.every((end) => end !== undefined)
  return { places, end: isOffline ? Math.max(...ends.map((end) => (end ?? 1) - 1)) : undefined, close }
}
