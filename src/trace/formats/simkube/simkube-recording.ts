/**
 * Writes a recording in SimKube's format: sanitised, with whole seconds and a computed index (SimkubeTraceWriter).
 *
 * Lifecycles are those that the trace lists. If it lists none, they are computed from the status of its pods and listed under the first
 * owner that the trace's configuration tracks. A recorder's NDJSON has no configuration: there a life is listed under the outermost owner
 * in the trace, because controllers recreate everything in between at replay, and its kind is marked as tracking lifecycles.
 */

import { isJsonObject, type JsonObject, parseExactJson } from "../../json/exact-json.ts"
import type { TraceHeader, TraceItem } from "../../trace-item.ts"
import { countIncomplete, type EncoderOptions, type LeftOut, UnwritableTraceError } from "../format.ts"
import { DriverLimits } from "./driver-limits.ts"
import { DEFAULT_TEMPLATE_PATHS, readTrackedObjects, type TrackedObject } from "./simkube-config.ts"
import { namespacedName, type OwnedLifecycles } from "./simkube-trace.ts"
import { SimkubeTraceWriter } from "./simkube-trace-writer.ts"

const MICROS = 1_000_000

/** Why a trace cannot be represented in SimKube's format. */
export const unwritable = (detail: string): UnwritableTraceError =>
  new UnwritableTraceError({ format: "simkube", detail })

/**
 * Writes a recorder's trace for SimKube. Throws UnwritableTraceError, UnwritableChangeError, MalformedJsonError, SpoolError.
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
