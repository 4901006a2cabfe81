/**
 * The objects of one kind as they were at a moment, with their bytes: those selected, in pages or all at once.
 *
 * Read from the nearest checkpoint and the tables of contents after it; only blocks that hold an object of the answer are decompressed. Two orders:
 * `change`, the most recently changed object first, reads each block once; `name`, as an API server lists, holds the objects of one stretch of names in
 * memory, at most {@link STRETCH_BYTES}, and reads a block once for each stretch. Memory besides: 41 bytes per object alive in the kind, and in the order
 * of names their names.
 */

import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { ObjectEvent } from "../../trace/index.ts"
import { NO_STATES, type ObjectStates } from "../checkpoints/object-states.ts"
import type { KeptKind } from "../rows/kind-table.ts"
import { passedOver } from "./changes.ts"
import { DamageFound } from "./damage-found.ts"
import { contentMatcher, type ObjectSelection, selectsByName } from "./objects/object-selection.ts"
import { namedNumbers, type QueriedRecording } from "./queried-recording.ts"
import { QuestionRefused } from "./query-errors.ts"
import { type Shortcomings, shortcomingsOf } from "./shortcomings.ts"

// Where the next page of a state begins, as a text that clients give back unread.

const Continuation = Schema.Struct({
  gvk: Schema.String,
  time: Schema.Number,
  order: Schema.Literals(["name", "change"]),
  /** All pages read up to the same event. */
  cut: Schema.Number,
  /** The last object of the page before. `place`: `namespace/name`; empty in the order of changes. */
  after: Schema.Struct({ place: Schema.String, sequence: Schema.Number }),
})
type Continuation = typeof Continuation.Type

const Text = Schema.fromJsonString(Continuation)

const writeContinuation = (continuation: Continuation): string =>
  Buffer.from(Schema.encodeSync(Text)(continuation)).toString("base64url")

/** @throws QuestionRefused for a text that is none, or of another question */
const readContinuation = (
  text: string | undefined,
  { gvk, time, order }: Pick<Continuation, "gvk" | "time" | "order">,
): Continuation | undefined => {
  if (text === undefined) return undefined
  const reading = Schema.decodeUnknownResult(Text)(Buffer.from(text, "base64url").toString("utf8"))
  if (Result.isFailure(reading))
    throw new QuestionRefused({ problem: "the continuation is not one of this program", fault: "request" })
  const found = reading.success
  if (found.gvk !== gvk || found.time !== time || found.order !== order)
    throw new QuestionRefused({ problem: "the continuation is of another question", fault: "request" })
  return found
}

// The order of names: where the objects alive at a moment are in it. Those that come first are found in one pass over the names, without sorting the others:
// of 100,000 objects, sorting takes 50 ms.

/** Where an object is in the order of names, and the event that has its state. */
type Place = Continuation["after"]

/** An API server orders objects by their keys in etcd. */
const placeOf = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
  `${namespace}/${name}`

const compare = (one: Place, other: Place): number =>
  one.place < other.place ? -1 : one.place > other.place ? 1 : one.sequence - other.sequence

interface PlacesWanted {
  /** Object numbers; `undefined`: all. */
  readonly numbers: ReadonlySet<number> | undefined
  /** The place before the first; `undefined`: from the first of all. */
  readonly after: Place | undefined
  /** Number of places; Infinity: all. */
  readonly atMost: number
}

/** In order, `atMost` of them; fewer: there are no more. @throws ArchiveError if a name is damaged */
const firstPlaces = (
  recording: QueriedRecording,
  kind: KeptKind,
  alive: ObjectStates,
  { numbers, after, atMost }: PlacesWanted,
): ReadonlyArray<Place> => {
  const first: Place[] = []
  // As long as there are few more than are wanted, none is given up.
  const most = 2 * atMost + 1000
  let last: Place | undefined
  const keepFirst = (): void => {
    first.sort(compare)
    if (first.length <= atMost) return
    first.length = atMost
    last = first.at(-1)
  }
  const readsAll = numbers === undefined && alive.count * rowsPerObject >= kind.nextObjectNumber
  const { names } = recording
  const read = readsAll
    ? names.inOrder(kind.id, recording.hasSoundObjects())
    : (number: number) => names.nameOf(kind.id, number)
  for (const [number, sequence] of alive.lastEvents()) {
    if (numbers !== undefined && !numbers.has(number)) continue
    const place = { place: placeOf(read(number)), sequence }
    if (after !== undefined && compare(place, after) <= 0) continue
    if (last !== undefined && compare(place, last) >= 0) continue
    first.push(place)
    if (first.length >= most) keepFirst()
  }
  keepFirst()
  return first
}

/** Rows ever written for each object alive, up to which it is faster to read all of them: a row by itself takes 2 µs, one of many 0.5. */
const rowsPerObject = 4

export interface StateQuestion extends ObjectSelection {
  /** `apps/v1.Deployment`. A kind that was never recorded has no objects, and the answer says so. */
  readonly gvk: string
  /** µs since the Unix epoch: after everything that happened up to and including this moment. */
  readonly time: number
  /** Default: `name`. */
  readonly order?: Continuation["order"] | undefined
  /** Objects in this page. Default: all. */
  readonly limit?: number | undefined
  /** The end of the page before, of the same question. */
  readonly continue?: string | undefined
}

/** What is known once the last object was read. */
export interface StateEnd extends Shortcomings {
  /** For the next page; `undefined`: there is none. All pages are of the same state, whatever is recorded meanwhile. */
  readonly continue: string | undefined
}

/** bytes of objects held at once in the order of names, unless a single object is larger. */
const STRETCH_BYTES = 16 * 1024 * 1024

const STRETCH_OBJECTS = 4096

/**
 * Each object is its last `applied` event, with the time of that event; its bytes are valid until the next one is taken. With pauses ({@link passedOver}).
 *
 * @throws QuestionRefused for a continuation of another question, and ArchiveError
 */
export function* stateSteps(
  recording: QueriedRecording,
  question: StateQuestion,
): Generator<ObjectEvent | undefined, StateEnd, void> {
  const { gvk, time, namespace, order = "name", limit = Number.POSITIVE_INFINITY } = question
  const page = readContinuation(question.continue, { gvk, time, order })
  const cut = Math.min(page?.cut ?? recording.cut, recording.cut)
  const damage = new DamageFound(recording)
  const kind = recording.kindOf(gvk)
  let last: Continuation["after"] | undefined
  let hasMore = false
  if (kind !== undefined) {
    const alive = aliveAt(recording, kind, damage, { cut, time })
    const reading = { recording, kind, damage, matches: contentMatcher(question) }
    const numbers = namedNumbers(recording, kind, question)
    const events =
      order === "name"
        ? inOrderOfNames(reading, alive, {
            ...{ numbers, after: page?.after },
            // How many objects must be read until enough of them match is not known.
            atMost: selectsByName(question) ? limit + 1 : Number.POSITIVE_INFINITY,
          })
        : inOrderOfChanges(reading, sequencesOf(alive, numbers, page?.after.sequence))
    let count = 0
    for (const event of events) {
      if (event === undefined) {
        yield undefined
        continue
      }
      hasMore = count++ >= limit
      if (hasMore) break
      yield event
      last = { place: order === "name" ? placeOf(event) : "", sequence: event.sequence }
    }
  }
  return {
    ...shortcomingsOf(recording, { kinds: [gvk], namespace, from: time, to: time }, damage.gaps),
    continue: hasMore && last !== undefined ? writeContinuation({ gvk, time, order, cut, after: last }) : undefined,
  }
}

/** Last states of all objects alive at a moment; what lost tables of contents hide is noted. */
export const aliveAt = (
  recording: QueriedRecording,
  kind: KeptKind,
  damage: DamageFound,
  { cut, time }: { readonly cut: number; readonly time: number },
): ObjectStates => {
  // What retention has removed is unknown; the history would return the states of the beginning.
  if (time < kind.removedThrough) return NO_STATES
  const limits = { throughSequence: cut, beforeTime: time + 1 }
  const alive = recording.history.aliveAt(kind, limits)
  if (recording.source.lacksTableAfter(kind, 0))
    damage.noteLostTables(kind, recording.history.chainBefore(kind, limits).throughSequence, 0, time + 1)
  return alive
}

interface Reading {
  readonly recording: QueriedRecording
  readonly kind: KeptKind
  readonly damage: DamageFound
  readonly matches: (object: Uint8Array) => boolean
}

/** Newest first, before a sequence number. */
const sequencesOf = (
  alive: ObjectStates,
  numbers: ReadonlySet<number> | undefined,
  before = Number.POSITIVE_INFINITY,
): Float64Array =>
  alive.sequences
    .slice(0, alive.count)
    .filter(
      (sequence, index) => sequence < before && (numbers === undefined || numbers.has(alive.numbers[index] as number)),
    )
    .sort()
    .reverse()

function* inOrderOfChanges(
  { kind, damage, matches }: Reading,
  sequences: Float64Array,
): Generator<ObjectEvent | undefined, void, void> {
  for (const [index, sequence] of sequences.entries()) {
    if (index % passedOver === passedOver - 1) yield undefined
    const event = damage.event(kind, sequence)
    if (event !== undefined && matches(event.object)) yield event
  }
}

function* inOrderOfNames(
  reading: Reading,
  alive: ObjectStates,
  wanted: PlacesWanted,
): Generator<ObjectEvent | undefined, void, void> {
  for (let { after } = wanted; ; ) {
    const places = firstPlaces(reading.recording, reading.kind, alive, { ...wanted, after })
    for (let start = 0; start < places.length; ) {
      const stretch = yield* readStretch(reading, places.slice(start, start + STRETCH_OBJECTS))
      for (const event of stretch.events) if (event !== undefined) yield event
      start += stretch.count
    }
    if (places.length < wanted.atMost) return
    after = places.at(-1)
  }
}

/**
 * The first places of those given, as many as fit, read in the order of blocks. `undefined` in place of an object that does not match or cannot be read.
 */
function* readStretch(
  { kind, damage, matches }: Reading,
  places: ReadonlyArray<Place>,
): Generator<undefined, { readonly events: ReadonlyArray<ObjectEvent | undefined>; readonly count: number }, void> {
  const events = new Array<ObjectEvent | undefined>(places.length)
  const order = places
    .map((_, index) => index)
    .sort((one, other) => sequenceAt(places, one) - sequenceAt(places, other))
  let count = places.length
  let bytes = 0
  for (const [read, index] of order.entries()) {
    if (read % passedOver === passedOver - 1) yield undefined
    if (index >= count) continue
    const event = damage.event(kind, sequenceAt(places, index))
    if (event === undefined || !matches(event.object)) continue
    events[index] = { ...event, object: Uint8Array.from(event.object) }
    bytes += event.object.length
    while (bytes > STRETCH_BYTES && count > 1) {
      const half = Math.ceil(count / 2)
      for (const dropped of events.slice(half, count)) bytes -= dropped?.object.length ?? 0
      count = half
    }
  }
  return { events: events.slice(0, count), count }
}

const sequenceAt = (places: ReadonlyArray<Place>, index: number): number => (places[index] as Place).sequence
