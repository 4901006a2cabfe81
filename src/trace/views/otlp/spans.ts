/**
 * Spans and their attributes as OTLP/JSON has them, and the requests that they are collected in: one on each line, which is what the
 * collector's file receiver reads, and what is one request of OTLP/HTTP. Times are µs since the Unix epoch here and ns there.
 */
import { hash } from "node:crypto"

/** What an attribute may be; integers only. Members without a value are left out. */
type AttributeValue = string | number | boolean | ReadonlyArray<string> | undefined

/** By name, as the semantic conventions have them where they know a name. */
export type Attributes = Readonly<Record<string, AttributeValue>>

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

/** 16 bytes in hex: a hash, so that the same trace has the same identifiers whenever it is converted. */
export const traceIdOf = (text: string): string => hash("sha256", `trace ${text}`, "hex").slice(0, 32)

/** 8 bytes in hex, as {@link traceIdOf}. */
export const spanIdOf = (text: string): string => hash("sha256", `span ${text}`, "hex").slice(0, 16)

/** Characters of one text: more than the messages of Kubernetes need, and what collectors usually keep. */
const LONGEST_TEXT = 4096
/** Spans of a request, as many as OpenTelemetry's own exporters send at a time. */
const MOST_SPANS = 512
/** Characters of a request; gRPC gateways behind collectors take 4 MiB, and a character has at most 3 bytes. */
const MOST_CHARACTERS = 1024 * 1024

const scope = JSON.stringify({ name: "kubereel" })

/** The spans of one trace, in requests. */
export class SpanBatches {
  /** Spans by the JSON of their resource's attributes. */
  readonly #spans = new Map<string, string[]>()
  #count = 0
  #characters = 0
  readonly #full: string[] = []

  /** Adds a span of something that has these attributes. */
  add(span: Span, resource: Attributes): void {
    const key = JSON.stringify(keyValues(resource))
    const json = spanJson(span)
    const size = json.length + (this.#spans.has(key) ? 0 : key.length)
    if (this.#count > 0 && this.#characters + size > MOST_CHARACTERS) this.#close()
    const spans = this.#spans.get(key)
    if (spans === undefined) this.#spans.set(key, [json])
    else spans.push(json)
    this.#count++
    this.#characters += size
    if (this.#count >= MOST_SPANS) this.#close()
  }

  /** The lines that are full; `undefined`: none. */
  take(): Uint8Array | undefined {
    return this.#full.length === 0 ? undefined : Buffer.from(this.#full.splice(0).join(""))
  }

  /** The rest; `undefined`: nothing. */
  end(): Uint8Array | undefined {
    if (this.#count > 0) this.#close()
    return this.take()
  }

  #close(): void {
    const resources = [...this.#spans].map(
      ([attributes, spans]) =>
        `{"resource":{"attributes":${attributes}},"scopeSpans":[{"scope":${scope},"spans":[${spans.join(",")}]}]}`,
    )
    this.#full.push(`{"resourceSpans":[${resources.join(",")}]}\n`)
    this.#spans.clear()
    this.#count = 0
    this.#characters = 0
  }
}

/** OTLP's numbers. */
const INTERNAL = 1
const ERROR = 2

/** The message `Span` in JSON, which leaves out members without a value. */
const spanJson = ({
  traceId,
  spanId,
  parentSpanId,
  name,
  begin,
  end,
  attributes,
  events = [],
  ...span
}: Span): string =>
  JSON.stringify({
    ...{ traceId, spanId, parentSpanId, name: fittingText(name), kind: INTERNAL },
    ...{ startTimeUnixNano: nanoseconds(begin), endTimeUnixNano: nanoseconds(Math.max(begin, end)) },
    attributes: keyValues(attributes),
    events:
      events.length === 0
        ? undefined
        : events.map((event) => ({
            ...{ timeUnixNano: nanoseconds(event.time), name: fittingText(event.name) },
            attributes: keyValues(event.attributes),
          })),
    droppedEventsCount: span.droppedEvents || undefined,
    status: span.error === undefined ? undefined : { code: ERROR, message: fittingText(span.error) },
  })

const keyValues = (attributes: Attributes): ReadonlyArray<object> =>
  Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value: anyValue(value) }]))

const anyValue = (value: Exclude<AttributeValue, undefined>): object => {
  if (typeof value === "string") return { stringValue: fittingText(value) }
  // JSON of protobuf has numbers of 64 bits as texts.
  if (typeof value === "number") return { intValue: String(value) }
  if (typeof value === "boolean") return { boolValue: value }
  return { arrayValue: { values: value.map(anyValue) } }
}

/** A text that fits, without halves of characters, which protobuf does not have. */
const fittingText = (text: string): string =>
  (text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text).toWellFormed()

/** As text, because it needs more than 53 bits. Of times that no trace has, the nearest that the format has: below 2^64 ns. */
const nanoseconds = (micros: number): string =>
  String(BigInt(Math.trunc(Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, micros)))) * 1000n)
