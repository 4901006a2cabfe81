/**
 * Requests to an API server, as a capability: {@link HttpClient} sends them over sockets; a program that embeds an API server can pass
 * another implementation that stays within the process. Both make the same promises to a handler (see `ResponseHandler`).
 */
import { causeOfCode } from "./connection-causes.ts"

// The events of a request for its caller, and what the caller can do with a running request.

/** Receives one response. Interim responses (1xx) are skipped. */
export interface ResponseHandler {
  /** Status and headers; names in lower case, repeated headers joined with `, `. */
  head(status: number, headers: ReadonlyMap<string, string>): void
  /**
   * Body bytes `buffer[start, end)` without the transfer coding; never empty. They are in the connection's read buffer and valid only
   * during the call.
   */
  data(buffer: Buffer, start: number, end: number): void
  /** After the `data` calls of one network read (or of what a pause had kept): the moment to send what was collected. */
  readDone?(): void
  /** Called exactly once, as the last call. */
  end(outcome: StreamEnd): void
}

/** How a response ended. Only `complete` means that the whole body was delivered. */
export type StreamEnd =
  /** The body ended as its framing announced (or by closing, if the server announced no length). */
  | { readonly tag: "complete" }
  /** The server closed the connection cleanly, but in the middle of the head or body. */
  | { readonly tag: "truncated" }
  /** Aborted by the caller, or the client was closed. */
  | { readonly tag: "aborted" }
  /** No usable connection: see {@link connectionCodes} for this client's own codes; others are Node's and OpenSSL's. */
  | { readonly tag: "connection"; readonly code: string; readonly message: string }
  /** Not an HTTP/1 response, or its framing is broken. */
  | { readonly tag: "malformed"; readonly message: string }
  /** Connecting (name look-up, TCP, proxy, TLS together) took longer than allowed. */
  | { readonly tag: "timeout"; readonly afterMs: number; readonly message: string }

/** The codes of `connection` ends that this client produces itself. */
export const connectionCodes = {
  /** The server closed the connection without sending a byte. */
  noResponse: "ERR_NO_RESPONSE",
  /** A plain http request went to a port that speaks TLS. */
  tlsExpected: "ERR_TLS_EXPECTED",
  /** A proxy refused to forward; the message names proxy and status. */
  proxyRefused: "ERR_PROXY_REFUSED",
  /** The endpoint cannot be used: its URL, proxy URL, certificate or key does not parse. */
  invalidEndpoint: "ERR_INVALID_ENDPOINT",
  /** Path or headers contain characters that would end a line, or a header that only the client may set. */
  invalidRequest: "ERR_INVALID_REQUEST",
  /** The client was closed before. */
  clientClosed: "ERR_CLIENT_CLOSED",
} as const

const ownCodes: ReadonlySet<string> = new Set(Object.values(connectionCodes))

/** The end of a connection in words; a code is added only if the message is Node's own text. */
export const describeLost = ({ code, message }: Extract<StreamEnd, { tag: "connection" }>): string =>
  ownCodes.has(code) || causeOfCode(code) !== undefined ? message : `${message} (${code})`

/** A running request. */
export interface HttpStream {
  /**
   * Stops `data` until {@link resume}. At most the rest of the last network read is kept (64 KiB; with TLS, what its records hold);
   * everything else stays in the kernel, whose full window makes the server wait. `end` may still be called once nothing is kept.
   */
  pause(): void
  /** Delivers what was kept, then resumes reading. Never calls the handler before it returns. */
  resume(): void
  /** Closes the connection; `end` follows as a microtask with `aborted`. Does nothing after the end. */
  abort(): void
  /** Bytes read from the network for this request, framing included; for detecting stalled connections. */
  readonly bytesReceived: number
}

type HttpMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"

export interface HttpRequest {
  readonly method: HttpMethod
  /** Starts with `/` and is already encoded, query included; the path of the server's URL is prepended. */
  readonly path: string
  /** Added to the endpoint's own headers, which they must not repeat. */
  readonly headers: Readonly<Record<string, string>>
  /** Text is sent as UTF-8. Absent: no body. */
  readonly body?: string | Uint8Array | undefined
  /** Of the body. Default `application/json`. */
  readonly contentType?: string | undefined
  /**
   * Whether it may arrive twice. If so it is sent once more, on a new connection, if an idle connection turns out to be closed; otherwise
   * that is an error, because the server may have acted. Default: true for GET, false for the others.
   */
  readonly isRepeatable?: boolean | undefined
}

/** The reading half, which is all that watches and look-ups need. */
export interface ReadTransport {
  /** Starts a GET. */
  get(path: string, headers: Readonly<Record<string, string>>, handler: ResponseHandler): HttpStream
}

export interface Transport extends ReadTransport {
  /** Starts a request. The handler is called exactly as `ResponseHandler` promises, never before this returns. */
  send(request: HttpRequest, handler: ResponseHandler): HttpStream
}
