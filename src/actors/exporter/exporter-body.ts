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
  type StartedTrace,
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
}

class ExportRunner {
  readonly #config: OpenExportConfig
  readonly #clock: Clock
  readonly #running = new Set<RunningExport>()

  constructor(config: OpenExportConfig, clock: Clock) {
    this.#config = config
    this.#clock = clock
  }

  start(job: ExportJob, stream: OutgoingStream): StartedTrace {
    if (this.#running.size >= maximumExports) {
      const message = `${maximumExports} exports are already running, which is the limit; try again when one has ended`
      throw new ExportRefused({ message, fault: "busy" })
    }
    // Before the recording is opened, so that nothing of it is removed in between.
    const lease = takeLease(this.#config.directory, { fromTime: job.fromTime, purpose: purposeOf(job) }, this.#clock)
    const opened = openedUnder(lease, () => openExport(this.#config, job))
    const running = { opened, stream, lease }
    this.#running.add(running)
    // Not only between pieces: one may contain a whole pass through the window, and a client that has gone holds no place.
    void stream.closed.then(() => this.#end(running))
    void this.#run(running)
    return opened.started
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running].map((running) => this.#end(running, "the recorder is stopping")))
  }

  /** Between two pieces other exports get their turn (as `writable` says). */
  async #run(running: RunningExport): Promise<void> {
    const { opened, stream } = running
    try {
      while (await stream.writable()) {
        const next = await opened.pieces.next()
        if (!this.#running.has(running)) return
        if (next.done === true) return await this.#end(running, "", String(opened.unchanged()))
        const { value } = next
        for (let start = 0; start < value.length; start += pieceBytes)
          stream.send(value.subarray(start, start + pieceBytes))
        // A piece has its own memory.
        freeNow(value)
      }
      await this.#end(running)
    } catch (cause) {
      // An error without a message must not pass for a complete trace either.
      await this.#end(running, messageOf(cause) || "it failed")
    }
  }

  /** Once. `error`: as of {@link OutgoingStream.end}; absent: no one waits for the end. `note`: number of changes that were left out. */
  async #end(running: RunningExport, error?: string, note = ""): Promise<void> {
    if (!this.#running.delete(running)) return
    running.lease.release()
    if (error !== undefined) running.stream.end(error, note)
    await running.opened.close()
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

const refusalOf = (cause: unknown): ExportRefused => {
  if (cause instanceof ExportRefused) return cause
  return new ExportRefused({
    message: messageOf(cause),
    fault: cause instanceof InvalidSelectorError ? "request" : "recording",
  })
}
