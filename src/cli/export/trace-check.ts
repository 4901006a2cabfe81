/**
 * Checks whether a trace that arrives in pieces is complete, without decoding its events: HTTP alone does not show when a proxy
 * or a port-forward ended a response early.
 *
 * Guarantee: a truncated trace is never accepted as complete; memory stays below 1 MiB for any input.
 */
import { NDJSON_FORMAT } from "../../trace/formats/ndjson/ndjson.ts"
import { MessagePackExtent } from "../../trace/formats/simkube/message-pack/message-pack-extent.ts"

/** The formats a recorder exports. */
export type TraceFormat = "ndjson" | "simkube"

/** How much of a trace has arrived. */
export interface TraceCount {
  /** NDJSON: its lines, one for each object at the start, change and gap. SimKube: trace events, each with all changes of one second. */
  readonly unit: "line" | "event"
  readonly number: number
  /** The total, if the format states it at the beginning. */
  readonly of: number | undefined
}

/** What a whole trace has: objects that exist at the start, and changes. */
export interface TraceContents {
  readonly objects: number
  readonly events: number
}

/** The result of the check. `contents` is known if the format counts them. */
export type TraceVerdict =
  | { readonly _tag: "Whole"; readonly contents: TraceContents | undefined }
  | { readonly _tag: "Cut"; readonly reason: string }

export interface TraceCheck {
  /** How much of the trace has arrived, in the units of its format. Cheap: called for every repaint. */
  readonly counted: () => TraceCount
  /** Takes the next piece. A returned reason means that no further data can make this a trace. */
  readonly add: (bytes: Uint8Array) => string | undefined
  /** Call it once, after the last piece. */
  readonly finish: () => TraceVerdict
}

export const checkTrace = (format: TraceFormat): TraceCheck => (format === "ndjson" ? checkNdjson() : checkSimkube())

const cut = (reason: string): TraceVerdict => ({ _tag: "Cut", reason })

/** `events` is followed by `index` and `pod_lifecycles`, each with its key. */
const eventsFromEnd = 5

const checkSimkube = (): TraceCheck => {
  const extent = new MessagePackExtent({ follow: eventsFromEnd })
  let isFirst = true
  return {
    counted: () => ({ unit: "event", number: extent.followed?.begun ?? 0, of: extent.followed?.length }),
    add(bytes) {
      const [first] = bytes
      if (first === undefined) return undefined
      // The trace is one map with five entries; text and other values start with a different byte.
      if (isFirst && !((first & 0xf0) === 0x80 || first === 0xde || first === 0xdf))
        return "the response is not a trace"
      isFirst = false
      extent.add(bytes)
      return extent.isBroken ? "the response is not a trace, or data follows the trace" : undefined
    },
    finish: () => (extent.isWhole ? { _tag: "Whole", contents: undefined } : cut("the trace is truncated")),
  }
}

/** The first line (a header with every kind) and the last (a footer) are short; a longer line is neither. */
const longestLine = 1024 * 1024
const lineFeed = 0x0a

const checkNdjson = (): TraceCheck => {
  let lines = 0
  let first: string | undefined
  let line = new LineTail()
  return {
    // Without the header and the last line, which may be the footer.
    counted: () => ({ unit: "line", number: Math.max(0, lines - 2), of: undefined }),
    add(bytes) {
      let start = 0
      for (let end = bytes.indexOf(lineFeed); end >= 0; end = bytes.indexOf(lineFeed, start)) {
        if (line.isComplete) line = new LineTail()
        // Lines between the first and the last of a piece are only counted, not kept.
        line.add(bytes.subarray(start, end))
        line.isComplete = true
        start = end + 1
        lines++
        if (lines > 1) continue
        first = line.text()
        if (!isHeader(first)) return "the response is not a trace"
      }
      if (start === bytes.length) return undefined
      if (line.isComplete) line = new LineTail()
      line.add(bytes.subarray(start))
      return lines === 0 && line.isTooLong ? "the response is not a trace" : undefined
    },
    finish() {
      if (first === undefined) return cut("the response is empty or not a trace")
      const counts = line.isComplete ? readFooter(line.text()) : undefined
      if (counts === undefined) return cut("the last line is missing")
      const { snapshot, events, gaps } = counts
      const expected = snapshot + events + gaps + 2
      if (lines !== expected) return cut(`it has ${lines} lines instead of ${expected}`)
      return { _tag: "Whole", contents: { objects: snapshot, events } }
    },
  }
}

/** A line that arrives in parts; its text is dropped once it is too long to be a header or a footer. */
class LineTail {
  isComplete = false
  isTooLong = false
  readonly #parts: Uint8Array[] = []
  #length = 0

  add(bytes: Uint8Array): void {
    this.#length += bytes.length
    this.isTooLong ||= this.#length > longestLine
    if (this.isTooLong) this.#parts.length = 0
    else if (bytes.length > 0) this.#parts.push(bytes)
  }

  text(): string {
    return Buffer.concat(this.#parts).toString("utf8")
  }
}

const isHeader = (line: string): boolean => {
  const header = parse(line) as { readonly format?: unknown } | undefined
  return header?.format === NDJSON_FORMAT
}

const readFooter = (line: string): { snapshot: number; events: number; gaps: number } | undefined => {
  const footer = parse(line) as { readonly end?: { snapshot?: unknown; events?: unknown; gaps?: unknown } } | undefined
  const { snapshot, events, gaps } = footer?.end ?? {}
  return typeof snapshot === "number" && typeof events === "number" && typeof gaps === "number"
    ? { snapshot, events, gaps }
    : undefined
}

/** An object, or `undefined` for anything else. */
const parse = (line: string): object | undefined => {
  if (!line.startsWith("{")) return undefined
  try {
    return JSON.parse(line) as object
  } catch {
    return undefined
  }
}
