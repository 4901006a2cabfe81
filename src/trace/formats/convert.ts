/**
 * Converts a trace from one format to another as a stream of pieces: reads as fast as its output is consumed, holds neither side.
 */

import type { TraceItem } from "../trace-item.ts"
import type { TraceItems } from "./decoded-items.ts"
import type { LeftOut, TraceEncoder } from "./format.ts"
import type { TraceFormatName } from "./names.ts"
import type { ItemFilter } from "./owned-items.ts"
import { TraceSurvey } from "./trace-survey.ts"

/** Whether {@link surveyTrace} is worth its pass: formats for replay depend on the contents of the whole trace. */
export const needsSurvey = (from: TraceFormatName, to: TraceFormatName): boolean =>
  to !== "ndjson" && !(from === "simkube" && to === "simkube")

/**
 * Reads a whole trace for the facts that an encoder needs (`EncoderOptions.facts`). The trace is read again to be encoded.
 * @throws BadTraceError, and any error of the source
 */
export const surveyTrace = async (items: TraceItems): Promise<TraceSurvey> => {
  const survey = new TraceSurvey()
  for await (const chunk of items) for (const item of chunk) survey.add(item)
  return survey
}

/** The progress of a conversion. */
export interface ConversionProgress {
  /** Objects that exist at the start, without those that were left out. */
  objects: number
  /** Changes and gaps so far, without those that were left out. */
  events: number
}

/**
 * The pieces of the encoded trace; returns what the encoder left out.
 * @param progress is counted up while pieces are taken
 * @param filter selects what is encoded; default: everything
 * @throws BadTraceError, UnwritableTraceError, SpoolError, and any error of the source
 */
export async function* convertTrace(
  items: TraceItems,
  encoder: TraceEncoder,
  progress: ConversionProgress = { objects: 0, events: 0 },
  filter: ItemFilter = { filtered: (item) => item, warnings: [] },
): AsyncGenerator<Uint8Array, LeftOut> {
  const add = (given: TraceItem): void => {
    const item = filter.filtered(given)
    if (item === undefined) return
    encoder.add(item)
    if (item.type !== "event") return
    if (item.isSnapshot) progress.objects++
    else progress.events++
  }
  for await (const chunk of items) {
    for (const item of chunk) {
      add(item)
      for (let piece = encoder.take(); piece !== undefined; piece = encoder.take()) yield piece
    }
  }
  yield* encoder.finish()
  const { leftOut } = encoder
  return { ...leftOut, warnings: [...leftOut.warnings, ...filter.warnings] }
}
