/**
 * An {@link ApiHandler} behind a port: HTTP/1.1 on 127.0.0.1, with TLS if given a key. Any number of servers run in one
 * process.
 */

import { randomUUID } from "node:crypto"
import { createServer as createHttpServer, type Server } from "node:http"
import { createServer as createHttpsServer } from "node:https"
import type { AddressInfo, Socket } from "node:net"
import { type Duplex, duplexPair } from "node:stream"
import type { ApiEndpoint } from "../kube/index.ts"
import { methodNotAllowed, statusText } from "./answers/failure.ts"
import { ApiHandler } from "./api-handler.ts"
import { type ApiServerOptions, type ApiServerParts, tlsOptions } from "./api-server-options.ts"
import type { Backend } from "./backend.ts"
import type { RequestLog } from "./http/request-log.ts"
import type { WatchStream } from "./http/watch-stream.ts"
import { asksForWebSocket } from "./http/web-socket.ts"
import { compact, type JsonFormat } from "./kinds/json-spacing.ts"

export class ApiServer {
  readonly #handler: ApiHandler
  readonly #options: ApiServerOptions
  readonly #server: Server
  /** Connections that Node's server no longer counts among its own. */
  readonly #webSockets = new Set<Socket>()
  #port = 0

  private constructor(backend: Backend, options: ApiServerOptions, parts: ApiServerParts) {
    const { tls } = options
    this.#options = options
    this.#handler = new ApiHandler(backend, options, parts)
    const { handle } = this.#handler
    const shouldUpgradeCallback = asksForWebSocket
    this.#server =
      tls === undefined
        ? createHttpServer({ shouldUpgradeCallback }, handle)
        : createHttpsServer({ ...tlsOptions(tls), shouldUpgradeCallback }, handle)
    this.#acceptWebSockets()
    answerUnknownMethods(this.#server, parts.format ?? compact)
    // Longer than any pause of a test: a reused connection must not race with the server's idle limit.
    this.#server.keepAliveTimeout = 120_000
  }

  /** Listens; rejects with the system's error if the port is taken. */
  static async listen(
    backend: Backend,
    options: ApiServerOptions = {},
    parts: ApiServerParts = {},
  ): Promise<ApiServer> {
    const server = new ApiServer(backend, options, parts)
    await server.#listen(options.port ?? 0)
    server.#handler.startBookmarks()
    return server
  }

  get port(): number {
    return this.#port
  }

  /** Without a trailing slash. */
  get url(): string {
    return `${this.#options.tls === undefined ? "http" : "https"}://127.0.0.1:${this.#port}`
  }

  /** What a client needs to connect, the current token included. */
  get endpoint(): ApiEndpoint {
    const { tls } = this.#options
    const { token } = this.#handler
    return {
      server: this.url,
      ...(tls === undefined ? {} : { certificateAuthority: tls.ca ?? tls.cert }),
      headers: token === undefined ? [] : [["Authorization", `Bearer ${token}`]],
    }
  }

  get token(): string | undefined {
    return this.#handler.token
  }

  get requests(): RequestLog {
    return this.#handler.requests
  }

  /** The watches open now. */
  get streams(): ReadonlySet<WatchStream> {
    return this.#handler.streams
  }

  /** Takes effect with the next request; open watches continue, as in the real server. */
  setToken(token: string | undefined): void {
    this.#handler.token = token
  }

  /** See {@link ApiHandler.sendBookmarks}. */
  sendBookmarks(plural?: string): void {
    this.#handler.sendBookmarks(plural)
  }

  /**
   * A connection without the network, for clients in this process: HTTP/1.1, without TLS even if the port has it. Bytes
   * pass within turns of the event loop, so that what happens in one process happens in the same order each time.
   * Closed at once while the port refuses connections.
   */
  connect(): Duplex {
    const [own, others] = duplexPair()
    if (!this.#server.listening) {
      others.destroy()
      return others
    }
    this.#server.emit(this.#options.tls === undefined ? "connection" : "secureConnection", own)
    return others
  }

  /** Cuts every connection, idle ones included. New ones are accepted at once. */
  dropConnections(): void {
    // Watches first: they must count as closed when this returns, not only when their sockets report it.
    this.#handler.destroyStreams()
    for (const socket of this.#webSockets) socket.destroy()
    this.#server.closeAllConnections()
  }

  /** Cuts every connection and refuses new ones (ECONNREFUSED). Resolves when the port is free. */
  async refuseConnections(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.dropConnections()
    await closed
  }

  /** Listens again on the same port; rejects if another program took it meanwhile. */
  acceptConnections(): Promise<void> {
    return this.#listen(this.#port)
  }

  /** Ends all watches and stops listening. */
  async close(): Promise<void> {
    this.#handler.close()
    if (this.#server.listening) await this.refuseConnections()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /**
   * Before Node 24.9 a server with an `upgrade` listener gets every request there that offers any other protocol.
   * Java's clients offer `h2c` with each request, and need a response as if they had not: so on older versions there
   * are no WebSockets.
   */
  #acceptWebSockets(): void {
    if (!("shouldUpgradeCallback" in this.#server)) return
    this.#server.on("upgrade", (request, duplex, head) => {
      const socket = duplex as Socket
      this.#webSockets.add(socket)
      socket.once("close", () => this.#webSockets.delete(socket))
      this.#handler.upgrade(request, socket, head)
    })
  }

  #listen(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject)
      this.#server.listen(port, "127.0.0.1", () => {
        this.#server.off("error", reject)
        this.#port = (this.#server.address() as AddressInfo).port
        resolve()
      })
    })
  }
}

// What never becomes a request: bytes that Node's parser rejects, and CONNECT. An unknown method and CONNECT get the
// 405 in JSON of any other wrong method; the rest gets Node's own response.

const statusLines: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "413 Payload Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
}

/** The connection is closed after the response, since the start of the next request is unknown. */
export const answerUnknownMethods = (server: Server, format: JsonFormat): void => {
  // Without a listener Node closes the connection, and a client waits for a response that never comes.
  server.on("connect", (_request, socket) => {
    // Node has let go of the socket. A client that is gone is not a defect.
    socket.on("error", () => socket.destroy())
    socket.end(refusal(format(statusText(methodNotAllowed))))
  })
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    const code = error.code ?? ""
    // A broken connection has no client to respond to.
    if (!socket.writable || code === "ECONNRESET") socket.destroy()
    else if (code === "HPE_INVALID_METHOD") socket.end(refusal(format(statusText(methodNotAllowed))))
    else socket.end(`HTTP/1.1 ${statusLines[code] ?? "400 Bad Request"}\r\nConnection: close\r\n\r\n`)
  })
}

const refusal = (body: string): string =>
  [
    "HTTP/1.1 405 Method Not Allowed",
    `Audit-Id: ${randomUUID()}`,
    "Cache-Control: no-cache, private",
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
    "",
    body,
  ].join("\r\n")
