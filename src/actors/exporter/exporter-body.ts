/**
 * The exporter: encodes windows of the recording in its own thread, from a read-only connection.
 *
 * Exports run concurrently, one piece each at a time. Each has its own stream, whose frames are acknowledged when its client has taken
 * them, so memory is bounded for any window, and a slow client delays only its own export. A recording that cannot be read ends the export
 * with the reason, never the recorder.
 */
import * as Effect from "effect/Effect"
import { type Lease, takeLease } from "../../archive/index.ts"
import type { Clock } from "../../clock.ts"
import { freeNow } from "../../free-now.ts"
import { messageOf } from "../../message-of.ts"
import type { ActorBody, OutgoingStream } from "../../runtime/index.ts"
import { InvalidSelectorError } from "../../trace/index.ts"
import {
  type ExporterConfig,
  type ExporterControl,
  type ExportJob,
  ExportRefused,
  maximumExports,
} from "./exporter-interface.ts"
import { type OpenExport, type OpenExportConfig, openExport } from "./open-export.ts"

/** Largest piece in bytes. */
const pieceBytes = 64 * 1024

/** `transformer`: the module that runs programs in another thread. */
export const exporterBody =
  (transformer: URL): ActorBody<ExporterConfig, ExporterControl, never> =>
  ({ clock, config }) =>
    Effect.gen(function* () {
      const runner = yield* Effect.acquireRelease(
        Effect.sync(() => new ExportRunner({ ...config, transformer }, clock)),
        (running) => Effect.promise(() => running.stop()),
      )
      return { export: (job, stream) => Effect.try({ try: () => runner.start(job, stream), catch: refusalOf }) }
    })

interface RunningExport {
  readonly opened: OpenExport
  readonly stream: OutgoingStream
  readonly lease: Lease
  /** Whether its next piece is being produced. */
  isPulling: boolean
}

/** Rotates among the running exports. */
class ExportRunner {
  readonly #config: OpenExportConfig
  readonly #clock: Clock
  readonly #running = new Set<RunningExport>()
  #scheduled = false

  constructor(config: OpenExportConfig, clock: Clock) {
    this.#config = config
    this.#clock = clock
  }

  start(
    job: ExportJob,
    stream: OutgoingStream,
  ): Pick<OpenExport, "gaps" | "late" | "leftOut" | "warnings" | "redacted"> {
    if (this.#running.size >= maximumExports) {
      const message = `${maximumExports} exports are already running, which is the limit; try again when one has ended`
      throw new ExportRefused({ message, fault: "busy" })
    }
    // Before the recording is opened, so that nothing of it is removed in between.
    const lease = takeLease(this.#config.directory, { fromTime: job.fromTime, purpose: purposeOf(job) }, this.#clock)
    const opened = openedUnder(lease, () => openExport(this.#config, job))
    const running: RunningExport = { opened, stream, lease, isPulling: false }
    this.#running.add(running)
    stream.onWritable(() => this.#schedule())
    stream.onClosed(() => void this.#close(running))
    this.#schedule()
    const { gaps, late, leftOut, warnings, redacted } = opened
    return { gaps, late, leftOut, warnings, redacted }
  }

  async stop(): Promise<void> {
    const closed = [...this.#running].map((running) => {
      running.stream.end("the recorder is stopping")
      return this.#close(running)
    })
    await Promise.all(closed)
  }

  async #close(running: RunningExport): Promise<void> {
    this.#running.delete(running)
    running.lease.release()
    await running.opened.close()
  }

  #schedule(): void {
    if (this.#scheduled || ![...this.#running].some(mayPull)) return
    this.#scheduled = true
    // One turn of the event loop between pieces, so that acknowledgements and cancellations are processed.
    setImmediate(() => {
      this.#scheduled = false
      for (const running of this.#running) if (mayPull(running)) this.#pull(running)
    })
  }

  #pull(running: RunningExport): void {
    running.isPulling = true
    running.opened.pieces.next().then(
      (next) => this.#arrived(running, next),
      // An error without a message must not pass for a complete trace either.
      (cause: unknown) => this.#ended(running, messageOf(cause) || "it failed"),
    )
  }

  #arrived(running: RunningExport, next: IteratorResult<Uint8Array, void>): void {
    if (next.done === true) return this.#ended(running, "", String(running.opened.unchanged()))
    running.isPulling = false
    if (!this.#running.has(running)) return
    const { value } = next
    for (let start = 0; start < value.length; start += pieceBytes) {
      running.stream.send(value.subarray(start, start + pieceBytes))
    }
    // A piece has its own memory.
    freeNow(value)
    this.#schedule()
  }

  /** `note`: number of changes that were left out. */
  #ended(running: RunningExport, error: string, note = ""): void {
    running.lease.release()
    if (this.#running.delete(running)) running.stream.end(error, note)
  }
}

const openedUnder = (lease: Lease, open: () => OpenExport): OpenExport => {
  try {
    return open()
  } catch (cause) {
    lease.release()
    throw cause
  }
}

const purposeOf = ({ format, fromTime, untilTime }: ExportJob): string => {
  const [from, until] = [fromTime, untilTime].map((micros) =>
    micros > 0 && micros < 8.64e18 ? new Date(micros / 1000).toISOString() : "",
  )
  return `export as ${format} of ${from}/${until}`
}

const mayPull = ({ stream, isPulling }: RunningExport): boolean => !isPulling && stream.isWritable

const refusalOf = (cause: unknown): ExportRefused => {
  if (cause instanceof ExportRefused) return cause
  return new ExportRefused({
    message: messageOf(cause),
    fault: cause instanceof InvalidSelectorError ? "request" : "recording",
  })
}
