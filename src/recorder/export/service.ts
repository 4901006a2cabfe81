/**
 * Exports as the rest of the process sees them: a job goes to the exporter's worker, its encoded trace comes back as a stream, piece by
 * piece, each when the one before was taken. A slow reader holds its own export back and nothing else. However an export ends
 * before its trace is whole, its reader is told so; an exporter that crashed is no exception.
 */
import * as Effect from "effect/Effect"
import {
  type ExporterConfig,
  type ExporterControl,
  type ExportJob,
  ExportRefused,
} from "../../actors/exporter/definition.ts"
import type { ActorSystem } from "../../runtime/actor-system.ts"
import type { CallError } from "../../runtime/errors.ts"
import type { Supervisor } from "../../runtime/supervisor.ts"

/** Takes one export's pieces; `end` is the last call. */
export interface ExportReader {
  /** Resolves when the next may come. The bytes are valid until then: whoever keeps them copies them. */
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
  /** Tracked kinds that the format cannot tell of. */
  readonly leftOut: ReadonlyArray<string>
  /** Cancels it; nothing more is delivered. */
  cancel(): void
}

type Exporter = Supervisor<ExporterConfig, ExporterControl, never>

export class ExportService {
  readonly #system: ActorSystem
  readonly #spawnExporter: () => Exporter
  #exporter: Exporter | undefined

  /** `spawnExporter` is called with the first export: a thread that few recorders need for long costs 12 MB. */
  constructor(system: ActorSystem, spawnExporter: () => Exporter) {
    this.#system = system
    this.#spawnExporter = spawnExporter
  }

  /** Starts an export. Interrupted, or failed, it delivers nothing more. */
  start(job: ExportJob, reader: ExportReader): Effect.Effect<RunningExport, ExportRefused | CallError> {
    return Effect.suspend(() => {
      if (this.#system.isStopping) {
        return Effect.fail(new ExportRefused({ fault: "busy", message: "the recorder is stopping" }))
      }
      const exporter = this.exporter()
      const receiver = {
        frame: (payload: Uint8Array) => reader.piece(payload),
        end: (error: string | undefined) => reader.end(error),
      }
      // An exporter that was just restarted is worth a moment's wait.
      const running = exporter
        .running()
        .pipe(Effect.timeoutOrElse({ duration: exporterStartMs, orElse: () => Effect.void }))
      return running.pipe(
        Effect.andThen(exporter.stream("export", job, receiver)),
        Effect.map(({ answer, close }) => ({ ...answer, cancel: close })),
      )
    })
  }

  /** Spawned when it is asked for. */
  exporter(): Exporter {
    this.#exporter ??= this.#spawnExporter()
    return this.#exporter
  }
}
