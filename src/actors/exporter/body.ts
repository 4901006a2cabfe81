/**
 * The exporter: encodes windows of the recording in a thread of its own, from a read-only connection.
 *
 * Exports run side by side, a piece each in turn. Memory is bounded by the outbox, whatever the window's size: an export
 * whose reader is slow waits. A recording that cannot be read ends the export with its reason, never the recorder.
 */
import * as Effect from "effect/Effect"
import type { ActorBody, ActorContext } from "../../runtime/actor.ts"
import type { Outbox } from "../../runtime/outbox.ts"
import { encodeExportChunk } from "../export-chunk.ts"
import { exportMailbox } from "../names.ts"
import { type ExportJob, type ExporterConfig, type ExporterControl, ExportRefused } from "./definition.ts"
import { openExport } from "./open-export.ts"

/** Largest piece in bytes. */
const pieceBytes = 64 * 1024

export const exporterBody: ActorBody<ExporterConfig, ExporterControl, never> = (context) =>
  Effect.gen(function* () {
    // Small limits: what waits here is memory that the recorder's budget pays for.
    const outbox = context.outbox(exportMailbox, { windowBytes: 1024 * 1024, bufferBytes: 1024 * 1024 })
    const runner = yield* Effect.acquireRelease(
      Effect.sync(() => new ExportRunner(context, outbox)),
      (running) => Effect.sync(() => running.stop())
    )
    return {
      start: (job) =>
        Effect.try({
          try: () => runner.start(job),
          catch: (cause) => new ExportRefused({ message: messageOf(cause) })
        }),
      cancel: (id) => Effect.sync(() => runner.cancel(id))
    }
  })

/** Takes turns between the exports under way. */
class ExportRunner {
  readonly #directory: string
  readonly #outbox: Outbox
  readonly #running = new Map<number, Iterator<Uint8Array, void>>()
  #scheduled = false

  constructor(context: ActorContext<ExporterConfig, never>, outbox: Outbox) {
    this.#directory = context.config.directory
    this.#outbox = outbox
    outbox.onWritable(() => this.#schedule())
  }

  start(job: ExportJob): { readonly gaps: number } {
    const { pieces, gaps } = openExport(this.#directory, job)
    this.#running.set(job.export, pieces)
    this.#schedule()
    return { gaps }
  }

  cancel(id: number): void {
    this.#running.get(id)?.return?.()
    this.#running.delete(id)
  }

  stop(): void {
    for (const id of [...this.#running.keys()]) {
      this.cancel(id)
      this.#send(id, noBytes, true, "the recorder is stopping")
    }
  }

  #schedule(): void {
    if (this.#scheduled || this.#running.size === 0) return
    this.#scheduled = true
    // A turn of the event loop between pieces, so that acknowledgements and cancellations are seen.
    setImmediate(() => {
      this.#scheduled = false
      for (const [id, pieces] of this.#running) {
        if (!this.#outbox.isWritable) return
        this.#advance(id, pieces)
      }
      this.#schedule()
    })
  }

  #advance(id: number, pieces: Iterator<Uint8Array, void>): void {
    try {
      const next = pieces.next()
      if (next.done === true) {
        this.#running.delete(id)
        return this.#send(id, noBytes, true, "")
      }
      for (let start = 0; start < next.value.length; start += pieceBytes) {
        this.#send(id, next.value.subarray(start, start + pieceBytes), false, "")
      }
    } catch (cause) {
      this.#running.delete(id)
      this.#send(id, noBytes, true, messageOf(cause))
    }
  }

  #send(id: number, data: Uint8Array, last: boolean, error: string): void {
    this.#outbox.send(encodeExportChunk({ export: id, data, last, error }))
  }
}

const noBytes = new Uint8Array(0)

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
