/**
 * The way to an API server, as a capability: {@link HttpClient} is one over sockets; whoever embeds an API server can give
 * another that stays within the process. What a handler is promised is the same for both (see `ResponseHandler`).
 */
import type { HttpStream, ResponseHandler } from "./response-handler.ts"

export type HttpMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"

export interface HttpRequest {
  readonly method: HttpMethod
  /** Begins with `/` and is encoded already, query included; the path of the server's URL is put before it. */
  readonly path: string
  /** Besides the endpoint's own, which they must not repeat. */
  readonly headers: Readonly<Record<string, string>>
  /** Absent: no body. */
  readonly body?: string | undefined
  /** Of the body. Default `application/json`. */
  readonly contentType?: string | undefined
  /**
   * Whether it may arrive twice. If so it is sent once more, on a new connection, when a resting connection turns out to be
   * closed; otherwise that is an error, because the server may have acted. Default: true for GET, false for the others.
   */
  readonly isRepeatable?: boolean | undefined
}

/** The half that watches and look-ups need. */
export interface ReadTransport {
  /** Starts a GET. */
  get(path: string, headers: Readonly<Record<string, string>>, handler: ResponseHandler): HttpStream
}

export interface Transport extends ReadTransport {
  /** Starts a request. The handler is called exactly as `ResponseHandler` promises, never before this returns. */
  send(request: HttpRequest, handler: ResponseHandler): HttpStream
}
