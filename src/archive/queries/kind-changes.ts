/** A position among the changes of one kind in a stretch of time, moved by tables of contents alone. */
import type { BlockFrame } from "../blocks/block-frame.ts"
import type { KeptKind } from "../rows/kind-table.ts"
import type { QueriedRecording } from "./queried-recording.ts"

interface Stretch {
  /** µs since the Unix epoch, both inclusive. */
  readonly from: number
  readonly to: number
  /** The objects whose changes count. Absent: all. */
  readonly numbers: ReadonlySet<number> | undefined
}

/** Before the first change until {@link KindChanges.advance} was called. */
export class KindChanges {
  readonly kind: KeptKind
  readonly #recording: QueriedRecording
  readonly #stretch: Stretch
  readonly #cut: number
  readonly #frames: Generator<BlockFrame, void, void>
  #frame: BlockFrame | undefined
  #index = -1
  #time = 0
  sequence = 0
  /** The object's number within its kind. */
  number = 0

  constructor(recording: QueriedRecording, kind: KeptKind, stretch: Stretch) {
    this.kind = kind
    this.#stretch = stretch
    this.#recording = recording
    this.#cut = recording.cut
    const { from, to, numbers } = stretch
    this.#frames =
      numbers === undefined
        ? recording.source.framesOf(kind, 0, from)
        : recording.source.framesWith(kind, numbers, { fromTime: from, toTime: to })
  }

  /** Moves to the next change; `false` if there is none. */
  advance(): boolean {
    const { from, to, numbers } = this.#stretch
    if (numbers?.size === 0) return false
    for (;;) {
      this.#index++
      const frame = this.#frame
      if (frame !== undefined && numbers !== undefined) this.#index = frame.indexOfObject(numbers, this.#index)
      if (frame === undefined || this.#index >= frame.events.count) {
        const next = this.#frames.next()
        if (next.done === true) return false
        this.#frame = next.value
        this.#index = -1
        // Objects that are looked for may not change any more.
        const { events, firstSequence } = next.value
        if (events.count > 0 && (next.value.time(0) > to || firstSequence > this.#cut)) return false
        continue
      }
      this.number = frame.events.objectNumber(this.#index)
      this.sequence = frame.sequence(this.#index)
      if (this.sequence > this.#cut) return false
      this.#time = frame.time(this.#index)
      if (this.#time > to) return false
      if (this.#time >= from) return true
    }
  }

  /** Whether the change is the first of its object. */
  get isIntroduced(): boolean {
    const [frame, index] = [this.#frame, this.#index]
    if (frame?.introduces(index) !== true) return false
    return this.#recording.isFirst(this.kind, this.number, frame.received(index))
  }

  isBefore(other: KindChanges): boolean {
    return this.#time < other.#time || (this.#time === other.#time && this.sequence < other.sequence)
  }
}
