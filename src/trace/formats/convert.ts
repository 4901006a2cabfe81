/**
 * A trace from one format to another, as a stream of pieces: reads as fast as its own reader takes, holds neither side.
 */

import type { LeftOut, TraceDecoder, TraceEncoder } from "./format.ts"

/** How far a conversion is. */
export interface ConversionProgress {
  /** Objects, changes and gaps so far. */
  events: number
}

/**
 * The pieces of the encoded trace; ends with what the encoder left out.
 *
 * @param progress is counted up while pieces are taken
 * @throws BadTraceError, UnwritableTraceError, SpoolError, and whatever the source throws
 */
export async function* convertTrace(
  source: AsyncIterable<Uint8Array>,
  decoder: TraceDecoder,
  encoder: TraceEncoder,
  progress: ConversionProgress = { events: 0 },
): AsyncGenerator<Uint8Array, LeftOut> {
  for await (const chunk of source) {
    for (const item of decoder.push(chunk)) {
      encoder.add(item)
      if (item.type === "event") progress.events++
      const piece = encoder.take()
      if (piece !== undefined) yield piece
    }
  }
  for (const item of decoder.end()) {
    encoder.add(item)
    if (item.type === "event") progress.events++
  }
  yield* encoder.finish()
  return encoder.leftOut
}
