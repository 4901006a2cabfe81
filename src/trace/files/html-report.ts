/** A trace as a page of HTML, for programs: what a test attaches to its result. */

import { continued, decompressed, takeHead } from "../formats/compression.ts"
import { convertTrace } from "../formats/convert.ts"
import { decodedItems } from "../formats/decoded-items.ts"
import { BadTraceError } from "../formats/format.ts"
import { FORMAT_SIGNATURE_BYTES, formatOfBytes, type TraceFormatName } from "../formats/names.ts"
import { type HtmlOptions, htmlEncoder } from "../views/html/html-encoder.ts"
import { openDecoder } from "./codecs.ts"

/** How a trace is read, and what its page is called. */
export interface HtmlReportOptions extends HtmlOptions {
  /** Default: the format of its first bytes. */
  readonly format?: TraceFormatName
}

/**
 * One self-contained page that shows everything that happened: a time line by namespace, owner and pod, and every change with the fields that differ. It
 * runs no script but its own and loads nothing.
 *
 * ```ts
 * await writeFile("report.html", await htmlReport(createReadStream("trace.ndjson")))
 * ```
 *
 * @param trace its bytes, in any format, also compressed
 * @throws BadTraceError, DecompressionError, UnwritableTraceError, and any error of the source
 */
export const htmlReport = async (
  trace: AsyncIterable<Uint8Array> | Uint8Array,
  { format, ...options }: HtmlReportOptions = {},
): Promise<string> => {
  const source = trace instanceof Uint8Array ? whole(trace) : trace
  const plain = decompressed(source)
  try {
    const { head } = await takeHead(plain, FORMAT_SIGNATURE_BYTES)
    const from = format ?? formatOfBytes(head)
    if (from === undefined)
      throw new BadTraceError({ format: "known", offset: 0, detail: "its first bytes are those of no trace" })
    const pieces: Uint8Array[] = []
    const items = decodedItems(continued(head, plain), await openDecoder(from))
    for await (const piece of convertTrace(items, htmlEncoder(options))) pieces.push(piece)
    return Buffer.concat(pieces).toString()
  } finally {
    await plain.return()
  }
}

async function* whole(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield bytes
}
