/**
 * A small HTTP/1.1 client for one server (docs/decisions/0002-own-http-client.md says why our own).
 *
 * Guaranteed: one connection per running request, so that one stream's failure does not affect another; body bytes are passed in the buffer
 * they were read into; every request ends exactly once (see `ResponseHandler`). Not guaranteed: any time limit except for connecting.
 * Callers set their own, because they know what they wait for; a watch may be silent for minutes and a proxy may hold its head back until
 * the first event. Under overload: a slow handler is called less often; one that pauses makes the server wait, and an API server then hangs
 * up after about 100 ms.
 */
import { backgroundClock, type Timers } from "../../clock.ts"
import type { ApiEndpoint } from "../endpoint.ts"
import { type OpenSocket, openSocket } from "./connect.ts"
import { Connection } from "./connection.ts"
import { describeCause } from "./connection-causes.ts"
import { Exchange, type ExchangeOwner, type Explain } from "./exchange.ts"
import { requestText } from "./request-text.ts"
import { connectionCodes, type HttpStream, type ResponseHandler, type StreamEnd } from "./response-handler.ts"
import { type InvalidTarget, parseTarget, sharesConnections, type Target } from "./target.ts"
import { speaksTls } from "./tls-probe.ts"
import type { HttpRequest, Transport } from "./transport.ts"

export interface HttpClientOptions {
  /** `kubereel/<version>`. */
  readonly userAgent: string
  /** ms for name look-up, TCP, proxy and TLS together. Default 10,000: a handshake across the world takes 1 s. */
  readonly connectTimeoutMs?: number
  /** Default: the machine's timers. */
  readonly timers?: Timers
  /**
   * Idle connections that are kept. Default 2: a worker has at most a list and a probe between two streams, and each idle one holds 64 KiB.
   */
  readonly maximumIdle?: number
  /** Default: over the network. */
  readonly open?: OpenSocket
}

/** What a plain request to a TLS port ends with, among other things. */
const closedUnanswered: ReadonlySet<string> = new Set([connectionCodes.noResponse, "ECONNRESET", "ERR_CONNECTION"])

/** Long enough for the next page of a list, shorter than the idle limit of any server but Node's. */
const idleMs = 15_000

export class HttpClient implements ExchangeOwner<Connection>, Transport {
  readonly #userAgent: string
  readonly #connectTimeoutMs: number
  readonly #open: OpenSocket
  readonly #timers: Timers
  readonly #maximumIdle: number
  #endpoint: ApiEndpoint
  #target: Target | InvalidTarget
  readonly #running = new Set<Exchange<Connection>>()
  /** The target of each connection: after a change of target it is not reused. */
  readonly #madeFor = new WeakMap<Connection, Target>()
  /** Idle connections, oldest first. */
  readonly #idle = new Map<Connection, { cancel(): void }>()
  #isClosed = false
  /** The target that has responded in HTTP: why it hangs up later needs no probe. */
  #proven: Target | undefined

  /** Every request to an unusable endpoint reports that; the constructor does not throw. */
  constructor(endpoint: ApiEndpoint, options: HttpClientOptions) {
    this.#endpoint = endpoint
    this.#target = parseTarget(endpoint)
    this.#userAgent = options.userAgent
    this.#connectTimeoutMs = options.connectTimeoutMs ?? 10_000
    this.#open = options.open ?? openSocket
    this.#timers = options.timers ?? backgroundClock
    this.#maximumIdle = options.maximumIdle ?? 2
  }

  get(path: string, headers: Readonly<Record<string, string>>, handler: ResponseHandler): HttpStream {
    return this.send({ method: "GET", path, headers }, handler)
  }

  send(request: HttpRequest, handler: ResponseHandler): HttpStream {
    if (this.#isClosed) return refuse(handler, connectionCodes.clientClosed, "the client is closed")
    const target = this.#target
    if ("problem" in target) return refuse(handler, connectionCodes.invalidEndpoint, target.problem)
    const text = requestText(target, this.#endpoint.headers, this.#userAgent, request)
    if (typeof text === "object" && "problem" in text)
      return refuse(handler, connectionCodes.invalidRequest, text.problem)
    const forwardedBy = target.tls === undefined && target.proxy?.kind === "http" ? target.proxy.description : undefined
    const isRepeatable = request.isRepeatable ?? request.method === "GET"
    const connect = (): Connection => this.#connect(target)
    const explain = target.tls === undefined && target.proxy === undefined ? this.#explain(target) : undefined
    const exchange = new Exchange(this, connect, text, isRepeatable, handler, forwardedBy, explain)
    this.#running.add(exchange)
    exchange.start(this.#takeIdle())
    return exchange
  }

  /**
   * New requests use the new endpoint; running ones continue. Idle connections are closed unless only headers changed: with a new client
   * certificate they would still authenticate as the old identity.
   */
  updateEndpoint(endpoint: ApiEndpoint): void {
    const isSame = sharesConnections(this.#endpoint, endpoint)
    this.#endpoint = endpoint
    if (isSame) return
    this.#target = parseTarget(endpoint)
    this.#closeIdle()
  }

  /** Aborts running requests and closes every connection. Later requests end at once. */
  close(): void {
    this.#isClosed = true
    for (const exchange of [...this.#running]) exchange.abort()
    this.#closeIdle()
  }

  /** Called by this client's exchanges only. */
  released(exchange: Exchange<Connection>, connection: Connection | undefined, isReusable: boolean): void {
    this.#running.delete(exchange)
    if (connection === undefined || !isReusable) return
    this.#proven = this.#madeFor.get(connection)
    if (this.#isClosed || this.#madeFor.get(connection) !== this.#target) {
      connection.destroy()
      return
    }
    connection.rest()
    const timer = this.#timers.after(idleMs, () => this.#discard(connection))
    this.#idle.set(connection, timer)
    const oldest = this.#idle.keys().next().value
    if (this.#idle.size > this.#maximumIdle && oldest !== undefined) this.#discard(oldest)
  }

  /** Whether a port that did not respond to plain HTTP speaks TLS. Only for the network: a server in this process speaks HTTP. */
  #explain(target: Target): Explain | undefined {
    if (this.#open !== openSocket) return undefined
    return async (end) => {
      if (this.#proven === target) return end
      const wasReached = end.tag === "malformed" || (end.tag === "connection" && closedUnanswered.has(end.code))
      if (!wasReached || this.#isClosed || !(await speaksTls(target, this.#timers))) return end
      const message = `${target.tunnelAuthority}: ${describeCause("tls-expected")}`
      return { tag: "connection", code: connectionCodes.tlsExpected, message }
    }
  }

  #connect(target: Target): Connection {
    const opening = { open: this.#open, connectTimeoutMs: this.#connectTimeoutMs, timers: this.#timers }
    const connection = new Connection(target, opening, (lost) => this.#discard(lost))
    this.#madeFor.set(connection, target)
    return connection
  }

  /** The most recently used, as the least likely to have been closed by the server. */
  #takeIdle(): Connection | undefined {
    const connection = [...this.#idle.keys()].at(-1)
    if (connection === undefined) return undefined
    this.#idle.get(connection)?.cancel()
    this.#idle.delete(connection)
    return connection
  }

  #discard(connection: Connection): void {
    this.#idle.get(connection)?.cancel()
    this.#idle.delete(connection)
    connection.destroy()
  }

  #closeIdle(): void {
    for (const connection of [...this.#idle.keys()]) this.#discard(connection)
  }
}

/** Ends a request before it was sent. */
const refuse = (handler: ResponseHandler, code: string, message: string): HttpStream => {
  let isOver = false
  const end = (outcome: StreamEnd): void => {
    if (isOver) return
    isOver = true
    handler.end(outcome)
  }
  queueMicrotask(() => end({ tag: "connection", code, message }))
  const ignore = (): void => undefined
  return { pause: ignore, resume: ignore, abort: () => queueMicrotask(() => end({ tag: "aborted" })), bytesReceived: 0 }
}
