/** A trace as its items, from its bytes. */
import type { TraceItem } from "../trace-item.ts"
import type { TraceDecoder } from "./format.ts"

/**
 * Chunks of items. Iterate each chunk before the next is taken; bytes in items are valid until the next item.
 *
 * Throws BadTraceError, and any error of the source.
 */
export type TraceItems = AsyncIterable<Iterable<TraceItem>>

/** The items of a trace's bytes, as they arrive. */
export async function* decodedItems(
  bytes: AsyncIterable<Uint8Array>,
  decoder: TraceDecoder,
): AsyncGenerator<Iterable<TraceItem>, void> {
  for await (const chunk of bytes) yield decoder.push(chunk)
  yield decoder.end()
}
