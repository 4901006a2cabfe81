/**
 * Requests to an API server, as a capability: {@link HttpClient} sends them over sockets; a program that embeds an API server can pass
 * another implementation that stays within the process. Both make the same promises to a handler (see `ResponseHandler`).
 */
import type { HttpStream, ResponseHandler } from "./response-handler.ts"

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
