/**
 * A trace from one format to another, as a stream of pieces: reads as fast as its own reader takes, holds neither side.
 */

import type { TraceItem } from "../trace-item.ts"
import type { LeftOut, TraceDecoder, TraceEncoder } from "./format.ts"
import type { TraceFormatName } from "./names.ts"
import type { ItemFilter } from "./owned-items.ts"
import { TraceSurvey } from "./trace-survey.ts"

/** Whether {@link surveyTrace} is worth its pass: formats that are replayed depend on what the whole trace holds. */
export const needsSurvey = (from: TraceFormatName, to: TraceFormatName): boolean =>
  to !== "ndjson" && !(from === "simkube" && to === "simkube")

/**
 * Reads a trace to its end for what an encoder must know of all of it (`EncoderOptions.facts`). The trace is read again to be encoded.
 *
 * @throws BadTraceError, and whatever the source throws
 */
export const surveyTrace = async (source: AsyncIterable<Uint8Array>, decoder: TraceDecoder): Promise<TraceSurvey> => {
  const survey = new TraceSurvey()
  for await (const chunk of source) for (const item of decoder.push(chunk)) survey.add(item)
  for (const item of decoder.end()) survey.add(item)
  return survey
}

/** How far a conversion is. */
export interface ConversionProgress {
  /** Objects, changes and gaps so far; those that were left out are none. */
  events: number
}

/**
 * The pieces of the encoded trace; ends with what the encoder left out.
 *
 * @param progress is counted up while pieces are taken
 * @param filter what of the trace is encoded; default: all
 * @throws BadTraceError, UnwritableTraceError, SpoolError, and whatever the source throws
 */
export async function* convertTrace(
  source: AsyncIterable<Uint8Array>,
  decoder: TraceDecoder,
  encoder: TraceEncoder,
  progress: ConversionProgress = { events: 0 },
  filter: ItemFilter = (item) => item,
): AsyncGenerator<Uint8Array, LeftOut> {
  const add = (given: TraceItem): void => {
    const item = filter(given)
    if (item === undefined) return
    encoder.add(item)
    if (item.type === "event") progress.events++
  }
  for await (const chunk of source) {
    for (const item of decoder.push(chunk)) {
      add(item)
      const piece = encoder.take()
      if (piece !== undefined) yield piece
    }
  }
  for (const item of decoder.end()) add(item)
  yield* encoder.finish()
  return encoder.leftOut
}
