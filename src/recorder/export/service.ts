/**
 * Exports as the rest of the process sees them: a request goes to the exporter's worker, its encoded trace comes back piece by
 * piece, each only when the one before was taken. A slow reader holds its own export back and nothing else: the mailbox is
 * emptied at once, and the exporter stops when a window of that export waits here (`exportWindowBytes`).
 *
 * The receiving end is an actor in the main thread, so that links and re-linking are the runtime's.
 */
import * as Effect from "effect/Effect"
import {
  type ExporterConfig,
  type ExporterControl,
  type ExportJob,
  ExportRefused,
  exportWindowBytes,
} from "../../actors/exporter/definition.ts"
import { exporterName, exportMailbox } from "../../actors/names.ts"
import type { ActorDefinition } from "../../runtime/actor.ts"
import type { ActorSystem } from "../../runtime/actor-system.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { CallError } from "../../runtime/errors.ts"
import type { Supervisor } from "../../runtime/supervisor.ts"
import { localThread } from "../../runtime/thread/thread.ts"
import { decodeExportChunk, type ExportChunk } from "../../wire/export-chunk.ts"

/** Takes one export's pieces; `end` is the last call. */
export interface ExportReader {
  /** Answers when the next may come. The bytes are gone then: whoever keeps them copies them. */
  piece(data: Uint8Array): Promise<void>
  /** `error` is undefined when the trace is whole. */
  end(error: string | undefined): void
}

/** ms that a request waits for an exporter that is starting. */
const exporterStartMs = 5000

/** Bytes taken that are worth telling the exporter of: a call for each piece would cost more than encoding it. */
const tellBytes = exportWindowBytes / 4

/** An export under way. */
export interface RunningExport {
  /** Gaps of the recording that lie in the window. */
  readonly gaps: number
  /** Tracked kinds that the format cannot tell of. */
  readonly leftOut: ReadonlyArray<string>
  /** Gives it up; nothing more is delivered. */
  cancel(): void
}

const readerDefinition: ActorDefinition<null, Record<never, never>, never> = { role: "export-reader", control: {} }

type Exporter = Supervisor<ExporterConfig, ExporterControl, never>

export class ExportService {
  readonly #system: ActorSystem
  readonly #spawnExporter: () => Exporter
  #exporter: Exporter | undefined
  readonly #readings = new Map<number, Reading>()
  #nextId = 1

  /** `spawnExporter` is called with the first export: a thread that few recorders need for long costs 12 MB. */
  constructor(system: ActorSystem, spawnExporter: () => Exporter, clock: Clock) {
    this.#system = system
    this.#spawnExporter = spawnExporter
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
                const chunk = decodeExportChunk(frame.payload)
                // The exporter uses that memory again as soon as the frame is acknowledged.
                this.#deliver({ ...chunk, data: Uint8Array.from(chunk.data) })
                inbox.acknowledge(sender, frame.incarnation, frame.number)
              },
            })
            return {}
          }),
        clock,
      ),
    })
    system.link(exportMailbox, { name: exporterName }, reader)
  }

  /** Starts an export. */
  start(job: Omit<ExportJob, "export">, reader: ExportReader): Effect.Effect<RunningExport, ExportRefused | CallError> {
    if (this.#system.isStopping) {
      return Effect.fail(new ExportRefused({ fault: "busy", message: "the recorder is stopping" }))
    }
    const exporter = this.exporter()
    const id = this.#nextId++
    const reading: Reading = { reader, taken: 0, settled: Promise.resolve(), isStarted: false }
    this.#readings.set(id, reading)
    const cancel = (): void => this.#cancel(id)
    // An exporter that was just restarted is worth a moment's wait.
    const running = exporter
      .running()
      .pipe(Effect.timeoutOrElse({ duration: exporterStartMs, orElse: () => Effect.void }))
    return running.pipe(
      Effect.andThen(exporter.call("start", { ...job, export: id })),
      // After a missed deadline the exporter may yet begin what nobody would read.
      Effect.tapError(() => Effect.sync(cancel)),
      Effect.map(({ gaps, leftOut }) => {
        reading.isStarted = true
        return { gaps, leftOut, cancel }
      }),
    )
  }

  /** Spawned when it is asked for. */
  exporter(): Exporter {
    this.#exporter ??= this.#spawnExporter()
    return this.#exporter
  }

  /**
   * The exporter's thread has ended: what it had not sent will not come. An export that is being started fails by itself, or is
   * started by the next life.
   */
  exporterGone(reason: string): void {
    for (const [id, { reader, isStarted }] of this.#readings) {
      if (!isStarted) continue
      this.#readings.delete(id)
      reader.end(`the exporter ended: ${reason}`)
    }
  }

  /** The exporter is told in any case: it may run what nobody here knows any more. */
  #cancel(id: number): void {
    this.#readings.delete(id)
    if (this.#exporter === undefined) return
    Effect.runFork(Effect.ignore(this.#exporter.call("cancel", id)))
  }

  /** Pieces of one export follow each other; a reader that fails gives its export up. */
  #deliver(chunk: ExportChunk): void {
    const reading = this.#readings.get(chunk.export)
    if (reading === undefined) return
    reading.settled = reading.settled.then(() => this.#hand(reading, chunk)).catch(() => this.#cancel(chunk.export))
  }

  async #hand(reading: Reading, chunk: ExportChunk): Promise<void> {
    if (this.#readings.get(chunk.export) !== reading) return
    const { length } = chunk.data
    if (length > 0) await reading.reader.piece(chunk.data)
    // Left to V8, some 20 MB of pieces gather before it looks.
    if (chunk.data.buffer instanceof ArrayBuffer) chunk.data.buffer.transfer(0)
    reading.taken += length
    if (chunk.last) {
      // It may have been given up meanwhile.
      if (this.#readings.delete(chunk.export)) reading.reader.end(chunk.error === "" ? undefined : chunk.error)
    } else if (reading.taken >= tellBytes && this.#exporter !== undefined) {
      const taken = { export: chunk.export, bytes: reading.taken }
      reading.taken = 0
      Effect.runFork(Effect.ignore(this.#exporter.call("taken", taken)))
    }
  }
}

/** One export as it is being read. */
interface Reading {
  readonly reader: ExportReader
  /** Bytes that the exporter has not been told of. */
  taken: number
  /** When every piece so far has been taken. */
  settled: Promise<void>
  /** The exporter has answered that it runs. */
  isStarted: boolean
}
