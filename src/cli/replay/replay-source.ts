/** Where the trace of a replay comes from: a file, a pipe, an object store, a data directory, or a running recorder. */
import { stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { openSource as openObject, readSourcePath, type StoreAddress } from "../../blob/index.ts"
import { systemClock } from "../../clock.ts"
import { type ReplayOptions, recordedDirectory } from "../../simulation/index.ts"
import { visible } from "../../text/index.ts"
import { fileSpool, openTraceFile, openTraceItems, SpooledBytes } from "../../trace/index.ts"
import { directoryToRead, namesStream } from "../export/connection/directory-to-read.ts"
import type { ReplayOrder } from "./replay-order.ts"
import { exportedWindow } from "./running-recorder.ts"

export interface ReplaySource {
  /** For people. */
  readonly name: string
  /** It may be silent for ever. */
  readonly isPipe: boolean
  /** It can be opened only once: a pipe that is replayed once. */
  readonly isReadOnce: boolean
  /**
   * The trace from its beginning, again for each call. Rejects with what reading throws. `signal` ends this reading, which may wait for a
   * silent pipe: otherwise it would be held until the pipe ends.
   */
  readonly open: (signal?: AbortSignal) => Promise<ReplayOptions["items"]>
  /** Call it when nothing is read any more. */
  readonly close: () => void
}

export interface SourceSurroundings {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Ends reading. */
  readonly signal: AbortSignal
}

/** Which trace, and which part of it. */
type SourceOrder = Pick<ReplayOrder, "trace" | "recorder" | "window" | "format" | "repetitions">

/** Rejects with the errors of the place that was named. */
export const openSource = async (order: SourceOrder, surroundings: SourceSurroundings): Promise<ReplaySource> => {
  const { trace, recorder, window, format, repetitions } = order
  const { signal } = surroundings
  if (recorder !== undefined) {
    const { from = 0, to = systemClock.wallMicros(), duration = Number.POSITIVE_INFINITY } = window
    const endTime = Math.min(to, from + duration)
    const { name, bytes } = await exportedWindow({ ...surroundings, recorder, startTime: from, endTime })
    return ofBytes(name, async () => bytes.read(), { format, signal }, { close: () => bytes[Symbol.dispose]() })
  }
  if (trace === "-") return ofPipe("standard input", process.stdin, { format, signal }, repetitions)
  const name = visible(trace)
  if (await namesStream(trace)) {
    const { directory, close } = await directoryToRead(trace, surroundings)
    const recorded = recordedDirectory(directory, window, signal)
    const closeBoth = (): void => {
      recorded.close()
      close()
    }
    return { name, isPipe: false, isReadOnce: false, open: recorded.open, close: closeBoth }
  }
  const store = readSourcePath(trace)
  if (store.tag === "store") return ofObject(name, store.address, { format, signal })
  const status = await stat(trace).catch(() => undefined)
  if (status?.isDirectory() === true)
    return { name: trace, isPipe: false, isReadOnce: false, ...recordedDirectory(trace, window, signal) }
  const open = async (): Promise<AsyncIterable<Uint8Array>> => (await openTraceFile(trace)).bytes
  if (status === undefined || status.isFile()) return ofBytes(name, open, { format, signal })
  return ofPipe(name, await open(), { format, signal }, repetitions)
}

type Reading = Pick<ReplayOrder, "format"> & Pick<SourceSurroundings, "signal">

/** A trace of bytes that can be received any number of times. `name`: for people. */
export const ofBytes = (
  name: string,
  bytes: () => Promise<AsyncIterable<Uint8Array>>,
  { format: from, signal }: Reading,
  { isPipe = false, isReadOnce = false, close = () => undefined }: Partial<Omit<ReplaySource, "name" | "open">> = {},
): ReplaySource => ({
  name,
  isPipe,
  isReadOnce,
  open: async (own) => {
    const input = { bytes: await bytes(), size: undefined }
    const ending = own === undefined ? signal : AbortSignal.any([signal, own])
    return (await openTraceItems(input, { inputName: name, from, signal: ending })).items
  },
  close,
})

const ofObject = async (name: string, address: StoreAddress, reading: Reading): Promise<ReplaySource> => {
  const object = await openObject(address, { signal: reading.signal })
  return ofBytes(name, async () => object.read(), reading, { close: () => object.close() })
}

/** What is replayed several times is kept on disk meanwhile. */
const ofPipe = (
  name: string,
  bytes: AsyncIterable<Uint8Array>,
  reading: Reading,
  repetitions: number,
): ReplaySource => {
  if (repetitions === 1) return ofBytes(name, async () => bytes, reading, { isPipe: true, isReadOnce: true })
  const spooled = new SpooledBytes(fileSpool(tmpdir()), bytes)
  const close = (): void => spooled[Symbol.dispose]()
  return ofBytes(name, async () => spooled.read(), reading, { isPipe: true, close })
}
