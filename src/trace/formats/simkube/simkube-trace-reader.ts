/**
 * Reads a SimKube trace (format version 2) as a stream: push bytes as they arrive, take items as they complete. Memory holds the bytes of
 * one object (or one other unit, see {@link MAX_UNIT_BYTES}), never the file.
 *
 * Accepts everything that SimKube accepts: any order of keys, unknown keys, bytes after the end; and also traces whose configuration
 * today's SimKube rejects. It does not accept structs written as arrays, which no program writes. Whatever the bytes, it throws only {@link
 * SimkubeTraceError}.
 */

import type { JsonObject } from "../../json/exact-json.ts"
import { MessagePackError } from "./message-pack/message-pack.ts"
import { MessagePackReader } from "./message-pack/message-pack-reader.ts"
import { readTrackedObjects, type TrackedObjects } from "./simkube-config.ts"
import { type OwnedLifecycles, type PodLifecycle, SIMKUBE_TRACE_VERSION, SimkubeTraceError } from "./simkube-trace.ts"

/**
 * One part of a trace, in the order of the file. The objects after an `event` item belong to it; applied ones come
 * before deleted ones. Times are Unix seconds.
 */
export type SimkubeTraceItem<Value = JsonObject> =
  | { readonly type: "config"; readonly trackedObjects: TrackedObjects; readonly config?: Value }
  | { readonly type: "event"; readonly seconds: number }
  | { readonly type: "applied" | "deleted"; readonly seconds: number; readonly object: Value }
  | { readonly type: "index"; readonly gvk: string; readonly name: string; readonly hash: bigint }
  | ({ readonly type: "lifecycles" } & OwnedLifecycles)

/** A container whose contents are being read; `left` counts elements or pairs still to come. */
type Frame =
  | { readonly in: "trace"; left: number; readonly seen: Set<string> }
  | { readonly in: "events"; left: number }
  | { readonly in: "event"; left: number; readonly seconds: number; readonly seen: Set<string> }
  | { readonly in: "objects"; left: number; readonly seconds: number; readonly type: "applied" | "deleted" }
  | { readonly in: "index"; left: number }
  | { readonly in: "names"; left: number; readonly gvk: string }
  | { readonly in: "lifecycles"; left: number }

const REQUIRED = ["version", "config", "events", "index", "pod_lifecycles"]

/**
 * A unit is read in one piece: an object, an index entry, the pods of one owner. etcd accepts no object above 1.5 MiB; a header that
 * announces more than this is a broken file, not a reason to fill the memory.
 */
const MAX_UNIT_BYTES = 64 * 1024 * 1024

/** Beyond this second, in the year 2255, µs are no longer exact numbers. */
const LAST_SECOND = Math.floor(Number.MAX_SAFE_INTEGER / 1_000_000)

/** How the maps of a trace are read, from the header to the last byte. */
export interface SimkubeValues<Value> {
  readonly object: (reader: MessagePackReader) => Value
  /** Creates `config` of the item of that name; default: none. */
  readonly config?: (reader: MessagePackReader) => Value
}

/**
 * {@link SimkubeTraceReader} with objects in a form that the caller chooses. Push bytes, take items; call {@link end} after the last bytes.
 */
export class SimkubeItemReader<Value> {
  readonly #values: SimkubeValues<Value>
  readonly #frames: Frame[] = []
  #isDone = false
  /** Bytes pushed but not read: a contiguous start, and the chunks after it. */
  #bytes: Uint8Array = new Uint8Array(0)
  #arrived: Uint8Array[] = []
  #arrivedLength = 0
  /** Bytes needed before the current unit is tried again. */
  #wanted = 1
  /** Bytes of the file before `#bytes`. */
  #offset = 0

  constructor(values: SimkubeValues<Value>) {
    this.#values = values
  }

  /**
   * Reads the next bytes of the file and returns the items they complete. The bytes may be reused afterwards.
   * @throws SimkubeTraceError
   */
  *push(chunk: Uint8Array): Generator<SimkubeTraceItem<Value>> {
    if (this.#isDone) return
    this.#arrived.push(new Uint8Array(chunk))
    this.#arrivedLength += chunk.length
    if (this.#bytes.length + this.#arrivedLength >= this.#wanted) yield* this.#read(false)
  }

  /**
   * The bytes have ended: returns the items completed by that.
   * @throws SimkubeTraceError (`truncated`) if the trace is not complete.
   */
  *end(): Generator<SimkubeTraceItem<Value>> {
    if (!this.#isDone) yield* this.#read(true)
  }

  *#read(isEnd: boolean): Generator<SimkubeTraceItem<Value>> {
    this.#bytes = Buffer.concat([this.#bytes, ...this.#arrived])
    this.#arrived = []
    this.#arrivedLength = 0
    const reader = new MessagePackReader(this.#bytes)
    while (!this.#isDone) {
      const start = reader.position
      const items = this.#attempt(reader, isEnd)
      if (items === undefined) {
        const left = this.#bytes.length - start
        this.#bytes = this.#bytes.subarray(start)
        this.#offset += start
        // Waits for twice the bytes before the next attempt, so that a large unit is read in linear time, however small the chunks.
        this.#wanted = 2 * left + 1
        return
      }
      yield* items
    }
  }

  /** One step, or `undefined` if not all its bytes have arrived. */
  #attempt(reader: MessagePackReader, isEnd: boolean): ReadonlyArray<SimkubeTraceItem<Value>> | undefined {
    const start = reader.position
    try {
      return this.#step(reader)
    } catch (error) {
      if (!(error instanceof MessagePackError)) throw error
      const isTruncated = error.reason === "truncated"
      if (isTruncated && !isEnd && this.#bytes.length - start <= MAX_UNIT_BYTES) return undefined
      throw this.#error(isTruncated && isEnd ? "truncated" : "malformed", error.offset, error.detail)
    }
  }

  /** Reads one unit. Nothing but the position changes before the whole unit is read, so that it can be read again. */
  #step(reader: MessagePackReader): ReadonlyArray<SimkubeTraceItem<Value>> {
    const frame = this.#frames.at(-1)
    if (frame === undefined) return this.#enter({ in: "trace", left: this.#topLevel(reader), seen: new Set() })
    if (frame.left === 0) return this.#leave(frame, reader)
    const items = this.#unit(frame, reader)
    frame.left--
    return items
  }

  #unit(frame: Frame, reader: MessagePackReader): ReadonlyArray<SimkubeTraceItem<Value>> {
    switch (frame.in) {
      case "trace":
        return this.#section(frame.seen, reader)
      case "events":
        return this.#event(reader)
      case "event":
        return this.#eventField(frame, reader)
      case "objects":
        return [{ type: frame.type, seconds: frame.seconds, object: this.#values.object(reader) }]
      case "index": {
        const gvk = reader.readString()
        return this.#enter({ in: "names", left: reader.readMapHeader(), gvk })
      }
      case "names":
        return [{ type: "index", gvk: frame.gvk, name: reader.readString(), hash: readHash(reader) }]
      case "lifecycles":
        return [{ type: "lifecycles", ...readOwnedLifecycles(reader) }]
    }
  }

  #enter(frame: Frame): [] {
    this.#frames.push(frame)
    return []
  }

  #leave(frame: Frame, reader: MessagePackReader): [] {
    if (frame.in === "event" && !(frame.seen.has("applied_objs") && frame.seen.has("deleted_objs")))
      throw this.#error("malformed", reader.position, "an event without applied_objs or deleted_objs")
    if (frame.in === "trace") {
      const missing = REQUIRED.filter((key) => !frame.seen.has(key))
      if (missing.length > 0) throw this.#error("malformed", reader.position, `without ${missing.join(", ")}`)
      // SimKube ignores whatever follows.
      this.#isDone = true
    }
    this.#frames.pop()
    return []
  }

  #topLevel(reader: MessagePackReader): number {
    if (reader.peek() === "array")
      throw this.#error("version", reader.position, "version 1, which SimKube up to 1.1.1 wrote and no later one reads")
    return reader.readMapHeader()
  }

  #section(seen: Set<string>, reader: MessagePackReader): ReadonlyArray<SimkubeTraceItem<Value>> {
    const start = reader.position
    const key = reader.readString()
    if (seen.has(key)) throw this.#error("malformed", start, `two values for ${JSON.stringify(key)}`)
    const items = this.#sectionValue(key, reader)
    seen.add(key)
    return items
  }

  #sectionValue(key: string, reader: MessagePackReader): ReadonlyArray<SimkubeTraceItem<Value>> {
    const start = reader.position
    switch (key) {
      case "version": {
        const version = reader.readInteger()
        if (version !== SIMKUBE_TRACE_VERSION)
          throw this.#error("version", start, `version ${version}, expected ${SIMKUBE_TRACE_VERSION}`)
        return []
      }
      case "config": {
        const trackedObjects = readTrackedObjects(reader.readJsonObject().trackedObjects)
        if (trackedObjects === undefined) throw this.#error("malformed", start, "config.trackedObjects is invalid")
        if (this.#values.config === undefined) return [{ type: "config", trackedObjects }]
        reader.position = start
        return [{ type: "config", trackedObjects, config: this.#values.config(reader) }]
      }
      case "events":
        return this.#enter({ in: "events", left: reader.readArrayHeader() })
      case "index":
        return this.#enter({ in: "index", left: reader.readMapHeader() })
      case "pod_lifecycles":
        return this.#enter({ in: "lifecycles", left: reader.readMapHeader() })
      default:
        reader.skip()
        return []
    }
  }

  /** Streams an event whose `ts` comes first, as all programs write it; any other order is read as one unit. */
  #event(reader: MessagePackReader): ReadonlyArray<SimkubeTraceItem<Value>> {
    const start = reader.position
    const left = reader.readMapHeader() - 1
    if (left >= 0 && reader.readString() === "ts") {
      const seconds = readSeconds(reader)
      const next = left > 0 && reader.readString()
      if (next === "applied_objs") {
        const objects = reader.readArrayHeader()
        this.#enter({ in: "event", left: left - 1, seconds, seen: new Set(["ts", "applied_objs"]) })
        this.#enter({ in: "objects", left: objects, seconds, type: "applied" })
        return [{ type: "event", seconds }]
      }
    }
    reader.position = start
    return readWholeEvent(reader, this.#values)
  }

  #eventField(frame: Frame & { in: "event" }, reader: MessagePackReader): ReadonlyArray<SimkubeTraceItem<Value>> {
    const start = reader.position
    const key = reader.readString()
    if (frame.seen.has(key)) throw this.#error("malformed", start, `two values for ${JSON.stringify(key)} in an event`)
    if (key === "deleted_objs") {
      const left = reader.readArrayHeader()
      this.#enter({ in: "objects", left, seconds: frame.seconds, type: "deleted" })
    } else reader.skip()
    frame.seen.add(key)
    return []
  }

  #error(reason: SimkubeTraceError["reason"], offset: number, detail: string): SimkubeTraceError {
    return new SimkubeTraceError({ reason, offset: this.#offset + offset, detail })
  }
}

/** Reads objects as values of exact JSON. */
export class SimkubeTraceReader extends SimkubeItemReader<JsonObject> {
  constructor() {
    super({ object: (reader) => reader.readJsonObject() })
  }
}

const unexpected = (offset: number, detail: string): MessagePackError =>
  new MessagePackError({ reason: "type", offset, detail })

const readSeconds = (reader: MessagePackReader): number => {
  const start = reader.position
  const seconds = reader.readInteger()
  if (typeof seconds === "bigint" || Math.abs(seconds) > LAST_SECOND)
    throw unexpected(start, "a time out of range: beyond 2^53 µs")
  return seconds
}

const readObjects = <Value>(reader: MessagePackReader, values: SimkubeValues<Value>): ReadonlyArray<Value> => {
  const objects: Value[] = []
  for (let left = reader.readArrayHeader(); left > 0; left--) objects.push(values.object(reader))
  return objects
}

const readWholeEvent = <Value>(
  reader: MessagePackReader,
  values: SimkubeValues<Value>,
): ReadonlyArray<SimkubeTraceItem<Value>> => {
  const start = reader.position
  let seconds: number | undefined
  let applied: ReadonlyArray<Value> | undefined
  let deleted: ReadonlyArray<Value> | undefined
  for (let left = reader.readMapHeader(); left > 0; left--) {
    const key = reader.readString()
    if (key === "ts" && seconds === undefined) seconds = readSeconds(reader)
    else if (key === "applied_objs" && applied === undefined) applied = readObjects(reader, values)
    else if (key === "deleted_objs" && deleted === undefined) deleted = readObjects(reader, values)
    else if (key === "ts" || key === "applied_objs" || key === "deleted_objs")
      throw unexpected(start, `two values for ${key} in an event`)
    else reader.skip()
  }
  if (seconds === undefined || applied === undefined || deleted === undefined)
    throw unexpected(start, "an event without ts, applied_objs or deleted_objs")
  const at = seconds
  return [
    { type: "event", seconds: at },
    ...applied.map((object) => ({ type: "applied", seconds: at, object }) as const),
    ...deleted.map((object) => ({ type: "deleted", seconds: at, object }) as const),
  ]
}

const readOwnedLifecycles = (reader: MessagePackReader): OwnedLifecycles => {
  const start = reader.position
  if (reader.readArrayHeader() !== 2) throw unexpected(start, "a key of pod_lifecycles is not [gvk, name]")
  const gvk = reader.readString()
  const owner = reader.readString()
  const pods = new Map<bigint, ReadonlyArray<PodLifecycle>>()
  for (let left = reader.readMapHeader(); left > 0; left--) {
    const hash = readHash(reader)
    const list: PodLifecycle[] = []
    for (let pod = reader.readArrayHeader(); pod > 0; pod--) list.push(readLifecycle(reader))
    pods.set(hash, list)
  }
  return { gvk, owner, pods }
}

/** `"Empty"`, `{"Running": start}` or `{"Finished": [start, end]}`. */
const readLifecycle = (reader: MessagePackReader): PodLifecycle => {
  const start = reader.position
  if (reader.peek() === "string" && reader.readString() === "Empty") return { state: "empty" }
  reader.position = start
  if (reader.readMapHeader() === 1) {
    const state = reader.readString()
    if (state === "Running") return { state: "running", start: readSeconds(reader) }
    if (state === "Finished" && reader.readArrayHeader() === 2)
      return { state: "finished", start: readSeconds(reader), end: readSeconds(reader) }
  }
  throw unexpected(start, "a pod lifecycle is neither Empty, Running nor Finished")
}

/**
 * Reads a trace from chunks in memory or pieces of a file. Lazy: stops reading `chunks` when its own reader stops.
 * @throws SimkubeTraceError
 */
export function* readSimkubeTrace(chunks: Iterable<Uint8Array>): Generator<SimkubeTraceItem> {
  const reader = new SimkubeTraceReader()
  for (const chunk of chunks) yield* reader.push(chunk)
  yield* reader.end()
}

/** Unsigned: another format could not hold a negative one, and SimKube refuses it. */
const readHash = (reader: MessagePackReader): bigint => {
  const offset = reader.position
  const hash = BigInt(reader.readInteger())
  if (hash < 0n) throw new MessagePackError({ reason: "type", offset, detail: "expected an unsigned integer" })
  return hash
}
