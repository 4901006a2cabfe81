/**
 * An incremental parser for one HTTP/1 response. The outcome does not depend on where the bytes were cut; body ranges
 * are positions in the given buffer; it keeps no more than the head. Anything that is not a response becomes
 * `malformed` at once.
 */

// Parses the head of an HTTP/1 response (RFC 9112 §4, §5): status line and fields, and the framing of the body they announce.

/** How the length of a body is known. */
type Framing =
  | { readonly tag: "none" }
  | { readonly tag: "sized"; readonly length: number }
  | { readonly tag: "chunked" }
  | { readonly tag: "until-close" }

interface ResponseHead {
  readonly tag: "head"
  readonly status: number
  /** The reason phrase, possibly empty. */
  readonly reason: string
  /** Names in lower case; repeated fields joined with `, `. */
  readonly headers: ReadonlyMap<string, string>
  readonly framing: Framing
  /** Whether the server will read another request on this connection. */
  readonly persistent: boolean
}

interface MalformedHead {
  readonly tag: "malformed"
  readonly message: string
}

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: (.*))?$/
const fieldName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

const malformed = (message: string): MalformedHead => ({ tag: "malformed", message })

/** Bytes of a response, for a message: at most 40 characters, control characters replaced. */
export const printable = (text: string): string => text.slice(0, 40).replace(/[^\x20-\x7e]/g, "·")

/** Parses a whole head, from the status line through the empty line, decoded as latin1. */
export const parseResponseHead = (text: string): ResponseHead | MalformedHead => {
  const lines = text.split("\n").map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line))
  const first = lines[0] ?? ""
  const match = statusLine.exec(first)
  if (match === null) return malformed(`not an HTTP/1 status line: "${printable(first)}"`)
  const headers = new Map<string, string>()
  let name = ""
  for (let index = 1; index < lines.length; index++) {
    const line = lines[index] ?? ""
    if (line === "") break
    if (/[\0\r]/.test(line)) return malformed(`control character in header "${printable(line)}"`)
    if (line[0] === " " || line[0] === "\t") {
      if (name === "") return malformed("the first header line is a continuation")
      headers.set(name, `${headers.get(name)} ${line.trim()}`.trim())
      continue
    }
    const colon = line.indexOf(":")
    if (colon < 0 || !fieldName.test(line.slice(0, colon))) return malformed(`not a header: "${printable(line)}"`)
    name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    const before = headers.get(name)
    headers.set(name, before === undefined ? value : `${before}, ${value}`)
  }
  const status = Number(match[2])
  const framing = framingOf(status, headers)
  if (framing.tag === "malformed") return framing
  const persistent = framing.tag !== "until-close" && isPersistent(match[1] === "1", headers)
  return { tag: "head", status, reason: match[3] ?? "", headers, framing, persistent }
}

/** RFC 9112 §6.3. A transfer coding overrides a length. */
const framingOf = (status: number, headers: ReadonlyMap<string, string>): Framing | MalformedHead => {
  if (status < 200 || status === 204 || status === 304) return { tag: "none" }
  const coding = headers.get("transfer-encoding")?.toLowerCase()
  if (coding === "chunked") return { tag: "chunked" }
  // We send no TE header, so no other coding was offered; guessing where such a body ends would be worse than failing.
  if (coding !== undefined) return malformed(`transfer coding "${printable(coding)}" was not requested`)
  const lengths = headers.get("content-length")
  if (lengths === undefined) return { tag: "until-close" }
  const [length = "", ...repeated] = lengths.split(",").map((value) => value.trim())
  if (
    !/^\d{1,16}$/.test(length) ||
    !Number.isSafeInteger(Number(length)) ||
    repeated.some((value) => value !== length)
  ) {
    return malformed(`content-length "${printable(lengths)}" is not one number`)
  }
  return { tag: "sized", length: Number(length) }
}

const isPersistent = (isHttp11: boolean, headers: ReadonlyMap<string, string>): boolean => {
  // RFC 9112 §6.1, §6.3: both framings at once, or a coding in HTTP/1.0, may be a smuggling attempt.
  if (headers.has("transfer-encoding") && (!isHttp11 || headers.has("content-length"))) return false
  const options = (headers.get("connection") ?? "")
    .toLowerCase()
    .split(",")
    .map((option) => option.trim())
  if (options.includes("close")) return false
  return isHttp11 || options.includes("keep-alive")
}

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
          this.#readFraming(buffer[position] ?? 0)
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
      isDone = this.#endsEmptyLine(buffer[position] ?? 0)
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
