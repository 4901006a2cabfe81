/**
 * What a request tells its caller, and what the caller may do with a running request.
 *
 * Guaranteed: nothing is called before `get` has returned; `head` at most once and before any `data`; `end` exactly
 * once and last, whatever happens (a client that reported the end of a watch twice ran two reconnect loops from then
 * on: kubernetes-client/javascript#2387). Exceptions of the handler are not caught: they belong to whoever owns the
 * thread, never to the parser (a `catch` around both is how events get lost unseen).
 */

/** Receives one response. Interim answers (1xx) are skipped. */
export interface ResponseHandler {
  /** Status and headers; names in lower case, repeated headers joined with `, `. */
  head(status: number, headers: ReadonlyMap<string, string>): void
  /**
   * Body bytes `buffer[start, end)` with the transfer coding removed; never empty. They lie in the connection's read
   * buffer and are valid only during the call.
   */
  data(buffer: Buffer, start: number, end: number): void
  /** After the `data` calls of one network read (or of what a pause had kept): the moment to send what was gathered. */
  readDone?(): void
  /** Called exactly once; after it nothing is called any more. */
  end(outcome: StreamEnd): void
}

/** How a response ended. Only `complete` means that the whole body was delivered. */
export type StreamEnd =
  /** The body ended as its framing announced (or by closing, if the server announced no length). */
  | { readonly tag: "complete" }
  /** The server closed the connection in order, but in the middle of the head or body. */
  | { readonly tag: "truncated" }
  /** The caller aborted, or closed the client. */
  | { readonly tag: "aborted" }
  /** No usable connection: see {@link connectionCodes} for our own codes; others are Node's and OpenSSL's. */
  | { readonly tag: "connection"; readonly code: string; readonly message: string }
  /** What came is not HTTP/1, or its framing is broken. */
  | { readonly tag: "malformed"; readonly message: string }
  /** Connecting (name look-up, TCP, proxy, TLS together) took longer than allowed. */
  | { readonly tag: "timeout"; readonly afterMs: number; readonly message: string }

/** Codes of `connection` ends that this client makes itself. */
export const connectionCodes = {
  /** The server closed the connection without a byte of answer. */
  noResponse: "ERR_NO_RESPONSE",
  /** A proxy refused to forward; the message names proxy and status. */
  proxyRefused: "ERR_PROXY_REFUSED",
  /** The endpoint cannot be used: its URL, proxy URL, certificate or key does not parse. */
  invalidEndpoint: "ERR_INVALID_ENDPOINT",
  /** Path or headers hold characters that would end a line, or name a header that is the client's own. */
  invalidRequest: "ERR_INVALID_REQUEST",
  /** The client was closed before. */
  clientClosed: "ERR_CLIENT_CLOSED",
} as const

/** A running request. */
export interface HttpStream {
  /**
   * No `data` until {@link resume}. At most what the last network read had brought is kept (64 KiB, with TLS what its
   * records hold); everything else stays in the kernel, whose full window tells the server to wait. `end` may still
   * come, once nothing is kept.
   */
  pause(): void
  /** Delivers what was kept, then reads on. Never calls the handler before it returns. */
  resume(): void
  /** Closes the connection; `end` follows as a microtask with `aborted`. Does nothing after the end. */
  abort(): void
  /** Bytes read from the network for this request, framing included; for liveness clocks. */
  readonly bytesReceived: number
}
