/** Writes spooled events as a trace in any format. */
import { openEncoder } from "../trace/formats/codecs.ts"
import { needsSurvey } from "../trace/formats/convert.ts"
import type { LeftOut } from "../trace/formats/format.ts"
import type { TraceFormatName } from "../trace/formats/names.ts"
import { TraceSurvey } from "../trace/formats/trace-survey.ts"
import type { Spool } from "../trace/spool.ts"
import type { TraceHeader, TraceItem } from "../trace/trace-item.ts"
import type { EventSpool } from "./event-spool.ts"

/**
 * The pieces of the trace; returns what the format could not represent. Formats for replay need facts about the whole trace, for which the
 * events are read once more. Throws UnwritableTraceError and SpoolError.
 */
export async function* encodedEvents(
  header: TraceHeader,
  events: EventSpool,
  format: TraceFormatName,
  openSpool: () => Spool,
): AsyncGenerator<Uint8Array, LeftOut> {
  let survey: TraceSurvey | undefined
  if (needsSurvey("ndjson", format)) {
    survey = new TraceSurvey()
    for (const item of itemsOf(header, events)) survey.add(item)
  }
  const encoder = await openEncoder(format, { spool: openSpool, ...(survey && { facts: survey }) })
  for (const item of itemsOf(header, events)) {
    encoder.add(item)
    const piece = encoder.take()
    if (piece !== undefined) yield piece
  }
  yield* encoder.finish()
  return encoder.leftOut
}

function* itemsOf(header: TraceHeader, events: EventSpool): Generator<TraceItem> {
  yield { type: "header", ...header }
  for (const event of events.events()) yield { type: "event", event, isSnapshot: false }
}
