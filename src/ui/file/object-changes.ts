/** The changes of objects as the page shows them, with the fields that differ. */

import { kindsWithoutLanes, type LaneObject } from "../../timeline/index.ts"
import type { ObjectChange, Span } from "../source/source.ts"
import { differencesBetween, isMembers } from "./difference.ts"
import { managersBetween } from "./managers.ts"
import type { ObjectStates, RecordedState } from "./object-states.ts"
import { eventTypes, type RecordedEvents } from "./recorded-events.ts"
import { Turns } from "./turns.ts"

type Members = Readonly<Record<string, unknown>>

/** µs. A watch delivers a new object within seconds: what is older existed, and was in a list. */
const LONGEST_DELIVERY = 60_000_000
/** Characters of what is not JSON that are shown. */
const MOST_SHOWN = 200

/** The kinds of Kubernetes Events. */
export const isEventKind = (gvk: string): boolean => kindsWithoutLanes.includes(gvk)

/** Calls `each` for the changes of the objects in the span, in the order of time. */
export const eachChange = async (
  recorded: { readonly events: RecordedEvents; readonly states: ObjectStates },
  objects: ReadonlyArray<number>,
  { from, to, withStates }: Span & { readonly withStates: boolean },
  { each, signal }: { readonly each: (change: ObjectChange) => void; readonly signal: AbortSignal },
): Promise<void> => {
  const { events, states } = recorded
  const turns = new Turns(signal)
  const asked: Array<{ readonly event: number; readonly time: number }> = []
  for (const number of new Set(objects)) {
    // The states of an object stay in their order, whatever the clocks said.
    let latest = Number.NEGATIVE_INFINITY
    for (const event of events.of(number)) {
      const time = events.times[event] as number
      if (time < from || time > to || events.typeAt(event) === eventTypes.listed) continue
      latest = Math.max(latest, time)
      asked.push({ event, time: latest })
    }
  }
  asked.sort((one, other) => one.time - other.time || one.event - other.event)
  const readers = new Map<number, StepReader>()
  for (const { event } of asked) {
    const number = events.objectAt(event)
    const reader = readers.get(number) ?? new StepReader(events, states, number, event)
    readers.set(number, reader)
    each(changeOf(events, number, reader.step(event), withStates))
    await turns.rest()
  }
}

interface Step {
  readonly before: RecordedState | undefined
  readonly after: RecordedState
  readonly isFirst: boolean
}

/** Reads the states of one object, from the one before the first event that is asked for. */
class StepReader {
  readonly #states: Iterator<RecordedState>
  readonly #first: number
  #last: RecordedState | undefined

  constructor(events: RecordedEvents, states: ObjectStates, number: number, first: number) {
    const all = events.of(number)
    this.#first = all[0] ?? first
    this.#states = states.of(number, Number.POSITIVE_INFINITY, all[Math.max(0, all.indexOf(first) - 1)])
  }

  step(event: number): Step {
    for (;;) {
      const next = this.#states.next()
      if (next.done === true) throw new RangeError("the data of this file is cut off")
      const before = this.#last
      this.#last = next.value
      if (next.value.event === event) return { before, after: next.value, isFirst: event === this.#first }
    }
  }
}

const changeOf = (
  events: RecordedEvents,
  number: number,
  { before, after, isFirst }: Step,
  withStates: boolean,
): ObjectChange => {
  const { event, object } = after
  const { gvk, namespace, name, uid } = events.objects[number] as LaneObject
  const time = events.times[event] as number
  const said = isEventKind(gvk) && object !== undefined ? statementOf(object) : undefined
  const type = typeOf(events, after, { isFirst: isFirst || isGone(events, before), time })
  return {
    ...{ type, object: { gvk, namespace, name, uid }, resourceVersion: events.versionAt(event), time },
    sequence: events.sequences[event] as number,
    // A deletion adds no entry: the newest one is that of an earlier write.
    managers: object === undefined || type === "deleted" ? [] : managersBetween(before?.object, object),
    ...differencesOf(before, after),
    ...(said && { event: said }),
    ...(withStates && object !== undefined && { state: object }),
  }
}

const isGone = (events: RecordedEvents, state: RecordedState | undefined): boolean =>
  state !== undefined && events.typeAt(state.event) >= eventTypes.deleted

const typeOf = (
  events: RecordedEvents,
  { event, object }: RecordedState,
  { isFirst, time }: { readonly isFirst: boolean; readonly time: number },
): ObjectChange["type"] => {
  const type = events.typeAt(event)
  if (type === eventTypes.vanished) return "vanished"
  if (type === eventTypes.deleted) return "deleted"
  if (!isFirst) return "changed"
  const metadata = object?.metadata
  const created = isMembers(metadata) ? Date.parse(String(metadata.creationTimestamp)) * 1000 : Number.NaN
  return time - created <= LONGEST_DELIVERY ? "created" : "appeared"
}

const differencesOf = (
  before: RecordedState | undefined,
  after: RecordedState,
): Pick<ObjectChange, "differences" | "hasMoreDifferences"> => {
  const none = { differences: [], hasMoreDifferences: false }
  if (after.text === "") return none
  if (after.object === undefined) {
    const shown = `not a JSON object: ${after.text.slice(0, MOST_SHOWN)}`.toWellFormed()
    return { ...none, differences: [{ path: "", after: shown }] }
  }
  return before?.object === undefined ? none : differencesBetween(before.object, after.object)
}

/** What a Kubernetes Event says, of either group, and of Events that were written in the other one. */
const statementOf = (object: Members): NonNullable<ObjectChange["event"]> => {
  const about = aboutOf(object)
  const source = isMembers(object.source) ? object.source.component : undefined
  const text = (value: unknown): string => (typeof value === "string" ? value : "")
  return {
    ...{ type: text(object.type), reason: text(object.reason), message: text(object.message) || text(object.note) },
    ...{ about: `${text(about.kind)} ${text(about.name)}`.trim() },
    source: text(source) || text(object.reportingComponent),
  }
}

/** The object that an Event is about. */
export const aboutOf = ({ involvedObject, regarding }: Members): Members => {
  const about = involvedObject ?? regarding
  return isMembers(about) ? about : {}
}
