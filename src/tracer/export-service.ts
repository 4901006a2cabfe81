/**
 * Exports as the rest of the process sees them: a request goes to the exporter's worker, its encoded trace comes back piece by
 * piece. A slow reader holds its own export back, by not acknowledging, and nothing else.
 *
 * The receiving end is an actor in the main thread, so that links, credits and re-linking are the runtime's.
 */
import * as Effect from "effect/Effect"
import { decodeExportChunk } from "../actors/export-chunk.ts"
import type { ExporterConfig, ExporterControl, ExportJob, ExportRefused } from "../actors/exporter/definition.ts"
import { exporterName, exportMailbox } from "../actors/names.ts"
import type { ActorDefinition } from "../runtime/actor.ts"
import type { ActorSystem } from "../runtime/actor-system.ts"
import type { Clock } from "../runtime/clock.ts"
import type { CallError } from "../runtime/errors.ts"
import type { Supervisor } from "../runtime/supervisor.ts"
import { localThread } from "../runtime/thread.ts"

/** Takes one export's pieces. `piece` answers when the next may come; `end` is the last call. */
export interface ExportReader {
  piece(data: Uint8Array): Promise<void>
  /** `error` is undefined when the trace is whole. */
  end(error: string | undefined): void
}

/** ms that a request waits for an exporter that is starting. */
const exporterStartMs = 5000

/** An export under way. */
export interface RunningExport {
  /** Gaps of the recording that lie in the window. */
  readonly gaps: number
  /** Gives it up; nothing more is delivered. */
  cancel(): void
}

const readerDefinition: ActorDefinition<null, Record<never, never>, never> = { role: "export-reader", control: {} }

export class ExportService {
  readonly #exporter: Pick<Supervisor<ExporterConfig, ExporterControl, never>, "call" | "running">
  readonly #readers = new Map<number, ExportReader>()
  #nextId = 1

  constructor(system: ActorSystem, exporter: Supervisor<ExporterConfig, ExporterControl, never>, clock: Clock) {
    this.#exporter = exporter
    const reader = system.spawn({
      definition: readerDefinition,
      name: "export reader",
      config: () => null,
      incarnation: () => 1,
      start: localThread(
        readerDefinition,
        (context) =>
          Effect.sync(() => {
            const inbox = context.inbox(exportMailbox, {
              attached: () => undefined,
              frame: (sender, frame) => {
                const acknowledge = (): void => inbox.acknowledge(sender, frame.incarnation, frame.number)
                void this.#deliver(frame.payload).then(acknowledge, acknowledge)
              }
            })
            return {}
          }),
        clock
      )
    })
    system.link(exportMailbox, { name: exporterName }, reader)
  }

  /** Starts an export. */
  start(job: Omit<ExportJob, "export">, reader: ExportReader): Effect.Effect<RunningExport, ExportRefused | CallError> {
    const id = this.#nextId++
    this.#readers.set(id, reader)
    const cancel = (): void => {
      if (!this.#readers.delete(id)) return
      Effect.runFork(Effect.ignore(this.#exporter.call("cancel", id)))
    }
    // An exporter that was just restarted is worth a moment's wait.
    const running = this.#exporter
      .running()
      .pipe(Effect.timeoutOrElse({ duration: exporterStartMs, orElse: () => Effect.void }))
    return running.pipe(
      Effect.andThen(this.#exporter.call("start", { ...job, export: id })),
      Effect.tapError(() => Effect.sync(() => this.#readers.delete(id))),
      Effect.map(({ gaps }) => ({ gaps, cancel }))
    )
  }

  /** The exporter's thread has ended: what it had not sent will not come. */
  exporterGone(reason: string): void {
    for (const [id, reader] of this.#readers) {
      this.#readers.delete(id)
      reader.end(`the exporter ended: ${reason}`)
    }
  }

  async #deliver(payload: Uint8Array): Promise<void> {
    const chunk = decodeExportChunk(payload)
    const reader = this.#readers.get(chunk.export)
    if (reader === undefined) return
    if (chunk.data.length > 0) await reader.piece(chunk.data)
    if (!chunk.last) return
    this.#readers.delete(chunk.export)
    reader.end(chunk.error === "" ? undefined : chunk.error)
  }
}
