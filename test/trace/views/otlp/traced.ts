/**
 * Reads export requests of OTLP/JSON by the published schema and checks what all spans must be. OTLP/JSON is JSON of protobuf, but for
 * identifiers in hex and enumerations as numbers, and readers of protobuf's JSON refuse fields that they do not know.
 */
import protobuf from "protobufjs"
import { published } from "./published-schema.ts"

/** A span as a backend has it. Times are µs since the Unix epoch. */
export interface Traced {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly name: string
  readonly begin: number
  readonly end: number
  readonly says: Readonly<Record<string, unknown>>
  readonly resource: Readonly<Record<string, unknown>>
  readonly events: ReadonlyArray<{
    readonly name: string
    readonly time: number
    readonly says: Readonly<Record<string, unknown>>
  }>
  readonly droppedEvents: number
  /** The message of the status if that is an error. */
  readonly error: string | undefined
}

interface KeyValues
  extends ReadonlyArray<{
    readonly key: string
    readonly value: {
      readonly stringValue?: string
      readonly intValue?: string
      readonly boolValue?: boolean
      readonly arrayValue?: { readonly values: ReadonlyArray<{ readonly stringValue: string }> }
    }
  }> {}

interface SpanMessage {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: KeyValues
  readonly events: ReadonlyArray<{
    readonly timeUnixNano: string
    readonly name: string
    readonly attributes: KeyValues
  }>
  readonly droppedEventsCount: number
  readonly status: { readonly code: number; readonly message: string } | null
}

/** The spans of all lines, in order. Throws if they are not what the schema has, or identifiers are of no use, or a parent is missing. */
export const tracedIn = (bytes: Uint8Array): ReadonlyArray<Traced> => {
  const text = Buffer.from(bytes).toString()
  check(text === "" || text.endsWith("\n"), "the last line has no end")
  const spans = text.split("\n").slice(0, -1).flatMap(spansOf)
  const traceOf = new Map<string, string>()
  for (const { traceId, spanId } of spans) {
    check(/^[0-9a-f]{32}$/.test(traceId) && !/^0*$/.test(traceId), `the trace ID ${traceId}`)
    check(/^[0-9a-f]{16}$/.test(spanId) && !/^0*$/.test(spanId), `the span ID ${spanId}`)
    check(!traceOf.has(spanId), `two spans have the ID ${spanId}`)
    traceOf.set(spanId, traceId)
  }
  for (const { parentSpanId, traceId, name, begin, end, events } of spans) {
    check(parentSpanId === "" || traceOf.get(parentSpanId) === traceId, `the parent of ${name} is not in its trace`)
    check(begin <= end, `${name} ends before it begins`)
    for (const event of events) check(begin <= event.time && event.time <= end, `${event.name} is not within ${name}`)
  }
  return spans
}

const spansOf = (line: string): ReadonlyArray<Traced> => {
  const type = published.lookupType("ExportTraceServiceRequest")
  const written = JSON.parse(line) as Record<string, unknown>
  checkFields(type, written)
  const message = type.decode(type.encode(type.fromObject(withBytes(written) as Record<string, unknown>)).finish())
  const request = type.toObject(message, { longs: String, defaults: true, bytes: Array }) as {
    readonly resourceSpans: ReadonlyArray<{
      readonly resource: { readonly attributes: KeyValues }
      readonly scopeSpans: ReadonlyArray<{
        readonly scope: { readonly name: string }
        readonly spans: ReadonlyArray<SpanMessage>
      }>
    }>
  }
  return request.resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ scope, spans }) => {
      check(scope.name === "kubereel", `the scope ${scope.name}`)
      return spans.map((span) => tracedOf(span, resource.attributes))
    }),
  )
}

const tracedOf = (span: SpanMessage, resource: KeyValues): Traced => {
  check(span.kind === 1, "a span that is not internal")
  return {
    traceId: hex(span.traceId),
    spanId: hex(span.spanId),
    parentSpanId: hex(span.parentSpanId),
    name: span.name,
    begin: microsOf(span.startTimeUnixNano),
    end: microsOf(span.endTimeUnixNano),
    says: saidBy(span.attributes),
    resource: saidBy(resource),
    events: span.events.map(({ name, timeUnixNano, attributes }) => ({
      name,
      time: microsOf(timeUnixNano),
      says: saidBy(attributes),
    })),
    droppedEvents: span.droppedEventsCount,
    error: span.status?.code === 2 ? span.status.message : undefined,
  }
}

/** protobufjs ignores members that are no fields. */
const checkFields = (type: protobuf.Type, value: Record<string, unknown>): void => {
  for (const [key, member] of Object.entries(value)) {
    const field = type.fields[key]
    if (field === undefined) throw new Error(`${type.name} has no field ${key}`)
    field.resolve()
    check(field.repeated === Array.isArray(member), `${key} is a list on one side only`)
    for (const item of field.repeated ? (member as ReadonlyArray<unknown>) : [member]) {
      if (field.resolvedType instanceof protobuf.Type) checkFields(field.resolvedType, item as Record<string, unknown>)
      else if (field.type === "bytes") check(typeof item === "string" && /^[0-9a-f]+$/.test(item), `${key} is not hex`)
      else if (field.type === "fixed64" || field.type === "int64")
        check(/^-?\d+$/.test(item as string), `${key}: ${item}`)
      else if (field.type === "string") check((item as string).isWellFormed(), `${key} is not well-formed`)
    }
  }
}

const identifiers: ReadonlySet<string> = new Set(["traceId", "spanId", "parentSpanId"])

/** Identifiers in base64, as JSON of protobuf has bytes. */
const withBytes = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withBytes)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      identifiers.has(key) ? Buffer.from(member as string, "hex").toString("base64") : withBytes(member),
    ]),
  )
}

const saidBy = (attributes: KeyValues): Record<string, unknown> => {
  const said = attributes.map(({ key, value }) => [
    key,
    value.stringValue ??
      (value.intValue === undefined ? undefined : Number(value.intValue)) ??
      value.boolValue ??
      value.arrayValue?.values.map(({ stringValue }) => stringValue),
  ])
  check(new Set(attributes.map(({ key }) => key)).size === attributes.length, "an attribute is there twice")
  return Object.fromEntries(said)
}

const hex = (bytes: unknown): string => Buffer.from(bytes as Uint8Array).toString("hex")

const microsOf = (nanoseconds: string): number => Number(BigInt(nanoseconds) / 1000n)

const check = (isTrue: boolean, problem: string): void => {
  if (!isTrue) throw new Error(problem)
}
