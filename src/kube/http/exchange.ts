/**
 * One request and its response: from the caller's handler down to a connection.
 *
 * Owns the rule that `end` is called once and last, what is kept while the caller pauses, and the single repetition of what
 * may be repeated, on a fresh connection, when a reused one turns out to be dead.
 */
import { connectionCodes, type HttpStream, type ResponseHandler, type StreamEnd } from "./response-handler.ts"
import { ResponseParser, type ResponseSink } from "./response-parser.ts"

/** What a connection reports to the exchange it carries. */
export interface Carried {
  /** Bytes valid only during the call; `false` stops reading until {@link Carrier.resumeReading}. */
  receive(buffer: Buffer, length: number): boolean
  /** The server closed its side in order. */
  inputEnded(): void
  /** No connection, or it broke. */
  failed(end: StreamEnd): void
}

/** What an exchange needs of a connection. */
export interface Carrier {
  /** Whether an exchange was completed on it, so that the server may have closed it meanwhile. */
  readonly hasServed: boolean
  /** Sends a request as soon as the connection stands; its events go to `carried` until the carrier is given back. */
  carry(carried: Carried, request: string): void
  /** Reads on after `receive` answered `false`. */
  resumeReading(): void
  /** Closes at once; nothing is reported afterwards. */
  destroy(): void
}

/** What an exchange asks of the client it belongs to. */
export interface ExchangeOwner<Connection extends Carrier> {
  /** The exchange is over. With `isReusable` the connection may serve another request; otherwise it is destroyed already. */
  released(exchange: Exchange<Connection>, connection: Connection | undefined, isReusable: boolean): void
}

export class Exchange<Connection extends Carrier> implements HttpStream, Carried, ResponseSink {
  readonly #owner: ExchangeOwner<Connection>
  /** Opens a connection to the server that the request was written for, whatever the client's endpoint is by then. */
  readonly #connect: () => Connection
  readonly #request: string
  readonly #isRepeatable: boolean
  readonly #handler: ResponseHandler
  readonly #parser: ResponseParser
  /** Proxy that answers a forwarded request itself, for the message of a refusal. */
  readonly #forwardedBy: string | undefined
  #connection: Connection | undefined
  #isPaused = false
  #isOver = false
  /** Copies of what came while the caller paused; the read buffer is used again by the next read. */
  #kept: Buffer[] = []
  /** How the input ended while bytes were kept: reported after them. */
  #afterKept: (() => void) | undefined
  #bytesReceived = 0
  /** Whether the present read brought body bytes. */
  #hasData = false

  constructor(
    owner: ExchangeOwner<Connection>,
    connect: () => Connection,
    request: string,
    isRepeatable: boolean,
    handler: ResponseHandler,
    forwardedBy: string | undefined,
  ) {
    this.#owner = owner
    this.#connect = connect
    this.#request = request
    this.#isRepeatable = isRepeatable
    this.#handler = handler
    this.#parser = new ResponseParser(this)
    this.#forwardedBy = forwardedBy
  }

  get bytesReceived(): number {
    return this.#bytesReceived
  }

  /** Begins on an idle connection if there is one. */
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
        const message = "the server closed the connection without an answer"
        this.#failOrRepeat({ tag: "connection", code: connectionCodes.noResponse, message })
      }
    })
  }

  failed(end: StreamEnd): void {
    this.#whenDelivered(() => this.#failOrRepeat(end))
  }

  head(status: number, headers: ReadonlyMap<string, string>): void {
    // Only a proxy asks for proxy credentials; handed on, it would look like an answer of the API server.
    if (status === 407 && this.#forwardedBy !== undefined) {
      const message = `proxy ${this.#forwardedBy} refused to forward: it answered 407 Proxy Authentication Required`
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

  /** Ends the exchange if the parser has come to an end; true if so. */
  #settle(hasMore: boolean): boolean {
    const state = this.#parser.state
    if (state === "malformed") this.#finish({ tag: "malformed", message: this.#parser.problem })
    // Bytes beyond the response: the server's idea of the framing is not ours, the connection cannot be trusted.
    else if (state === "complete") this.#finish({ tag: "complete" }, this.#parser.isPersistent && !hasMore)
    else return false
    return true
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

  /** A reused connection that dies before its first byte of answer had simply been closed meanwhile, as a rule. */
  #failOrRepeat(end: StreamEnd): void {
    if (!this.#isRepeatable || this.#bytesReceived > 0 || this.#connection?.hasServed !== true) {
      this.#finish(end)
      return
    }
    this.#connection.destroy()
    this.start()
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
