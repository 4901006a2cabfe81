/**
 * Everything that is committed after an event, in the order of the commits, for clients that follow a recording.
 *
 * The position is a sequence number, so another process can continue from it. Live events are read from the parts of
 * the open block in which they were committed, each once; what came before is read from blocks, at the same cost as a
 * question. Memory: one table of contents per kind, a bit for each object that does not match the selection, and the
 * former states if changes come with them.
 */
import type { GapEvent } from "../../trace/index.ts"
import { FrameCursor } from "../blocks/event-merge.ts"
import { readGapsAfter } from "../rows/gap-rows.ts"
import type { KeptKind } from "../rows/kind-table.ts"
import { changeTypeOf, FormerStates, passedOver, type RecordedChange } from "./changes.ts"
import { DamageFound } from "./damage-found.ts"
import { contentMatcher, hasNames, type ObjectSelection } from "./objects/object-selection.ts"
import type { QueriedRecording } from "./queried-recording.ts"
import { QuestionRefused } from "./query-errors.ts"

export interface LiveQuestion extends ObjectSelection {
  /** Default: all, also those that are recorded later. */
  readonly kinds?: ReadonlyArray<string> | undefined
  /** Sequence number after which to begin; 0: with the first event that is kept. */
  readonly after: number
  /** Whether each change comes with the state before it. */
  readonly withBefore: boolean
}

/** A change. `isSelected`: false for the one by which an object no longer matches, or may no longer. */
export interface LiveChange extends RecordedChange {
  readonly isSelected: boolean
}

/**
 * Objects remembered as not matching, or as passed; some 10 MB. Beyond it an object that still does not match is
 * reported once more.
 */
const rememberedObjects = 200_000

export class LiveChanges {
  readonly #recording: QueriedRecording
  readonly #question: LiveQuestion
  readonly #matches: (object: Uint8Array) => boolean
  #position: number
  /** Only before the first batch of one that begins with the first event. */
  #isFromFirst: boolean
  /** Kind and number of objects whose last event did not match. */
  readonly #outside = new Set<string>()
  readonly #former = new Map<number, FormerStates>()
  /** Where the former states of objects that were not passed since are looked up, and how many were passed. */
  #formerBefore = 0
  #passed = 0

  /** @throws QuestionRefused with the fault `gone` if what follows is not kept any more, or the recording is another one */
  constructor(recording: QueriedRecording, question: LiveQuestion) {
    this.#recording = recording
    this.#question = question
    this.#matches = contentMatcher(question)
    const { after } = question
    this.#isFromFirst = after === 0
    this.#position = after
    if (after > recording.cut)
      throw gone(`the recording ends with event ${recording.cut}: it is not the one that had event ${after}`)
    const removed = Math.max(0, ...this.#kinds().map((kind) => recording.source.beginningNow(kind).throughSequence))
    if (after > 0 && removed > after) throw gone(`events up to ${removed} were removed by retention`)
    this.#forgetFormer()
  }

  get position(): number {
    return this.#position
  }

  /**
   * What was committed up to the recording's cut. An event's bytes are valid until the next item is taken. `undefined`: events were passed over, and others may have their
   * turn.
   *
   * @throws ArchiveError
   */
  *toCut(): Generator<LiveChange | GapEvent | undefined, void, void> {
    const recording = this.#recording
    const { cut } = recording
    const kinds = this.#kinds()
    const damage = new DamageFound(recording)
    const cursors = kinds
      .map((kind) => new CommitCursor(recording, kind, this.#startOf(kind)))
      .filter((cursor) => cursor.advance())
    const gaps = recording
      .reading(() => readGapsAfter(recording.database, { after: this.#position, cut }))
      .filter((gap) => this.#concerns(gap, kinds))
    const start = this.#position
    const told = new Set<GapEvent>()
    for (let taken = 1; cursors.length > 0; taken++) {
      // Damage is reported where it was met, not at the end: a client that continues after an item must know the damage
      // before it, and must get no event twice.
      yield* this.#damage(damage, kinds, start, told)
      const cursor = cursors.reduce((first, other) => (other.sequence < first.sequence ? other : first))
      const { kind, number, sequence, isIntroduced } = cursor
      while ((gaps[0]?.sequence ?? sequence) < sequence) yield gaps.shift()
      const change = this.#isNamed(kind, number)
        ? this.#change(damage, { kind, number, sequence, isIntroduced })
        : undefined
      if (change !== undefined || taken % passedOver === 0) yield change
      this.#position = sequence
      if (this.#passed > rememberedObjects) this.#forgetFormer()
      if (!cursor.advance()) cursors.splice(cursors.indexOf(cursor), 1)
    }
    yield* this.#damage(damage, kinds, start, told)
    yield* gaps
    this.#position = cut
    this.#isFromFirst = false
  }

  /** What was found to be damaged since, as gaps at the present position. */
  *#damage(
    damage: DamageFound,
    kinds: ReadonlyArray<KeptKind>,
    start: number,
    told: Set<GapEvent>,
  ): Generator<GapEvent, void, void> {
    for (const kind of kinds) damage.noteLostTables(kind, start)
    if (damage.count === told.size) return
    for (const gap of damage.gaps) {
      if (told.has(gap)) continue
      told.add(gap)
      yield { ...gap, sequence: this.#position }
    }
  }

  #kinds(): ReadonlyArray<KeptKind> {
    const { kinds = this.#recording.objectKinds } = this.#question
    return kinds.flatMap((gvk) => this.#recording.kindOf(gvk) ?? [])
  }

  #startOf(kind: KeptKind): number {
    if (!this.#isFromFirst) return this.#position
    return Math.max(this.#position, this.#recording.source.beginningNow(kind).throughSequence)
  }

  #concerns(gap: GapEvent, kinds: ReadonlyArray<KeptKind>): boolean {
    const { namespace, shownNamespaces } = this.#question
    if (!kinds.some(({ gvk }) => gvk === gap.gvk)) return false
    if (gap.namespace === "") return true
    return (
      (namespace === undefined || gap.namespace === namespace) &&
      shownNamespaces?.(gap.gvk)?.has(gap.namespace) !== false
    )
  }

  /** By name, before the object is read. */
  #isNamed(kind: KeptKind, number: number): boolean {
    const question = this.#question
    if (!hasNames(question, kind.gvk)) return true
    const { uid, namespace, name } = this.#recording.names.nameOf(kind.id, number)
    return (
      (question.namespace === undefined || question.namespace === namespace) &&
      (question.name === undefined || question.name === name) &&
      (question.uid === undefined || question.uid === uid) &&
      question.shownNamespaces?.(kind.gvk)?.has(namespace) !== false
    )
  }

  #change(damage: DamageFound, place: Place): LiveChange | undefined {
    const { kind, number, sequence, isIntroduced } = place
    // First: it may read another block.
    const before = this.#question.withBefore ? this.#before(place) : undefined
    const event = damage.event(kind, sequence)
    if (event === undefined) return undefined
    if (this.#question.withBefore && event.action !== "vanished") this.#pass(place, event.object)
    const type = changeTypeOf(event, isIntroduced)
    const key = `${kind.id} ${number}`
    // A vanished object has no content, so its last state decides.
    const isSelected = event.action === "vanished" ? !this.#outside.has(key) : this.#matches(event.object)
    const mayHaveMatched = !isIntroduced && !this.#outside.has(key)
    this.#remember(key, isSelected || event.action !== "applied")
    return isSelected || mayHaveMatched ? { type, event, before, isSelected } : undefined
  }

  #remember(key: string, isForgotten: boolean): void {
    this.#outside.delete(key)
    if (isForgotten) return
    this.#outside.add(key)
    if (this.#outside.size > rememberedObjects) this.#outside.delete(this.#outside.values().next().value ?? "")
  }

  #before({ kind, number, isIntroduced }: Place): Uint8Array | undefined {
    return isIntroduced ? undefined : this.#formerOf(kind).objectBefore(kind, number, this.#formerBefore)
  }

  #pass({ kind, number, sequence }: Place, object: Uint8Array): void {
    const former = this.#formerOf(kind)
    former.pass(kind, number, sequence)
    former.keep(kind, number, object)
    this.#passed++
  }

  /** For each kind of its own: the former states of one kind at a time are found without reading tables of contents again. */
  #formerOf(kind: KeptKind): FormerStates {
    const known = this.#former.get(kind.id)
    if (known !== undefined) return known
    const former = new FormerStates(this.#recording, new DamageFound(this.#recording))
    this.#former.set(kind.id, former)
    return former
  }

  #forgetFormer(): void {
    this.#former.clear()
    this.#formerBefore = this.#position + 1
    this.#passed = 0
  }
}

const gone = (problem: string): QuestionRefused => new QuestionRefused({ problem, fault: "gone" })

interface Place {
  readonly kind: KeptKind
  readonly number: number
  readonly sequence: number
  readonly isIntroduced: boolean
}

/** A position among the events of one kind in the order of their numbers. Before the first until it was advanced. */
class CommitCursor implements Place {
  readonly kind: KeptKind
  readonly #recording: QueriedRecording
  readonly #cut: number
  readonly #events: FrameCursor
  sequence = 0
  number = 0
  /** Whether it is the first event of its object. */
  isIntroduced = false

  constructor(recording: QueriedRecording, kind: KeptKind, after: number) {
    this.kind = kind
    this.#recording = recording
    this.#cut = recording.cut
    this.#events = new FrameCursor(recording.source.framesAfter(kind, after), (frame, index) =>
      Math.max(index, frame.firstIndexAfter(after)),
    )
  }

  /** `false`: there is none up to the cut. */
  advance(): boolean {
    const frame = this.#events.next()
    if (frame === undefined) return false
    const { index } = this.#events
    this.sequence = frame.sequence(index)
    if (this.sequence > this.#cut) return false
    this.number = frame.events.objectNumber(index)
    this.isIntroduced =
      frame.introduces(index) && this.#recording.isFirst(this.kind, this.number, frame.received(index))
    return true
  }
}
