/**
 * Calls to one API server: each settles once, with a response of status 2xx or an {@link ApiError}. After a 401 the
 * credentials are refreshed and the call is sent once more; nothing else is repeated except what the {@link
 * RetryPolicy} allows. Calls wait for one of `maximumConcurrent` places, in order; one that waits for its next
 * attempt holds none.
 */
import { systemClock, type Timers } from "../../clock.ts"
import { messageOf } from "../../message-of.ts"
import type { ApiEndpoint, EndpointSource } from "../endpoint.ts"
import { HttpClient } from "../http/http-client.ts"
import { type CollectedResponse, describeFailure, type RequestFailure, sendOnce } from "../http/request-once.ts"
import { connectionCodes, type HttpRequest, type Transport } from "../http/transport.ts"
import { pause } from "../pause.ts"

import { statusOfResponse } from "../status.ts"
import { type ApiError, ApiUnreachableError, type Question, refusalOf } from "./api-errors.ts"

// Whether and when a failed call is repeated. The caller of the client decides: a controller's queue retries by itself and wants no retries
// here, a batch of writes wants them.

export interface RetryPolicy {
  /** ms until the next attempt; `undefined`: no further attempt. `attempt`: how many have failed, from 1. */
  delayMs(error: ApiError, attempt: number): number | undefined
}

/** No retries: every failure reaches the caller. */
const noRetries: RetryPolicy = { delayMs: () => undefined }

/**
 * Whether repeating the call is safe: the server has certainly not acted (429, or any response with Retry-After: client-go's rule, because
 * the server rejects such a request before acting on it), or acting twice has the same effect as once (reads and applies, so for them also
 * failures of the connection, deadlines, and 500, 502, 503, 504).
 */
export const isSafeToRepeat = (error: ApiError): boolean => {
  if (error._tag === "TooManyRequestsError") return true
  const isIdempotent = error.verb === "get" || error.verb === "list" || error.verb === "apply"
  if (error._tag === "ApiUnreachableError")
    return isIdempotent && (error.failure === "connection" || error.failure === "deadline")
  if (error._tag !== "ApiRefusalError" || error.code < 500) return false
  return error.retryAfterMs !== undefined || (isIdempotent && error.code !== 501)
}

interface BackOffOptions {
  /** Returns a number in [0, 1). */
  readonly random: () => number
  /** Total number of attempts, the first included. Default 5. */
  readonly attempts?: number
  /** ms before the second attempt, doubled for each further one. Default 250. */
  readonly baseMs?: number
  /** Longest wait in ms, unless the server requests a longer one. Default 30,000. */
  readonly maximumMs?: number
  /** Which errors are retried. Default {@link isSafeToRepeat}. */
  readonly mayRepeat?: (error: ApiError) => boolean
}

/** Exponential back-off; up to half of each wait is added at random, and no wait is shorter than the server's Retry-After. */
export const backOff = (options: BackOffOptions): RetryPolicy => {
  const { random, attempts = 5, baseMs = 250, maximumMs = 30_000, mayRepeat = isSafeToRepeat } = options
  return {
    delayMs: (error, attempt) => {
      if (attempt >= attempts || !mayRepeat(error)) return undefined
      const ownMs = Math.min(maximumMs, baseMs * 2 ** (attempt - 1))
      const askedMs = error._tag === "ApiUnreachableError" ? 0 : (error.retryAfterMs ?? 0)
      return Math.max(ownMs, askedMs) * (1 + random() / 2)
    },
  }
}

export interface ConnectionOptions {
  /** A fixed endpoint, one whose credentials change, or a transport that needs none. */
  readonly server: ApiEndpoint | EndpointSource | Transport
  /** `kubereel/<version>` or the component's name; the server derives the default field manager from it. */
  readonly userAgent: string
  /** Simultaneous calls; as many connections are kept between calls. Default 16: more only queue in a single-process server. */
  readonly maximumConcurrent?: number
  /** ms from sending to the last byte of the response. Default 60,000, the API server's own limit for a request. */
  readonly deadlineMs?: number
  /** Default: no retries. */
  readonly retries?: RetryPolicy
  /**
   * Called for each warning of an answer, also of an error: what the server would have its users know, such as that the version of a kind
   * is deprecated or a field unknown. The same warning comes with each answer that has it. Not called for watches. An exception of it is
   * not caught: it ends the process, as one in any event handler. Default: warnings are dropped.
   */
  readonly onWarning?: (text: string, question: Question) => void
  /** For deadlines and waits; default: the machine's, since it is about the network. */
  readonly timers?: Timers
}

/** Options of every call. */
export interface CallOptions {
  /** Aborts the call: it rejects with an {@link ApiUnreachableError} of failure `aborted`. */
  readonly signal?: AbortSignal
}

/** One request and the facts that its errors carry. */
export interface Call extends Omit<HttpRequest, "headers"> {
  readonly question: Question
  /** Default `application/json`. */
  readonly accept?: string
  /** Largest response in bytes. Default 16 MiB: etcd accepts objects of 1.5 MiB, and a response may be one of them, re-formatted. */
  readonly maximumBytes?: number
}

const largestAnswer = 16 * 1024 * 1024

export class ApiConnection {
  readonly #options: ConnectionOptions
  readonly #timers: Timers
  /** Places taken, and the calls that wait for one. */
  #running = 0
  readonly #waiting: Array<() => void> = []
  readonly #closing = new AbortController()
  #http: HttpClient | undefined
  #endpoint: ApiEndpoint | undefined

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.#timers = options.timers ?? systemClock
  }

  async call(call: Call, { signal }: CallOptions = {}): Promise<CollectedResponse> {
    const { retries = noRetries } = this.#options
    const isOver = (): boolean => this.#closing.signal.aborted || signal?.aborted === true
    for (let attempt = 1; ; attempt++) {
      const result = await this.#attempt(call, signal)
      if ("status" in result) return result
      const delayMs = isOver() ? undefined : retries.delayMs(result, attempt)
      if (delayMs === undefined) throw result
      const closing = this.#closing.signal
      await pause(this.#timers, delayMs, ...(signal === undefined ? [closing] : [closing, signal]))
      if (isOver()) throw result
    }
  }

  /** A transport with the current credentials, for watches, which are not calls. Rejects with the error of the credentials. */
  async transport(): Promise<Transport> {
    const { server } = this.#options
    if ("send" in server) return server
    const endpoint = "endpoint" in server ? await server.endpoint() : server
    if (this.#http === undefined) {
      const { userAgent, maximumConcurrent = 16 } = this.#options
      this.#http = new HttpClient(endpoint, { userAgent, maximumIdle: maximumConcurrent })
      if (this.#closing.signal.aborted) this.#http.close()
    } else if (endpoint !== this.#endpoint) this.#http.updateEndpoint(endpoint)
    this.#endpoint = endpoint
    return this.#http
  }

  /** After a 401: fetches fresh credentials, for all later requests. False if they did not change. Rejects like {@link transport}. */
  async refresh(): Promise<boolean> {
    const { server } = this.#options
    if (!("onUnauthorized" in server)) return false
    const before = this.#endpoint
    await server.onUnauthorized()
    await this.transport()
    return this.#endpoint !== before
  }

  /** Aborts running calls and closes the connections. Later calls reject. */
  close(): void {
    this.#closing.abort()
    this.#http?.close()
  }

  async #attempt(call: Call, signal: AbortSignal | undefined): Promise<CollectedResponse | ApiError> {
    if (this.#running >= (this.#options.maximumConcurrent ?? 16)) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    } else this.#running++
    try {
      const first = await this.#exchange(call, signal)
      if (!("_tag" in first) || first._tag !== "UnauthorizedError" || !("onUnauthorized" in this.#options.server))
        return first
      await this.#options.server.onUnauthorized()
      return await this.#exchange(call, signal)
    } catch (cause) {
      return unreachable(call, "credentials", messageOf(cause))
    } finally {
      // The place is passed on without becoming free in between, so that no later call overtakes.
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }

  /** Rejects with the error of the credentials. */
  async #exchange(call: Call, signal: AbortSignal | undefined): Promise<CollectedResponse | ApiError> {
    const transport = await this.transport()
    const { question, accept = "application/json", maximumBytes = largestAnswer, ...request } = call
    const outcome = await sendOnce(transport, request, {
      headers: { Accept: accept },
      maximumBytes,
      deadlineMs: this.#options.deadlineMs ?? 60_000,
      ...(signal !== undefined && { signal }),
      timers: this.#timers,
    })
    if (outcome.tag !== "response") return unreachable(call, failureOf(outcome), describeFailure(outcome))
    this.#warn(question, outcome)
    if (outcome.status >= 200 && outcome.status < 300) return outcome
    return refusalOf(question, statusOfResponse(outcome.status, outcome.headers, outcome.body))
  }

  #warn(question: Question, { headers }: CollectedResponse): void {
    const { onWarning } = this.#options
    const header = headers.get("warning")
    if (onWarning === undefined || header === undefined) return
    // Not from here, where an exception would count as one of the credentials.
    for (const text of warningsIn(header)) queueMicrotask(() => onWarning(text, question))
  }
}

/** `299 - "text"`, with `\"` and `\\` in the text, perhaps a date after it; several are separated by commas (RFC 7234, 5.5). */
const warningValue = /\b\d{3} [^\s,"]+ "((?:[^"\\]|\\.)*)"(?: "[^"]*")?/g

/** The texts of a header `Warning`, of all its lines. */
const warningsIn = (header: string): ReadonlyArray<string> =>
  [...header.matchAll(warningValue)]
    .map(([, text = ""]) => text.replaceAll(/\\(.)/g, "$1"))
    .filter((text) => text !== "")

/** The parsed body. Rejects an answer that is no JSON: it comes from something in front of the server. */
export const bodyOf = <T>(call: Call, { body }: CollectedResponse): T => {
  try {
    return JSON.parse(body.toString("utf8"))
  } catch (cause) {
    throw unreachable(call, "unreadable", `the response is not JSON: ${String(cause)}`)
  }
}

const unreachable = (
  { question }: Call,
  failure: ApiUnreachableError["failure"],
  detail: string,
): ApiUnreachableError => new ApiUnreachableError({ ...question, failure, detail })

const failureOf = (failure: RequestFailure): ApiUnreachableError["failure"] => {
  if (failure.tag === "deadline") return "deadline"
  if (failure.tag === "too-large") return "unreadable"
  switch (failure.end.tag) {
    case "aborted":
      return "aborted"
    case "malformed":
      return "unreadable"
    case "timeout":
      return "deadline"
    case "connection":
      return failure.end.code === connectionCodes.clientClosed ? "aborted" : "connection"
    case "truncated":
      return "connection"
  }
}
