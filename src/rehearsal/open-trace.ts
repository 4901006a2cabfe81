/** Opens what a rehearsal is given as its trace. */
import { stat } from "node:fs/promises"
import * as Schema from "effect/Schema"
import { recordedDirectory } from "../simulation/index.ts"
import { openTraceFile, openTraceItems, type TraceItem } from "../trace/index.ts"

/** A file in any format, plain or compressed; the data directory of a recorder, which may be running; or the items of a trace. */
export type TraceSource = string | AsyncIterable<Iterable<TraceItem>> | Iterable<TraceItem>

interface OpenOptions {
  /** µs since the Unix epoch. Default: the whole trace. */
  readonly from: number | undefined
  readonly to: number | undefined
  readonly signal: AbortSignal
}

/** An open trace; what is left open is closed with it. */
interface OpenedTrace extends Disposable {
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

/** A controller is for a kind that the trace does not have. */
export class KindNotInTrace extends Schema.TaggedError<KindNotInTrace>()("KindNotInTrace", {
  controller: Schema.String,
  /** `apps/v1.Deployment`. */
  kind: Schema.String,
  /** What the trace has. */
  kinds: Schema.Array(Schema.String),
}) {
  override get message(): string {
    const has = this.kinds.length === 0 ? "no objects" : this.kinds.join(", ")
    return `the controller ${this.controller} is for ${this.kind}, of which the trace has nothing: it has ${has}. Record that kind too, or give its objects to replayInto as seed`
  }
}

/** Something continues without end while the clock of the rehearsal stands still. */
export class RehearsalStalled extends Schema.TaggedError<RehearsalStalled>()("RehearsalStalled", {
  /** µs since the Unix epoch: where the rehearsal stands. */
  time: Schema.Number,
  /** ms of real time that have passed. */
  waitedMs: Schema.Number,
  /** What is not finished: `simplepod shop/web`; participants that wake themselves if everything is. */
  busy: Schema.Array(Schema.String),
}) {
  override get message(): string {
    const at = new Date(this.time / 1000).toISOString()
    return `the rehearsal has stood at ${at} for ${this.waitedMs / 1000} s of real time: ${this.busy.join(", ")} do not come to rest. A run waits for something outside of the sandbox, or wakes itself again and again`
  }
}
