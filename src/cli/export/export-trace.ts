/**
 * Exports from a recorder to a file: request, transfer, publish. There is never half a file: the output is committed only after the response has
 * ended as HTTP says that it ends, and its checksum was right.
 */
import type { Clock } from "../../clock.ts"
import type { OutputSink } from "../../trace/files/output-file.ts"
import type { LiveLine } from "../terminal/live-line.ts"
import { formatBytes, formatDuration } from "../terminal/quantities.ts"
import { ExportCut } from "./connection/export-errors.ts"
import { type ExportQuery, type ExportShortcomings, requestExport } from "./export-client.ts"

/** What was written. */
export interface ExportSummary extends ExportShortcomings {
  readonly bytes: number
  /** Changes that a trace for a replay does not have because they change nothing there. */
  readonly unchanged: number
  /** A recorder sends a checksum. Without it, which proxies remove, nothing but HTTP says that the trace is whole. */
  readonly lacksChecksum: boolean
}

interface ExportTraceOptions {
  readonly query: ExportQuery
  /** Called before the request is sent, so that a bad path costs the recorder nothing. */
  readonly openSink: () => Promise<OutputSink>
  readonly signal: AbortSignal
  /** Called for every piece, with the total bytes so far. */
  readonly onProgress: (bytes: number) => void
}

/** What no trace begins with, but every web page does, such as one to log in. */
const lessThan = "<".charCodeAt(0)

/** Exports one trace. Rejects with an ExportError; on every failure the sink has been discarded. */
export const exportTrace = async (options: ExportTraceOptions): Promise<ExportSummary> => {
  const { query, openSink, signal, onProgress } = options
  let sink: OutputSink | undefined
  try {
    sink = await openSink()
    const { pieces, isOurs, isProven, unchanged, ...shortcomings } = await requestExport(query, signal)
    let bytes = 0
    const cut = (reason: string): ExportCut => new ExportCut({ server: query.recorder.name, bytes, reason })
    for await (const piece of pieces) {
      if (bytes === 0 && piece[0] === lessThan) throw cut("the response is not a trace")
      bytes += piece.length
      await sink.write(piece)
      onProgress(bytes)
    }
    if (bytes === 0) throw cut("the response is empty")
    await sink.commit()
    return { ...shortcomings, bytes, unchanged: unchanged(), lacksChecksum: isOurs && !isProven() }
  } catch (cause) {
    await sink?.discard()
    throw cause
  }
}

// The progress line on a terminal.

export interface ExportProgress {
  /** Called for each piece with the total bytes so far. */
  readonly received: (bytes: number) => void
  /** Erases the line. May be called again. */
  readonly close: () => void
}

/** ms between repaints while nothing arrives. */
const tickMs = 1000

/** Shows a line with the first bytes or after a second, and updates it while nothing arrives. `what` is shown until the first byte arrives. */
export const showProgress = (
  line: LiveLine,
  clock: Pick<Clock, "after" | "monotonicMs">,
  what: string,
): ExportProgress => {
  const begin = clock.monotonicMs()
  let bytes = 0
  const show = (): void =>
    line.show(() => {
      const elapsed = clock.monotonicMs() - begin
      if (bytes === 0) return `${what}: ${formatDuration(elapsed)}`
      return `exporting: ${formatBytes(bytes)}${elapsed < tickMs ? "" : `, ${formatDuration(elapsed)}`}`
    })
  let timer = clock.after(tickMs, tick)
  function tick(): void {
    show()
    timer = clock.after(tickMs, tick)
  }
  return {
    received(total) {
      bytes = total
      show()
    },
    close() {
      timer.cancel()
      line.close()
    },
  }
}
