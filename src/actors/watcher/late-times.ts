/**
 * The times of late changes: for each an estimate of when it happened, within its bounds, never before its predecessor, its object's creation
 * or any write that the object names.
 *
 * - A change whose object says when it was written gets that time.
 * - Others wait in the open frame for the next one that does, and are dated between their neighbours, in proportion to their
 *   versions: neighbours of their own kind, and of all kinds by the {@link VersionClock}. When the frame is sent they wait no longer.
 * - An undecided change counts as live until a later one of the same frame, or of another kind, turns out to be late.
 *
 * One for each watcher; it keeps the events of the open frame that wait, and nothing of live ones but the last.
 */

import { type LateStretch, liveWithinMicros, type ObservedObject, type VersionClock } from "../../kube/index.ts"
import type { ResourceVersion } from "../../kube/offline.ts"
import type { LateRange } from "../../wire/index.ts"

/** An observed change, as far as its time is concerned. */
export type Observed = Pick<ObservedObject, "timing" | "stretch" | "happenedMicros" | "sinceMicros" | "version">

/** Changes the times of events in the open frame. */
interface Retiming {
  retime(index: number, timeMicros: number, isLive?: boolean): void
  time(index: number): number
}

interface Waiting {
  readonly index: number
  readonly stretch: LateStretch
  readonly namespace: string
  readonly received: number
  /** µs before which it did not happen. */
  readonly since: number
  readonly version: ResourceVersion | string
}

interface Settled {
  readonly version: ResourceVersion | string
  readonly micros: number
}

/** The version of what follows a frame: other kinds may know of versions between, of its own nothing is known. */
const beyondAll = Number.MAX_SAFE_INTEGER
/** µs between two samples of live changes: neighbours of late ones of other kinds. */
const noteEveryMicros = 50_000

export class LateTimes {
  readonly #versions: VersionClock | undefined
  /** The last event whose time is settled. */
  #last: { version: ResourceVersion | string; micros: number }
  /** Events of the open frame that wait for a neighbour; all late, or all undecided. */
  #waiting: Array<Waiting> = []
  #waitsUndecided = false
  #stretch: LateStretch | undefined
  #received = 0
  #range: LateRange | undefined
  /** The stretch of that range. */
  #rangeStretch: LateStretch | undefined
  #noted = 0
  #changes = 0

  /** `last`: what the recording ends with. */
  constructor(last: { readonly version: string; readonly micros: number }, versions?: VersionClock) {
    const version = Number(last.version)
    this.#last = { version: Number.isSafeInteger(version) ? version : last.version, micros: last.micros }
    this.#versions = versions
  }

  /** Late changes so far. */
  get changes(): number {
    return this.#changes
  }

  /** Whether changes of the open frame wait for a neighbour. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0
  }

  /** Whether the late changes of this stretch and namespace fit into the range of the open frame. */
  fits(stretch: LateStretch | undefined, namespace: string): boolean {
    const of = this.#rangeStretch
    return (
      of === undefined ||
      stretch === undefined ||
      (of.notBefore === stretch.notBefore && of.cause === stretch.cause && this.#range?.namespace === namespace)
    )
  }

  /** A live change, received at this time. */
  live(version: ResourceVersion | string, received: number, frame: Retiming): void {
    if (this.#waiting.length > 0) this.#settle({ version, micros: received }, frame)
    this.#last.version = version
    this.#last.micros = received
    if (received - this.#noted < noteEveryMicros) return
    this.#noted = received
    this.#versions?.note(version, received)
  }

  /** Call before a late change is added: undecided ones before it were late as well. */
  decide({ timing, stretch }: Observed, namespace: string, frame: Retiming): void {
    if (timing !== "late" || stretch === undefined || !this.#waitsUndecided) return
    this.#waitsUndecided = false
    for (const { index, received: earlier } of this.#waiting) {
      frame.retime(index, this.#within(stretch, earlier, this.#last.micros))
      this.#count(stretch, earlier, namespace)
    }
  }

  /** The time of a late or undecided change, as far as it is known when it arrives, µs. */
  estimate({ timing, stretch, happenedMicros }: Observed, received: number): number {
    if (timing !== "late" || stretch === undefined) return received
    return this.#within(stretch, received, happenedMicros === 0 ? this.#last.micros : happenedMicros)
  }

  /** A late or undecided change has been added to the frame, at `index`, with its {@link LateTimes.estimate}. */
  added(observed: Observed, index: number, received: number, namespace: string, frame: Retiming): void {
    const { timing, stretch, happenedMicros, sinceMicros: since, version } = observed
    if (stretch === undefined) return
    this.#received = received
    if (timing === "undecided") {
      if (!this.#waitsUndecided) this.#settle({ version, micros: received }, frame)
      this.#waitsUndecided = true
      this.#waiting.push({ index, version, received, since, stretch, namespace })
      return
    }
    this.#stretch = stretch
    this.#count(stretch, received, namespace)
    if (happenedMicros === 0) return void this.#waiting.push({ index, version, received, since, stretch, namespace })
    const micros = frame.time(index)
    this.#settle({ version, micros }, frame)
    this.#last = { version, micros }
    // The first and the last of a second tell most, and which is the last is not known.
    this.#versions?.note(version, micros)
  }

  /** A late change that is in no event of the frame, such as one of a pod's life. */
  counted({ timing, stretch }: Observed, received: number, namespace: string): void {
    if (timing === "late" && stretch !== undefined) this.#count(stretch, received, namespace)
  }

  /**
   * The frame is to be sent; returns its late changes. `isFull`: more changes follow, so those that wait are dated by what came before them, and by the
   * writes that they name, rather than by the end of the stretch.
   */
  close(frame: Retiming, isFull: boolean): LateRange | undefined {
    if (this.#waiting.length > 0) {
      const end = Math.min(this.#stretch?.notAfter ?? this.#received, this.#received)
      const soFar = this.#waiting.reduce((latest, { since }) => Math.max(latest, since), this.#last.micros)
      const micros = isFull ? Math.min(soFar, Math.max(end, this.#last.micros)) : end
      const isNumber = typeof this.#last.version === "number"
      this.#settle({ version: isNumber ? beyondAll : "", micros }, frame)
    }
    const range = this.#range
    this.#range = undefined
    this.#rangeStretch = undefined
    return range
  }

  #count(stretch: LateStretch, received: number, namespace: string): void {
    this.#changes++
    const { cause } = stretch
    const range = this.#range
    // Times of a recording do not decrease. If the clock was set back, they stand still until it is there again, and the bounds contain where they stand.
    const notAfter = Math.max(Math.min(stretch.notAfter ?? received, received), this.#last.micros)
    this.#rangeStretch = stretch
    this.#range = {
      notBefore: Math.min(range?.notBefore ?? notAfter, stretch.notBefore, notAfter),
      notAfter: Math.max(range?.notAfter ?? 0, notAfter),
      receivedFrom: Math.min(range?.receivedFrom ?? received, received),
      receivedTo: Math.max(range?.receivedTo ?? received, received),
      events: (range?.events ?? 0) + 1,
      cause,
      namespace,
    }
  }

  /** Dates what waits between the last settled event and `next`. */
  #settle(next: Settled, frame: Retiming): void {
    const waiting = this.#waiting
    if (waiting.length === 0) return
    this.#waiting = []
    if (this.#waitsUndecided) {
      this.#waitsUndecided = false
      this.#decideByOthers(waiting, frame)
      return
    }
    let right: Settled = this.#last
    for (const [position, { index, version, received, since }] of waiting.entries()) {
      const { micros: before } = this.#last
      const share = 1 / (waiting.length - position + 1)
      right = this.#rightOf(version, right, next)
      const between = this.#between(version, right) ?? before + (next.micros - before) * share
      const micros = Math.floor(Math.max(before, Math.min(next.micros, received, Math.max(since, between))))
      frame.retime(index, micros)
      this.#last = { version, micros }
    }
  }

  /** The nearest sample above the version, up to `next`; `known`: that of a lower version, so that no slot is looked at twice. */
  #rightOf(version: ResourceVersion | string, known: Settled, next: Settled): Settled {
    if (typeof version !== "number" || typeof next.version !== "number" || known === next) return next
    if (typeof known.version === "number" && known.version > version) return known
    const sample = this.#versions?.after(version, next.version)
    if (sample === undefined || sample.micros < this.#last.micros) return next
    return { version: sample.version, micros: Math.min(sample.micros, next.micros) }
  }

  /** Undecided changes were live, unless the server had a later version, of another kind, long before they were received. */
  #decideByOthers(waiting: ReadonlyArray<Waiting>, frame: Retiming): void {
    const lastLate = waiting.findLastIndex((each) => this.#overtakenAt(each) !== undefined)
    for (const [position, each] of waiting.entries()) {
      const { index, version, received, since, stretch, namespace } = each
      let micros = received
      if (position <= lastLate) {
        const end = { version: beyondAll, micros: this.#overtakenAt(each) ?? this.#last.micros }
        const right = this.#rightOf(version, this.#last, end)
        micros = this.#within(stretch, received, Math.max(since, this.#between(version, right) ?? end.micros))
        frame.retime(index, micros)
        this.#count(stretch, received, namespace)
      }
      this.#last = { version, micros }
    }
  }

  /** µs at which the server had a later version, if that was more than a second before the receipt. */
  #overtakenAt({ version, received, stretch }: Waiting): number | undefined {
    if (typeof version !== "number") return undefined
    const later = this.#versions?.after(version, Number.MAX_SAFE_INTEGER)
    if (later === undefined || later.micros < stretch.notBefore) return undefined
    return later.micros + liveWithinMicros < received ? later.micros : undefined
  }

  /** In proportion to the versions, between the nearest samples. `undefined`: the versions are no numbers. */
  #between(version: ResourceVersion | string, right: Settled): number | undefined {
    const { version: before, micros } = this.#last
    if (typeof version !== "number" || typeof before !== "number" || typeof right.version !== "number") return undefined
    if (!(before < version && version < right.version) || right.version === beyondAll) return undefined
    const earlier = this.#versions?.before(version, before)
    const left =
      earlier !== undefined && earlier.micros >= micros && earlier.micros <= right.micros ? earlier : undefined
    const [from, since] = [left?.version ?? before, left?.micros ?? micros]
    return since + ((right.micros - since) * (version - from)) / (right.version - from)
  }

  #within({ notBefore, notAfter }: LateStretch, received: number, micros: number): number {
    const latest = Math.min(notAfter ?? received, received)
    const inBounds = Math.min(latest, Math.max(notBefore + liveWithinMicros, micros))
    return Math.floor(Math.min(received, Math.max(this.#last.micros, inBounds)))
  }
}
