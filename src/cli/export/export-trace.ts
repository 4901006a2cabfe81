/**
 * From a recorder into a file: request, check on the way, publish. The order is what makes "never half a file" true: the
 * output is committed only after the response ended properly and the trace itself says that it is whole.
 */

import type { OutputSink } from "../../trace/files/output-file.ts"
import { type ExportQuery, type ExportResponse, type ExportShortcomings, requestExport } from "./export-client.ts"
import { ExportCut } from "./export-errors.ts"
import { checkExport } from "./export-trace-check.ts"
import type { TraceCount } from "./trace-check.ts"

/** What was written. */
export interface ExportSummary extends ExportShortcomings {
  readonly bytes: number
  /** Events including the start snapshot; `undefined` for a format that does not count them. */
  readonly events: number | undefined
}

export interface ExportTraceOptions {
  readonly query: ExportQuery
  /** Opened before the request is sent, so that a mistake in the path costs the recorder nothing. */
  readonly openSink: () => Promise<OutputSink>
  readonly signal: AbortSignal
  /** Called when the answer begins. */
  readonly onAnswer: (answer: ExportResponse) => void
  /** Called for every piece, with all bytes so far, and what counts the events if the trace shows them. */
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
    throw cut("no checksum followed it, and a trace of this kind does not say whether it is whole; take ndjson")
  const verdict = await check?.finish()
  if (verdict?._tag === "Cut") throw cut(verdict.reason)
  const { incomplete, gaps, leftOut, unknownOwners } = response
  return { bytes, events: verdict?.events, incomplete, gaps, leftOut, unknownOwners }
}
