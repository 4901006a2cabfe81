/**
 * The events of a trace as the interactive view shows them: in order, each with its object and the state before it. It grows while the trace is read.
 *
 * Memory: 30 bytes for each event in arrays of numbers, and the names of each object; states are on disk ({@link PackedStates}).
 */
import { type GapEvent, type ObjectEvent, ownerReferencesIn } from "../../../trace/index.ts"
import type { Finding } from "../../../validation/index.ts"
import { TimeHistogram } from "../time-histogram.ts"
import type { PackedStates } from "./packed-states.ts"
import { StateFindings } from "./state-findings.ts"

/** What happened. `start`: it existed at the start. `vanished`: it was deleted at an unknown time. `missing`: a {@link Shortcoming}. */
const sorts = ["start", "created", "changed", "deleted", "vanished", "missing"] as const
export type EventSort = (typeof sorts)[number]
const missing = sorts.indexOf("missing")

/** Something that the trace lacks: a gap, a kind that is incomplete, the end of a file. Times are µs since the Unix epoch. */
export type Shortcoming = Pick<GapEvent, "gvk" | "namespace" | "fromTime" | "toTime" | "detail"> & {
  /** That of a gap, the state of an incomplete kind, or `cut off`. */
  readonly reason: string
}

/** Added to the number of a sort. */
const estimated = 8

/** One object: of the same name, but with another UID or made again, it is another one. */
export interface ListedObject {
  readonly gvk: string
  readonly namespace: string
  readonly name: string
  /** UIDs of its owners, the controller first; as they were in its first state. */
  readonly owners: ReadonlyArray<string>
  /** It is no object: this is missing, of its kind and namespace. The name is empty; the namespace, too, if it concerns all, and the kind. */
  readonly lacks?: Shortcoming
}

/** How many findings of each severity. */
export interface FindingCounts {
  readonly errors: number
  readonly warnings: number
}

/** That of `reel validate` by default, with which names of namespaces must not be too long. */
export const namespacePrefix = "virtual"

const noFindings: ReadonlyArray<Finding> = []
const noCounts: FindingCounts = { errors: 0, warnings: 0 }

/** Numbers in an array that grows. */
class Column<Numbers extends Float64Array | Uint32Array | Int32Array | Uint8Array> {
  #numbers: Numbers
  readonly #make: (length: number) => Numbers

  constructor(make: (length: number) => Numbers) {
    this.#make = make
    this.#numbers = make(1024)
  }

  set(index: number, number: number): void {
    if (index >= this.#numbers.length) {
      const wider = this.#make(this.#numbers.length * 2)
      wider.set(this.#numbers)
      this.#numbers = wider
    }
    this.#numbers[index] = number
  }

  get(index: number): number {
    return this.#numbers[index] ?? 0
  }
}

/** Add events in their order. Indexes are from 0 on. */
export class EventList {
  readonly objects: ListedObject[] = []
  readonly histogram = new TimeHistogram()
  /** What is wrong with states, as `reel validate` judges by default. */
  readonly judgement = new StateFindings(namespacePrefix)
  readonly #states: PackedStates
  readonly #times = new Column((length) => new Float64Array(length))
  readonly #objectOf = new Column((length) => new Uint32Array(length))
  readonly #sorts = new Column((length) => new Uint8Array(length))
  readonly #pieces = new Column((length) => new Uint32Array(length))
  readonly #offsets = new Column((length) => new Uint32Array(length))
  readonly #lengths = new Column((length) => new Uint32Array(length))
  /** The event before it of the same object, and 0 for none: one more than its index. */
  readonly #previous = new Column((length) => new Uint32Array(length))
  readonly #next = new Column((length) => new Uint32Array(length))
  /** By object: one more than the index of its last event. */
  readonly #last = new Column((length) => new Uint32Array(length))
  readonly #byUid = new Map<string, number>()
  /** By kind and name: where there are no UIDs, the object that exists. */
  readonly #byName = new Map<string, number>()
  #length = 0
  #shortcomings = 0
  #begin: number | undefined

  constructor(states: PackedStates) {
    this.#states = states
  }

  /** Events and shortcomings. */
  get length(): number {
    return this.#length
  }

  get shortcomings(): number {
    return this.#shortcomings
  }

  /** `time`: when it is known of, µs since the Unix epoch; its place in the list. */
  addShortcoming(lacks: Shortcoming, time: number): void {
    const { gvk, namespace } = lacks
    const object = this.objects.push({ gvk, namespace, name: "", owners: [], lacks }) - 1
    this.#row(object, time, missing)
    this.#shortcomings++
  }

  /** Throws SpoolError. */
  add(event: ObjectEvent, isSnapshot: boolean): void {
    const { object, isNew } = this.#objectFor(event)
    const last = this.#last.get(object)
    const isGone = last !== 0 && isDeletion(this.sort(last - 1))
    const created = isSnapshot ? 0 : isNew || isGone ? 1 : 2
    const sort = event.action === "deleted" ? 3 : event.action === "vanished" ? 4 : created
    const place = this.#states.add(event.object)
    this.#pieces.set(this.#length, place.piece)
    this.#offsets.set(this.#length, place.offset)
    this.#row(object, event.time, event.received === undefined ? sort : sort + estimated, place.length)
    if (isSnapshot) return
    this.#begin ??= event.time
    this.histogram.add(event.time)
  }

  #row(object: number, time: number, sort: number, bytes = 0): void {
    const index = this.#length++
    const last = this.#last.get(object)
    this.#times.set(index, time)
    this.#objectOf.set(index, object)
    this.#sorts.set(index, sort)
    this.#lengths.set(index, bytes)
    this.#previous.set(index, last)
    this.#next.set(index, 0)
    if (last > 0) this.#next.set(last - 1, index + 1)
    this.#last.set(object, index + 1)
  }

  /** µs since the Unix epoch: the first event after the state at the start, or the first of all. */
  get begin(): number {
    return this.#begin ?? this.time(0)
  }

  /** µs since the Unix epoch. */
  time(index: number): number {
    return this.#times.get(index)
  }

  sort(index: number): EventSort {
    return sorts[this.#sorts.get(index) % estimated] ?? "changed"
  }

  /** Whether its time is an estimate, because it was received later. */
  isEstimate(index: number): boolean {
    return this.#sorts.get(index) >= estimated
  }

  /** The index of its object. */
  objectOf(index: number): number {
    return this.#objectOf.get(index)
  }

  object(index: number): ListedObject {
    return this.objects[this.objectOf(index)] ?? nothing
  }

  /** The event before or after it of the same object; `undefined`: there is none. */
  previous(index: number): number | undefined {
    return before(this.#previous.get(index))
  }

  next(index: number): number | undefined {
    return before(this.#next.get(index))
  }

  /** The last event of an object. */
  lastOf(object: number): number | undefined {
    return before(this.#last.get(object))
  }

  /** The object of a UID; `undefined`: the trace has none. */
  withUid(uid: string): number | undefined {
    return this.#byUid.get(uid)
  }

  /** JSON of the state; empty if it is not known. Throws SpoolError. */
  state(index: number): Buffer {
    const length = this.#lengths.get(index)
    if (length === 0) return Buffer.alloc(0)
    return this.#states.read({ piece: this.#pieces.get(index), offset: this.#offsets.get(index), length })
  }

  /** What is wrong with the state of an event; nothing before the trace is read. Throws SpoolError. */
  findings(index: number): ReadonlyArray<Finding> {
    if (isDeletion(this.sort(index))) return noFindings
    const { gvk, namespace, name } = this.object(index)
    const state = { event: index, time: this.time(index), read: () => this.state(index) }
    return this.judgement.of({ gvk, namespace, name, ...state })
  }

  findingCounts(index: number): FindingCounts {
    const found = this.findings(index)
    if (found.length === 0) return noCounts
    const errors = found.filter(({ rule }) => rule.severity === "error").length
    return { errors, warnings: found.length - errors }
  }

  #objectFor(event: ObjectEvent): { readonly object: number; readonly isNew: boolean } {
    const { gvk, namespace, name, uid } = event
    const key = uid === "" ? nameOf({ gvk, namespace, name }) : uid
    const known = uid === "" ? this.#byName : this.#byUid
    const found = known.get(key)
    if (found !== undefined) return { object: found, isNew: false }
    const references = event.object.length === 0 ? [] : ownerReferencesIn(event.object)
    const owners = references.toSorted((one, other) => Number(other.controller) - Number(one.controller))
    const object = this.objects.push({ gvk, namespace, name, owners: owners.map((owner) => owner.uid) }) - 1
    known.set(key, object)
    return { object, isNew: true }
  }
}

const nothing: ListedObject = { gvk: "", namespace: "", name: "", owners: [] }

const before = (successor: number): number | undefined => (successor === 0 ? undefined : successor - 1)

/** Whether the object does not exist after it. */
export const isDeletion = (sort: EventSort): boolean => sort === "deleted" || sort === "vanished"

const nameOf = ({ gvk, namespace, name }: Pick<ListedObject, "gvk" | "namespace" | "name">): string =>
  `${gvk}\n${namespace}\n${name}`
