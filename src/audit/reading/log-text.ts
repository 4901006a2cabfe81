/**
 * Cuts the text of a log into its JSON values: one for each line, or, if the file is one JSON document over several lines (as `gcloud` and
 * `aws` print), the elements of its array, or of its member `events`, or the document.
 *
 * The first line decides: a brace alone, or a bracket, begins a document, and so does a record of a CloudWatch subscription, of which Firehose writes
 * one behind the other without line feeds. Memory is one value, which is limited. Every value has the number of its first line.
 */
import { exactJsonIn } from "../../trace/json/exact-json.ts"

/** A piece of a log that should be one JSON value. Its bytes are valid until the next chunk is pushed. */
export interface LogText {
  /** Counted from 1. */
  readonly line: number
  readonly bytes: Buffer
  /** Whether the log ended before it did. */
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

/** etcd accepts no object above 1.5 MiB, and an event has two; a page of CloudWatch's has 10 MB. */
export const longestText = 64 * 1024 * 1024

const LINE_FEED = 10
const QUOTE = 34
const OPEN_BRACKET = 91
const BACKSLASH = 92
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const CLOSE_BRACE = 125

/** Push chunks, take values; call {@link end} after the last. Throws {@link TextTooLong}. */
export class LogTextReader {
  /** The beginning of an incomplete line or document element, in parts with memory of their own. */
  #parts: Buffer[] = []
  #pending = 0
  /** Of the text under way. */
  #line = 1
  #mode: "unknown" | "lines" | "document" = "unknown"
  readonly #document = new DocumentPlace();

  *push(given: Uint8Array): Generator<LogText> {
    const chunk = Buffer.from(given.buffer, given.byteOffset, given.byteLength)
    yield* this.#mode === "document" ? this.#documentValues(chunk) : this.#lines(chunk)
  }

  /** What the log ends with. */
  *end(): Generator<LogText> {
    const rest = withoutMark(this.#taken(noBytes), this.#line)
    if (this.#mode === "unknown" && beginsDocument(rest)) {
      this.#mode = "document"
      yield* this.#documentValues(rest)
      yield* this.end()
      return
    }
    if (this.#mode === "document") {
      if (this.#document.isInValue) yield { line: this.#document.line, bytes: rest, isCut: true }
      return
    }
    // A log that is being written ends in the middle of a line; a whole value without its line feed counts.
    if (!isBlank(rest)) yield { line: this.#line, bytes: rest, isCut: exactJsonIn(rest) === undefined }
  }

  *#lines(given: Buffer): Generator<LogText> {
    // The beginning, as a whole.
    const chunk = this.#mode === "unknown" && this.#pending < longestBeginning ? this.#taken(given) : given
    if (this.#mode === "unknown" && beginsRecord(chunk)) {
      this.#mode = "document"
      yield* this.#documentValues(chunk)
      return
    }
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      const bytes = withoutMark(this.#taken(chunk.subarray(start, end)), this.#line)
      if (isBlank(bytes)) {
        start = end + 1
        this.#line++
        continue
      }
      if (this.#mode === "unknown") {
        this.#mode = beginsDocument(bytes) ? "document" : "lines"
        if (this.#mode === "document") {
          this.#document.line = this.#line
          yield* this.#documentValues(Buffer.concat([bytes, chunk.subarray(end)]))
          return
        }
      }
      yield { line: this.#line, bytes, isCut: false }
      start = end + 1
      this.#line++
    }
    this.#keep(chunk.subarray(start), this.#line)
  }

  *#documentValues(chunk: Buffer): Generator<LogText> {
    const place = this.#document
    let start = 0
    for (let at = 0; at < chunk.length; at++) {
      const wasInValue = place.isInValue
      const isEnd = place.step(chunk[at] as number)
      if (!wasInValue && place.isInValue) start = at
      // What was an object so far is the beginning of a list of events.
      if (wasInValue && !place.isInValue && !isEnd) this.#taken(noBytes)
      if (!isEnd) continue
      yield { line: place.valueLine, bytes: this.#taken(chunk.subarray(start, at + 1)), isCut: false }
    }
    if (place.isInValue) this.#keep(chunk.subarray(start), place.valueLine)
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

/** The member of a document in which `aws logs` prints its events, all pages of them. */
const eventsName = Buffer.from("events")

/** Where in a document a byte is. Its elements are objects, and what is between them is left out. */
class DocumentPlace {
  /** Line of the next byte. */
  line = 1
  /** Line on which the last value began. */
  valueLine = 1
  #depth = 0
  /** What is deeper than this is in a value: 0 if the document is one, 1 if it is a list of them, 2 in its list of events; then nothing else. */
  #outer: number | undefined
  #isInString = false
  #isEscaped = false
  /** Bytes of the last string of a document itself, and how many of them the name of the list of events has too. */
  #length = 0
  #matched = 0

  get isInValue(): boolean {
    return this.#outer !== undefined && this.#depth > this.#outer
  }

  /** Takes the next byte; returns whether a value ends with it. */
  step(byte: number): boolean {
    if (byte === LINE_FEED) this.line++
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === BACKSLASH) this.#isEscaped = true
      else if (byte === QUOTE) this.#isInString = false
      if (this.#isInString && this.#depth === 1 && byte === eventsName[this.#length++]) this.#matched++
      return false
    }
    if (byte === QUOTE) {
      this.#isInString = true
      this.#length = 0
      this.#matched = 0
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      this.#outer ??= byte === OPEN_BRACKET ? 1 : 0
      if (byte === OPEN_BRACKET && this.#depth === 1 && this.#outer === 0 && this.#isEventsName) this.#outer = 2
      this.#depth++
      if (this.#depth === this.#outer + 1) this.valueLine = this.line
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      const wasInValue = this.isInValue
      if (this.#depth > 0) this.#depth--
      const isEnd = wasInValue && !this.isInValue
      // Another document may follow.
      if (this.#depth === 0) this.#outer = undefined
      else if (this.#depth < 2 && this.#outer === 2) this.#outer = Number.POSITIVE_INFINITY
      return isEnd
    }
    return false
  }

  get #isEventsName(): boolean {
    return this.#matched === eventsName.length && this.#length === eventsName.length
  }
}

const noBytes = Buffer.alloc(0)

const byteOrderMark = Buffer.from("\ufeff")

/** Windows' shells begin a redirected output with one. */
const withoutMark = (bytes: Buffer, line: number): Buffer =>
  line === 1 && bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark)
    ? bytes.subarray(byteOrderMark.length)
    : bytes

const isBlank = (bytes: Buffer): boolean => bytes.every((byte) => byte === 32 || byte === 13 || byte === 9)

/** Bytes within which {@link beginsRecord} is decided. */
const longestBeginning = 64

const beginsRecord = (beginning: Buffer): boolean =>
  /^\s*\{\s*"messageType"/.test(beginning.toString("utf8", 0, longestBeginning))

/** Not every line that is no JSON: if the first line of a log is damaged, the others are lines all the same. */
const beginsDocument = (line: Buffer): boolean => /^\s*(?:\[|\{\s*$)/.test(line.toString("latin1"))
