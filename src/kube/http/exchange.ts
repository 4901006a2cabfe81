/**
 * One request and its response: `end` is called once and last, what arrives while the caller pauses is kept, and a
 * repeatable request is repeated once if a reused connection turns out to be dead.
 */

import { ResponseParser, type ResponseSink } from "./response-parser.ts"
import { connectionCodes, type HttpStream, type ResponseHandler, type StreamEnd } from "./transport.ts"

/** The events that a connection reports to its exchange. */
export interface Carried {
  /** Bytes valid only during the call; `false` stops reading until {@link Carrier.resumeReading}. */
  receive(buffer: Buffer, length: number): boolean
  /** The server closed its side cleanly. */
  inputEnded(): void
  /** No connection could be made, or it broke. */
  failed(end: StreamEnd): void
}

/** The methods that an exchange needs of a connection. */
export interface Carrier {
  /** Whether an exchange was completed on it, so that the server may have closed it since. */
  readonly hasServed: boolean
  /** Sends a request as soon as the connection is open; its events go to `carried` until the carrier is released. */
  carry(carried: Carried, request: string | Uint8Array): void
  /** Resumes reading after `receive` returned `false`. */
  resumeReading(): void
  /** Closes at once; nothing is reported afterwards. */
  destroy(): void
}

/** The methods that an exchange needs of its client. */
export interface ExchangeOwner<Connection extends Carrier> {
  /** The exchange is over. With `isReusable` the connection may serve another request; otherwise it is destroyed already. */
  released(exchange: Exchange<Connection>, connection: Connection | undefined, isReusable: boolean): void
}

/** What an exchange may find out about the failure of its first request. */
export type Explain = (end: StreamEnd) => Promise<StreamEnd>

export class Exchange<Connection extends Carrier> implements HttpStream, Carried, ResponseSink {
  readonly #owner: ExchangeOwner<Connection>
  /** Opens a connection to the server that the request was written for, even if the client's endpoint has changed since. */
  readonly #connect: () => Connection
  readonly #request: string | Uint8Array
  readonly #isRepeatable: boolean
  readonly #handler: ResponseHandler
  readonly #parser: ResponseParser
  /** The proxy that forwards the request, if any, for the message of a refusal. */
  readonly #forwardedBy: string | undefined
  /** Finds out why a server that was reached has not responded in HTTP; `undefined` if there is no more to find out. */
  readonly #explain: Explain | undefined
  #connection: Connection | undefined
  #isPaused = false
  #isOver = false
  /** Copies of what arrived while the caller paused; the read buffer is reused by the next read. */
  #kept: Buffer[] = []
  /** The event that ended the input while bytes were kept; reported after them. */
  #afterKept: (() => void) | undefined
  #bytesReceived = 0
  /** Whether the present read brought body bytes. */
  #hasData = false
  #hasHead = false

  constructor(
    owner: ExchangeOwner<Connection>,
    connect: () => Connection,
    request: string | Uint8Array,
    isRepeatable: boolean,
    handler: ResponseHandler,
    forwardedBy: string | undefined,
    explain?: Explain,
  ) {
    this.#owner = owner
    this.#connect = connect
    this.#request = request
    this.#isRepeatable = isRepeatable
    this.#handler = handler
    this.#parser = new ResponseParser(this)
    this.#forwardedBy = forwardedBy
    this.#explain = explain
  }

  get bytesReceived(): number {
    return this.#bytesReceived
  }

  /** Starts on an idle connection if there is one. */
  start(connection: Connection = this.#connect()): void {
    this.#connection = connection
    connection.carry(this, this.#request)
  }

  pause(): void {
    if (this.#isOver) return
    this.#isPaused = true
    this.#parser.isHeld = true
  }

  resume(): void {
    if (this.#isOver || !this.#isPaused) return
    this.#isPaused = false
    this.#parser.isHeld = false
    queueMicrotask(() => this.#deliverKept())
  }

  abort(): void {
    if (this.#isOver) return
    this.#close(false)
    queueMicrotask(() => this.#handler.end({ tag: "aborted" }))
  }

  receive(buffer: Buffer, length: number): boolean {
    this.#bytesReceived += length
    if (this.#isPaused || this.#kept.length > 0) {
      this.#kept.push(Buffer.from(buffer.subarray(0, length)))
      return false
    }
    const used = this.#push(buffer, length)
    if (this.#isOver) return false
    if (this.#settle(used < length)) return true
    if (used < length) this.#kept.push(Buffer.from(buffer.subarray(used, length)))
    return !this.#isPaused
  }

  inputEnded(): void {
    this.#whenDelivered(() => {
      const meaning = this.#parser.finish()
      if (meaning === "complete") this.#finish({ tag: "complete" })
      else if (meaning === "truncated") this.#finish({ tag: "truncated" })
      else {
        const message = "the server closed the connection without a response"
        this.#failOrRepeat({ tag: "connection", code: connectionCodes.noResponse, message })
      }
    })
  }

  failed(end: StreamEnd): void {
    this.#whenDelivered(() => this.#failOrRepeat(end))
  }

  head(status: number, headers: ReadonlyMap<string, string>): void {
    this.#hasHead = true
    // Only a proxy asks for proxy credentials; passed on, it would look like a response of the API server.
    if (status === 407 && this.#forwardedBy !== undefined) {
      const message = `proxy ${this.#forwardedBy} refused to forward: it returned 407 Proxy Authentication Required`
      this.#finish({ tag: "connection", code: connectionCodes.proxyRefused, message })
    } else this.#handler.head(status, headers)
  }

  data(buffer: Buffer, start: number, end: number): void {
    this.#hasData = true
    this.#handler.data(buffer, start, end)
  }

  #push(buffer: Buffer, length: number): number {
    const used = this.#parser.push(buffer, 0, length)
    if (this.#hasData && !this.#isOver) this.#handler.readDone?.()
    this.#hasData = false
    return used
  }

  /** Ends the exchange if the parser has finished; returns whether it has. */
  #settle(hasMore: boolean): boolean {
    const state = this.#parser.state
    if (state === "malformed") this.#malformed({ tag: "malformed", message: this.#parser.problem })
    // Bytes after the response: the server frames it differently than we do, so the connection cannot be trusted.
    else if (state === "complete") this.#finish({ tag: "complete" }, this.#parser.isPersistent && !hasMore)
    else return false
    return true
  }

  /** A TLS alert in response to a plain request is no HTTP either. */
  #malformed(end: StreamEnd): void {
    if (this.#connection?.hasServed === true || this.#hasHead) this.#finish(end)
    else this.#finishExplained(end)
  }

  #deliverKept(): void {
    while (!this.#isOver && !this.#isPaused) {
      const buffer = this.#kept[0]
      if (buffer === undefined) break
      const used = this.#push(buffer, buffer.length)
      if (this.#isOver) return
      if (used < buffer.length) this.#kept[0] = buffer.subarray(used)
      else this.#kept.shift()
      if (this.#settle(this.#kept.length > 0)) return
    }
    if (this.#isOver || this.#isPaused) return
    if (this.#afterKept !== undefined) this.#afterKept()
    else this.#connection?.resumeReading()
  }

  #whenDelivered(action: () => void): void {
    if (this.#kept.length > 0) this.#afterKept ??= action
    else action()
  }

  /** A reused connection that dies before the first byte of a response was usually closed by the server in the meantime. */
  #failOrRepeat(end: StreamEnd): void {
    const isStale = this.#bytesReceived === 0 && this.#connection?.hasServed === true
    if (!this.#isRepeatable || !isStale) {
      if (this.#bytesReceived > 0 || isStale) this.#finish(end)
      else this.#finishExplained(end)
      return
    }
    this.#connection?.destroy()
    this.start()
  }

  #finishExplained(end: StreamEnd): void {
    if (this.#isOver) return
    if (this.#explain === undefined) return this.#finish(end)
    this.#close(false)
    void this.#explain(end).then((explained) => this.#handler.end(explained))
  }

  #finish(end: StreamEnd, isReusable = false): void {
    if (this.#isOver) return
    this.#close(isReusable)
    this.#handler.end(end)
  }

  #close(isReusable: boolean): void {
    this.#isOver = true
    this.#parser.isHeld = true
    this.#kept = []
    const connection = this.#connection
    this.#connection = undefined
    if (!isReusable) connection?.destroy()
    this.#owner.released(this, connection, isReusable)
  }
}
