/**
 * The events of a trace as rows: what happened to which object, and what changed in it.
 *
 * Memory: the last state of each object that is alive, as JSON.
 */
import { wasJustCreated } from "../../creation.ts"
import type { ObjectEvent } from "../../event.ts"
import { isSameScalar } from "../../json/difference.ts"
import { isJsonObject, type JsonObject, type JsonValue, parseExactJson } from "../../json/exact-json.ts"
import { groupKindOf } from "../../ownership/ownership.ts"
import { guarded, memberIn, microsIn, objectOf } from "../lives/trace-object.ts"

// Where two JSON values differ, as JSON pointers (RFC 6901): `/spec/replicas`, `/metadata/labels/app.kubernetes.io~1name`.
//
// For programs: each pointer follows from the values alone, and items of lists are compared by their position. For people there is
// difference.ts, which finds an inserted item.

/**
 * The pointers of the smallest differing parts: a member or an item that is in one value only is one pointer. In the order of the members of
 * `before`, new ones last. The whole values are compared as objects, so the empty pointer occurs only if one of them is none.
 *
 * @param isLeftOut leaves out the part at a pointer with all below it
 * @throws RangeError if the values are nested too deeply for the engine's stack
 */
export const changedPointers = (
  before: JsonValue,
  after: JsonValue,
  isLeftOut: (pointer: string) => boolean = () => false,
): ReadonlyArray<string> => {
  const found: string[] = []
  const compare = (pointer: string, one: JsonValue | undefined, other: JsonValue | undefined): void => {
    if (isSameScalar(one, other) || isLeftOut(pointer)) return
    if (isJsonObject(one) && isJsonObject(other)) {
      for (const key of Object.keys(one)) compare(below(pointer, key), one[key], ownOf(other, key))
      for (const key of Object.keys(other))
        if (!Object.hasOwn(one, key)) compare(below(pointer, key), undefined, other[key])
    } else if (Array.isArray(one) && Array.isArray(other)) {
      for (let index = 0; index < Math.max(one.length, other.length); index++)
        compare(`${pointer}/${index}`, one[index], other[index])
    } else found.push(pointer)
  }
  compare("", before, after)
  return found
}

const ownOf = (object: Readonly<Record<string, JsonValue>>, key: string): JsonValue | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined

const below = (pointer: string, key: string): string =>
  `${pointer}/${key.includes("~") || key.includes("/") ? key.replaceAll("~", "~0").replaceAll("/", "~1") : key}`

/**
 * - `listed`: it existed before: at the start of the trace, or so long before it was first seen that it must have been in a list
 * - `created`, `updated`, `deleted`: as it happened
 */
type Operation = "listed" | "created" | "updated" | "deleted"

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
