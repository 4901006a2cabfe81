/** One span as OTLP/JSON has it. Times are µs since the Unix epoch here and ns there. */
import { type Attributes, fittingText, keyValues } from "./attributes.ts"

/** Something that happened within a span. */
export interface SpanEvent {
  readonly time: number
  readonly name: string
  readonly attributes: Attributes
}

/** A span that has ended. */
export interface Span {
  readonly traceId: string
  readonly spanId: string
  /** `undefined`: it has none. */
  readonly parentSpanId: string | undefined
  readonly name: string
  readonly begin: number
  /** Not before its begin. */
  readonly end: number
  readonly attributes: Attributes
  readonly events?: ReadonlyArray<SpanEvent>
  /** How many events it had beside those. */
  readonly droppedEvents?: number
  /** What went wrong, for people; `undefined`: nothing that is known. */
  readonly error: string | undefined
}

/** OTLP's numbers. */
const INTERNAL = 1
const ERROR = 2

/** The message `Span` in JSON. */
export const spanJson = (span: Span): string =>
  JSON.stringify({
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentSpanId !== undefined && { parentSpanId: span.parentSpanId }),
    name: fittingText(span.name),
    kind: INTERNAL,
    startTimeUnixNano: nanoseconds(span.begin),
    endTimeUnixNano: nanoseconds(Math.max(span.begin, span.end)),
    attributes: keyValues(span.attributes),
    ...(span.events !== undefined &&
      span.events.length > 0 && {
        events: span.events.map(({ time, name, attributes }) => ({
          timeUnixNano: nanoseconds(time),
          name: fittingText(name),
          attributes: keyValues(attributes),
        })),
      }),
    ...(span.droppedEvents !== undefined && span.droppedEvents > 0 && { droppedEventsCount: span.droppedEvents }),
    ...(span.error !== undefined && { status: { code: ERROR, message: fittingText(span.error) } }),
  })

/** As text, because it needs more than 53 bits. Of times that no trace has, the nearest that the format has. */
const nanoseconds = (micros: number): string =>
  String(BigInt(Math.trunc(Math.min(LATEST, Math.max(0, micros)))) * 1000n)

/** The last µs whose ns are below 2^64. */
const LATEST = Number.MAX_SAFE_INTEGER
