/**
 * The transport to a sandbox for clients in its own process: writes and reads of one object without a socket, as by
 * `Sandbox.request`; lists, watches and discovery over HTTP, through sockets or, if asked for, through memory.
 *
 * Requests without a socket bypass faults and credentials and are not in the request log. Each is executed in its own turn of
 * the event loop, so that a client that sends one after the other does not starve the rest.
 */
import type { Duplex } from "node:stream"
import { type Eventually, parseRoute } from "../apiserver/index.ts"
import { backgroundClock, type Timers } from "../clock.ts"
import {
  type ApiEndpoint,
  HttpClient,
  type HttpRequest,
  type HttpStream,
  type OpenSocket,
  type ResponseHandler,
  type Transport,
} from "../kube/index.ts"
import type { LocalAnswer, LocalRequest } from "./local-request.ts"

// HTTP connections to a sandbox in the same process without the network: bytes pass in turns of the event loop, in the same order each time.

/** Opens connections to that server, whatever the target says. */
const throughMemory =
  (server: { connect(): Duplex }): OpenSocket =>
  (target, _connectTimeoutMs, _timers, events) => {
    const stream = server.connect()
    let isClosed = false
    const fail = (message: string): void => {
      if (isClosed) return
      isClosed = true
      stream.destroy()
      events.failed({ tag: "connection", code: "ECONNRESET", message: `${target.tunnelAuthority}: ${message}` })
    }
    stream.on("data", (chunk: Buffer) => {
      if (!isClosed && !events.bytes(chunk, chunk.length)) stream.pause()
    })
    stream.on("end", () => {
      if (!isClosed) events.inputEnded()
    })
    stream.on("error", (error) => fail(error.message))
    stream.on("close", () => fail("the connection was closed"))
    const socket = {
      write: (bytes: string | Uint8Array) => stream.write(bytes),
      resume: () => stream.resume(),
      // Memory keeps no process alive.
      ref: () => stream,
      unref: () => stream,
    }
    queueMicrotask(() => {
      if (!isClosed) events.ready(socket as unknown as Parameters<typeof events.ready>[0])
    })
    return {
      destroy: () => {
        isClosed = true
        stream.destroy()
      },
    }
  }

/** The part of a sandbox that this needs. */
interface LocalServer {
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
