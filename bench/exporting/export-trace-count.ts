/**
 * The content of a trace of the generator's cluster, counted by a reader that shares no code with the writer: lines of `JSON.parse`, or
 * `@msgpack/msgpack`. The number of a change is read from the object itself (its environment variable `CHANGE`), because SimKube's format
 * has neither versions nor sequence numbers.
 *
 * A trace is read as a whole: 300 MB take 300 MB of memory. @throws Error for a trace that is broken or incomplete
 */
import { decodeMulti } from "@msgpack/msgpack"
import { firstVersion } from "../load/object-template.ts"

export type TraceFormat = "ndjson" | "simkube"

export interface TraceCount {
  /** Different changes of Deployments. */
  readonly changes: number
  /** The highest number among them; 0 without any. */
  readonly last: number
  /** Changes and listed objects that the trace contains again. */
  readonly repeated: number
  /** Changes after a later one of the same object. */
  readonly disordered: number
  /** Different Deployments as they were listed. */
  readonly listed: number
  /** Objects of other kinds. */
  readonly others: number
  /** Gaps and deletions: the generator causes none. */
  readonly unasked: number
  /** Sequence number of the cut; only NDJSON states it. */
  readonly cut?: number
}

export const countTrace = (format: TraceFormat, bytes: Buffer): TraceCount =>
  format === "ndjson" ? countNdjson(bytes) : countSimkube(bytes)

interface TracedObject {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec?: {
    readonly template?: { readonly spec?: { readonly containers?: ReadonlyArray<{ readonly env?: Variables }> } }
  }
}

type Variables = ReadonlyArray<{ readonly name: string; readonly value: string }>

const changeOf = ({ spec, metadata }: TracedObject): number => {
  const variables = spec?.template?.spec?.containers?.[0]?.env
  const change = Number(variables?.find(({ name }) => name === "CHANGE")?.value)
  if (!Number.isInteger(change)) throw new Error(`the Deployment ${metadata.name} has no number of a change`)
  return change
}

/** State of the count so far. */
class Tally {
  readonly #changes = new Set<number>()
  readonly #listed = new Set<string>()
  readonly #lastOf = new Map<string, number>()
  #last = 0
  #repeated = 0
  #disordered = 0
  #others = 0
  #unasked = 0

  object(object: TracedObject): void {
    if (object.kind !== "Deployment") {
      this.#others++
      return
    }
    const { name } = object.metadata
    const change = changeOf(object)
    // The generator lists each object with the number of its first version.
    const isListed = change >= firstVersion
    const number = isListed ? 0 : change
    const isKnown = isListed ? this.#listed.has(name) : this.#changes.has(change)
    if (isKnown) this.#repeated++
    else if ((this.#lastOf.get(name) ?? -1) > number) this.#disordered++
    if (isListed) this.#listed.add(name)
    else this.#changes.add(change)
    this.#lastOf.set(name, number)
    this.#last = Math.max(this.#last, number)
  }

  unasked(count: number): void {
    this.#unasked += count
  }

  result(): TraceCount {
    return {
      changes: this.#changes.size,
      last: this.#last,
      repeated: this.#repeated,
      disordered: this.#disordered,
      listed: this.#listed.size,
      others: this.#others,
      unasked: this.#unasked,
    }
  }
}

interface NdjsonLine {
  readonly format?: string
  readonly cut?: number
  readonly action?: string
  readonly object?: TracedObject
  readonly end?: { readonly snapshot: number; readonly events: number; readonly gaps: number }
}

const countNdjson = (bytes: Buffer): TraceCount => {
  const tally = new Tally()
  let cut: number | undefined
  let said: number | undefined
  let lines = 0
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(0x0a, start)
    if (end < 0) throw new Error(`the line at byte ${start} has no end`)
    if (said !== undefined) throw new Error(`more follows after the last line, at byte ${start}`)
    const line = JSON.parse(bytes.toString("utf8", start, end)) as NdjsonLine
    start = end + 1
    if (line.format !== undefined) cut = line.cut
    else if (line.end !== undefined) said = line.end.snapshot + line.end.events + line.end.gaps
    else {
      lines++
      if (line.action === "applied" && line.object !== undefined) tally.object(line.object)
      else tally.unasked(1)
    }
  }
  if (said !== lines) throw new Error(`the last line counts ${said ?? "nothing"}, and there are ${lines}`)
  return { ...tally.result(), ...(cut !== undefined && { cut }) }
}

interface SimkubeEvent {
  readonly ts: number
  readonly applied_objs: ReadonlyArray<TracedObject>
  readonly deleted_objs: ReadonlyArray<unknown>
}

/** The key as a short string of MessagePack. The data before it is small and has no such key. */
const eventsKey = Buffer.from("\xa6events", "latin1")
/** Keys of lifecycles are arrays and hashes; they are not read. */
const options = {
  useBigInt64: true,
  mapKeyConverter: (key: unknown) => (typeof key === "string" ? key : String(key)),
}

/**
 * The outer map and its array of events are parsed by hand, so that events are decoded one by one: as objects, a whole trace of 110 MB
 * would need more than a gigabyte.
 */
const countSimkube = (bytes: Buffer): TraceCount => {
  const tally = new Tally()
  const key = bytes.indexOf(eventsKey)
  if (bytes[0] !== 0x85 || key < 0) throw new Error("not a map of five with events")
  const head = [...decodeMulti(bytes.subarray(1, key), options)]
  if (head[0] !== "version" || Number(head[1]) !== 2) throw new Error("not version 2")
  const { count, start } = arrayAt(bytes, key + eventsKey.length)
  let seen = 0
  let latest = 0
  const rest: Array<unknown> = []
  for (const value of decodeMulti(bytes.subarray(start), options)) {
    if (seen === count) {
      rest.push(value)
      continue
    }
    seen++
    const { ts, applied_objs, deleted_objs } = value as SimkubeEvent
    if (Number(ts) < latest) throw new Error(`event ${seen} is earlier than the one before`)
    latest = Number(ts)
    for (const object of applied_objs) tally.object(object)
    tally.unasked(deleted_objs.length)
  }
  if (seen < count || rest.length !== 4 || rest[0] !== "index" || rest[2] !== "pod_lifecycles") {
    throw new Error(`${seen} of ${count} events, then ${rest.length} values`)
  }
  return tally.result()
}

/** An array's length, and where its first element begins. */
const arrayAt = (bytes: Buffer, at: number): { readonly count: number; readonly start: number } => {
  const first = bytes[at] ?? 0
  if ((first & 0xf0) === 0x90) return { count: first & 0x0f, start: at + 1 }
  if (first === 0xdc) return { count: bytes.readUInt16BE(at + 1), start: at + 3 }
  if (first === 0xdd) return { count: bytes.readUInt32BE(at + 1), start: at + 5 }
  throw new Error(`no array at byte ${at}`)
}
