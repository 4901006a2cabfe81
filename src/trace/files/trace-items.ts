/**
 * The items of a trace in a file or a pipe: decompresses it, recognises its format and decodes it, chunk by chunk, with the memory of one
 * chunk.
 */

import { continued, takeHead } from "../formats/compression.ts"
import { decodedItems } from "../formats/decoded-items.ts"
import { BadTraceError } from "../formats/format.ts"
import { FORMAT_SIGNATURE_BYTES, formatOfBytes, type TraceFormatName } from "../formats/names.ts"
import type { TraceItem } from "../trace-item.ts"
import { openDecoder } from "./codecs.ts"
import { plainTrace, type ReadProgress, type TraceInput } from "./trace-input.ts"

/** A trace that has been opened and looks like one. */
interface OpenTrace {
  readonly format: TraceFormatName
  /**
   * Iterate it once, each chunk before the next is taken; bytes in items are valid until the next item. Throws {@link BadTraceError},
   * DecompressionError, InputUnreadable, and ExportInterrupted once the signal is aborted.
   */
  readonly items: AsyncGenerator<Iterable<TraceItem>, void>
}

interface TraceItemsOptions {
  /** For messages. */
  readonly inputName: string
  /** Default: the format of its first bytes. */
  readonly from: TraceFormatName | undefined
  readonly signal: AbortSignal
  /** Called when more of the input has been read. */
  readonly onRead?: (bytes: number) => void
}

/** Reads the first bytes. Rejects with the errors of {@link OpenTrace.items}. */
export const openTraceItems = async (input: TraceInput, options: TraceItemsOptions): Promise<OpenTrace> => {
  const progress: ReadProgress = { bytesRead: 0 }
  const onProgress = (): void => options.onRead?.(progress.bytesRead)
  const plain = plainTrace(input.bytes, { ...options, onProgress }, progress)
  const { head, isEnd } = await takeHead(plain, FORMAT_SIGNATURE_BYTES)
  const format = options.from ?? formatOfBytes(head)
  if (format === undefined || head.length === 0) {
    await plain.return()
    const detail = head.length === 0 && isEnd ? "the trace is empty" : "not in a known trace format"
    throw new BadTraceError({ format: format ?? "known", offset: 0, detail })
  }
  return { format, items: decodedItems(continued(head, plain), await openDecoder(format)) }
}
