/**
 * An incremental parser for one HTTP/1 response: bytes in, head and body ranges out.
 *
 * Guaranteed: the outcome does not depend on where the bytes were cut; body ranges are passed as positions in the given buffer (no copy);
 * the parser itself never throws and never keeps more than the head (64 KiB, interim responses and trailers included). Anything that is not
 * a response becomes the state `malformed`, at once rather than at a timeout. Not guaranteed: that the sink sees equal ranges for equal
 * bytes; a chunk may arrive in several pieces.
 */
import { parseResponseHead, printable, type ResponseHead } from "./response-head.ts"

/** Receives what the parser finds. */
export interface ResponseSink {
  head(status: number, headers: ReadonlyMap<string, string>): void
  data(buffer: Buffer, start: number, end: number): void
}

export type ParserState = "head" | "body" | "complete" | "malformed"

/** The meaning of the end of input, given what came before. `empty`: no byte was received. */
type InputEnd = "complete" | "truncated" | "malformed" | "empty"

/**
 * Bytes that heads (and trailers) may take. API servers send about 400; Go's client allows 10 MiB, Node's 16 KiB, which gateways that add
 * policy headers have exceeded.
 */
export const maximumHeadBytes = 64 * 1024
/** Bytes of one chunk's extensions. No server sends any; the limit only stops an endless line. */
const maximumExtensionBytes = 4096

// Plain numbers, because the parser is a switch in the path of every event, and strings would be compared by content.
const HEAD = 0
const SIZE = 1
const EXTENSION = 2
const SIZE_LF = 3
const CHUNK = 4
const CHUNK_CR = 5
const CHUNK_LF = 6
const TRAILER = 7
const SIZED = 8
const UNTIL_CLOSE = 9
const COMPLETE = 10
const MALFORMED = 11

const CR = 13
const LF = 10
const statusPrefix = "HTTP/1."

export class ResponseParser {
  readonly #sink: ResponseSink
  #step = HEAD
  #isHeld = false
  #isPersistent = false
  #problem = ""
  #hasInput = false
  #head = ""
  /** Bytes of heads and trailers so far. */
  #headBytes = 0
  /** Bytes of the present line, including its CR; and whether the last byte was a CR. */
  #lineBytes = 0
  #afterCr = false
  /** Body bytes still to come: of the chunk, or of a body with a length. */
  #remaining = 0
  #digits = 0
  #extensionBytes = 0

  constructor(sink: ResponseSink) {
    this.#sink = sink
  }

  get state(): ParserState {
    if (this.#step === COMPLETE) return "complete"
    if (this.#step === MALFORMED) return "malformed"
    return this.#step === HEAD ? "head" : "body"
  }

  /** Why the state is `malformed`; empty otherwise. */
  get problem(): string {
    return this.#problem
  }

  /** Once complete: whether the connection may carry another request. */
  get isPersistent(): boolean {
    return this.#isPersistent
  }

  /** While held, {@link push} returns after the current call-back, or at once. */
  set isHeld(value: boolean) {
    this.#isHeld = value
  }

  /** Parses `buffer[start, end)`; returns the position of the first unused byte: `end`, unless held or at the response's end. */
  push(buffer: Buffer, start: number, end: number): number {
    if (start < end) this.#hasInput = true
    let position = start
    while (position < end && !this.#isHeld) {
      switch (this.#step) {
        case HEAD:
          position = this.#readHead(buffer, position, end)
          break
        case CHUNK:
        case SIZED: {
          const until = Math.min(end, position + this.#remaining)
          this.#remaining -= until - position
          if (this.#remaining === 0) this.#step = this.#step === CHUNK ? CHUNK_CR : COMPLETE
          this.#sink.data(buffer, position, until)
          position = until
          break
        }
        case UNTIL_CLOSE:
          this.#sink.data(buffer, position, end)
          position = end
          break
        case COMPLETE:
        case MALFORMED:
          return position
        default:
          // Not empty, by the loop's condition.
          this.#readFraming(buffer[position] as number)
          position++
      }
    }
    return position
  }

  /** Reports that the input has ended; returns what that means. */
  finish(): InputEnd {
    if (this.#step === MALFORMED) return "malformed"
    if (this.#step === COMPLETE || this.#step === UNTIL_CLOSE) return "complete"
    return this.#hasInput ? "truncated" : "empty"
  }

  #fail(problem: string): void {
    this.#step = MALFORMED
    this.#problem = problem
  }

  /** Counts a byte of a head or trailer; true when it ended an empty line. */
  #endsEmptyLine(byte: number): boolean {
    this.#headBytes++
    if (byte !== LF) {
      this.#lineBytes++
      this.#afterCr = byte === CR
      return false
    }
    const isEmpty = this.#lineBytes === (this.#afterCr ? 1 : 0)
    this.#lineBytes = 0
    this.#afterCr = false
    return isEmpty
  }

  #readHead(buffer: Buffer, start: number, end: number): number {
    let position = start
    let isDone = false
    while (position < end && !isDone && this.#headBytes < maximumHeadBytes) {
      isDone = this.#endsEmptyLine(buffer[position] as number)
      position++
    }
    this.#head += buffer.toString("latin1", start, position)
    // A server that does not speak HTTP may never send a line end; without this check it would look like a slow server.
    if (!this.#head.startsWith(statusPrefix.slice(0, this.#head.length))) {
      this.#fail(`not an HTTP/1 response: "${printable(this.#head)}"`)
    } else if (isDone) {
      this.#useHead()
    } else if (this.#headBytes >= maximumHeadBytes) {
      this.#fail(`the response head is longer than ${maximumHeadBytes} bytes`)
    }
    return position
  }

  #useHead(): void {
    const head = parseResponseHead(this.#head)
    this.#head = ""
    if (head.tag === "malformed") this.#fail(head.message)
    else if (head.status === 101) this.#fail("the server switched protocols without being asked")
    else if (head.status >= 200) this.#beginBody(head)
  }

  #beginBody(head: ResponseHead): void {
    this.#isPersistent = head.persistent
    switch (head.framing.tag) {
      case "none":
        this.#step = COMPLETE
        break
      case "sized":
        this.#remaining = head.framing.length
        this.#step = this.#remaining === 0 ? COMPLETE : SIZED
        break
      case "chunked":
        this.#startChunk()
        break
      case "until-close":
        this.#step = UNTIL_CLOSE
    }
    this.#sink.head(head.status, head.headers)
  }

  #startChunk(): void {
    this.#step = SIZE
    this.#remaining = 0
    this.#digits = 0
    this.#extensionBytes = 0
  }

  /** One byte of the chunked coding that is not data (RFC 9112 §7.1). */
  #readFraming(byte: number): void {
    switch (this.#step) {
      case SIZE:
        this.#readSize(byte)
        break
      case EXTENSION:
        if (byte === CR) this.#step = SIZE_LF
        else if (byte === LF || ++this.#extensionBytes > maximumExtensionBytes) this.#fail("bad chunk extension")
        break
      case SIZE_LF:
        if (byte !== LF) this.#fail("chunk size is not followed by a line end")
        else this.#step = this.#remaining === 0 ? TRAILER : CHUNK
        break
      case CHUNK_CR:
        if (byte !== CR) this.#fail("chunk is longer than its size says")
        else this.#step = CHUNK_LF
        break
      case CHUNK_LF:
        if (byte !== LF) this.#fail("chunk is not followed by a line end")
        else this.#startChunk()
        break
      default:
        if (this.#endsEmptyLine(byte)) this.#step = COMPLETE
        else if (this.#headBytes >= maximumHeadBytes)
          this.#fail(`the trailers are longer than ${maximumHeadBytes} bytes`)
    }
  }

  #readSize(byte: number): void {
    const digit = hexDigit(byte)
    if (digit >= 0) {
      this.#digits++
      this.#remaining = this.#remaining * 16 + digit
      // 16 digits also stop an endless row of zeros.
      if (this.#digits > 16 || this.#remaining > Number.MAX_SAFE_INTEGER) this.#fail("chunk size out of range")
    } else if (this.#digits === 0) this.#fail("chunk size expected")
    else if (byte === CR) this.#step = SIZE_LF
    // Some servers pad the size with spaces to a fixed width.
    else if (byte === 0x3b || byte === 0x20 || byte === 0x09) this.#step = EXTENSION
    else this.#fail("chunk size is not a hexadecimal number")
  }
}

const hexDigit = (byte: number): number => {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}
