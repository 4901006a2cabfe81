/** The rows of a file: which objects exist when, and who owns whom. */

import {
  kindsWithoutLanes,
  type LaneObject,
  type LaneRow,
  LaneTree,
  laneRows,
  type Tone,
  tones,
} from "../../timeline/index.ts"
import type { LaneFilter, Span } from "../source/source.ts"
import { eventTypes, type FileObject, type RecordedEvents } from "./recorded-events.ts"

/** Trees that are kept: of what is looked at, and of what was before it. */
const MOST_TREES = 4

export const laneOfNumber = (number: number): string => `object/${number}`

/** `undefined`: it is no lane of an object. */
export const numberOfLane = (lane: string): number | undefined => {
  const found = /^object\/(\d+)$/.exec(lane)?.[1]
  return found === undefined ? undefined : Number(found)
}

/** Traces of other tools have no UIDs: then kind, namespace and name say who is who. No UID has a space. */
const identityOf = ({ gvk, namespace, name, uid }: LaneObject): string =>
  uid === "" ? `${gvk} ${namespace} ${name}` : uid

/** What the page is given of it. */
export const withTrueUid = (object: LaneObject): LaneObject =>
  object.uid.includes(" ") ? { ...object, uid: "" } : object

/** Which objects are asked for, by what is in their names. */
export const isAsked =
  ({ kinds, namespace, find = "" }: LaneFilter): ((object: FileObject) => boolean) =>
  (object) =>
    (kinds === undefined || kinds.includes(object.gvk)) &&
    (namespace === undefined || object.namespace === namespace) &&
    object.name.toLowerCase().includes(find.toLowerCase())

/** Rows of a file, as trees. */
export class FileLanes {
  readonly #events: RecordedEvents
  readonly #trees = new Map<string, LaneTree>()

  constructor(events: RecordedEvents) {
    this.#events = events
  }

  /** Of the objects that existed at some moment of the span. */
  treeOf({ from, to, kinds, namespace, find }: Span & LaneFilter): LaneTree {
    const key = JSON.stringify([from, to, kinds, namespace, find])
    const known = this.#trees.get(key)
    if (known !== undefined) return known
    const rows: LaneRow[] = []
    const matches = isAsked({ ...(kinds && { kinds }), ...(namespace !== undefined && { namespace }) })
    for (const [number, object] of this.#events.objects.entries())
      if (
        matches(object) &&
        (kinds !== undefined || !kindsWithoutLanes.includes(object.gvk)) &&
        this.#existed(number, from, to)
      )
        rows.push(rowOf(number, object))
    const tree = new LaneTree(laneRows(rows), find)
    this.#trees.set(key, tree)
    const [oldest] = this.#trees.keys()
    if (this.#trees.size > MOST_TREES && oldest !== undefined) this.#trees.delete(oldest)
    return tree
  }

  /** The object and what it owned, directly or not. */
  ownedBy(number: number): ReadonlyArray<number> {
    const children = new Map<string, number[]>()
    const { objects } = this.#events
    for (const [at, object] of objects.entries())
      for (const owner of object.owners) {
        const identity = identityOf({ ...owner, namespace: object.namespace })
        const known = children.get(identity)
        if (known === undefined) children.set(identity, [at])
        else known.push(at)
      }
    const found = new Set([number])
    // A set also iterates what is added meanwhile, and nothing twice: circles end.
    for (const each of found)
      for (const child of children.get(identityOf(objects[each] as FileObject)) ?? []) found.add(child)
    return [...found]
  }

  /** Its owners, and theirs. */
  ownersOf(number: number): ReadonlyArray<number> {
    const { objects } = this.#events
    const byIdentity = new Map(objects.map((object, at) => [identityOf(object), at]))
    const found = new Set([number])
    for (const each of found)
      for (const owner of objects[each]?.owners ?? []) {
        const above = byIdentity.get(identityOf({ ...owner, namespace: objects[each]?.namespace ?? "" }))
        if (above !== undefined) found.add(above)
      }
    found.delete(number)
    return [...found]
  }

  /** The number of an object; of several of the same name, the last. */
  find({ gvk, namespace, name, uid }: Omit<LaneObject, "uid"> & { readonly uid?: string }): number | undefined {
    const found = this.#events.objects.findLastIndex(
      (object, at) =>
        object.name === name &&
        object.namespace === namespace &&
        object.gvk === gvk &&
        (uid === undefined || uid === "" || object.uid === uid) &&
        this.#events.of(at).length > 0,
    )
    return found < 0 ? undefined : found
  }

  /** The tone that an object has just before a moment. What is first seen as it is deleted existed. */
  toneBefore(number: number, time: number): Tone {
    const { times } = this.#events
    let tone: Tone | undefined
    for (const event of this.#events.of(number)) {
      const type = this.#events.typeAt(event)
      if (type === eventTypes.listed || (times[event] as number) < time) tone = this.#events.toneAt(event)
      else return tone ?? (type >= eventTypes.deleted ? tones.plain : tones.absent)
    }
    return tone ?? tones.absent
  }

  #existed(number: number, from: number, to: number): boolean {
    const events = this.#events.of(number)
    const [first] = events
    if (first === undefined) return false
    if (this.toneBefore(number, from) !== tones.absent) return true
    return events.some((event) => {
      const time = this.#events.times[event] as number
      return time >= from && time <= to
    })
  }
}

const rowOf = (number: number, object: FileObject): LaneRow => ({
  ...{ ...object, uid: identityOf(object), id: laneOfNumber(number) },
  owners: object.owners.map((owner) => ({ ...owner, uid: identityOf({ ...owner, namespace: object.namespace }) })),
})
