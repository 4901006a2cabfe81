/**
 * Reads the NDJSON format (see ndjson.ts) as a stream; memory is one line. Every line is checked, including its object, but an object's
 * bytes are passed on unchanged. Lines rewritten by another tool (other order of fields, white space) are accepted too; their objects are
 * then equal as JSON, not byte for byte. Empty lines are skipped.
 *
 * Whatever the bytes, it throws only {@link NdjsonError}.
 */

import {
  exactJsonIn,
  formatExactJson,
  isJsonObject,
  type JsonObject,
  MalformedJsonError,
  parseExactJson,
} from "../../json/exact-json.ts"
import { type NdjsonCounts, NdjsonError, type NdjsonItem } from "./ndjson.ts"
import { countsOf, eventOf, type Fail, Fields, headerOf, isSnapshotLine, otherItemOf } from "./ndjson-fields.ts"

/** etcd accepts no object above 1.5 MiB; a longer line is not one of ours, and must not fill the memory. */
const MAX_LINE_BYTES = 64 * 1024 * 1024
const LINE_FEED = 0x0a
const CLOSING_BRACE = 0x7d
const OBJECT_FIELD = Buffer.from(',"object":')
const NO_BYTES = new Uint8Array(0)
const COUNTED = ["snapshot", "events", "gaps", "configs", "batches", "index", "lifecycles"] as const

/** Push bytes, take items; call {@link end} after the last bytes. */
export class NdjsonReader {
  /** The start of an incomplete line, in parts. */
  #parts: Uint8Array[] = []
  #partsLength = 0
  /** Lines read. */
  #lines = 0
  /** Bytes of the file before the current line, and before the next one. */
  #lineStart = 0
  #nextLine = 0
  #state: "header" | "events" | "ended" = "header"
  readonly #counts = { snapshot: 0, events: 0, gaps: 0, configs: 0, batches: 0, index: 0, lifecycles: 0 };

  /**
   * Reads the next bytes and returns the lines they complete. The bytes must not change while items are taken.
   * @throws NdjsonError
   */
  *push(chunk: Uint8Array): Generator<NdjsonItem> {
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      if (end === start && this.#partsLength === 0) {
        while (chunk[end] === LINE_FEED) end++
        this.#skipEmpty(end - start)
        start = end
        continue
      }
      const line = this.#completed(chunk.subarray(start, end))
      start = end + 1
      yield* this.#read(line)
    }
    if (start === chunk.length) return
    this.#parts.push(new Uint8Array(chunk.subarray(start)))
    this.#partsLength += chunk.length - start
    if (this.#partsLength <= MAX_LINE_BYTES) return
    this.#beginLine(0)
    throw this.#error("length", `longer than ${MAX_LINE_BYTES} bytes`)
  }

  /**
   * The bytes have ended. A last line without its line feed still counts.
   * @throws NdjsonError (`truncated`) if the file's last line is missing.
   */
  *end(): Generator<NdjsonItem> {
    if (this.#partsLength > 0) yield* this.#read(this.#completed(NO_BYTES), true)
    if (this.#state === "ended") return
    this.#beginLine(0)
    throw this.#error("truncated", "the file ends before its last line")
  }

  /** A file of 200 MB of empty lines took 16 s, one at a time. */
  #skipEmpty(lines: number): void {
    this.#lines += lines
    this.#nextLine += lines
    this.#lineStart = this.#nextLine - 1
  }

  #beginLine(length: number): void {
    this.#lines++
    this.#lineStart = this.#nextLine
    this.#nextLine += length
  }

  #completed(rest: Uint8Array): Uint8Array {
    if (this.#partsLength === 0) return rest
    const line = Buffer.concat([...this.#parts, rest])
    this.#parts = []
    this.#partsLength = 0
    return line
  }

  /** The item of one line, none for an empty one. `isLast`: no line feed followed, so invalid JSON means a truncated line. */
  #read(line: Uint8Array, isLast = false): ReadonlyArray<NdjsonItem> {
    this.#beginLine(line.length + 1)
    if (line.every(isWhiteSpace)) return []
    try {
      const { fields, object } = splitLine(line, this.#fail)
      return [this.#item(new Fields(fields, this.#fail), object, line)]
    } catch (error) {
      if (!(error instanceof MalformedJsonError)) throw error
      throw isLast ? this.#error("truncated", "the line is truncated") : this.#error("json", error.message)
    }
  }

  #item(fields: Fields, object: Uint8Array, line: Uint8Array): NdjsonItem {
    if (this.#state === "header") {
      const header = headerOf(fields)
      this.#state = "events"
      return { type: "header", ...header }
    }
    if (this.#state === "ended") throw this.#error("shape", "a line after the last one")
    const end = countsOf(fields)
    if (end !== undefined) return this.#end(end)
    const other = otherItemOf(fields, line)
    if (other !== undefined) {
      this.#counts[other.counted]++
      return other.item
    }
    const event = eventOf(fields, object)
    const isSnapshot = isSnapshotLine(fields)
    this.#counts[event.type === "gap" ? "gaps" : isSnapshot ? "snapshot" : "events"]++
    return { type: "event", event, isSnapshot }
  }

  #end(end: NdjsonCounts): NdjsonItem {
    this.#state = "ended"
    for (const key of COUNTED)
      if ((end[key] ?? 0) !== this.#counts[key])
        throw this.#error("counts", `counts ${end[key] ?? 0} lines of "${key}", but there are ${this.#counts[key]}`)
    return { type: "end", ...end }
  }

  readonly #fail: Fail = (reason, detail) => this.#error(reason, detail)

  #error(reason: NdjsonError["reason"], detail: string): NdjsonError {
    return new NdjsonError({ line: this.#lines, offset: this.#lineStart, reason, detail })
  }
}

const isWhiteSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0d || byte === 0x09

interface Line {
  readonly fields: JsonObject
  /** Empty if the line has no object. */
  readonly object: Uint8Array
}

/**
 * Separates the object from a line. In lines that we write, the object is the last field, and the bytes `,"object":` cannot occur before
 * it: inside a string the quotes would be escaped. If both parts are valid JSON by themselves, the split was right.
 */
const splitLine = (line: Uint8Array, fail: Fail): Line => {
  let end = line.length
  while (end > 0 && isWhiteSpace(line[end - 1] as number)) end--
  const at = Buffer.from(line.buffer, line.byteOffset, end).indexOf(OBJECT_FIELD)
  if (at >= 0 && line[end - 1] === CLOSING_BRACE) {
    const object = line.subarray(at + OBJECT_FIELD.length, end - 1)
    const fields = exactJsonIn(Buffer.concat([line.subarray(0, at), Buffer.from("}")]))
    if (isJsonObject(fields) && isJsonObject(exactJsonIn(object))) return { fields, object }
  }
  const fields = parseExactJson(line)
  if (!isJsonObject(fields)) throw fail("shape", "the line is not an object")
  if (!Object.hasOwn(fields, "object")) return { fields, object: NO_BYTES }
  const { object } = fields
  if (!isJsonObject(object)) throw fail("shape", "object is not an object")
  return { fields, object: Buffer.from(formatExactJson(object)) }
}

/** Reads a file from chunks in memory. Lazy: stops taking chunks when its own reader stops. @throws NdjsonError */
export function* readNdjson(chunks: Iterable<Uint8Array>): Generator<NdjsonItem> {
  const reader = new NdjsonReader()
  for (const chunk of chunks) yield* reader.push(chunk)
  yield* reader.end()
}
