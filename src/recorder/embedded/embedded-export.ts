/** Exports of an embedded recorder: a window of the recording as a file that is complete or absent. */
import { randomUUID } from "node:crypto"
import * as Effect from "effect/Effect"
import type { Clock } from "../../clock.ts"
import { type Compression, openOutputFile, type TraceFormatName } from "../../trace/index.ts"
import { defaultExportLimits } from "../export/limits.ts"
import { readExportRequest } from "../export/request.ts"
import { type ExportContext, startExport } from "../export/start.ts"
import { type ExportOutcome, transferExport } from "../export/transfer.ts"
import { aborted } from "../http/body/races.ts"

/** Which part of the recording, and how it is written. */
export interface ExportOptions {
  /** Inclusive. Default: the beginning of the recording. */
  readonly start?: Date
  /** Exclusive. Default: now. */
  readonly end?: Date
  /** Default: by the end of the file's name, `.ndjson`, `.sktrace` or `.yaml`; else NDJSON. */
  readonly format?: TraceFormatName
  /** Default: by the end of the file's name, `.zst` or `.gz`; else none. */
  readonly compression?: Compression
  readonly kinds?: ReadonlyArray<string>
  readonly namespaces?: ReadonlyArray<string>
  /** `all`: reject instead of writing a trace from which something is missing. */
  readonly require?: "all"
  /** Replace an existing file. Default false. */
  readonly overwrite?: boolean
  readonly signal?: AbortSignal
}

/** What was written, and what is missing from it. */
export interface ExportedTrace {
  readonly bytes: number
  /** Ranges within the window in which changes are missing. */
  readonly gaps: number
  /** Kinds that are not, or not completely, in the trace, and why. */
  readonly incomplete: string | undefined
  /** Kinds that the format cannot represent. */
  readonly leftOut: ReadonlyArray<string>
  /** Owners that could not be looked up. */
  readonly unknownOwners: string | undefined
  /** What will go wrong in a replay of the trace, one sentence each. */
  readonly warnings: ReadonlyArray<string>
}

/** No trace was written. `refused`: the request, or what was required of the recording; `failed`: the recorder; `aborted`: the caller's signal. */
export class ExportError extends Error {
  override readonly name = "ExportError"
  readonly reason: "refused" | "failed" | "aborted"

  constructor(reason: ExportError["reason"], message: string, cause?: unknown) {
    super(message, { cause })
    this.reason = reason
  }
}

/** Rejects with an {@link ExportError}, or as `openOutputFile` does; there is then no file. */
export const exportToFile = async (
  context: ExportContext,
  file: string,
  options: ExportOptions,
  clock: Clock,
): Promise<ExportedTrace> => {
  const { start, end, format, compression, require } = options
  const reading = readExportRequest(
    JSON.stringify({
      // Whole seconds are what SimKube's clients send; the exact times below count.
      start_ts: 0,
      end_ts: 0,
      start_time: start === undefined ? 0 : start.getTime() * 1000,
      end_time: end === undefined ? context.nowMicros : end.getTime() * 1000,
      export_path: file,
      filters: {
        excluded_namespaces: [],
        excluded_labels: [],
        ...(options.kinds !== undefined && { kinds: options.kinds }),
        ...(options.namespaces !== undefined && { namespaces: options.namespaces }),
      },
      ...(format !== undefined && { format }),
      ...(compression !== undefined && { compression }),
      ...(require !== undefined && { require }),
    }),
    // For names that imply no format.
    "application/x-ndjson",
  )
  if (reading.tag === "refused") throw new ExportError("refused", reading.message)
  if (reading.destination.tag === "store") throw new ExportError("refused", `${file} is not a file`)
  const sink = await openOutputFile(file, { force: options.overwrite === true, token: randomUUID() })
  try {
    const outcome = await Effect.runPromise(
      transferExport({
        start: (reader) => startExport(context, reading.request, reader),
        sink: { begin: () => undefined, take: (piece) => sink.write(piece) },
        limits: { ...defaultExportLimits, milliseconds: Number.POSITIVE_INFINITY },
        gone: options.signal === undefined ? Effect.never : aborted(options.signal),
        clock,
      }),
    )
    const written = writtenOf(outcome)
    await sink.commit()
    return written
  } catch (error) {
    await sink.discard()
    throw error
  }
}

const writtenOf = (outcome: ExportOutcome): ExportedTrace => {
  switch (outcome.tag) {
    case "whole": {
      const { gaps, incomplete, leftOut, unknownOwners, warnings } = outcome.facts
      return { bytes: outcome.bytes, gaps, incomplete, leftOut, unknownOwners, warnings }
    }
    case "refused":
      throw new ExportError("refused", outcome.refusal.message)
    case "gone":
      throw new ExportError("aborted", "the export was aborted")
    case "limit":
      throw new ExportError("failed", outcome.message)
    case "failed":
      throw outcome.cause ?? new ExportError("failed", outcome.message)
  }
}
