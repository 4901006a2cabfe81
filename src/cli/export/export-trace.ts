/**
 * Exports from a recorder to a file: request, check in transit, publish. The order guarantees that there is never half a file:
 * the output is committed only after the response ended properly and the trace itself was found complete.
 */

import type { OutputSink } from "../../trace/files/output-file.ts"
import { type ExportQuery, type ExportResponse, type ExportShortcomings, requestExport } from "./export-client.ts"
import { ExportCut } from "./export-errors.ts"
import { checkExport } from "./export-trace-check.ts"
import type { TraceContents, TraceCount } from "./trace-check.ts"

/** What was written. */
interface ExportSummary extends ExportShortcomings {
  readonly bytes: number
  /** `undefined` for a format that does not count them. */
  readonly contents: TraceContents | undefined
  /** Changes that a trace for a replay does not have because they change nothing there. */
  readonly unchanged: number
}

interface ExportTraceOptions {
  readonly query: ExportQuery
  /** Called before the request is sent, so that a bad path costs the recorder nothing. */
  readonly openSink: () => Promise<OutputSink>
  readonly signal: AbortSignal
  /** Called when the response begins. */
  readonly onAnswer: (answer: ExportResponse) => void
  /** Called for every piece, with the total bytes so far and a function that counts the events if the format allows it. */
  readonly onProgress: (bytes: number, count: (() => TraceCount) | undefined) => void
}

/** Exports one trace. Rejects with an ExportError; on every failure the sink has been discarded. */
export const exportTrace = async (options: ExportTraceOptions): Promise<ExportSummary> => {
  let sink: OutputSink | undefined
  try {
    sink = await options.openSink()
    const summary = await transfer(options, sink)
    await sink.commit()
    return summary
  } catch (cause) {
    await sink?.discard()
    throw cause
  }
}

const transfer = async (options: ExportTraceOptions, sink: OutputSink): Promise<ExportSummary> => {
  const { query, signal, onAnswer, onProgress } = options
  const response = await requestExport(query, signal)
  onAnswer(response)
  using check = checkExport(query.format, query.compression)
  let bytes = 0
  const cut = (reason: string): ExportCut => new ExportCut({ server: query.recorder.name, bytes, reason })
  for await (const piece of response.pieces) {
    bytes += piece.length
    const fault = await check?.add(piece)
    if (fault !== undefined) throw cut(fault)
    await sink.write(piece)
    onProgress(bytes, check?.counted)
  }
  if (check === undefined && !response.isProven())
    throw cut("it came without a checksum, and a trace in this format does not show whether it is complete; use ndjson")
  const verdict = await check?.finish()
  if (verdict?._tag === "Cut") throw cut(verdict.reason)
  const { incomplete, future, gaps, late, leftOut, warnings, unknownOwners, redacted } = response
  return {
    bytes,
    contents: verdict?.contents,
    unchanged: response.unchanged(),
    incomplete,
    future,
    gaps,
    late,
    leftOut,
    warnings,
    unknownOwners,
    redacted,
  }
}
