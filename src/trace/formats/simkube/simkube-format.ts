/**
 * SimKube's format as a {@link TraceDecoder} and {@link TraceEncoder}.
 *
 * A trace that was decoded from SimKube's format is encoded unchanged, byte for byte (SimkubeCopyWriter). Any other is a recording: its
 * objects are sanitised, its index is computed, its changes become events of whole seconds (SimkubeTraceWriter); gaps, and kinds that
 * SimKube's format cannot represent, are left out and counted. Pod lifecycles come from `lifecycles` items, or else from the facts about
 * the whole trace (RecordingWriter).
 */

import { isJsonObject, MalformedJsonError, parseExactJson } from "../../json/exact-json.ts"
import type { TraceHeader, TraceItem } from "../../trace-item.ts"
import {
  BadTraceError,
  type EncoderOptions,
  type LeftOut,
  nothingLeftOut,
  type TraceDecoder,
  type TraceEncoder,
} from "../format.ts"
import { MessagePackError, type MessagePackValue } from "./message-pack/message-pack.ts"
import { formatOrderedJson } from "./message-pack/message-pack-json.ts"
import type { MessagePackReader } from "./message-pack/message-pack-reader.ts"
import { readTrackedObjects } from "./simkube-config.ts"
import { SimkubeCopyWriter } from "./simkube-copy-writer.ts"
import { RecordingWriter, unwritable } from "./simkube-recording.ts"
import { SimkubeTraceError, UnwritableChangeError } from "./simkube-trace.ts"
import { SimkubeItemReader, type SimkubeTraceItem } from "./simkube-trace-reader.ts"

const FORMAT = "simkube"
const MICROS = 1_000_000

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
