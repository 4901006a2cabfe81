/**
 * What happened in a stretch of time: the changes of some kinds, filtered by name, labels and field, in the order of (time, sequence).
 *
 * Names are compared by number in tables of contents, before a block is decompressed. Where a filter depends on content, the state before a change counts
 * as well: an object that stops matching is in the answer with that change. Memory: one table of contents per kind, and {@link FormerStates}.
 */

import { exactJsonIn, type FieldPath, fieldTextOf, isCreation, type ObjectEvent } from "../../trace/index.ts"
import type { BlockFrame } from "../blocks/block-frame.ts"
import { FrameCursor } from "../blocks/event-merge.ts"
import { LastStates } from "../checkpoints/last-states.ts"
import type { KeptKind } from "../rows/kind-table.ts"
import { DamageFound } from "./damage-found.ts"
import { contentMatcher, type ObjectSelection, selectsByName } from "./objects/object-selection.ts"
import { namedNumbers, type QueriedRecording } from "./queried-recording.ts"
import { type Shortcomings, shortcomingsOf } from "./shortcomings.ts"

// A position among the changes of one kind in a stretch of time, moved by tables of contents alone.

interface Stretch {
  /** µs since the Unix epoch, both inclusive. */
  readonly from: number
  readonly to: number
  /** The objects whose changes count. Absent: all. */
  readonly numbers: ReadonlySet<number> | undefined
}

/** Before the first change until {@link KindChanges.advance} was called. */
class KindChanges {
  readonly kind: KeptKind
  readonly #recording: QueriedRecording
  readonly #stretch: Stretch
  readonly #cut: number
  readonly #events: FrameCursor
  #time = 0
  sequence = 0
  /** The object's number within its kind. */
  number = 0

  constructor(recording: QueriedRecording, kind: KeptKind, stretch: Stretch) {
    this.kind = kind
    this.#stretch = stretch
    this.#recording = recording
    this.#cut = recording.cut
    const { from, numbers } = stretch
    this.#events =
      numbers === undefined
        ? new FrameCursor(recording.source.framesOf(kind, 0, from))
        : new FrameCursor(this.#framesWith(numbers), (frame, index) => frame.indexOfObject(numbers, index))
  }

  /** Moves to the next change; `false` if there is none. */
  advance(): boolean {
    for (;;) {
      const frame = this.#events.next()
      if (frame === undefined) return false
      const { index } = this.#events
      this.number = frame.events.objectNumber(index)
      this.sequence = frame.sequence(index)
      this.#time = frame.time(index)
      if (this.sequence > this.#cut || this.#time > this.#stretch.to) return false
      if (this.#time >= this.#stretch.from) return true
    }
  }

  /** Ends with the stretch: objects that are looked for may not change any more. */
  *#framesWith(numbers: ReadonlySet<number>): Generator<BlockFrame, void, void> {
    if (numbers.size === 0) return
    const { source } = this.#recording
    const { from: fromTime, to: toTime } = this.#stretch
    for (const frame of source.framesWith(this.kind, numbers, { fromTime, toTime })) {
      if (frame.events.count > 0 && (frame.time(0) > toTime || frame.firstSequence > this.#cut)) return
      yield frame
    }
  }

  /** Whether the change is the first of its object. */
  get isIntroduced(): boolean {
    const { frame, index } = this.#events
    if (frame?.introduces(index) !== true) return false
    return this.#recording.isFirst(this.kind, this.number, frame.received(index))
  }

  isBefore(other: KindChanges): boolean {
    return this.#time < other.#time || (this.#time === other.#time && this.sequence < other.sequence)
  }
}

interface ChangesQuestion extends ObjectSelection {
  /** `apps/v1.Deployment` …. Default: all that are recorded. */
  readonly kinds?: ReadonlyArray<string> | undefined
  /** µs since the Unix epoch, inclusive. 0: from the beginning. */
  readonly from: number
  /** µs since the Unix epoch, inclusive. Default: to the end. */
  readonly to?: number | undefined
  /** Only changes by which the values at this path become different, appear or go. */
  readonly field?: FieldPath | undefined
  /** Only objects with these numbers, by kind, such as those of an owner tree. Default: all. */
  readonly objects?: ReadonlyMap<string, ReadonlySet<number>> | undefined
  /** Whether each change comes with the state before it, which has to be read. Default: only what a filter needs is read. */
  readonly withBefore?: boolean | undefined
}

/**
 * What became of the object. `appeared`: the recording has no earlier state of it, and it existed already when it was first seen, or does not say when it was
 * created. `vanished`: a list no longer contained it.
 */
export type ChangeType = "created" | "appeared" | "changed" | "deleted" | "vanished"

/** `isFirst`: the recording has no earlier state of the object. */
export const changeTypeOf = ({ action, object, time }: ObjectEvent, isFirst: boolean): ChangeType => {
  if (action !== "applied") return action
  if (!isFirst) return "changed"
  return isCreation(object, time) ? "created" : "appeared"
}

/** One change of one object. */
export interface RecordedChange {
  readonly type: ChangeType
  readonly event: ObjectEvent
  /** Its state before, a copy; `undefined`: there was none, it was not needed, or it is damaged. */
  readonly before: Uint8Array | undefined
}

/** What is known at the end. */
export interface ChangesEnd extends Shortcomings {
  /** Whether any state that was read had the field; true if none was asked for. */
  readonly hasField: boolean
}

/**
 * Changes in order, with pauses ({@link passedOver}). An event's bytes are valid until the next one is taken.
 *
 * @throws ArchiveError
 */
export function* changeSteps(
  recording: QueriedRecording,
  question: ChangesQuestion,
): Generator<RecordedChange | undefined, ChangesEnd, void> {
  const { from, to = Number.MAX_SAFE_INTEGER, namespace, field, withBefore = false } = question
  const gvks = question.kinds ?? recording.objectKinds
  const damage = new DamageFound(recording)
  const former = new FormerStates(recording, damage)
  const matches = contentMatcher(question)
  const needsBefore = withBefore || field !== undefined || !selectsByName(question)
  const cursors = gvks
    .flatMap((gvk) => recording.kindOf(gvk) ?? [])
    .map((kind) => new KindChanges(recording, kind, { from, to, numbers: numbersOf(recording, kind, question) }))
    .filter((cursor) => cursor.advance())
  let hasField = field === undefined
  for (let taken = 1; cursors.length > 0; taken++) {
    if (taken % passedOver === 0) yield undefined
    const cursor = cursors.reduce((first, other) => (other.isBefore(first) ? other : first))
    const { kind, number, sequence, isIntroduced } = cursor
    if (!cursor.advance()) cursors.splice(cursors.indexOf(cursor), 1)
    const isFirst = former.sequenceBefore(kind, number, sequence, isIntroduced) === undefined
    const before = needsBefore && !isFirst ? former.objectBefore(kind, number, sequence) : undefined
    const event = damage.event(kind, sequence)
    if (event === undefined) continue
    if (event.action !== "vanished") {
      former.pass(kind, number, sequence)
      if (needsBefore) former.keep(kind, number, event.object)
    }
    const type = changeTypeOf(event, isFirst)
    if (!matches(event.object) && (before === undefined || !matches(before))) continue
    if (field !== undefined) {
      const texts = [before, type === "deleted" ? undefined : event.object].map((each) => fieldIn(each, field))
      hasField ||= texts.some((each) => each !== undefined)
      if (texts[0] === texts[1]) continue
    }
    yield { type, event, before }
  }
  for (const kind of gvks.flatMap((gvk) => recording.kindOf(gvk) ?? [])) damage.noteLostTables(kind, 0, from, to + 1)
  return { ...shortcomingsOf(recording, { kinds: gvks, namespace, from, to }, damage.gaps), hasField }
}

const numbersOf = (
  recording: QueriedRecording,
  kind: KeptKind,
  question: ChangesQuestion,
): ReadonlySet<number> | undefined =>
  question.objects === undefined
    ? namedNumbers(recording, kind, question)
    : (question.objects.get(kind.gvk) ?? new Set())

/** `undefined`: the object has no such field, or there is no object. */
const fieldIn = (object: Uint8Array | undefined, field: FieldPath): string | undefined =>
  object === undefined || object.length === 0 ? undefined : fieldTextOf(exactJsonIn(object), field)

// The states of objects before their changes, for an answer that goes through changes in order: what was just read is kept, up to a number of bytes, and
// everything else is looked up in tables of contents and read from its block.

/** bytes of objects kept: the state of 5,000 Deployments. */
const KEPT_BYTES = 16 * 1024 * 1024

export class FormerStates {
  readonly #damage: DamageFound
  readonly #lastStates: LastStates
  /** By kind and number, least recently kept first, as a Map iterates. */
  readonly #kept = new Map<string, Uint8Array>()
  #bytes = 0
  /** By kind and number, the last event with bytes that was passed: looking it up would mean sorting all events since a checkpoint. */
  readonly #passed = new Map<number, Map<number, number>>()

  constructor({ source, history }: QueriedRecording, damage: DamageFound) {
    this.#damage = damage
    this.#lastStates = new LastStates(source, history)
  }

  /**
   * Sequence number of the object's last event with bytes before another event; `undefined`: it had none. `isIntroduced`: the event is of the frame that
   * introduced the object, so that only an event of this frame can precede it.
   */
  sequenceBefore(kind: KeptKind, number: number, sequence: number, isIntroduced: boolean): number | undefined {
    const passed = this.#passed.get(kind.id)?.get(number)
    return passed ?? (isIntroduced ? undefined : this.#lastStates.sequenceBefore(kind, number, sequence))
  }

  /** Its bytes, as a copy; `undefined` as well if they are damaged. Reads another block. */
  objectBefore(kind: KeptKind, number: number, sequence: number): Uint8Array | undefined {
    const kept = this.#kept.get(keyOf(kind, number))
    if (kept !== undefined) return kept
    const former = this.sequenceBefore(kind, number, sequence, false)
    const event = former === undefined ? undefined : this.#damage.event(kind, former)
    return event === undefined ? undefined : Uint8Array.from(event.object)
  }

  /** To be called with each event that has bytes, in order. */
  pass(kind: KeptKind, number: number, sequence: number): void {
    let passed = this.#passed.get(kind.id)
    if (passed === undefined) {
      passed = new Map()
      this.#passed.set(kind.id, passed)
    }
    passed.set(number, sequence)
  }

  /** Keeps the bytes of the event that was just passed. */
  keep(kind: KeptKind, number: number, object: Uint8Array): void {
    const key = keyOf(kind, number)
    this.#drop(key)
    this.#kept.set(key, Uint8Array.from(object))
    this.#bytes += object.length
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= KEPT_BYTES) break
      this.#drop(oldest)
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#kept.get(key)?.length ?? 0
    this.#kept.delete(key)
  }
}

const keyOf = ({ id }: KeptKind, number: number): string => `${id} ${number}`

/**
 * Events or objects that an answer passes over between two pauses: it yields `undefined` then, so that the consumer can let other work run, or give up. One
 * such step is some ms of work.
 */
export const passedOver = 64
