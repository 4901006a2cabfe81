/**
 * The workloads of scenario *replay*: changes of Deployments at given moments, and the traces that contain them.
 *
 * Deployments are those of the other scenarios (2.9 kB, half of it `managedFields`), as an API server stores them, so that a replay has all
 * of its usual work: parsing, removing what servers generate, rewriting. They want one Pod each, or two after they were scaled.
 */

import type { TraceChange } from "../../src/simulation/index.ts"
import { NdjsonWriter } from "../../src/trace/index.ts"
import { deployments, gvkOf } from "../load/bench-kinds.ts"
import { objectText } from "../load/bench-objects.ts"
import { firstVersion, ObjectTemplate } from "../load/object-template.ts"

/** The namespace of all objects, without the prefix of a replay. */
export const namespace = "bench"

/** µs since the Unix epoch: the first moment of every trace. */
export const traceStart = 1_790_000_000_000_000

/** A state of one Deployment. */
export interface TimedChange {
  /** ms since the first moment. */
  readonly atMs: number
  /** Which Deployment. */
  readonly index: number
  /** Pods that it wants; default 1. */
  readonly replicas?: 2
  /** Only its status differs from its previous state, so a replay sends nothing. */
  readonly isHeartbeat?: boolean
}

export interface ReplayWorkload {
  /** ms of the trace. */
  readonly lengthMs: number
  readonly changes: () => Iterable<TimedChange>
  /** Length of an object in bytes. Default 2,900. */
  readonly objectBytes?: number
}

export const nameOf = (index: number): string => `web-${String(index).padStart(6, "0")}`

/** One new Deployment a second. */
export const onePerSecond = (seconds: number): ReplayWorkload => ({
  lengthMs: seconds * 1000,
  changes: function* () {
    for (let index = 0; index < seconds; index++) yield { atMs: (index + 0.5) * 1000, index }
  },
})

/** `perSecond` new Deployments a second, and `scaled` older ones that get a second Pod. */
export const rollOuts = (seconds: number, perSecond: number, scaled: number): ReplayWorkload => ({
  lengthMs: seconds * 1000,
  changes: function* () {
    const all = perSecond + scaled
    for (let second = 0, created = 0, grown = 0; second < seconds; second++)
      for (let turn = 0; turn < all; turn++) {
        const atMs = second * 1000 + (turn * 1000) / all
        const isScaling = turn >= perSecond
        yield isScaling ? { atMs, index: grown++, replicas: 2 } : { atMs, index: created++ }
      }
  },
})

/** That many new Deployments within one second. */
export const burst = (count: number): ReplayWorkload => ({
  lengthMs: 1000,
  changes: function* () {
    for (let index = 0; index < count; index++) yield { atMs: (index * 1000) / count, index }
  },
})

/** Changes of `objects` Deployments in rotation, at a steady pace. */
export const steadyChanges = (count: number, perSecond: number, objects: number): ReplayWorkload => ({
  lengthMs: (count * 1000) / perSecond,
  changes: function* () {
    for (let change = 0; change < count; change++) yield { atMs: (change * 1000) / perSecond, index: change % objects }
  },
})

/** As above; of each ten states of a Deployment nine differ in their status only. */
export const mostlyHeartbeats = (count: number, objects: number, objectBytes: number): ReplayWorkload => ({
  lengthMs: count,
  objectBytes,
  changes: function* () {
    for (let change = 0; change < count; change++)
      yield { atMs: change, index: change % objects, isHeartbeat: Math.floor(change / objects) % 10 !== 0 }
  },
})

const gvk = gvkOf(deployments)

/** The changes with their bytes, which are valid until the next. */
export function* statesOf({
  changes,
  objectBytes = deployments.lineBytes,
}: ReplayWorkload): Generator<TraceChange, void> {
  const states = new States(objectBytes)
  let sequence = 0
  for (const change of changes()) {
    const time = traceStart + Math.round(change.atMs * 1000)
    yield { time, gvk, namespace, name: nameOf(change.index), object: states.next(change, ++sequence) }
  }
}

/** Chunks of a trace file: NDJSON. */
export function* traceOf(workload: ReplayWorkload): Generator<Uint8Array, void> {
  const window = { start: traceStart, end: traceStart + workload.lengthMs * 1000 }
  const writer = new NdjsonWriter({ window, cut: 1, kinds: [gvk], incomplete: [] })
  let sequence = 0
  for (const { object = new Uint8Array(), ...change } of statesOf(workload)) {
    sequence++
    const resourceVersion = String(firstVersion + sequence)
    writer.add({ type: "object", sequence, action: "applied", uid: change.name, resourceVersion, ...change, object })
    const chunk = writer.take()
    if (chunk !== undefined) yield chunk
  }
  yield writer.end()
}

/** The bytes of each state; valid until the next. */
class States {
  readonly #small: ObjectTemplate
  readonly #grown: ObjectTemplate
  /** The number of the latest change of spec, by Deployment. */
  readonly #changed = new Map<number, number>()

  constructor(objectBytes: number) {
    const text = objectText({ ...deployments, lineBytes: objectBytes }, 0)
    const wanting = (replicas: number): ObjectTemplate =>
      new ObjectTemplate(text.replace('"spec":{"replicas":3', `"spec":{"replicas":${replicas}`))
    this.#small = wanting(1)
    this.#grown = wanting(2)
  }

  next({ index, replicas, isHeartbeat = false }: TimedChange, sequence: number): Uint8Array {
    const template = replicas === 2 ? this.#grown : this.#small
    // Scaling changes the number of Pods only; otherwise their template would change as well.
    if (!isHeartbeat && replicas === undefined) this.#changed.set(index, sequence)
    template.number("index", index)
    template.number("version", firstVersion + sequence)
    template.number("heartbeat", sequence)
    template.number("change", this.#changed.get(index) ?? 0)
    return template.bytes
  }
}
