/**
 * Converts one trace: read, decompress, decode, encode, compress, publish. As with an export, the output gets its name only
 * once it is complete; a failure before that leaves nothing behind.
 *
 * Encoding a format for replay requires knowledge of the whole trace, so the input is read twice: a file is opened again, a
 * pipe is kept, as received, in a spool on disk.
 */
import { tmpdir } from "node:os"
import * as Schema from "effect/Schema"
import { compressed, continued, DecompressionError, takeHead } from "../formats/compression.ts"
import type { Compression } from "../formats/compression-names.ts"
import { convertTrace, needsSurvey, surveyTrace } from "../formats/convert.ts"
import { decodedItems, type TraceItems } from "../formats/decoded-items.ts"
import {
  BadTraceError,
  type LeftOut,
  nothingLeftOut,
  type TraceFacts,
  UnwritableTraceError,
} from "../formats/format.ts"
import { FORMAT_SIGNATURE_BYTES, formatOfBytes, type TraceFormatName } from "../formats/names.ts"
import { type ItemFilter, withoutOwned } from "../formats/owned-items.ts"
import { DEFAULT_TEMPLATE_PATHS } from "../formats/simkube/simkube-config.ts"
import type { TraceSurvey } from "../formats/trace-survey.ts"
import { fileSpool, type Spool, SpoolError } from "../spool.ts"
import { TransformFailed } from "../transform/transform-failed.ts"
import { isView, openView, type ViewName } from "../views/views.ts"
import { openDecoder, openEncoder } from "./codecs.ts"
import { EndpointFailed } from "./otlp-endpoint.ts"
import { ExportInterrupted, OutputExists, OutputFailed } from "./output-errors.ts"
import type { OutputSink } from "./output-file.ts"
import { InputUnreadable, keptIn, plainTrace, type ReadProgress, readAgain, type TraceInput } from "./trace-input.ts"

/** What was written nevertheless, as a sentence without its full stop. Absent: nothing. */
const remains = { remains: Schema.optionalKey(Schema.String) }

/** The input is not a readable trace. */
class InputBad extends Schema.TaggedError<InputBad>()("InputBad", {
  path: Schema.String,
  /** Offset and reason. */
  detail: Schema.String,
  ...remains,
}) {
  override get message(): string {
    return `${this.path}: ${this.detail}. ${this.remains ?? "Nothing was written"}`
  }
}

/** The trace cannot be represented in the requested format. */
class NotConvertible extends Schema.TaggedError<NotConvertible>()("NotConvertible", {
  path: Schema.String,
  detail: Schema.String,
  ...remains,
}) {
  override get message(): string {
    return `${this.path}: ${this.detail}. ${this.remains ?? "Nothing was written"}`
  }
}

const classes = [
  InputUnreadable,
  InputBad,
  NotConvertible,
  OutputExists,
  OutputFailed,
  EndpointFailed,
  ExportInterrupted,
  SpoolError,
  TransformFailed,
]

export type ConvertError = InstanceType<(typeof classes)[number]>

const isConvertError = (cause: unknown): cause is ConvertError => classes.some((known) => cause instanceof known)

/** How far the conversion is. */
export interface ConvertProgress extends ReadProgress {
  /** Objects that exist at the start. */
  objects: number
  events: number
  bytesWritten: number
  size: number | undefined
  /** The number of times the input is read. */
  passes: 1 | 2
}

interface ConvertOptions {
  /** For messages. */
  readonly inputName: string
  readonly openInput: () => Promise<TraceInput>
  /** Default: the format of its first bytes. */
  readonly from: TraceFormatName | undefined
  readonly to: TraceFormatName | ViewName
  readonly compression: Compression
  /** Leave out objects that other objects of the trace own, directly or indirectly. */
  readonly excludeOwned: boolean
  /** Changes or leaves out items before they are encoded; not together with `excludeOwned`. Default: everything is encoded as it is. */
  readonly filter?: ItemFilter
  /** Makes other items of the trace's, each time it is read. May throw TransformFailed. Default: they stay as they are. */
  readonly transform?: (items: TraceItems) => TraceItems
  readonly openSink: () => Promise<OutputSink>
  /** Opens a spool for data that has to wait. Default: in the temporary directory. */
  readonly openSpool?: () => Spool
  readonly signal: AbortSignal
  readonly onProgress: (progress: Readonly<ConvertProgress>) => void
}

/** What was written. */
export interface ConvertSummary {
  readonly from: TraceFormatName
  /** Objects that exist at the start. */
  readonly objects: number
  readonly events: number
  readonly bytes: number
  readonly leftOut: LeftOut
}

type ConvertOutcome =
  | { readonly _tag: "Converted"; readonly summary: ConvertSummary }
  | { readonly _tag: "Failed"; readonly error: ConvertError }

/** Converts one trace. Rejects only for defects; on every failure the sink has been discarded. */
export const convertInto = async (options: ConvertOptions): Promise<ConvertOutcome> => {
  let sink: OutputSink | undefined
  const spools: Spool[] = []
  const openSpool = (): Spool => {
    const spool = options.openSpool?.() ?? fileSpool(tmpdir())
    spools.push(spool)
    return spool
  }
  try {
    const input = await options.openInput()
    sink = await options.openSink()
    const summary = await transfer(options, input, sink, openSpool)
    await sink.commit()
    return { _tag: "Converted", summary }
  } catch (cause) {
    await sink?.discard()
    const error = asConvertError(cause, options.inputName, sink?.remains?.())
    if (error === undefined) throw cause
    return { _tag: "Failed", error }
  } finally {
    for (const spool of spools) spool[Symbol.dispose]()
  }
}

const asConvertError = (cause: unknown, path: string, remains: string | undefined): ConvertError | undefined => {
  const left = remains === undefined ? {} : { remains }
  if (cause instanceof BadTraceError || cause instanceof DecompressionError)
    return new InputBad({ path, detail: cause.message, ...left })
  if (cause instanceof UnwritableTraceError) return new NotConvertible({ path, detail: cause.message, ...left })
  return isConvertError(cause) ? cause : undefined
}

const transfer = async (
  options: ConvertOptions,
  input: TraceInput,
  sink: OutputSink,
  openSpool: () => Spool,
): Promise<ConvertSummary> => {
  const { to, transform = (items: TraceItems) => items } = options
  const progress: ConvertProgress = {
    objects: 0,
    events: 0,
    bytesRead: 0,
    bytesWritten: 0,
    size: input.size,
    passes: 1,
  }
  // Whether a pipe must be read twice is known only once its format is known.
  const isReadOnce = (to === "ndjson" || isView(to)) && !options.excludeOwned
  const kept = input.size === undefined && !isReadOnce ? openSpool() : undefined
  const reading = { ...options, onProgress: () => options.onProgress(progress) }
  const plain = plainTrace(kept === undefined ? input.bytes : keptIn(kept, input.bytes), reading, progress)
  let again: AsyncGenerator<Uint8Array, void> | undefined
  try {
    const { head, isEnd } = await takeHead(plain, FORMAT_SIGNATURE_BYTES)
    const from = options.from ?? formatOfBytes(head)
    if (from === undefined)
      throw new InputBad({ path: options.inputName, detail: unknownFormat(head.length === 0 && isEnd) })
    let trace = continued(head, plain)
    let facts: TraceFacts | undefined
    let { filter } = options
    if ((!isView(to) && needsSurvey(from, to)) || options.excludeOwned) {
      progress.passes = 2
      const survey = await surveyTrace(transform(decodedItems(trace, await openDecoder(from))))
      facts = survey
      if (options.excludeOwned) filter = ownedFilter(survey, options)
      again = plainTrace(kept === undefined ? (await options.openInput()).bytes : readAgain(kept), reading, progress)
      trace = again
    }
    const encoder = isView(to)
      ? await openView(to)
      : await openEncoder(to, { spool: openSpool, ...(facts && { facts }) })
    let leftOut = nothingLeftOut
    const converted = convertTrace(transform(decodedItems(trace, await openDecoder(from))), encoder, progress, filter)
    const pieces = (async function* (): AsyncGenerator<Uint8Array, void> {
      leftOut = yield* converted
    })()
    for await (const piece of compressed(pieces, options.compression)) {
      if (options.signal.aborted) throw new ExportInterrupted()
      await sink.write(piece)
      progress.bytesWritten += piece.length
      options.onProgress(progress)
    }
    return { from, objects: progress.objects, events: progress.events, bytes: progress.bytesWritten, leftOut }
  } finally {
    await plain.return()
    await again?.return()
  }
}

const ownedFilter = (survey: TraceSurvey, { inputName, to }: ConvertOptions): ItemFilter => {
  if (!survey.hasOwnerUids) {
    const detail =
      "its owner references have no UIDs, so owned objects cannot be recognised (--owned exclude). " +
      "Exclude them when exporting: reel export --owned exclude"
    throw new NotConvertible({ path: inputName, detail })
  }
  return withoutOwned(survey, (gvk) => to !== "simkube" || DEFAULT_TEMPLATE_PATHS.has(gvk))
}

const unknownFormat = (isEmpty: boolean): string =>
  isEmpty
    ? "byte 0: the trace is empty"
    : "byte 0: not in a known trace format; if it is a trace, name its format with --from"
