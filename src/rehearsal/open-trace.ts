/** Opens what a rehearsal is given as its trace. */
import { stat } from "node:fs/promises"
import { recordedDirectory } from "../simulation/source/recorded-directory.ts"
import { openTraceFile } from "../trace/files/trace-input.ts"
import { openTraceItems } from "../trace/files/trace-items.ts"
import type { TraceItem } from "../trace/trace-item.ts"

/** A file in any format, plain or compressed; the data directory of a recorder, which may be running; or the items of a trace. */
export type TraceSource = string | AsyncIterable<Iterable<TraceItem>> | Iterable<TraceItem>

interface OpenOptions {
  /** µs since the Unix epoch. Default: the whole trace. */
  readonly from: number | undefined
  readonly to: number | undefined
  readonly signal: AbortSignal
}

/** An open trace; what is left open is closed with it. */
export interface OpenedTrace extends Disposable {
  readonly items: AsyncIterable<Iterable<TraceItem>>
}

/** Rejects with InputUnreadable, BadTraceError or NoRecording. */
export const openTrace = async (source: TraceSource, { from, to, signal }: OpenOptions): Promise<OpenedTrace> => {
  const nothing = (): void => undefined
  if (typeof source !== "string") {
    const items = Symbol.asyncIterator in source ? source : inOneChunk(source)
    return { items, [Symbol.dispose]: nothing }
  }
  const status = await stat(source).catch(() => undefined)
  if (status?.isDirectory() === true) {
    const { open, close } = recordedDirectory(source, { from, to }, signal)
    return { items: await open(), [Symbol.dispose]: close }
  }
  // A file that is not there is reported by opening it.
  const { items } = await openTraceItems(await openTraceFile(source), { inputName: source, from: undefined, signal })
  return { items, [Symbol.dispose]: nothing }
}

async function* inOneChunk(items: Iterable<TraceItem>): AsyncGenerator<Iterable<TraceItem>, void> {
  yield items
}
