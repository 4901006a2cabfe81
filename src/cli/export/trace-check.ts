/**
 * Whether a trace that arrives in pieces is whole, without reading its events: HTTP alone does not tell when a proxy or a
 * port-forward ends a response early.
 *
 * Guarantee: a trace cut off anywhere is not called whole; memory stays below 1 MiB whatever arrives.
 */
import { NDJSON_FORMAT } from "../../trace/formats/ndjson/ndjson.ts"
import { MessagePackExtent } from "../../trace/formats/simkube/message-pack/message-pack-extent.ts"

/** The formats a recorder exports. */
export type TraceFormat = "ndjson" | "simkube"

/** How far a trace has come. */
export interface TraceCount {
  /** NDJSON: changes, objects of the beginning and gaps. SimKube: moments, each with all that changed in it. */
  readonly events: number
  /** How many there will be, if the trace says so beforehand. */
  readonly of: number | undefined
}

/** What the check found out in the end. `events` is known where the format counts them. */
export type TraceVerdict =
  | { readonly _tag: "Whole"; readonly events: number | undefined }
  | { readonly _tag: "Cut"; readonly reason: string }

export interface TraceCheck {
  /** How far the trace has come, in its own terms; cheap, for whoever watches. */
  readonly counted: () => TraceCount
  /** Takes the next piece. A reason means that nothing to come can make it a trace. */
  readonly add: (bytes: Uint8Array) => string | undefined
  /** To be called once, after the last piece. */
  readonly finish: () => TraceVerdict
}

export const checkTrace = (format: TraceFormat): TraceCheck => (format === "ndjson" ? checkNdjson() : checkSimkube())

const cut = (reason: string): TraceVerdict => ({ _tag: "Cut", reason })

/** Behind `events` come `index` and `pod_lifecycles`, each with its key. */
const eventsFromEnd = 5

const checkSimkube = (): TraceCheck => {
  const extent = new MessagePackExtent({ follow: eventsFromEnd })
  let isFirst = true
  return {
    counted: () => ({ events: extent.followed?.begun ?? 0, of: extent.followed?.length }),
    add(bytes) {
      const [first] = bytes
      if (first === undefined) return undefined
      // The trace is one map (of five), and so starts neither like a text nor like any other value.
      if (isFirst && !((first & 0xf0) === 0x80 || first === 0xde || first === 0xdf)) return "the answer is no trace"
      isFirst = false
      extent.add(bytes)
      return extent.isBroken ? "the answer is no trace, or something follows the trace" : undefined
    },
    finish: () => (extent.isWhole ? { _tag: "Whole", events: undefined } : cut("the trace ends in the middle")),
  }
}

/** First and last line are short (a header with every kind, a footer); longer ones are neither. */
const longestLine = 1024 * 1024
const lineFeed = 0x0a

const checkNdjson = (): TraceCheck => {
  let lines = 0
  let first: string | undefined
  let line = new LineTail()
  return {
    // The first line is the header, and the last may be the footer.
    counted: () => ({ events: Math.max(0, lines - 2), of: undefined }),
    add(bytes) {
      let start = 0
      for (let end = bytes.indexOf(lineFeed); end >= 0; end = bytes.indexOf(lineFeed, start)) {
        if (line.isComplete) line = new LineTail()
        // Between the first line and the last of a piece nothing needs to be kept, only counted.
        line.add(bytes.subarray(start, end))
        line.isComplete = true
        start = end + 1
        lines++
        if (lines > 1) continue
        first = line.text()
        if (!isHeader(first)) return "the answer is no trace"
      }
      if (start === bytes.length) return undefined
      if (line.isComplete) line = new LineTail()
      line.add(bytes.subarray(start))
      return lines === 0 && line.isTooLong ? "the answer is no trace" : undefined
    },
    finish() {
      if (first === undefined) return cut("the answer is empty or no trace")
      const counts = line.isComplete ? readFooter(line.text()) : undefined
      if (counts === undefined) return cut("the last line is missing")
      const { snapshot, events, gaps } = counts
      const expected = snapshot + events + gaps + 2
      if (lines !== expected) return cut(`it has ${lines} lines instead of ${expected}`)
      return { _tag: "Whole", events: snapshot + events }
    },
  }
}

/** One line in parts, as long as it may still matter. */
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
