/**
 * The exporter: encodes windows of the recording in a thread of its own, from a read-only connection. Large ones in
 * SimKube's format are encoded by further threads as well (see encoding-pool.ts).
 *
 * Exports run side by side, a piece each in turn. Memory is bounded whatever the window's size: an export whose reader is
 * slow waits for it, and the others go on. A recording that cannot be read ends the export with its reason, never the
 * recorder.
 */
import { availableParallelism } from "node:os"
import * as Effect from "effect/Effect"
import type { ActorBody, ActorContext } from "../../runtime/actor.ts"
import { messageOf } from "../../runtime/errors.ts"
import type { Outbox } from "../../runtime/mailbox/outbox.ts"
import { InvalidSelectorError } from "../../trace/selection/label-selector.ts"
import { encodeExportChunk, exportDataOverhead, writeExportData } from "../../wire/export-chunk.ts"
import { exportMailbox } from "../names.ts"
import {
  type ExporterConfig,
  type ExporterControl,
  type ExportJob,
  ExportRefused,
  exportWindowBytes,
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
  (context) =>
    Effect.gen(function* () {
      // Small limits: what waits here is memory that the recorder's budget pays for. The receiver acknowledges at once, so
      // that no export waits for the reader of another; each has a window of its own.
      const outbox = context.outbox(exportMailbox, { windowBytes: 1024 * 1024, bufferBytes: 1024 * 1024 })
      const runner = yield* Effect.acquireRelease(
        Effect.sync(() => {
          const pool = new EncodingPool({ entry: encoder, threads: poolThreads(), clock: context.clock })
          return new ExportRunner(context, outbox, pool, limits)
        }),
        (running) => Effect.promise(() => running.stop()),
      )
      return {
        start: (job) => Effect.try({ try: () => runner.start(job), catch: refusalOf }),
        taken: ({ export: id, bytes }) => Effect.sync(() => runner.taken(id, bytes)),
        cancel: (id) => Effect.sync(() => runner.cancel(id)),
      }
    })

interface RunningExport {
  readonly opened: OpenExport
  /** Bytes that its reader has room for; the last piece may exceed it. */
  credit: number
  /** Whether its next piece is on its way. */
  isPulling: boolean
}

/** Takes turns between the exports under way. */
class ExportRunner {
  readonly #directory: string
  readonly #outbox: Outbox
  readonly #pool: EncodingPool
  readonly #limits: BatchLimits
  readonly #running = new Map<number, RunningExport>()
  #scheduled = false

  constructor(context: ActorContext<ExporterConfig, never>, outbox: Outbox, pool: EncodingPool, limits: BatchLimits) {
    this.#directory = context.config.directory
    this.#outbox = outbox
    this.#pool = pool
    this.#limits = limits
    outbox.onWritable(() => this.#schedule())
  }

  start(job: ExportJob): { readonly gaps: number; readonly leftOut: ReadonlyArray<string> } {
    if (this.#running.size >= maximumExports) {
      const message = `${maximumExports} exports are already running, which is the limit; try again when one has ended`
      throw new ExportRefused({ message, fault: "busy" })
    }
    const opened = openExport(this.#directory, job, this.#pool, this.#limits)
    this.#running.set(job.export, { opened, credit: exportWindowBytes, isPulling: false })
    this.#schedule()
    return { gaps: opened.gaps, leftOut: opened.leftOut }
  }

  taken(id: number, bytes: number): void {
    const running = this.#running.get(id)
    if (running === undefined) return
    running.credit += bytes
    this.#schedule()
  }

  /**
   * Batches that are in other threads come back and are dropped: they take some ms, and a thread that is ended in the middle
   * of one takes more to start again.
   */
  cancel(id: number): void {
    void this.#close(id)
  }

  async stop(): Promise<void> {
    const closed = [...this.#running.keys()].map((id) => {
      const closing = this.#close(id)
      this.#sendEnd(id, "the recorder is stopping")
      return closing
    })
    await this.#pool.stop()
    await Promise.all(closed)
  }

  async #close(id: number): Promise<void> {
    const running = this.#running.get(id)
    this.#running.delete(id)
    await running?.opened.close()
  }

  #schedule(): void {
    if (this.#scheduled || ![...this.#running.values()].some(mayPull)) return
    this.#scheduled = true
    // A turn of the event loop between pieces, so that acknowledgements and cancellations are seen.
    setImmediate(() => {
      this.#scheduled = false
      for (const [id, running] of this.#running) {
        if (!mayPull(running)) continue
        if (!this.#outbox.isWritable) return
        this.#pull(id, running)
      }
    })
  }

  #pull(id: number, running: RunningExport): void {
    running.isPulling = true
    running.opened.pieces.next().then(
      (next) => this.#arrived(id, running, next),
      (cause: unknown) => this.#ended(id, running, messageOf(cause)),
    )
  }

  #arrived(id: number, running: RunningExport, next: IteratorResult<Uint8Array, void>): void {
    if (next.done === true) return this.#ended(id, running, "")
    running.isPulling = false
    if (this.#running.get(id) !== running) return
    const { value } = next
    running.credit -= value.length
    for (let start = 0; start < value.length; start += pieceBytes) {
      this.#sendData(id, value.subarray(start, start + pieceBytes))
    }
    release(value)
    this.#schedule()
  }

  #ended(id: number, running: RunningExport, error: string): void {
    if (this.#running.get(id) !== running) return
    this.#running.delete(id)
    this.#sendEnd(id, error)
  }

  #sendData(id: number, data: Uint8Array): void {
    const memory = this.#outbox.reserve(data.length + exportDataOverhead)
    this.#outbox.commit(writeExportData(memory, id, data))
  }

  #sendEnd(id: number, error: string): void {
    this.#outbox.send(encodeExportChunk({ export: id, data: noBytes, last: true, error }))
  }
}

const mayPull = ({ credit, isPulling }: RunningExport): boolean => credit > 0 && !isPulling

/** A piece's memory is its own. Left to V8 it would wait until 64 MB of it had come together. */
const release = ({ buffer, byteLength }: Uint8Array): void => {
  if (buffer instanceof ArrayBuffer && byteLength > 0) buffer.transfer(0)
}

const noBytes = new Uint8Array(0)

const refusalOf = (cause: unknown): ExportRefused => {
  if (cause instanceof ExportRefused) return cause
  return new ExportRefused({
    message: messageOf(cause),
    fault: cause instanceof InvalidSelectorError ? "request" : "recording",
  })
}
