/**
 * From a recorder into a file: request, check on the way, publish. The order is what makes "never half a file" true: the
 * output is committed only after the response ended properly and the trace itself says that it is whole.
 */
import { type ExportQuery, requestExport } from "./export-client.ts"
import { ExportCut, type ExportError, isExportError } from "./export-errors.ts"
import type { OutputSink } from "./output-file.ts"
import { checkTrace } from "./trace-check.ts"

/** What was written. */
export interface ExportSummary {
  readonly bytes: number
  /** Events including the start snapshot; `undefined` for a format that does not count them. */
  readonly events: number | undefined
  readonly incomplete: string | undefined
  readonly gaps: number
  /** Recorded kinds that the format cannot tell of. */
  readonly leftOut: string | undefined
  /** How many owners are not known, and the first of them. */
  readonly unknownOwners: string | undefined
}

export type ExportOutcome =
  | { readonly _tag: "Exported"; readonly summary: ExportSummary }
  | { readonly _tag: "Failed"; readonly error: ExportError }

export interface ExportTraceOptions {
  readonly query: ExportQuery
  /** Opened before the request is sent, so that a mistake in the path costs the recorder nothing. */
  readonly openSink: () => Promise<OutputSink>
  readonly signal: AbortSignal
  /** Called for every piece, with all bytes so far. */
  readonly onProgress: (bytes: number) => void
}

/** Exports one trace. Rejects only for defects; on every failure the sink has been discarded. */
export const exportTrace = async (options: ExportTraceOptions): Promise<ExportOutcome> => {
  let sink: OutputSink | undefined
  try {
    sink = await options.openSink()
    const summary = await transfer(options, sink)
    await sink.commit()
    return { _tag: "Exported", summary }
  } catch (cause) {
    await sink?.discard()
    if (isExportError(cause)) return { _tag: "Failed", error: cause }
    throw cause
  }
}

const transfer = async (options: ExportTraceOptions, sink: OutputSink): Promise<ExportSummary> => {
  const { query, signal, onProgress } = options
  const response = await requestExport(query, signal)
  const check = checkTrace(query.format)
  let bytes = 0
  const cut = (reason: string): ExportCut => new ExportCut({ server: query.server.origin, bytes, reason })
  for await (const piece of response.pieces) {
    bytes += piece.length
    const fault = check.add(piece)
    if (fault !== undefined) throw cut(fault)
    await sink.write(piece)
    onProgress(bytes)
  }
  const verdict = check.finish()
  if (verdict._tag === "Cut") throw cut(verdict.reason)
  const { incomplete, gaps, leftOut, unknownOwners } = response
  return { bytes, events: verdict.events, incomplete, gaps, leftOut, unknownOwners }
}
