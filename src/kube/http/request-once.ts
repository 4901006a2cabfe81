/**
 * One request with a small response, collected: settles within the deadline, holds at most `maximumBytes`, and never
 * rejects: a failure is a value. A response with an error status is not a failure.
 */
import { backgroundClock, type Timers } from "../../clock.ts"
import {
  describeLost,
  type HttpRequest,
  type HttpStream,
  type ReadTransport,
  type ResponseHandler,
  type StreamEnd,
  type Transport,
} from "./transport.ts"

export interface RequestOptions {
  /** Added to the endpoint's own. Default: `Accept: application/json`. */
  readonly headers?: Readonly<Record<string, string>>
  /** Largest body in bytes. Default 4 MiB: discovery of a large group takes 100 kB, an object at most 1.5 MiB (etcd). */
  readonly maximumBytes?: number
  /** ms from now to the last byte. Default 30,000, half of the API server's limit for a request. */
  readonly deadlineMs?: number
  /** Aborts the request. */
  readonly signal?: AbortSignal
  /** Default: the machine's timers. */
  readonly timers?: Timers
}

/** A complete response of any status. */
export interface CollectedResponse {
  readonly tag: "response"
  readonly status: number
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

/** Why there is no complete response. */
export type RequestFailure =
  | { readonly tag: "failed"; readonly end: Exclude<StreamEnd, { tag: "complete" }> }
  | { readonly tag: "too-large"; readonly maximumBytes: number }
  | { readonly tag: "deadline"; readonly deadlineMs: number }

type RequestOutcome = CollectedResponse | RequestFailure

/** One GET. `path` as in {@link HttpRequest}. */
export const requestOnce = (
  client: ReadTransport,
  path: string,
  options: RequestOptions = {},
): Promise<RequestOutcome> => collected((headers, handler) => client.get(path, headers, handler), options)

/** The same for a request of any method. */
export const sendOnce = (
  transport: Pick<Transport, "send">,
  request: Omit<HttpRequest, "headers">,
  options: RequestOptions = {},
): Promise<RequestOutcome> => collected((headers, handler) => transport.send({ ...request, headers }, handler), options)

const collected = (
  send: (headers: Readonly<Record<string, string>>, handler: ResponseHandler) => HttpStream,
  options: RequestOptions,
): Promise<RequestOutcome> =>
  new Promise((resolve) => {
    const { headers = { Accept: "application/json" }, maximumBytes = 4 * 1024 * 1024, deadlineMs = 30_000 } = options
    const pieces: Buffer[] = []
    let length = 0
    let status = 0
    let responseHeaders: ReadonlyMap<string, string> = new Map()
    /** Why this module aborted the request, if it did. */
    let given: RequestFailure | undefined

    const giveUp = (failure: RequestFailure): void => {
      given ??= failure
      stream.abort()
    }
    const onAbort = (): void => giveUp({ tag: "failed", end: { tag: "aborted" } })
    const settle = (end: StreamEnd): void => {
      timer.cancel()
      options.signal?.removeEventListener("abort", onAbort)
      if (given !== undefined) resolve(given)
      else if (end.tag !== "complete") resolve({ tag: "failed", end })
      else resolve({ tag: "response", status, headers: responseHeaders, body: Buffer.concat(pieces, length) })
    }

    const stream: HttpStream = send(headers, {
      head(code, fields) {
        status = code
        responseHeaders = fields
      },
      data(buffer, start, end) {
        length += end - start
        if (length > maximumBytes) giveUp({ tag: "too-large", maximumBytes })
        else pieces.push(Buffer.from(buffer.subarray(start, end)))
      },
      end: settle,
    })
    const timer = (options.timers ?? backgroundClock).after(deadlineMs, () => giveUp({ tag: "deadline", deadlineMs }))
    options.signal?.addEventListener("abort", onAbort, { once: true })
    if (options.signal?.aborted === true) onAbort()
  })

/** A failure in words, without the address, which the caller adds. */
export const describeFailure = (failure: RequestFailure): string => {
  switch (failure.tag) {
    case "too-large":
      return `the response is larger than ${failure.maximumBytes} bytes`
    case "deadline":
      return `no complete response within ${failure.deadlineMs} ms`
    case "failed":
      return describeEnd(failure.end)
  }
}

const describeEnd = (end: Exclude<StreamEnd, { tag: "complete" }>): string => {
  switch (end.tag) {
    case "truncated":
      return "the connection was closed in the middle of the response"
    case "aborted":
      return "the request was aborted"
    case "connection":
      return describeLost(end)
    case "malformed":
      return `the response is not valid HTTP: ${end.message}`
    case "timeout":
      return end.message
  }
}
