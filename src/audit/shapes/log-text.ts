/**
 * Cuts the text of a log into lines, and JSON documents over several lines into values: the elements of an array, or the document.
 *
 * A line that begins with a bracket or brace and ends with one that it opens begins a document, and so does a longer line than any entry. A document that is longer
 * than any entry has its elements in its outermost array, such as `events` or `records`, which then are the values. Memory is one value, which is limited.
 * A document ends in a line feed within a string, which no JSON has: its line is damaged, and the ones after it are not. Every value has the number of its
 * first line.
 */

/** A piece of a log with an entry, or several. Its bytes are valid until the next chunk is pushed. */
export interface LogText {
  /** Counted from 1. */
  readonly line: number
  readonly bytes: Buffer
  /** Whether the log ended before it did, or may have: the last line has no line feed. */
  readonly isCut: boolean
}

/** A value is longer than any log has. */
export class TextTooLong extends Error {
  readonly line: number

  constructor(line: number) {
    super(`line ${line}: longer than ${longestText} bytes`)
    this.line = line
  }
}

/** etcd accepts no object above 1.5 MiB, and an event has two, which as a text in a text have twice as many bytes. */
export const longestText = 64 * 1024 * 1024

/** A longer document or line has more than one entry. */
const longestEntry = 16 * 1024 * 1024

const LINE_FEED = 10
const QUOTE = 34
const COMMA = 44
const OPEN_BRACKET = 91
const BACKSLASH = 92
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const CLOSE_BRACE = 125

/** Push chunks, take values; call {@link end} after the last. Throws {@link TextTooLong}. */
export class LogTextReader {
  /** The beginning of an incomplete line or value, in parts with memory of their own. */
  #parts: Buffer[] = []
  #pending = 0
  /** Of the text under way. */
  #line = 1
  #document: DocumentPlace | undefined
  /** Of the document under way, so far. */
  #values = 0
  /** Whether the long line under way is no document. */
  #isText = false;

  *push(given: Uint8Array): Generator<LogText> {
    let rest: Buffer = Buffer.from(given.buffer, given.byteOffset, given.byteLength)
    while (rest.length > 0)
      rest = yield* this.#document === undefined ? this.#lines(rest) : this.#elements(rest, this.#document)
  }

  /** What the log ends with. */
  *end(): Generator<LogText> {
    const rest = this.#document === undefined ? withoutMark(this.#taken(noBytes), this.#line) : this.#taken(noBytes)
    if (!isBlank(rest)) yield { line: this.#document?.valueLine ?? this.#line, bytes: rest, isCut: true }
  }

  /** Up to the beginning of a document; returns what follows that. */
  *#lines(chunk: Buffer): Generator<LogText, Buffer> {
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      const bytes = withoutMark(this.#taken(chunk.subarray(start, end)), this.#line)
      this.#isText = false
      start = end + 1
      if (opensDocument(bytes)) return this.#open(bytes, chunk.subarray(end))
      if (!isBlank(bytes)) yield { line: this.#line, bytes, isCut: false }
      this.#line++
    }
    this.#keep(chunk.subarray(start), this.#line)
    if (this.#pending <= longestEntry || this.#isText) return noBytes
    const beginning = withoutMark(this.#taken(noBytes), this.#line)
    this.#isText = !beginsDocument(beginning)
    if (!this.#isText) return this.#open(beginning, noBytes)
    this.#keep(beginning, this.#line)
    return noBytes
  }

  #open(beginning: Buffer, rest: Buffer): Buffer {
    this.#document = new DocumentPlace(this.#line, beginning.length > longestEntry)
    this.#values = 0
    return Buffer.concat([beginning, rest])
  }

  /** Up to the end of the document; returns what follows that. */
  *#elements(chunk: Buffer, place: DocumentPlace): Generator<LogText, Buffer> {
    let start = place.isInValue ? 0 : -1
    for (let at = 0; at < chunk.length; at++) {
      const step = place.step(chunk[at] as number)
      if (step === "begin") start = at
      const isBroken = step === "broken"
      if (step === "end" || (isBroken && start >= 0)) {
        yield { line: place.valueLine, bytes: this.#taken(chunk.subarray(start, at + 1)), isCut: isBroken }
        start = -1
        this.#values++
      }
      if (isBroken || place.isOver) {
        if (place.isLong && this.#values === 0) throw new TextTooLong(place.firstLine)
        this.#taken(noBytes)
        this.#document = undefined
        this.#line = place.line
        return chunk.subarray(at + 1)
      }
    }
    if (start < 0) return noBytes
    this.#keep(chunk.subarray(start), place.valueLine)
    if (place.isSplit || this.#pending <= longestEntry) return noBytes
    // Begins anew as a long one.
    this.#line = place.firstLine
    return this.#open(this.#taken(noBytes), noBytes)
  }

  #taken(rest: Buffer): Buffer {
    if (this.#parts.length === 0) return rest
    const whole = Buffer.concat([...this.#parts, rest])
    this.#parts = []
    this.#pending = 0
    return whole
  }

  #keep(rest: Buffer, line: number): void {
    if (rest.length === 0) return
    this.#parts.push(Buffer.from(rest))
    this.#pending += rest.length
    if (this.#pending > longestText) throw new TextTooLong(line)
  }
}

/** Where in a document a byte is. */
class DocumentPlace {
  /** Line of the next byte. */
  line: number
  /** Line on which the last value began. */
  valueLine: number
  /** Line on which the document began. */
  readonly firstLine: number
  /** Whether it is longer than any entry. */
  readonly isLong: boolean
  /** Whether the values are the elements of its outermost array, as of long documents and of arrays; otherwise the document is the value. */
  isSplit: boolean
  /** Whether the document has ended. */
  isOver = false
  #depth = 0
  /** Brackets around the value under way; -1: there is none. */
  #outside = -1
  /** Brackets up to and with that of the outermost array; 0: there is none. */
  #array = 0
  #isInString = false
  #isEscaped = false

  constructor(line: number, isLong: boolean) {
    this.firstLine = line
    this.line = line
    this.valueLine = line
    this.isLong = isLong
    this.isSplit = isLong
  }

  get isInValue(): boolean {
    return this.#outside >= 0
  }

  /** Takes the next byte. `begin`, `end`: of a value. `broken`: a string has a line feed. */
  step(byte: number): "begin" | "end" | "broken" | undefined {
    if (byte === LINE_FEED) {
      this.line++
      return this.#isInString ? "broken" : undefined
    }
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === BACKSLASH) this.#isEscaped = true
      else if (byte === QUOTE) {
        this.#isInString = false
        return this.#ends()
      }
      return undefined
    }
    if (byte === QUOTE) {
      this.#isInString = true
      return this.#begins()
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) return this.#opens(byte === OPEN_BRACKET)
    if (byte !== CLOSE_BRACE && byte !== CLOSE_BRACKET) return undefined
    if (this.#depth > 0) this.#depth--
    if (this.#depth === 0) this.isOver = true
    if (this.#depth < this.#array) this.#array = 0
    return this.#ends()
  }

  #opens(isArray: boolean): "begin" | undefined {
    if (isArray && this.#depth === 0) this.isSplit = true
    const begun = this.#begins()
    this.#depth++
    if (isArray && this.#array === 0) this.#array = this.#depth
    return begun
  }

  #begins(): "begin" | undefined {
    const isElement = this.isSplit ? this.#array > 0 && this.#depth === this.#array : this.#depth === 0
    if (this.isInValue || !isElement) return undefined
    this.#outside = this.#depth
    this.valueLine = this.line
    return "begin"
  }

  #ends(): "end" | undefined {
    if (this.#outside !== this.#depth) return undefined
    this.#outside = -1
    return "end"
  }
}

const noBytes = Buffer.alloc(0)

const byteOrderMark = Buffer.from("\ufeff")

/** Windows' shells begin a redirected output with one. */
const withoutMark = (bytes: Buffer, line: number): Buffer =>
  line === 1 && bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark)
    ? bytes.subarray(byteOrderMark.length)
    : bytes

const isSpace = (byte: number | undefined): boolean => byte === 32 || byte === 13 || byte === 9

const isBlank = (bytes: Buffer): boolean => bytes.every(isSpace)

/**
 * As what prints JSON breaks lines: after an opening bracket, or after an element of an array. Not every line without its end: if a line is damaged, the ones
 * after it are lines all the same.
 */
const opensDocument = (line: Buffer): boolean => {
  if (!beginsDocument(line)) return false
  let end = line.length
  while (isSpace(line[end - 1])) end--
  const last = line[end - 1]
  return (
    last === OPEN_BRACE || last === OPEN_BRACKET || (last === COMMA && line[end - 2] === CLOSE_BRACE && isArray(line))
  )
}

const beginsDocument = (line: Buffer): boolean => isArray(line) || firstByte(line) === OPEN_BRACE

const isArray = (line: Buffer): boolean => firstByte(line) === OPEN_BRACKET

const firstByte = (line: Buffer): number | undefined => {
  let start = 0
  while (isSpace(line[start])) start++
  return line[start]
}
