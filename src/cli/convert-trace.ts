/**
 * From one trace into another: read, decompress, decode, encode, compress, publish. As with an export, the output has its
 * name only once it is whole; whatever fails before leaves nothing behind.
 */
import { createReadStream } from "node:fs"
import { stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import * as Schema from "effect/Schema"
import { openDecoder, openEncoder } from "../trace/formats/codecs.ts"
import { compressed, continued, DecompressionError, decompressed, takeHead } from "../trace/formats/compression.ts"
import type { Compression } from "../trace/formats/compression-names.ts"
import { convertTrace } from "../trace/formats/convert.ts"
import { BadTraceError, type LeftOut, nothingLeftOut, UnwritableTraceError } from "../trace/formats/format.ts"
import { FORMAT_SIGNATURE_BYTES, formatOfBytes, type TraceFormatName } from "../trace/formats/names.ts"
import { fileSpool, type Spool, SpoolError } from "../trace/spool.ts"
import { codeOf, ExportInterrupted, OutputExists, OutputFailed } from "./export-errors.ts"
import type { OutputSink } from "./output-file.ts"

/** The input cannot be read. */
export class InputUnreadable extends Schema.TaggedError<InputUnreadable>()("InputUnreadable", {
  path: Schema.String,
  /** Code of the operating system: `ENOENT`, `EACCES`, … */
  code: Schema.String,
}) {
  override get message(): string {
    const why =
      this.code === "ENOENT"
        ? "there is no such file"
        : this.code === "EISDIR"
          ? "it is a directory"
          : this.code === "EACCES"
            ? "you may not read it"
            : `reading failed (${this.code})`
    return `cannot read ${this.path}: ${why}`
  }
}

/** The input is not a trace that can be read. */
export class InputBad extends Schema.TaggedError<InputBad>()("InputBad", {
  path: Schema.String,
  /** Offset and reason. */
  detail: Schema.String,
}) {
  override get message(): string {
    return `${this.path}: ${this.detail}. Nothing was written`
  }
}

/** The trace has no form in the format that was asked for. */
export class NotConvertible extends Schema.TaggedError<NotConvertible>()("NotConvertible", {
  path: Schema.String,
  detail: Schema.String,
}) {
  override get message(): string {
    return `${this.path}: ${this.detail}. Nothing was written`
  }
}

export type ConvertError =
  | InputUnreadable
  | InputBad
  | NotConvertible
  | OutputExists
  | OutputFailed
  | ExportInterrupted
  | SpoolError

const classes = [InputUnreadable, InputBad, NotConvertible, OutputExists, OutputFailed, ExportInterrupted, SpoolError]

/** A trace to read. */
export interface TraceInput {
  readonly bytes: AsyncIterable<Uint8Array>
  /** `undefined` for a pipe. */
  readonly size: number | undefined
}

/** How far it is. */
export interface ConvertProgress {
  events: number
  /** Of the input, as it stands on disk. */
  bytesRead: number
  bytesWritten: number
  size: number | undefined
}

export interface ConvertOptions {
  /** For messages. */
  readonly inputName: string
  readonly openInput: () => Promise<TraceInput>
  /** Default: what its first bytes are. */
  readonly from: TraceFormatName | undefined
  readonly to: TraceFormatName
  readonly compression: Compression
  readonly openSink: () => Promise<OutputSink>
  /** Where what has to wait waits. Default: the temporary directory. */
  readonly openSpool?: () => Spool
  readonly signal: AbortSignal
  readonly onProgress: (progress: Readonly<ConvertProgress>) => void
}

/** What was written. */
export interface ConvertSummary {
  readonly from: TraceFormatName
  readonly events: number
  readonly bytes: number
  readonly leftOut: LeftOut
}

export type ConvertOutcome =
  | { readonly _tag: "Converted"; readonly summary: ConvertSummary }
  | { readonly _tag: "Failed"; readonly error: ConvertError }

/** Converts one trace. Rejects only for defects; on every failure the sink has been discarded. */
export const convertInto = async (options: ConvertOptions): Promise<ConvertOutcome> => {
  let sink: OutputSink | undefined
  let spool: Spool | undefined
  const openSpool = (): Spool => {
    spool = options.openSpool?.() ?? fileSpool(tmpdir())
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
    const error = asConvertError(cause, options)
    if (error === undefined) throw cause
    return { _tag: "Failed", error }
  } finally {
    spool?.[Symbol.dispose]()
  }
}

const asConvertError = (cause: unknown, { inputName }: ConvertOptions): ConvertError | undefined => {
  if (cause instanceof BadTraceError || cause instanceof DecompressionError)
    return new InputBad({ path: inputName, detail: cause.message })
  if (cause instanceof UnwritableTraceError) return new NotConvertible({ path: inputName, detail: cause.message })
  return classes.some((known) => cause instanceof known) ? (cause as ConvertError) : undefined
}

const transfer = async (
  options: ConvertOptions,
  input: TraceInput,
  sink: OutputSink,
  openSpool: () => Spool,
): Promise<ConvertSummary> => {
  const progress: ConvertProgress = { events: 0, bytesRead: 0, bytesWritten: 0, size: input.size }
  const plain = decompressed(counted(input.bytes, progress, options))
  try {
    const { head, isEnd } = await takeHead(plain, FORMAT_SIGNATURE_BYTES)
    const from = options.from ?? formatOfBytes(head)
    if (from === undefined)
      throw new InputBad({ path: options.inputName, detail: unknownFormat(head.length === 0 && isEnd) })
    const [decoder, encoder] = [await openDecoder(from), await openEncoder(options.to, { spool: openSpool })]
    let leftOut = nothingLeftOut
    const converted = convertTrace(continued(head, plain), decoder, encoder, progress)
    const pieces = (async function* (): AsyncGenerator<Uint8Array, void> {
      leftOut = yield* converted
    })()
    for await (const piece of compressed(pieces, options.compression)) {
      if (options.signal.aborted) throw new ExportInterrupted()
      await sink.write(piece)
      progress.bytesWritten += piece.length
      options.onProgress(progress)
    }
    return { from, events: progress.events, bytes: progress.bytesWritten, leftOut }
  } finally {
    await plain.return()
  }
}

const unknownFormat = (isEmpty: boolean): string =>
  isEmpty ? "byte 0: it is empty" : "byte 0: it begins like no trace; name its format with --from if it is one"

async function* counted(
  bytes: AsyncIterable<Uint8Array>,
  progress: ConvertProgress,
  { inputName, signal, onProgress }: ConvertOptions,
): AsyncGenerator<Uint8Array, void> {
  const iterator = bytes[Symbol.asyncIterator]()
  try {
    while (true) {
      // A pipe that nobody writes to must not keep who presses Ctrl-C waiting.
      const next = await abortable(iterator.next(), signal)
      if (next.done === true) return
      progress.bytesRead += next.value.length
      onProgress(progress)
      yield next.value
    }
  } catch (cause) {
    if (cause instanceof Error && "syscall" in cause)
      throw new InputUnreadable({ path: inputName, code: codeOf(cause) })
    throw cause
  } finally {
    // Not waited for: it would wait for the read that is under way.
    void Promise.allSettled([iterator.return?.()])
  }
}

const abortable = <Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> =>
  new Promise((resolve, reject) => {
    const abort = (): void => reject(new ExportInterrupted())
    if (signal.aborted) return abort()
    signal.addEventListener("abort", abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort))
  })

/** A file, or standard input for `-`. Rejects with {@link InputUnreadable}. */
export const openTraceFile = async (path: string): Promise<TraceInput> => {
  if (path === "-") return { bytes: process.stdin, size: undefined }
  try {
    const status = await stat(path)
    if (status.isDirectory()) throw new InputUnreadable({ path, code: "EISDIR" })
    return { bytes: createReadStream(path), size: status.isFile() ? status.size : undefined }
  } catch (cause) {
    throw cause instanceof InputUnreadable ? cause : new InputUnreadable({ path, code: codeOf(cause) })
  }
}
