/**
 * The transport to a sandbox for clients in its own process: writes and reads of one object without a socket, as by
 * `Sandbox.request`; lists, watches and discovery over HTTP, through sockets or, if asked for, through memory.
 *
 * Requests without a socket bypass faults and credentials and are not in the request log. Each is executed in its own turn of
 * the event loop, so that a client that sends one after the other does not starve the rest.
 */
import type { Duplex } from "node:stream"
import type { Eventually } from "../apiserver/eventually.ts"
import { parseRoute } from "../apiserver/http/router.ts"
import { backgroundClock, type Timers } from "../clock.ts"
import type { ApiEndpoint } from "../kube/endpoint.ts"
import { HttpClient } from "../kube/http/http-client.ts"
import type { HttpStream, ResponseHandler } from "../kube/http/response-handler.ts"
import type { HttpRequest, Transport } from "../kube/http/transport.ts"
import type { LocalAnswer, LocalRequest } from "./local-request.ts"
import { throughMemory } from "./memory-socket.ts"

/** The part of a sandbox that this needs. */
export interface LocalServer {
  readonly endpoint: ApiEndpoint
  connect(): Duplex
  request(request: LocalRequest): Eventually<LocalAnswer>
}

interface Options {
  /** Lists and watches pass through memory, so that the order of everything is the same each time. Default: through sockets, as for other clients. */
  readonly isInMemory?: boolean
  /** For idle connections. Default: the machine's. */
  readonly timers?: Timers
}

export class LocalTransport implements Transport {
  readonly #server: LocalServer
  readonly #userAgent: string
  readonly #http: HttpClient

  /** `userAgent`: names the field manager. */
  constructor(server: LocalServer, userAgent: string, { isInMemory = false, timers = backgroundClock }: Options = {}) {
    this.#server = server
    this.#userAgent = userAgent
    const open = isInMemory ? { open: throughMemory(server) } : {}
    this.#http = new HttpClient(server.endpoint, { userAgent, timers, ...open })
  }

  get(path: string, headers: Readonly<Record<string, string>>, handler: ResponseHandler): HttpStream {
    return this.#http.get(path, headers, handler)
  }

  send(request: HttpRequest, handler: ResponseHandler): HttpStream {
    if (request.method === "GET" && !isOfOneObject(request)) return this.#http.send(request, handler)
    const { method, path, body, contentType } = request
    const local: LocalRequest = {
      method,
      path,
      userAgent: this.#userAgent,
      ...(body !== undefined && { body }),
      ...(contentType !== undefined && { contentType }),
    }
    return new LocalStream(() => this.#server.request(local), handler)
  }

  close(): void {
    this.#http.close()
  }
}

const isOfOneObject = ({ path, headers }: HttpRequest): boolean => {
  const route = parseRoute(path.split("?", 1)[0] ?? "")
  return route.type === "resource" && route.name !== undefined && headers.Accept === "application/json"
}

/** One request and its response, which arrives in one piece. */
class LocalStream implements HttpStream {
  readonly #handler: ResponseHandler
  #answer: LocalAnswer | undefined
  #isPaused = false
  #isOver = false
  bytesReceived = 0

  constructor(carryOut: () => Eventually<LocalAnswer>, handler: ResponseHandler) {
    this.#handler = handler
    setImmediate(() => {
      if (this.#isOver) return
      const answer = carryOut()
      if (answer instanceof Promise) void answer.then((ready) => this.#take(ready))
      else this.#take(answer)
    })
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    queueMicrotask(() => this.#deliver())
  }

  /** A request that has not been executed yet never will be; one that waits for a webhook still may. */
  abort(): void {
    if (this.#isOver) return
    this.#isOver = true
    queueMicrotask(() => this.#handler.end({ tag: "aborted" }))
  }

  #take(answer: LocalAnswer): void {
    this.#answer = answer
    this.#deliver()
  }

  #deliver(): void {
    if (this.#answer === undefined || this.#isPaused || this.#isOver) return
    const { status, text } = this.#answer
    const body = Buffer.from(text)
    this.bytesReceived = body.length
    this.#answer = undefined
    this.#handler.head(status, noHeaders)
    // The handler may abort the request in any of its methods.
    if (body.length > 0 && !this.#isOver) this.#handler.data(body, 0, body.length)
    if (body.length > 0 && !this.#isOver) this.#handler.readDone?.()
    if (this.#isOver) return
    this.#isOver = true
    this.#handler.end({ tag: "complete" })
  }
}

const noHeaders: ReadonlyMap<string, string> = new Map()
