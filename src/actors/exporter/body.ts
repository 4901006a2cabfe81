/**
 * The exporter: encodes windows of the recording in a thread of its own, from a read-only connection. Large ones in
 * SimKube's format are encoded by further threads as well (see encoding-pool.ts).
 *
 * Exports run side by side, a piece each in turn. Each has a stream of its own, whose frames are acknowledged when its client has taken
 * them: so memory is bounded whatever the window's size, and an export whose client is slow waits for it while the others go on. A recording that cannot be read ends the export with its reason, never the
 * recorder.
 */
import { availableParallelism } from "node:os"
import * as Effect from "effect/Effect"
import { messageOf } from "../../message-of.ts"
import type { ActorBody } from "../../runtime/actor.ts"
import type { OutgoingStream } from "../../runtime/stream/outgoing-stream.ts"
import { InvalidSelectorError } from "../../trace/selection/label-selector.ts"
import {
  type ExporterConfig,
  type ExporterControl,
  type ExportJob,
  ExportRefused,
  maximumExports,
} from "./definition.ts"
import { type BatchLimits, defaultLimits } from "./encode-simkube.ts"
import { EncodingPool } from "./encoding-pool.ts"
import { type OpenExport, openExport } from "./open-export.ts"

/** Largest piece in bytes. */
const pieceBytes = 64 * 1024

/**
 * Threads that help with large exports: not every core, because watchers and store go on recording, and not more than two,
 * because each takes 18 MB.
 */
const poolThreads = (): number => Math.max(1, Math.min(2, availableParallelism() - 1))

/** `encoder` is the module that the pool's threads run; `limits` say from which size of an export on they do. */
export const exporterBody =
  (encoder: URL, limits: BatchLimits = defaultLimits): ActorBody<ExporterConfig, ExporterControl, never> =>
  ({ clock, config }) =>
    Effect.gen(function* () {
      const runner = yield* Effect.acquireRelease(
        Effect.sync(() => {
          const pool = new EncodingPool({ entry: encoder, threads: poolThreads(), clock })
          return new ExportRunner(config.directory, pool, limits)
        }),
        (running) => Effect.promise(() => running.stop()),
      )
      return { export: (job, stream) => Effect.try({ try: () => runner.start(job, stream), catch: refusalOf }) }
    })

interface RunningExport {
  readonly opened: OpenExport
  readonly stream: OutgoingStream
  /** Whether its next piece is on its way. */
  isPulling: boolean
}

/** Takes turns between the exports under way. */
class ExportRunner {
  readonly #directory: string
  readonly #pool: EncodingPool
  readonly #limits: BatchLimits
  readonly #running = new Set<RunningExport>()
  #scheduled = false

  constructor(directory: string, pool: EncodingPool, limits: BatchLimits) {
    this.#directory = directory
    this.#pool = pool
    this.#limits = limits
  }

  start(job: ExportJob, stream: OutgoingStream): { readonly gaps: number; readonly leftOut: ReadonlyArray<string> } {
    if (this.#running.size >= maximumExports) {
      const message = `${maximumExports} exports are already running, which is the limit; try again when one has ended`
      throw new ExportRefused({ message, fault: "busy" })
    }
    const opened = openExport(this.#directory, job, this.#pool, this.#limits)
    const running: RunningExport = { opened, stream, isPulling: false }
    this.#running.add(running)
    stream.onWritable(() => this.#schedule())
    // Batches that are in other threads come back and are dropped: they take some ms, and a thread that is ended in the middle of
    // one takes more to start again.
    stream.onClosed(() => void this.#close(running))
    this.#schedule()
    return { gaps: opened.gaps, leftOut: opened.leftOut }
  }

  async stop(): Promise<void> {
    const closed = [...this.#running].map((running) => {
      running.stream.end("the recorder is stopping")
      return this.#close(running)
    })
    await this.#pool.stop()
    await Promise.all(closed)
  }

  async #close(running: RunningExport): Promise<void> {
    this.#running.delete(running)
    await running.opened.close()
  }

  #schedule(): void {
    if (this.#scheduled || ![...this.#running].some(mayPull)) return
    this.#scheduled = true
    // A turn of the event loop between pieces, so that acknowledgements and cancellations are seen.
    setImmediate(() => {
      this.#scheduled = false
      for (const running of this.#running) if (mayPull(running)) this.#pull(running)
    })
  }

  #pull(running: RunningExport): void {
    running.isPulling = true
    running.opened.pieces.next().then(
      (next) => this.#arrived(running, next),
      // One without words is no whole trace either.
      (cause: unknown) => this.#ended(running, messageOf(cause) || "it failed"),
    )
  }

  #arrived(running: RunningExport, next: IteratorResult<Uint8Array, void>): void {
    if (next.done === true) return this.#ended(running, "")
    running.isPulling = false
    if (!this.#running.has(running)) return
    const { value } = next
    for (let start = 0; start < value.length; start += pieceBytes) {
      running.stream.send(value.subarray(start, start + pieceBytes))
    }
    release(value)
    this.#schedule()
  }

  #ended(running: RunningExport, error: string): void {
    if (this.#running.delete(running)) running.stream.end(error)
  }
}

const mayPull = ({ stream, isPulling }: RunningExport): boolean => !isPulling && stream.isWritable

/** A piece's memory is its own. Left to V8 it would wait until 64 MB of it had come together. */
const release = ({ buffer, byteLength }: Uint8Array): void => {
  if (buffer instanceof ArrayBuffer && byteLength > 0) buffer.transfer(0)
}

const refusalOf = (cause: unknown): ExportRefused => {
  if (cause instanceof ExportRefused) return cause
  return new ExportRefused({
    message: messageOf(cause),
    fault: cause instanceof InvalidSelectorError ? "request" : "recording",
  })
}
