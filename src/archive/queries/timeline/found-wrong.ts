/**
 * What went wrong in a window: the findings of all kinds that can be judged, from the states at its beginning and every change. A state whose status has the same
 * bytes as the one before it is not parsed. Memory: 20 bytes for each object of the kind that is looked at, and what the tracker of findings follows.
 */
import { crc32 } from "node:zlib"
import { canBeWrong, type Finding, FindingTracker, healthOf } from "../../../timeline/index.ts"
import { APPLIED } from "../../../wire/index.ts"
import type { KeptKind } from "../../rows/kind-table.ts"
import { passedOver } from "../changes.ts"
import { DamageFound } from "../damage-found.ts"
import { namedNumbers, type QueriedRecording } from "../queried-recording.ts"
import { type Shortcomings, shortcomingsOf } from "../shortcomings.ts"
import { aliveAt } from "../state-at.ts"
import { plainJsonIn } from "./judged-states.ts"
import { laneId } from "./lane-directory.ts"
import type { TimelineQuestion } from "./lanes.ts"
import { statusBytes } from "./status-bytes.ts"

/** How much of the work is done, from 0 to 1. */
interface Progress {
  readonly done: number
}

/** With pauses. @throws ArchiveError */
export function* findingSteps(
  recording: QueriedRecording,
  question: TimelineQuestion,
): Generator<Finding | Progress | undefined, Shortcomings, void> {
  const { namespace, from, to } = question
  const gvks = question.kinds.filter(canBeWrong)
  const kinds = gvks.flatMap((gvk) => recording.kindOf(gvk) ?? [])
  const damage = new DamageFound(recording)
  for (const [index, kind] of kinds.entries()) {
    const share = (done: number): Progress => ({ done: (index + done) / kinds.length })
    yield share(0)
    yield* new KindSearch(recording, damage, kind, question).steps(share)
    damage.noteLostTables(kind, 0, from, to + 1)
  }
  yield { done: 1 }
  return shortcomingsOf(recording, { kinds: gvks, namespace, from, to }, damage.gaps)
}

/** Pauses between two reports of progress. */
const pausesPerReport = 64

/** The findings of one kind. */
class KindSearch {
  readonly #recording: QueriedRecording
  readonly #damage: DamageFound
  readonly #kind: KeptKind
  readonly #question: TimelineQuestion
  readonly #found: Finding[] = []
  readonly #tracker = new FindingTracker((finding) => this.#found.push(finding))
  /** By object number, of the bytes of its last status: their checksum and number. */
  readonly #checksums: Uint32Array
  readonly #lengths: Uint32Array
  #looked = 0

  constructor(recording: QueriedRecording, damage: DamageFound, kind: KeptKind, question: TimelineQuestion) {
    this.#recording = recording
    this.#damage = damage
    this.#kind = kind
    this.#question = question
    this.#checksums = new Uint32Array(kind.nextObjectNumber)
    this.#lengths = new Uint32Array(kind.nextObjectNumber)
  }

  *steps(share: (done: number) => Progress): Generator<Finding | Progress | undefined, void, void> {
    const { from, to } = this.#question
    const { removedThrough } = this.#kind
    if (to < removedThrough) return
    const begin = Math.max(from, removedThrough + 1)
    const numbers = namedNumbers(this.#recording, this.#kind, this.#question)
    yield* this.#atBeginning(begin, numbers, (done) => share(done / 2))
    yield* this.#changes(begin, numbers, (done) => share((1 + done) / 2))
    this.#tracker.finish(to)
    yield* this.#found
  }

  *#atBeginning(begin: number, numbers: Numbers, share: (done: number) => Progress): Steps {
    const { cut } = this.#recording
    const alive = aliveAt(this.#recording, this.#kind, this.#damage, { cut, time: begin - 1 })
    const order = Uint32Array.from({ length: alive.count }, (_, index) => index)
    order.sort((one, other) => (alive.sequences[one] as number) - (alive.sequences[other] as number))
    for (const [done, index] of order.entries()) {
      const [number, sequence] = [alive.numbers[index] as number, alive.sequences[index] as number]
      if (numbers?.has(number) === false) continue
      this.#look({ number, sequence, time: begin, isFirst: true })
      yield* this.#pause(() => share(done / order.length))
    }
  }

  *#changes(begin: number, numbers: Numbers, share: (done: number) => Progress): Steps {
    const { to } = this.#question
    for (const frame of this.#recording.source.framesOf(this.#kind, 0, begin)) {
      for (let at = 0; at < frame.events.count; at++) {
        const [time, sequence, number] = [frame.time(at), frame.sequence(at), frame.events.objectNumber(at)]
        if (sequence > this.#recording.cut || time > to) return
        if (time < begin || numbers?.has(number) === false) continue
        this.#look({ number, sequence, time, isFirst: false })
        yield* this.#pause(() => share((time - begin) / (to - begin + 1)))
      }
      // Also where nothing of a frame is asked for.
      yield undefined
    }
  }

  *#pause(progress: () => Progress): Steps {
    if (++this.#looked % passedOver !== 0) return
    yield* this.#found
    this.#found.length = 0
    yield this.#looked % (passedOver * pausesPerReport) === 0 ? progress() : undefined
  }

  #look({ number, sequence, time, isFirst }: SeenState): void {
    const place = this.#damage.place(this.#kind, sequence)
    if (place === undefined) return
    const isGone = place.frame.events.action(place.index) !== APPLIED
    // A stored status may have marks in place of names and is then no JSON; in that case the whole object is read.
    const status = isGone ? undefined : statusBytes(place.stored)
    const isGoing = !isGone && isBeingDeleted(place.stored)
    if (status === undefined) this.#lengths[number] = 0
    else if (this.#isSame(number, status, isGoing)) return
    const value = isGone ? undefined : ((status && plainJsonIn(status)) ?? this.#wholeStatus(sequence))
    const { names } = this.#recording
    const kind = this.#kind
    this.#tracker.observe({
      lane: laneId(kind, number),
      // Looking up the names of all objects would take as long as everything else.
      get object() {
        const { namespace, name, uid } = names.nameOf(kind.id, number)
        return { gvk: kind.gvk, namespace, name, uid }
      },
      ...{
        time,
        isFirst,
        health: isGone ? undefined : healthOf(kind.gvk, { ...(isGoing && goingMetadata), status: value }),
      },
    })
  }

  #wholeStatus(sequence: number): unknown {
    const event = this.#damage.event(this.#kind, sequence)
    const value = event && plainJsonIn(event.object)
    return typeof value === "object" && value !== null && Object.hasOwn(value, "status")
      ? Reflect.get(value, "status")
      : undefined
  }

  /** Whether it is as before; from now on, this is the one before. */
  #isSame(number: number, status: Uint8Array, isGoing: boolean): boolean {
    const [checksum, { length }] = [crc32(status, isGoing ? 1 : 0), status]
    if (this.#checksums[number] === checksum && this.#lengths[number] === length) return true
    this.#checksums[number] = checksum
    this.#lengths[number] = length
    return false
  }
}

/** As it is written in metadata: in annotations its quotes are escaped, and in managedFields the name begins with `f:`. */
const deletionMember = Buffer.from('"deletionTimestamp":')

const isBeingDeleted = ({ buffer, byteOffset, byteLength }: Uint8Array): boolean =>
  Buffer.from(buffer, byteOffset, byteLength).includes(deletionMember)

/** Of an object that is being deleted, as far as it is judged by it. */
const goingMetadata = { metadata: { deletionTimestamp: "set" } }

type Steps = Generator<Finding | Progress | undefined, void, void>
type Numbers = ReadonlySet<number> | undefined

interface SeenState {
  readonly number: number
  readonly sequence: number
  /** µs since the Unix epoch. */
  readonly time: number
  /** It is there when the window begins. */
  readonly isFirst: boolean
}
