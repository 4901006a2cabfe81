/**
 * An OTLP/HTTP endpoint as the destination of spans: each line of what is written is an export request in JSON, and is one POST.
 *
 * One request at a time, so the reader of the trace waits for the collector and nothing queues up. What the specification of OTLP/HTTP calls retryable is
 * tried again, a limited number of times; everything else ends the conversion. Spans that have been taken stay where they are: a
 * failure says how many they are, and sending the same trace again sends the same identifiers.
 */
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import * as Schema from "effect/Schema"
import type { Clock } from "../../clock.ts"
import { isRecord } from "../../is-record.ts"
import { messageOf } from "../../message-of.ts"
import { ExportInterrupted } from "./output-errors.ts"
import type { OutputSink } from "./output-file.ts"

/** The endpoint did not take the spans. */
export class EndpointFailed extends Schema.TaggedError<EndpointFailed>()("EndpointFailed", {
  url: Schema.String,
  /**
   * - `unreachable`: there was no connection, or it broke
   * - `silent`: no answer in time
   * - `busy`: it asked to try again later
   * - `refused`: it will not take them
   * - `broken`: it failed, and does not say that another attempt would help
   * - `garbage`: the answer is not one of OTLP/HTTP
   */
  reason: Schema.Literals(["unreachable", "silent", "busy", "refused", "broken", "garbage"]),
  /** The status, what the server said, or the error of the network. */
  detail: Schema.String,
  /** How often the request was sent. */
  attempts: Schema.Int,
  /** Spans that the endpoint has taken before. */
  taken: Schema.Int,
}) {
  override get message(): string {
    const times = this.attempts === 1 ? "" : `, ${this.attempts} times`
    const taken = this.taken === 0 ? "No spans were taken" : `${this.taken} spans were taken before that`
    return `${this.url}: ${this.detail}${times}. ${taken}. ${advice[this.reason]}`
  }
}

const advice = {
  unreachable: "Check the address, and that the collector listens there",
  silent: "Check that the collector is not overloaded, then send the trace again",
  busy: "Send the trace again when the collector has room; the same trace has the same span IDs",
  refused: "Check the path, usually /v1/traces, and OTEL_EXPORTER_OTLP_HEADERS",
  broken: "The log of the collector says why; then send the trace again",
  garbage: "Check that the address is that of an OTLP/HTTP receiver, usually with the path /v1/traces",
} as const

// Reads the answer to an export request of OTLP/HTTP in JSON: total for anything a server may send, and bounded.

/** What a server answered. */
interface ExportAnswer {
  readonly status: number
  /** The header `Retry-After`. */
  readonly retryAfter: string | null
  readonly body:
    | {
        readonly _tag: "Understood"
        /** Spans that were refused although the request was taken. */
        readonly rejected: number
        /** What the server said; `undefined`: nothing. */
        readonly message: string | undefined
      }
    | { readonly _tag: "Garbage"; readonly detail: string }
}

/** Answers have some hundred bytes. */
const MOST_BYTES = 64 * 1024
/** Characters of a message that people are shown. */
const LONGEST_MESSAGE = 500

/** Reads it. Rejects if the connection breaks. */
const exportAnswer = async (response: Response): Promise<ExportAnswer> => ({
  status: response.status,
  retryAfter: response.headers.get("retry-after"),
  body: understood(await textOf(response)),
})

/** `undefined`: it is too long. */
const textOf = async (response: Response): Promise<string | undefined> => {
  if (response.body === null) return ""
  const pieces: Uint8Array[] = []
  let bytes = 0
  // Leaving the loop cancels the rest of the answer.
  for await (const piece of response.body) {
    bytes += piece.length
    if (bytes > MOST_BYTES) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

const understood = (text: string | undefined): ExportAnswer["body"] => {
  if (text === undefined) return { _tag: "Garbage", detail: `the answer has more than ${MOST_BYTES} bytes` }
  // A message with nothing in it may be written as nothing.
  if (text.trim() === "") return { _tag: "Understood", rejected: 0, message: undefined }
  const answer = parsed(text)
  if (!isRecord(answer)) return { _tag: "Garbage", detail: "the answer is no JSON object" }
  // A failure is a google.rpc.Status, a success may have a part that failed.
  const partial = answer.partialSuccess ?? answer.partial_success
  if (!isRecord(partial)) return { _tag: "Understood", rejected: 0, message: messageIn(answer.message) }
  const rejected = Number(partial.rejectedSpans ?? partial.rejected_spans ?? 0)
  if (!Number.isSafeInteger(rejected) || rejected < 0)
    return { _tag: "Garbage", detail: "the number of rejected spans is not one" }
  return { _tag: "Understood", rejected, message: messageIn(partial.errorMessage ?? partial.error_message) }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const messageIn = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value.slice(0, LONGEST_MESSAGE) : undefined

/** What was delivered so far. */
export interface Delivery {
  readonly spans: number
  /** Spans that the endpoint refused one by one, and what it said of the last of them. */
  readonly rejected: number
  readonly message: string | undefined
}

/** A destination that counts. */
export interface OtlpSink extends OutputSink {
  readonly delivery: Delivery
}

/** How the bodies of requests are sent. */
export type EndpointCompression = "gzip" | "none"

/** What a destination needs. */
export interface OtlpEndpointOptions {
  /** `http://collector:4318/v1/traces`; used as it is. */
  readonly url: string
  /** Sent with each request. They may be secret and are in no message. */
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  /** Default: none, which every endpoint takes. */
  readonly compression?: EndpointCompression
  readonly signal: AbortSignal
  readonly clock: Clock
  /** From 0 up to 1. */
  readonly random: () => number
  readonly fetch?: typeof globalThis.fetch
}

/** What OpenTelemetry's exporters wait for an answer, in ms. */
const ANSWER_MS = 10_000
/** Attempts for one request, the waits between them being 1, 2, 4, 8 and 16 s: a collector that is restarted is back by then. */
const MOST_ATTEMPTS = 6
const FIRST_WAIT_MS = 1000
/** The longest `Retry-After` that is waited for. A receiver that asks for more is not available for a conversion. */
const LONGEST_WAIT_MS = 60_000
/** The specification of OTLP/HTTP lists these. */
const retryable: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** What another attempt would not change. */
const isFinal: ReadonlySet<EndpointFailed["reason"]> = new Set(["refused", "broken", "garbage"])

type Attempt =
  | { readonly _tag: "Answered"; readonly answer: ExportAnswer }
  | { readonly _tag: "Silent" }
  | { readonly _tag: "Unreachable"; readonly detail: string }

/** Opens a destination; nothing is sent before the first write. Its methods reject with {@link EndpointFailed} and {@link ExportInterrupted}. */
export const otlpEndpoint = (options: OtlpEndpointOptions): OtlpSink => {
  const delivery = { spans: 0, rejected: 0, message: undefined as string | undefined }
  let rest = Buffer.alloc(0)
  let isFirst = true
  const send = async (line: Uint8Array): Promise<void> => {
    const body = options.compression === "gzip" ? await compressed(line) : line
    const { rejected, message } = await delivered(body, options, { taken: delivery.spans, isFirst })
    isFirst = false
    const spans = spansIn(line)
    // No more than were sent, whatever the endpoint says.
    delivery.spans += Math.max(0, spans - rejected)
    delivery.rejected += Math.min(spans, rejected)
    if (message !== undefined) delivery.message = message
  }
  return {
    isDirect: true,
    delivery,
    write: async (bytes) => {
      rest = Buffer.concat([rest, bytes])
      for (let end = rest.indexOf(LINE_END); end !== -1; end = rest.indexOf(LINE_END)) {
        await send(rest.subarray(0, end))
        rest = rest.subarray(end + 1)
      }
    },
    commit: async () => {
      if (rest.length > 0) await send(rest)
    },
    // What a collector has taken cannot be taken back.
    discard: async () => undefined,
    remains: () => (delivery.spans === 0 ? undefined : `${delivery.spans} spans had been taken by then`),
  }
}

const LINE_END = 0x0a

const compressed = promisify(gzip)

/** Sends one request until it is answered for good. */
const delivered = async (
  body: Uint8Array,
  options: OtlpEndpointOptions,
  { taken, isFirst }: { readonly taken: number; readonly isFirst: boolean },
): Promise<{ readonly rejected: number; readonly message: string | undefined }> => {
  for (let attempt = 1; ; attempt++) {
    const outcome = await attempted(body, options)
    if (options.signal.aborted) throw new ExportInterrupted()
    const verdict = judged(outcome, options.clock.wallMicros())
    if (verdict._tag === "Taken") return verdict
    // An address that is wrong from the start is not worth half a minute of a user's time.
    const isWrong = verdict.reason === "unreachable" && isFirst
    const isLast = isWrong || isFinal.has(verdict.reason) || attempt === MOST_ATTEMPTS
    const jittered = FIRST_WAIT_MS * 2 ** (attempt - 1) * (0.5 + options.random() / 2)
    const wait = verdict.retryAfterMs ?? jittered
    if (isLast || wait > LONGEST_WAIT_MS) {
      const { reason, detail } = verdict
      throw new EndpointFailed({ url: options.url, reason, detail, attempts: attempt, taken })
    }
    await waited(wait, options)
  }
}

type Verdict =
  | { readonly _tag: "Taken"; readonly rejected: number; readonly message: string | undefined }
  | {
      readonly _tag: "NotTaken"
      readonly reason: EndpointFailed["reason"]
      readonly detail: string
      readonly retryAfterMs?: number | undefined
    }

const judged = (outcome: Attempt, now: number): Verdict => {
  if (outcome._tag === "Silent")
    return { _tag: "NotTaken", reason: "silent", detail: `no answer within ${ANSWER_MS / 1000} s` }
  if (outcome._tag === "Unreachable") return { _tag: "NotTaken", reason: "unreachable", detail: outcome.detail }
  const { status, retryAfter, body } = outcome.answer
  if (status >= 200 && status < 300) {
    if (body._tag === "Garbage")
      return { _tag: "NotTaken", reason: "garbage", detail: `HTTP ${status}: ${body.detail}` }
    return { _tag: "Taken", rejected: body.rejected, message: body.message }
  }
  const said = body._tag === "Garbage" || body.message === undefined ? "" : `: ${body.message}`
  const reason = retryable.has(status) ? "busy" : status >= 500 ? "broken" : "refused"
  return { _tag: "NotTaken", reason, detail: `HTTP ${status}${said}`, retryAfterMs: retryAfterIn(retryAfter, now) }
}

/** RFC 9110: seconds, or a date. */
const retryAfterIn = (text: string | null, nowMicros: number): number | undefined => {
  if (text === null) return undefined
  if (/^\d{1,9}$/.test(text.trim())) return Number(text) * 1000
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMicros / 1000)
}

const attempted = async (body: Uint8Array, options: OtlpEndpointOptions): Promise<Attempt> => {
  const headers = new Headers(options.headers.map(([name, value]) => [name, value]))
  headers.set("content-type", "application/json")
  if (options.compression === "gzip") headers.set("content-encoding", "gzip")
  const silence = new AbortController()
  const timer = options.clock.after(ANSWER_MS, () => silence.abort())
  try {
    const response = await (options.fetch ?? fetch)(options.url, {
      method: "POST",
      headers,
      body: new Uint8Array(body),
      // Headers may be secret, and are for this address only.
      redirect: "manual",
      signal: AbortSignal.any([silence.signal, options.signal]),
    })
    return { _tag: "Answered", answer: await exportAnswer(response) }
  } catch (cause) {
    if (silence.signal.aborted) return { _tag: "Silent" }
    return { _tag: "Unreachable", detail: reasonOf(cause) }
  } finally {
    timer.cancel()
  }
}

/** fetch says only that it failed; its cause says why. */
const reasonOf = (cause: unknown): string => {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  const code = inner instanceof Error && "code" in inner ? String(inner.code) : ""
  const message = messageOf(inner)
  return message === "" ? code : message
}

const waited = async (ms: number, { clock, signal }: OtlpEndpointOptions): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = clock.after(ms, resolve)
  const stop = (): void => resolve()
  signal.addEventListener("abort", stop)
  await promise
  signal.removeEventListener("abort", stop)
  timer.cancel()
  if (signal.aborted) throw new ExportInterrupted()
}

/** The view writes its requests itself, so they are of this form. */
const spansIn = (line: Uint8Array): number => {
  const request = JSON.parse(Buffer.from(line).toString()) as {
    readonly resourceSpans: ReadonlyArray<{
      readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<unknown> }>
    }>
  }
  return request.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans).reduce((sum, { spans }) => sum + spans.length, 0)
}
