/**
 * A small HTTP/1.1 client for one server (docs/decisions/0002-own-http-client.md): one connection per running
 * request, body bytes in the buffer they were read into, every request ends exactly once. Only connecting has a time
 * limit: callers know what they wait for. A handler that pauses makes the server wait.
 */
import { backgroundClock, type Timers } from "../../clock.ts"
import type { ApiEndpoint } from "../endpoint.ts"
import {
  type OpeningSocket,
  type OpenSocket,
  openSocket,
  type RequestSocket,
  type SocketEvents,
  speaksTls,
} from "./connect.ts"
import { describeCause } from "./connection-causes.ts"
import { type Carried, type Carrier, Exchange, type ExchangeOwner, type Explain } from "./exchange.ts"
import { type InvalidTarget, parseTarget, sharesConnections, type Target } from "./target.ts"
import {
  connectionCodes,
  type HttpRequest,
  type HttpStream,
  type ResponseHandler,
  type StreamEnd,
  type Transport,
} from "./transport.ts"

// One connection to a server: carries one exchange at a time, and may be idle between two.

/** How connections are opened. */
interface Opening {
  readonly open: OpenSocket
  readonly connectTimeoutMs: number
  readonly timers: Timers
}

export class Connection implements Carrier, SocketEvents {
  readonly #opening: OpeningSocket
  /** Called once when an idle connection ends by itself. */
  readonly #onLost: (connection: Connection) => void
  #socket: RequestSocket | undefined
  #carried: Carried | undefined
  #unsent: string | Uint8Array | undefined
  #isClosed = false
  #hasServed = false

  constructor(target: Target, { open, connectTimeoutMs, timers }: Opening, onLost: (connection: Connection) => void) {
    this.#onLost = onLost
    this.#opening = open(target, connectTimeoutMs, timers, this)
  }

  get hasServed(): boolean {
    return this.#hasServed
  }

  carry(carried: Carried, request: string | Uint8Array): void {
    this.#carried = carried
    if (this.#socket === undefined) {
      this.#unsent = request
      return
    }
    this.#socket.ref()
    this.#socket.write(request)
  }

  resumeReading(): void {
    this.#socket?.resume()
  }

  /** Detaches the exchange and keeps the connection for another. */
  rest(): void {
    this.#carried = undefined
    this.#hasServed = true
    this.#socket?.resume()
    this.#socket?.unref()
  }

  destroy(): void {
    this.#isClosed = true
    this.#carried = undefined
    this.#opening.destroy()
  }

  ready(socket: RequestSocket): void {
    this.#socket = socket
    if (this.#unsent !== undefined) socket.write(this.#unsent)
    this.#unsent = undefined
  }

  bytes(buffer: Buffer, length: number): boolean {
    if (this.#carried !== undefined) return this.#carried.receive(buffer, length)
    this.#lose()
    return false
  }

  inputEnded(): void {
    if (this.#carried !== undefined) this.#carried.inputEnded()
    else this.#lose()
  }

  failed(end: StreamEnd): void {
    if (this.#carried !== undefined) this.#carried.failed(end)
    else this.#lose()
  }

  #lose(): void {
    if (this.#isClosed) return
    this.destroy()
    this.#onLost(this)
  }
}

// Writes the bytes of a request.

const fieldName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** Control characters except tab. Others may stand in a value: user names of impersonation travel as UTF-8, as Go sends them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not pass
const controls = /[\x00-\x08\x0a-\x1f\x7f]/
/** The characters of Kubernetes paths and encoded queries; no fragment, no space, only ASCII. */
const pathAndQuery = /^\/[\x21\x22\x24-\x7e]*$/

/** Headers that only this client may set, or that its requests do not use. */
const own = new Set([
  "connection",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "user-agent",
])

/** The request as text to be sent as UTF-8, or as bytes if its body is; or the problem that prevents it. Problems contain no secrets. */
export const requestText = (
  target: Target,
  endpointHeaders: ApiEndpoint["headers"],
  userAgent: string,
  { method, path, headers, body, contentType = "application/json" }: HttpRequest,
): string | Buffer | InvalidTarget => {
  if (!pathAndQuery.test(path))
    return { problem: "the path does not begin with / or contains characters that must be encoded" }
  const isForwarded = target.proxy?.kind === "http" && target.tls === undefined
  const lines = [
    `${method} ${isForwarded ? `http://${target.authority}` : ""}${target.pathPrefix}${path} HTTP/1.1`,
    `Host: ${target.authority}`,
    `User-Agent: ${userAgent}`,
  ]
  if (controls.test(userAgent)) return { problem: "the user agent contains control characters" }
  if (isForwarded && target.proxy?.authorization !== undefined) {
    lines.push(`Proxy-Authorization: ${target.proxy.authorization}`)
  }
  const taken = new Set(own)
  for (const [name, value] of endpointHeaders) {
    const problem = problemOf(name, value, own)
    if (problem !== undefined) return { problem }
    taken.add(name.toLowerCase())
    lines.push(`${name}: ${value}`)
  }
  let isCodingNamed = false
  for (const [name, value] of Object.entries(headers)) {
    const problem = problemOf(name, value, taken)
    if (problem !== undefined) return { problem }
    isCodingNamed ||= name.toLowerCase() === "accept-encoding"
    lines.push(`${name}: ${value}`)
  }
  // The JSON scanner reads raw body bytes: a proxy that compresses unasked would break it.
  if (!isCodingNamed) lines.push("Accept-Encoding: identity")
  if (controls.test(contentType)) return { problem: "the content type holds control characters" }
  if (body !== undefined) lines.push(`Content-Type: ${contentType}`, `Content-Length: ${Buffer.byteLength(body)}`)
  // RFC 9110 §8.6: a POST or PUT without a body should say so.
  else if (method !== "GET" && method !== "DELETE") lines.push("Content-Length: 0")
  const head = `${lines.join("\r\n")}\r\n\r\n`
  return typeof body === "object" ? Buffer.concat([Buffer.from(head), body]) : `${head}${body ?? ""}`
}

const problemOf = (name: string, value: string, taken: ReadonlySet<string>): string | undefined => {
  if (!fieldName.test(name)) return `"${name.replace(/[^\x21-\x7e]/g, "·")}" is not a header name`
  if (controls.test(value)) return `the value of header ${name} contains control characters`
  return taken.has(name.toLowerCase()) ? `header ${name} is set by the client itself` : undefined
}

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
