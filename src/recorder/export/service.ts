/**
 * Exports for the rest of the process: a job goes to the exporter's worker, and its encoded trace comes back as a stream, each piece only
 * after the previous one was taken. A slow reader slows down only its own export. If an export ends before its trace is complete, its
 * reader is notified, even if the exporter crashed.
 */
import * as Effect from "effect/Effect"
import {
  type ExporterConfig,
  type ExporterControl,
  type ExportJob,
  ExportRefused,
  type StartedTrace,
} from "../../actors/index.ts"
import type { ActorSystem, CallError, Supervisor } from "../../runtime/index.ts"
import { startMs } from "./reader-service.ts"

/** Takes one export's pieces; `end` is the last call. */
export interface ExportReader {
  /** Resolves when the next piece may follow. The bytes are valid until then; copy them to keep them. */
  piece(data: Uint8Array): Promise<void>
  /**
   * `error` is undefined when the trace is complete. `unchanged`: changes it lacks because they change nothing for a replay. `note`: what the reader says of the end of
   * an answer.
   */
  end(error: string | undefined, unchanged?: number, note?: string): void
}

/** A running export. */
export interface RunningExport extends StartedTrace {
  /** Cancels it; nothing more is delivered. */
  cancel(): void
}

type Exporter = Supervisor<ExporterConfig, ExporterControl, never>

export class ExportService {
  readonly #system: ActorSystem
  readonly #spawnExporter: () => Exporter
  #exporter: Exporter | undefined

  /** `spawnExporter` is called with the first export: the thread costs 12 MB, and most recorders rarely export. */
  constructor(system: ActorSystem, spawnExporter: () => Exporter) {
    this.#system = system
    this.#spawnExporter = spawnExporter
  }

  /** Starts an export. After an interruption or a failure nothing more is delivered. */
  start(job: ExportJob, reader: ExportReader): Effect.Effect<RunningExport, ExportRefused | CallError> {
    return Effect.suspend(() => {
      if (this.#system.isStopping) {
        return Effect.fail(new ExportRefused({ fault: "busy", message: "the recorder is stopping" }))
      }
      const exporter = this.exporter()
      const receiver = {
        frame: (payload: Uint8Array) => reader.piece(payload),
        end: (error: string | undefined, note: string) => reader.end(error, Number(note)),
      }
      // An exporter that is just restarting is worth a moment's wait.
      const running = exporter.running().pipe(Effect.timeoutOrElse({ duration: startMs, orElse: () => Effect.void }))
      return running.pipe(
        Effect.andThen(exporter.stream("export", job, receiver)),
        Effect.map(({ answer, close }) => ({ ...answer, cancel: close })),
      )
    })
  }

  /** Spawned on first use. */
  exporter(): Exporter {
    this.#exporter ??= this.#spawnExporter()
    return this.#exporter
  }
}
