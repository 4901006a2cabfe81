/**
 * Exports from a recorder to a file: request, check in transit, publish. The order guarantees that there is never half a file:
 * the output is committed only after the response ended properly and the trace itself was found complete.
 */

import { createGunzip, createZstdDecompress } from "node:zlib"
import type { OutputSink } from "../../trace/files/output-file.ts"
import type { Compression } from "../../trace/formats/compression-names.ts"
import type { TraceFormatName } from "../../trace/formats/names.ts"
import { ExportCut } from "./connection/export-errors.ts"
import { type ExportQuery, type ExportResponse, type ExportShortcomings, requestExport } from "./export-client.ts"
import { checkTrace, type TraceCheck, type TraceContents, type TraceCount, type TraceVerdict } from "./trace-check.ts"

// Checks from the received bytes alone whether an export is complete, because a proxy may have removed the checksum trailer.
// Compressed traces are also decompressed for this check, in libuv's threads (zstd takes about 0.1 s for 100 MB of NDJSON), and
// the result is discarded.
//
// Guarantee: a truncated trace is never accepted as complete, compressed or not; memory stays at what a codec needs, about 2 MiB.

/** bytes per chunk of decompressed output: 115 MB took 0.35 s with the codec's default of 16 KiB, and 0.12 s with this. */
const chunkSize = 256 * 1024

/** An asynchronous {@link TraceCheck}. */
export interface ExportCheck extends Disposable {
  readonly counted: () => TraceCount
  readonly add: (bytes: Uint8Array) => Promise<string | undefined>
  readonly finish: () => Promise<TraceVerdict>
}

/** `undefined` for a format whose end cannot be recognised. */
export const checkExport = (format: TraceFormatName, compression: Compression): ExportCheck | undefined => {
  if (format === "kwok") return undefined
  const check = checkTrace(format)
  return compression === "none" ? plain(check) : unpacked(check, compression)
}

const plain = ({ counted, add, finish }: TraceCheck): ExportCheck => ({
  counted,
  add: async (bytes) => add(bytes),
  finish: async () => finish(),
  [Symbol.dispose]: () => undefined,
})

const unpacked = ({ counted, add, finish }: TraceCheck, compression: "zstd" | "gzip"): ExportCheck => {
  const codec = compression === "zstd" ? createZstdDecompress({ chunkSize }) : createGunzip({ chunkSize })
  let fault: string | undefined
  let isOver = false
  let wake: (() => void) | undefined
  codec.on("data", (bytes: Buffer) => {
    fault ??= add(bytes)
  })
  codec.on("error", (cause) => {
    fault ??= `its compressed bytes are damaged: ${cause.message}`
  })
  codec.on("drain", () => wake?.())
  // The last event, whether the codec ended or failed.
  codec.on("close", () => {
    isOver = true
    wake?.()
  })
  const woken = async (): Promise<void> => {
    if (isOver) return
    await new Promise<void>((resolve) => {
      wake = resolve
    })
    wake = undefined
  }
  return {
    counted,
    add: async (bytes) => {
      if (!isOver && !codec.write(bytes)) await woken()
      return fault
    },
    finish: async () => {
      codec.end()
      while (!isOver) await woken()
      return fault === undefined ? finish() : { _tag: "Cut", reason: fault }
    },
    [Symbol.dispose]: () => codec.destroy(),
  }
}

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
