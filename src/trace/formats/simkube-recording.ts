/** A recording on its way into SimKube's format: sanitised, with whole seconds and a computed index (SimkubeTraceWriter). */

import { isJsonObject, parseExactJson } from "../exact-json.ts"
import { DEFAULT_TEMPLATE_PATHS, readTrackedObjects, type TrackedObjects } from "../simkube-config.ts"
import type { OwnedLifecycles } from "../simkube-trace.ts"
import { SimkubeTraceWriter } from "../simkube-trace-writer.ts"
import { type EncoderOptions, type LeftOut, UnwritableTraceError } from "./format.ts"
import type { TraceHeader, TraceItem } from "./trace-item.ts"

const MICROS = 1_000_000

/** The reason why a trace has no form in SimKube's format. */
export const unwritable = (detail: string): UnwritableTraceError =>
  new UnwritableTraceError({ format: "simkube", detail })

/**
 * What a recorder recorded, for SimKube. Throws UnwritableTraceError, UnwritableChangeError, MalformedJsonError, SpoolError.
 */
export class RecordingWriter {
  readonly #header: TraceHeader
  readonly #options: EncoderOptions
  readonly #lifecycles: OwnedLifecycles[] = []
  #tracked: TrackedObjects
  #start: number | undefined
  #writer: SimkubeTraceWriter | undefined
  #gaps = 0

  constructor(header: TraceHeader, options: EncoderOptions) {
    this.#header = header
    this.#options = options
    const noPaths = { podSpecTemplatePaths: [], trackLifecycle: false, skipOwned: false }
    // Who does not say what was recorded may have recorded anything that SimKube knows.
    const kinds = header.kinds.length > 0 ? header.kinds : [...DEFAULT_TEMPLATE_PATHS.keys()]
    this.#tracked = new Map(kinds.map((gvk) => [gvk, noPaths]))
  }

  get leftOut(): LeftOut {
    const objects = this.#writer?.leftOut ?? new Map<string, number>()
    return { gaps: this.#gaps, incomplete: this.#header.incomplete.length, objects }
  }

  add(item: Exclude<TraceItem, { type: "header" }>): void {
    if (item.type === "config") return this.#configure(item.config)
    if (item.type === "lifecycles") this.#lifecycles.push(item)
    // The times of events say as well what happened at once; the index is computed.
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
    if (item.isSnapshot) writer.addSnapshot({ gvk, namespace, name, object })
    else writer.add({ gvk, namespace, name, time, action, object })
  }

  finish(): Iterable<Uint8Array> {
    return this.#open(0).finish(this.#lifecycles)
  }

  #configure(config: Uint8Array): void {
    const value = parseExactJson(config)
    const tracked = isJsonObject(value) ? readTrackedObjects(value.trackedObjects) : undefined
    if (tracked === undefined) throw unwritable("config.trackedObjects has another shape")
    this.#tracked = tracked
  }

  /** Opened late: the configuration may come after the header, and the window may say nothing of its start. */
  #open(time: number): SimkubeTraceWriter {
    this.#writer ??= new SimkubeTraceWriter({
      trackedObjects: this.#tracked,
      startSeconds: Math.floor((this.#header.window?.start ?? this.#start ?? time) / MICROS),
      ...(this.#header.window !== undefined && { endMarkerSeconds: Math.floor(this.#header.window.end / MICROS) }),
      spool: this.#options.spool(),
    })
    return this.#writer
  }
}
