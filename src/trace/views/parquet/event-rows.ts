/**
 * The events of a trace as rows: what happened to which object, and what changed in it.
 *
 * Memory: the last state of each object that is alive, as JSON.
 */
import { wasJustCreated } from "../../creation.ts"
import type { ObjectEvent } from "../../event.ts"
import { changedPointers } from "../../json/changed-pointers.ts"
import { type JsonObject, parseExactJson } from "../../json/exact-json.ts"
import { groupKindOf } from "../../ownership/ownership.ts"
import { guarded, memberIn, microsIn, objectOf } from "../trace-object.ts"

/**
 * - `listed`: it existed before: at the start of the trace, or so long before it was first seen that it must have been in a list
 * - `created`, `updated`, `deleted`: as it happened
 */
export type Operation = "listed" | "created" | "updated" | "deleted"

/** One event. `null`: the trace does not have it. */
export interface EventRow {
  /** µs since the Unix epoch. */
  readonly time: number
  readonly kind: string
  readonly apiVersion: string
  /** `null`: the object is cluster-scoped. */
  readonly namespace: string | null
  readonly name: string
  readonly uid: string | null
  readonly resourceVersion: string | null
  readonly operation: Operation
  /** Of an update: JSON pointers of what differs from the object's state before. `null`: it is none, or what it was before is not known. */
  readonly changed: ReadonlyArray<string> | null
  /** The object as in the trace, with memory of its own; `null`: a deletion without it. */
  readonly object: Uint8Array | null
}

/** The name of the view, for messages. */
export const VIEW = "parquet"

/** What every change of an object changes. */
const bookkeeping: ReadonlySet<string> = new Set(["/metadata/resourceVersion", "/metadata/managedFields"])

interface LastState {
  readonly uid: string
  readonly object: Uint8Array
}

/** Turns the events of one trace into rows, in their order. */
export class EventRows {
  readonly #states = new Map<string, LastState>()

  /** @throws UnwritableTraceError if the object cannot be read */
  rowOf(event: ObjectEvent, isSnapshot: boolean): EventRow {
    const { gvk, namespace, name, uid, action } = event
    const parsed = objectOf(event, VIEW)
    const object = parsed === undefined ? null : new Uint8Array(event.object)
    const key = `${groupKindOf(gvk)} ${namespace}/${name}`
    const known = this.#states.get(key)
    // An object that took the name of another has no state before.
    const before = known === undefined || (known.uid !== uid && known.uid !== "" && uid !== "") ? undefined : known
    if (action !== "applied") {
      if (before !== undefined) this.#states.delete(key)
    } else this.#states.set(key, { uid, object: object ?? new Uint8Array(0) })
    const dot = gvk.lastIndexOf(".")
    return {
      time: event.time,
      kind: gvk.slice(dot + 1),
      apiVersion: gvk.slice(0, Math.max(0, dot)),
      namespace: orNull(namespace),
      name,
      uid: orNull(uid),
      resourceVersion: orNull(event.resourceVersion),
      operation: operationOf(event, isSnapshot, before !== undefined, parsed),
      changed: changedIn(event, before, parsed),
      object,
    }
  }
}

const operationOf = (
  { action, time }: ObjectEvent,
  isSnapshot: boolean,
  isKnown: boolean,
  object: JsonObject | undefined,
): Operation => {
  if (action !== "applied") return "deleted"
  if (isKnown) return "updated"
  if (isSnapshot) return "listed"
  const created = microsIn(memberIn(object, "metadata"), "creationTimestamp")
  return created === undefined || wasJustCreated(created, time) ? "created" : "listed"
}

const changedIn = (
  event: ObjectEvent,
  before: LastState | undefined,
  after: JsonObject | undefined,
): ReadonlyArray<string> | null => {
  // A trace of SimKube has stubs for deletions, of which everything would differ.
  if (event.action !== "applied" || before === undefined || after === undefined || before.object.length === 0)
    return null
  return guarded(event, VIEW, () =>
    changedPointers(parseExactJson(before.object), after, (pointer) => bookkeeping.has(pointer)),
  )
}

const orNull = (text: string): string | null => (text === "" ? null : text)
