/**
 * SimKube's format as a {@link TraceDecoder} and {@link TraceEncoder}.
 *
 * A trace that was decoded from SimKube's format is encoded unchanged, byte for byte (SimkubeCopyWriter). Any other is a recording: its
 * objects are sanitised, its index is computed, its changes become events of whole seconds (SimkubeTraceWriter); gaps, and kinds that
 * SimKube's format cannot represent, are left out and counted. Pod lifecycles come from `lifecycles` items, or else from the facts about
 * the whole trace (RecordingWriter).
 */

import { isJsonObject, type JsonObject, MalformedJsonError, parseExactJson } from "../../json/exact-json.ts"
import type { Spool } from "../../spool.ts"
import type { TraceHeader, TraceItem } from "../../trace-item.ts"
import {
  BadTraceError,
  countIncomplete,
  type EncoderOptions,
  type LeftOut,
  nothingLeftOut,
  type TraceDecoder,
  type TraceEncoder,
  UnwritableTraceError,
} from "../format.ts"
import { DriverLimits } from "./driver-limits.ts"
import { MessagePackError, type MessagePackValue } from "./message-pack/message-pack.ts"
import { formatOrderedJson, writeOrderedJson } from "./message-pack/message-pack-json.ts"
import type { MessagePackReader } from "./message-pack/message-pack-reader.ts"
import { MessagePackWriter } from "./message-pack/message-pack-writer.ts"
import { DEFAULT_TEMPLATE_PATHS, readTrackedObjects, type TrackedObject } from "./simkube-config.ts"
import { SimkubeEvents, writeSimkubeFile } from "./simkube-file.ts"
import { namespacedName, type OwnedLifecycles, SimkubeTraceError, UnwritableChangeError } from "./simkube-trace.ts"
import { SimkubeItemReader, type SimkubeTraceItem } from "./simkube-trace-reader.ts"
import { SimkubeTraceWriter } from "./simkube-trace-writer.ts"

const MICROS = 1_000_000

/** Why a trace cannot be represented in SimKube's format. */
export const unwritable = (detail: string): UnwritableTraceError =>
  new UnwritableTraceError({ format: "simkube", detail })

/**
 * Writes a recorder's trace for SimKube. Lifecycles are those that the trace lists. If it lists none, they are computed
 * from the status of its pods and listed under the first owner that the trace's configuration tracks; without a
 * configuration under the outermost owner, because controllers recreate everything in between at replay. @throws
 * UnwritableTraceError, UnwritableChangeError, MalformedJsonError, SpoolError
 */
export class RecordingWriter {
  readonly #header: TraceHeader
  readonly #options: EncoderOptions
  readonly #lifecycles: OwnedLifecycles[] = []
  /** Lifecycles of the trace's pods, for a trace that lists none. */
  #computed: ReadonlyArray<OwnedLifecycles>
  #tracked: Map<string, TrackedObject>
  #start: number | undefined
  #writer: SimkubeTraceWriter | undefined
  #limits: DriverLimits | undefined
  #gaps = 0

  constructor(header: TraceHeader, options: EncoderOptions) {
    this.#header = header
    this.#options = options
    const noPaths = { podSpecTemplatePaths: [], trackLifecycle: false, skipOwned: false }
    // Without a list of kinds, the recording may contain anything that SimKube knows.
    const kinds = header.kinds.length > 0 ? header.kinds : [...DEFAULT_TEMPLATE_PATHS.keys()]
    this.#tracked = new Map(kinds.map((gvk) => [gvk, noPaths]))
    this.#computed = options.facts?.lifecycles("outermost", (gvk) => DEFAULT_TEMPLATE_PATHS.has(gvk)) ?? []
    const owners = new Set(this.#computed.map(({ gvk }) => gvk))
    for (const gvk of owners) if (this.#tracked.has(gvk)) this.#tracked.set(gvk, { ...noPaths, trackLifecycle: true })
  }

  get leftOut(): LeftOut {
    const { leftOut: objects = new Map<string, number>(), unchanged = 0 } = this.#writer ?? {}
    const warnings = this.#limits?.warnings ?? []
    return { gaps: this.#gaps, incomplete: countIncomplete(this.#header.incomplete), objects, unchanged, warnings }
  }

  add(item: Exclude<TraceItem, { type: "header" }>): void {
    if (item.type === "config") return this.#configure(item.config)
    if (item.type === "lifecycles") this.#lifecycles.push(item)
    // The times of events also show what happened together; the index is computed.
    if (item.type === "batch") this.#start ??= item.time
    if (item.type !== "event") return
    const { event } = item
    if (event.type === "gap") {
      this.#gaps++
      return
    }
    const writer = this.#open(event.time)
    const { gvk, namespace, name, time, action } = event
    if (action !== "applied") return writer.add({ gvk, namespace, name, time, action })
    const object = parseExactJson(event.object)
    if (!isJsonObject(object)) throw unwritable(`${gvk} ${namespace}/${name} is not an object`)
    this.#limits?.observe(gvk, namespace, object)
    if (item.isSnapshot) writer.addSnapshot({ gvk, namespace, name, object })
    else writer.add({ gvk, namespace, name, time, action, object })
  }

  finish(): Iterable<Uint8Array> {
    return this.#open(0).finish(this.#lifecycles.length > 0 ? this.#lifecycles : this.#computed)
  }

  #configure(config: Uint8Array): void {
    const value = parseExactJson(config)
    const tracked = isJsonObject(value) ? readTrackedObjects(value.trackedObjects) : undefined
    if (tracked === undefined) throw unwritable("config.trackedObjects is invalid")
    this.#tracked = new Map(tracked)
    const isTracked = (gvk: string): boolean => tracked.get(gvk)?.trackLifecycle === true
    this.#computed = this.#options.facts?.lifecycles("first", isTracked) ?? []
  }

  /** Opened late: the configuration may come after the header, and a window may be absent. */
  #open(time: number): SimkubeTraceWriter {
    this.#limits ??= new DriverLimits(this.#tracked)
    this.#writer ??= new SimkubeTraceWriter({
      trackedObjects: this.#tracked,
      startSeconds: Math.floor((this.#header.window?.start ?? this.#start ?? time) / MICROS),
      ...(this.#header.window !== undefined && { endMarkerSeconds: Math.floor(this.#header.window.end / MICROS) }),
      isOwnerInTrace: ({ namespace }, reference) => this.#isOwnerInTrace(namespace, reference),
      spool: this.#options.spool(),
    })
    return this.#writer
  }

  /** An owner is in its object's namespace, or cluster-scoped. */
  #isOwnerInTrace(namespace: string, reference: JsonObject): boolean {
    const { apiVersion, kind, name } = reference
    if (typeof name !== "string") return false
    const gvk = `${String(apiVersion)}.${String(kind)}`
    const { facts } = this.#options
    const tracked = this.#tracked.get(gvk)
    // Kinds that the format cannot represent are not in the trace.
    if (tracked === undefined || (tracked.podSpecTemplatePaths.length === 0 && !DEFAULT_TEMPLATE_PATHS.has(gvk)))
      return false
    return [namespace, ""].some((space) =>
      facts === undefined
        ? this.#writer?.isIndexed(gvk, namespacedName(space, name)) === true
        : facts.isInTrace(gvk, space, name, reference),
    )
  }
}

/**
 * Rewrites unchanged a SimKube trace that was read before: nothing is sanitised, computed or reordered. Call its
 * methods in the order of the file, then take the chunks of {@link finish}. Objects and configuration are JSON texts.
 * Memory grows with the index, not with the events, which wait in a spool.
 */
export class SimkubeCopyWriter {
  readonly #events: SimkubeEvents
  readonly #value = new MessagePackWriter()
  readonly #index = new Map<string, Map<string, bigint>>()
  readonly #lifecycles: OwnedLifecycles[] = []
  #config: Uint8Array | undefined

  /** The caller disposes of `spool` after the last chunk. */
  constructor(spool: Spool) {
    this.#events = new SimkubeEvents(spool)
  }

  /** Whether there is a configuration; SimKube reads no trace without one. */
  get hasConfig(): boolean {
    return this.#config !== undefined
  }

  /** Whether there is an event for objects to be added to. */
  get hasEvent(): boolean {
    return this.#events.seconds !== undefined
  }

  /** Throws MalformedJsonError, MessagePackError. */
  config(json: Uint8Array): void {
    this.#config = new Uint8Array(this.#encoded(json))
  }

  /** Starts an event; Unix seconds. Throws SpoolError. */
  event(seconds: number): void {
    this.#events.begin(seconds)
  }

  /** Throws MalformedJsonError and MessagePackError, which change nothing, and SpoolError. */
  applied(json: Uint8Array): void {
    const encoded = this.#encoded(json)
    // No file has such an event, but NDJSON may be edited: SimKube applies an event's objects before it deletes any.
    if (this.#events.holdsDeletions) this.#events.begin(this.#events.seconds ?? 0)
    this.#events.apply(encoded)
  }

  /** As {@link applied}. */
  deleted(json: Uint8Array): void {
    this.#events.delete(this.#encoded(json))
  }

  index(gvk: string, name: string, hash: bigint): void {
    const names = this.#index.get(gvk) ?? new Map<string, bigint>()
    this.#index.set(gvk, names.set(name, hash))
  }

  lifecycles(owned: OwnedLifecycles): void {
    this.#lifecycles.push(owned)
  }

  /** The file. Throws SpoolError. */
  *finish(): Generator<Uint8Array> {
    if (this.#config === undefined) throw new Error("a SimKube trace has a configuration")
    this.#events.end()
    yield* writeSimkubeFile(this.#config, this.#events, this.#index, this.#lifecycles)
  }

  #encoded(json: Uint8Array): Uint8Array {
    this.#value.clear()
    writeOrderedJson(this.#value, json)
    return this.#value.view()
  }
}

const FORMAT = "simkube"

/** An object of a trace with its entries in order, and its name. */
interface NamedJson {
  readonly json: Uint8Array
  readonly gvk: string
  readonly namespace: string
  readonly name: string
}

/** Decodes a SimKube trace. The objects of its first event become the start snapshot, as SimKube intends them. */
export const simkubeDecoder = (): TraceDecoder => {
  const reader = new SimkubeItemReader({ object: readNamed, config: readNamed })
  const state = { hasHeader: false, events: 0, sequence: 0 }
  return {
    *push(chunk) {
      if (!state.hasHeader) yield HEADER
      state.hasHeader = true
      yield* guarded(() => reader.push(chunk), state)
    },
    *end() {
      yield* guarded(() => reader.end(), state)
    },
  }
}

const HEADER: TraceItem = { type: "header", cut: 0, kinds: [], incomplete: [], sanitised: "simkube" }

function* guarded(
  read: () => Iterable<SimkubeTraceItem<NamedJson>>,
  state: { events: number; sequence: number },
): Generator<TraceItem> {
  try {
    for (const item of read()) {
      if (item.type === "event") state.events++
      yield toTraceItem(item, state)
    }
  } catch (error) {
    if (!(error instanceof SimkubeTraceError)) throw error
    throw new BadTraceError({ format: FORMAT, offset: error.offset, detail: `${error.reason}: ${error.detail}` })
  }
}

const toTraceItem = (
  item: SimkubeTraceItem<NamedJson>,
  state: { readonly events: number; sequence: number },
): TraceItem => {
  switch (item.type) {
    case "config":
      return { type: "config", config: item.config?.json ?? new Uint8Array() }
    case "event":
      return { type: "batch", time: item.seconds * MICROS }
    case "applied":
    case "deleted": {
      const { json, gvk, namespace, name } = item.object
      const facts = { gvk, namespace, name, action: item.type, uid: "", resourceVersion: "", object: json }
      const event = { type: "object", sequence: ++state.sequence, time: item.seconds * MICROS, ...facts } as const
      return { type: "event", event, isSnapshot: item.type === "applied" && state.events === 1 }
    }
    case "index":
    case "lifecycles":
      return item
  }
}

const readNamed = (reader: MessagePackReader): NamedJson => {
  const start = reader.position
  const value = reader.readValue()
  if (!isMap(value)) throw new MessagePackError({ reason: "type", offset: start, detail: "expected map" })
  let json: string
  try {
    json = formatOrderedJson(value)
  } catch (error) {
    if (!(error instanceof MessagePackError)) throw error
    throw new MessagePackError({ reason: error.reason, offset: start, detail: error.detail })
  }
  const metadata = value.get("metadata")
  const [apiVersion, kind] = [textOf(value, "apiVersion"), textOf(value, "kind")]
  return {
    json: Buffer.from(json),
    gvk: apiVersion === "" && kind === "" ? "" : `${apiVersion}.${kind}`,
    namespace: isMap(metadata) ? textOf(metadata, "namespace") : "",
    name: isMap(metadata) ? textOf(metadata, "name") : "",
  }
}

type ValueMap = ReadonlyMap<MessagePackValue, MessagePackValue>
const isMap = (value: MessagePackValue | undefined): value is ValueMap => value instanceof Map
const textOf = (map: ValueMap, key: string): string => {
  const value = map.get(key)
  return typeof value === "string" ? value : ""
}

/** Encodes a trace for SimKube. No piece is returned before {@link TraceEncoder.finish}: the format puts counts before contents. */
export const simkubeEncoder = (options: EncoderOptions): TraceEncoder => new SimkubeEncoder(options)

class SimkubeEncoder implements TraceEncoder {
  readonly #options: EncoderOptions
  #copy: SimkubeCopyWriter | undefined
  #recording: RecordingWriter | undefined

  constructor(options: EncoderOptions) {
    this.#options = options
  }

  get leftOut(): LeftOut {
    return this.#recording?.leftOut ?? nothingLeftOut
  }

  add(item: TraceItem): void {
    try {
      if (item.type === "header") this.#begin(item)
      else if (this.#copy !== undefined) addCopy(this.#copy, item)
      else this.#expectRecording().add(item)
    } catch (error) {
      throw asUnwritable(error)
    }
  }

  take(): undefined {
    return undefined
  }

  *finish(): Generator<Uint8Array> {
    if (this.#copy === undefined) return yield* this.#expectRecording().finish()
    if (!this.#copy.hasConfig) throw unwritable("the trace has no SimKube configuration")
    yield* this.#copy.finish()
  }

  #begin(header: TraceHeader): void {
    if (header.sanitised === "simkube") this.#copy = new SimkubeCopyWriter(this.#options.spool())
    else this.#recording = new RecordingWriter(header, this.#options)
  }

  #expectRecording(): RecordingWriter {
    if (this.#recording === undefined) throw unwritable("the trace does not begin with its header")
    return this.#recording
  }
}

const addCopy = (writer: SimkubeCopyWriter, item: Exclude<TraceItem, { type: "header" }>): void => {
  switch (item.type) {
    case "config":
      // A line of NDJSON may be edited; a file with such a configuration could not be read again, neither by SimKube nor by us.
      if (!isConfig(item.config)) throw unwritable("its SimKube configuration is invalid: trackedObjects")
      return writer.config(item.config)
    case "batch":
      return writer.event(Math.floor(item.time / MICROS))
    case "event":
      if (item.event.type === "gap") throw unwritable("a trace made by SimKube has no gaps")
      if (item.event.object.length === 0) throw unwritable("a trace made by SimKube has no deletions without object")
      if (!writer.hasEvent) writer.event(Math.floor(item.event.time / MICROS))
      return item.event.action === "applied" ? writer.applied(item.event.object) : writer.deleted(item.event.object)
    case "index":
      return writer.index(item.gvk, item.name, item.hash)
    case "lifecycles":
      return writer.lifecycles(item)
  }
}

const isConfig = (json: Uint8Array): boolean => {
  const config = parseExactJson(json)
  return isJsonObject(config) && readTrackedObjects(config.trackedObjects) !== undefined
}

const asUnwritable = (error: unknown): unknown =>
  error instanceof MalformedJsonError || error instanceof MessagePackError || error instanceof UnwritableChangeError
    ? unwritable(error.message)
    : error
