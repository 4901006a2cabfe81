/**
 * Writes the NDJSON format (see ndjson.ts). Objects are copied, never parsed; memory is one chunk.
 *
 * A returned chunk belongs to the caller: every chunk has its own memory and may cross a thread or wait in a socket.
 */

import type { ObjectEvent, TraceEvent } from "../../event.ts"
import { compactJson } from "../../json/compact-json.ts"
import { REMOVED_FOR_REPLAY, type TraceItem } from "../../trace-item.ts"
import { BadTraceError, nothingLeftOut, type TraceDecoder, type TraceEncoder, UnwritableTraceError } from "../format.ts"
import type { OwnedLifecycles } from "../simkube/simkube-trace.ts"
import { NDJSON_FORMAT, NDJSON_VERSION, NdjsonError, type NdjsonHeader, type NdjsonItem } from "./ndjson.ts"
import { NdjsonReader } from "./ndjson-reader.ts"

/** A chunk is returned once it is this full: as much as a socket or file takes in one write. */
const CHUNK_BYTES = 64 * 1024

/** Add events in order; after each, {@link take} returns a chunk if one is full; finally {@link end}. */
export class NdjsonWriter {
  #bytes = Buffer.allocUnsafeSlow(CHUNK_BYTES + 8 * 1024)
  #length = 0
  #snapshot = 0
  #events = 0
  #gaps = 0
  /** Counted only where there are any. */
  readonly #others: { configs?: number; batches?: number; index?: number; lifecycles?: number } = {}

  constructor(header: NdjsonHeader) {
    const { window = null, cut, kinds, incomplete, clusterUid } = header
    const sanitised = header.sanitised ?? "none"
    const marks = sanitised === "none" ? {} : { sanitised: { for: sanitised, removed: removedFor[sanitised] } }
    const { late, times, withoutStatus, livesFrom } = header
    const facts = { window, cut, kinds, incomplete, late, times, withoutStatus, livesFrom, ...marks, clusterUid }
    this.#line(JSON.stringify({ format: NDJSON_FORMAT, version: NDJSON_VERSION, ...facts }))
  }

  /** Adds any item but the header. Its bytes are copied. */
  addItem(item: Exclude<TraceItem, { type: "header" }>): void {
    switch (item.type) {
      case "event":
        return item.isSnapshot && item.event.type === "object" ? this.addSnapshot(item.event) : this.add(item.event)
      case "config":
        this.#count("configs")
        return this.#wrapped('{"config":', item.config)
      case "batch":
        this.#count("batches")
        return this.#line(JSON.stringify({ batch: { time: item.time } }))
      case "index": {
        this.#count("index")
        const { gvk, name, hash } = item
        return this.#line(JSON.stringify({ index: { gvk, name, hash: String(hash) } }))
      }
      case "lifecycles":
        this.#count("lifecycles")
        return this.#line(JSON.stringify({ lifecycles: lifecyclesFields(item) }))
    }
  }

  /** Adds an object of the start snapshot. Its bytes are copied. */
  addSnapshot(event: ObjectEvent): void {
    this.#snapshot++
    this.#object(event, ',"snapshot":true')
  }

  /** Adds an event or a gap. An object's bytes are copied. */
  add(event: TraceEvent): void {
    if (event.type === "gap") {
      const { type, sequence, time, ...rest } = event
      this.#gaps++
      this.#line(JSON.stringify({ sequence, time, action: type, ...rest }))
    } else {
      this.#events++
      this.#object(event, "")
    }
  }

  /** A full chunk, or `undefined` if none is full yet. */
  take(): Uint8Array | undefined {
    return this.#length >= CHUNK_BYTES ? this.#chunk() : undefined
  }

  /** Adds the last line and returns the rest. `unchanged`: changes that were left out because the sanitised object is the same. */
  end(unchanged = 0): Uint8Array {
    const left = unchanged > 0 ? { unchanged } : {}
    const counts = { snapshot: this.#snapshot, events: this.#events, gaps: this.#gaps, ...this.#others, ...left }
    this.#line(JSON.stringify({ end: counts }))
    return this.#chunk()
  }

  #object(event: ObjectEvent, mark: string): void {
    const start =
      `{"sequence":${event.sequence},"time":${event.time}` +
      (event.received === undefined ? "" : `,"received":${event.received}`) +
      `,"action":"${event.action}","gvk":${JSON.stringify(event.gvk)}` +
      `,"uid":${JSON.stringify(event.uid)},"namespace":${JSON.stringify(event.namespace)}` +
      `,"name":${JSON.stringify(event.name)},"resourceVersion":${JSON.stringify(event.resourceVersion)}${mark}`
    if (event.object.length === 0) {
      this.#line(`${start}}`)
      return
    }
    this.#wrapped(`${start},"object":`, event.object)
  }

  #count(what: "configs" | "batches" | "index" | "lifecycles"): void {
    this.#others[what] = (this.#others[what] ?? 0) + 1
  }

  /** A line that consists of `start`, the JSON and a brace. */
  #wrapped(start: string, json: Uint8Array): void {
    const object = compactJson(json)
    this.#text(start)
    this.#reserve(object.length)
    this.#bytes.set(object, this.#length)
    this.#length += object.length
    this.#text("}\n")
  }

  #line(json: string): void {
    this.#text(`${json}\n`)
  }

  #text(text: string): void {
    this.#reserve(3 * text.length)
    this.#length += this.#bytes.write(text, this.#length, "utf8")
  }

  #reserve(space: number): void {
    const needed = this.#length + space
    if (needed <= this.#bytes.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length))
    this.#bytes.copy(grown, 0, 0, this.#length)
    this.#bytes = grown
  }

  #chunk(): Uint8Array {
    const chunk = new Uint8Array(this.#bytes.subarray(0, this.#length))
    this.#length = 0
    return chunk
  }
}

const removedFor = {
  simkube: ["what SimKube's tracer removes"],
  replay: REMOVED_FOR_REPLAY,
} as const

const lifecyclesFields = ({ gvk, owner, pods }: OwnedLifecycles) => ({
  gvk,
  owner,
  pods: [...pods].map(([hash, lives]) => ({ hash: String(hash), lives })),
})

/** A whole file in chunks of about 64 KiB, created as they are taken: header, start snapshot, events, last line. */
export function* writeNdjson(
  header: NdjsonHeader,
  snapshot: Iterable<ObjectEvent>,
  events: Iterable<TraceEvent>,
): Generator<Uint8Array> {
  const writer = new NdjsonWriter(header)
  for (const event of snapshot) {
    writer.addSnapshot(event)
    const chunk = writer.take()
    if (chunk !== undefined) yield chunk
  }
  for (const event of events) {
    writer.add(event)
    const chunk = writer.take()
    if (chunk !== undefined) yield chunk
  }
  yield writer.end()
}

const FORMAT = "ndjson"

export const ndjsonDecoder = (): TraceDecoder => {
  const reader = new NdjsonReader()
  return { push: (chunk) => items(() => reader.push(chunk)), end: () => items(() => reader.end()) }
}

function* items(read: () => Iterable<NdjsonItem>): Generator<TraceItem> {
  try {
    for (const item of read()) if (item.type !== "end") yield item
  } catch (error) {
    if (!(error instanceof NdjsonError)) throw error
    throw new BadTraceError({ format: FORMAT, offset: error.offset, detail: error.message })
  }
}

export const ndjsonEncoder = (): TraceEncoder => {
  let writer: NdjsonWriter | undefined
  const expectWriter = (): NdjsonWriter => {
    if (writer !== undefined) return writer
    throw new UnwritableTraceError({ format: FORMAT, detail: "the trace does not begin with its header" })
  }
  return {
    leftOut: nothingLeftOut,
    add(item) {
      if (item.type === "header") writer = new NdjsonWriter(item)
      else expectWriter().addItem(item)
    },
    take: () => writer?.take(),
    finish: () => [expectWriter().end()],
  }
}
