/**
 * The exporter: encodes windows of the recording in a thread of its own, from a read-only connection.
 *
 * Exports run side by side, a piece each in turn. Memory is bounded whatever the window's size: an export whose reader is
 * slow waits for it, and the others go on. A recording that cannot be read ends the export with its reason, never the
 * recorder.
 */
import * as Effect from "effect/Effect"
import type { ActorBody, ActorContext } from "../../runtime/actor.ts"
import type { Outbox } from "../../runtime/outbox.ts"
import { InvalidSelectorError } from "../../trace/filters.ts"
import { encodeExportChunk } from "../export-chunk.ts"
import { exportMailbox } from "../names.ts"
import {
  type ExporterConfig,
  type ExporterControl,
  type ExportJob,
  ExportRefused,
  exportWindowBytes,
  maximumExports,
} from "./definition.ts"
import { type OpenExport, openExport } from "./open-export.ts"

/** Largest piece in bytes. */
const pieceBytes = 64 * 1024

export const exporterBody: ActorBody<ExporterConfig, ExporterControl, never> = (context) =>
  Effect.gen(function* () {
    // Small limits: what waits here is memory that the recorder's budget pays for. The receiver acknowledges at once, so
    // that no export waits for the reader of another; each has a window of its own.
    const outbox = context.outbox(exportMailbox, { windowBytes: 1024 * 1024, bufferBytes: 1024 * 1024 })
    const runner = yield* Effect.acquireRelease(
      Effect.sync(() => new ExportRunner(context, outbox)),
      (running) => Effect.sync(() => running.stop())
    )
    return {
      start: (job) => Effect.try({ try: () => runner.start(job), catch: refusalOf }),
      taken: ({ export: id, bytes }) => Effect.sync(() => runner.taken(id, bytes)),
      cancel: (id) => Effect.sync(() => runner.cancel(id))
    }
  })

interface RunningExport {
  readonly opened: OpenExport
  /** Bytes that its reader has room for; the last piece may exceed it. */
  credit: number
}

/** Takes turns between the exports under way. */
class ExportRunner {
  readonly #directory: string
  readonly #outbox: Outbox
  readonly #running = new Map<number, RunningExport>()
  #scheduled = false

  constructor(context: ActorContext<ExporterConfig, never>, outbox: Outbox) {
    this.#directory = context.config.directory
    this.#outbox = outbox
    outbox.onWritable(() => this.#schedule())
  }

  start(job: ExportJob): { readonly gaps: number; readonly leftOut: ReadonlyArray<string> } {
    if (this.#running.size >= maximumExports) {
      const message = `${maximumExports} exports are under way, which is the most; try again when one has ended`
      throw new ExportRefused({ message, fault: "busy" })
    }
    const opened = openExport(this.#directory, job)
    this.#running.set(job.export, { opened, credit: exportWindowBytes })
    this.#schedule()
    return { gaps: opened.gaps, leftOut: opened.leftOut }
  }

  taken(id: number, bytes: number): void {
    const running = this.#running.get(id)
    if (running === undefined) return
    running.credit += bytes
    this.#schedule()
  }

  cancel(id: number): void {
    this.#running.get(id)?.opened.close()
    this.#running.delete(id)
  }

  stop(): void {
    for (const id of [...this.#running.keys()]) {
      this.cancel(id)
      this.#send(id, noBytes, true, "the recorder is stopping")
    }
  }

  #schedule(): void {
    if (this.#scheduled || ![...this.#running.values()].some(({ credit }) => credit > 0)) return
    this.#scheduled = true
    // A turn of the event loop between pieces, so that acknowledgements and cancellations are seen.
    setImmediate(() => {
      this.#scheduled = false
      for (const [id, running] of this.#running) {
        if (!this.#outbox.isWritable) return
        if (running.credit > 0) this.#advance(id, running)
      }
      this.#schedule()
    })
  }

  #advance(id: number, running: RunningExport): void {
    try {
      const next = running.opened.pieces.next()
      if (next.done === true) {
        this.#running.delete(id)
        return this.#send(id, noBytes, true, "")
      }
      running.credit -= next.value.length
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

const refusalOf = (cause: unknown): ExportRefused => {
  if (cause instanceof ExportRefused) return cause
  return new ExportRefused({
    message: messageOf(cause),
    fault: cause instanceof InvalidSelectorError ? "request" : "recording",
  })
}

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
