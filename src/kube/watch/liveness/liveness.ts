/**
 * Decides for each change of a watch whether it was received when it happened, and until when the stream was live.
 *
 * A stream is live while bytes arrive on it. There are two ways for changes to be late, and two kinds of evidence:
 *
 * - **The stream was interrupted** (nothing was recording, the connection was lost, the server refused). Before it is resumed, the server is
 *   asked for its present version (rule 14): all changes up to that version happened before the response. What follows is judged as after a silence since then.
 * - **The stream is open and delayed** (a network that drops packets, a proxy that buffers, a server that is behind). Then the changes themselves
 *   say so: after a silence, and once a second otherwise, the next object is examined for the time at which the server wrote it
 *   (written-time.ts). A change is late if it was written within the silence, more than {@link freshMs} ago and after everything
 *   seen before; the following ones are late until one was written just now.
 *
 * A change that leaves the times of its object as they were, such as a storage migration or the removal of a finalizer, is no evidence, nor is an
 * object without times, or a deletion that did not have to wait. They share the fate of their neighbours.
 *
 * A live change costs two comparisons, a network read one reading of the clock.
 */
import type { Clock } from "../../../clock.ts"
import { parseResourceVersion, type ResourceVersion } from "../../resource-version.ts"
import type { ObservedObject } from "../observed-object.ts"
import { ServerClock } from "./server-clock.ts"
import { type LateCause, type LateStretch, liveWithinMicros, type Timing } from "./timing.ts"
import { lastWrittenMs, mayBeUntimed, wasTerminating } from "./written-time.ts"

/** ms between two examinations of a stream that is not silent. */
const examineEveryMs = 1000
/** ms without a byte after which a network read may be the end of a delay. */
const silenceMs = 2000
/**
 * ms up to which an object was written "just now": a second because times are rounded down, one because `Date` is, and one in which a live
 * change may be on its way.
 */
const freshMs = 3000
/**
 * ms likewise for what arrives in one burst after a delay: its last changes are younger than {@link freshMs} and were delayed all the same. Clocks are
 * less than a second apart, so one in five live changes at least is that young.
 */
const freshInBurstMs = 1200
/** ms between network reads of one burst. */
const burstGapMs = 300
/** Examinations in which an object was not written just now, with none between that was, after which a stream without silences is behind. */
const agedExaminations = 3
/** Times are rounded down: the middle of the second is wrong by half a second at most. */
const middleMicros = 500_000

export class Liveness {
  readonly #clock: Clock
  readonly #server: ServerClock
  /** µs by the receiver's clock until which an earlier life was live; 0 once this one has been live itself. */
  #liveUntil: number
  /** Monotonic ms up to which nothing is missing on the stream. */
  #provenMs: number
  #cause: LateCause = "stopped"
  /** Changes up to this version are late, since the stream was resumed. */
  #through: ResourceVersion | undefined
  #stretch: LateStretch | undefined
  /** Monotonic ms of the last network read, of the last examination, and of the last object that had just been written. */
  #readMs: number
  #examinedMs: number
  #freshAtMs: number
  /** ms without a byte before the network read that is examined. */
  #silence = 0
  /** Monotonic ms of the server's answer on resuming. */
  #probedMs = 0
  /** Whether the next object is examined. */
  #examines = false
  #isBurst = false
  #aged = 0
  #hasBookmark = false
  /** The latest time of a write seen so far, ms by the server's clock. */
  #newestWrite: number

  /** `liveUntil`: µs until which the recording is known to be complete; 0 if nothing is recorded. */
  constructor(clock: Clock, liveUntil: number) {
    this.#clock = clock
    this.#server = new ServerClock(clock)
    this.#liveUntil = liveUntil
    this.#newestWrite = Math.floor(liveUntil / 1000) - freshMs
    const now = clock.monotonicMs()
    this.#provenMs = now
    this.#readMs = now
    this.#examinedMs = now
    this.#freshAtMs = now
  }

  /**
   * Whether more than a second has passed since the stream was known to be live: then the server must be asked for its version before the stream
   * is resumed.
   */
  get isStale(): boolean {
    return this.#liveUntil > 0 || this.#clock.monotonicMs() - this.#provenMs > liveWithinMicros / 1000
  }

  /** The response of a stream has begun, with the server's clock in ms if it sends it. */
  opened(serverTimeMs: number | undefined): void {
    if (serverTimeMs !== undefined) this.#server.dated(serverTimeMs)
  }

  /** A network read of the watch begins. */
  readBegins(): void {
    const now = this.#clock.monotonicMs()
    const silence = now - this.#readMs
    if (silence >= silenceMs) {
      // What was delayed before has arrived; a new silence needs new evidence.
      if (this.#through === undefined) this.#stretch = undefined
      this.#silence = silence
      this.#examines = true
      this.#aged = 0
    } else if (now - this.#examinedMs >= examineEveryMs) this.#examines = true
    this.#isBurst = silence < burstGapMs || silence >= silenceMs
    this.#readMs = now
  }

  /**
   * The network read has been processed. It proves that the stream was live, unless it ended a silence and holds nothing that tells; then a
   * bookmark does, which a server sends once a minute.
   */
  readDone(): void {
    const isDoubtful = this.#examines && this.#silence >= silenceMs && !this.#hasBookmark
    if (!this.#isLate && !isDoubtful) this.#provenMs = this.#readMs
    this.#hasBookmark = false
  }

  /** Sets the timing of a change of a watch. The hot path. */
  judge(object: ObservedObject): void {
    if (this.#examines || this.#isLate) this.#examine(object)
    else if (object.timing !== "live") setTiming(object, "live", undefined, 0)
  }

  /** A bookmark: everything up to `version` has been delivered. */
  reached(version: string): void {
    this.#hasBookmark = true
    const reached = parseResourceVersion(version)
    if (this.#through !== undefined && reached !== undefined && reached > this.#through) this.#isLiveAgain()
  }

  /** A list is complete: it is the present state. */
  listed(): void {
    this.#isLiveAgain()
    this.#newestWrite = Math.max(this.#newestWrite, this.#server.nowMs() - freshMs)
  }

  /** The stream has ended. A server that ends it in order has sent everything before. */
  ended(isClean: boolean): void {
    if (isClean && !this.#isLate) this.#provenMs = this.#clock.monotonicMs()
    if (this.#liveUntil === 0) this.#cause = "disconnected"
  }

  /** Before the stream is resumed, the server has named its present version. */
  probed(version: string): void {
    const through = parseResourceVersion(version)
    // Versions that are no numbers cannot be compared; then the changes themselves have to tell.
    if (through === undefined || !this.isStale) return
    this.#through = through
    this.#probedMs = this.#clock.monotonicMs()
    this.#stretch = this.#stretchUntil(this.#cause, this.#clock.wallMicros())
  }

  /** Whether what arrives is known to be late. */
  get #isLate(): boolean {
    return this.#stretch !== undefined
  }

  #examine(object: ObservedObject): void {
    if (this.#through !== undefined) {
      if (typeof object.version !== "string" && object.version <= this.#through)
        return this.#late(object, lastWrittenMs(object))
      this.#isBeyondProbe()
    }
    const written = lastWrittenMs(object)
    const age = written === undefined ? undefined : this.#server.nowMs() - written
    const fresh = this.#isLate && this.#isBurst ? freshInBurstMs : freshMs
    if (age !== undefined && age <= fresh) return this.#fresh(object, written as number)
    if (this.#isLate) return this.#late(object, written)
    // A deletion's object says when it was written, not when it was deleted.
    if (written === undefined || age === undefined || object.action === deleted) return this.#cannotTell(object)
    const isNews = written > this.#newestWrite
    this.#sawWrite(written)
    if (isNews && age <= this.#readMs - this.#freshAtMs + freshMs) this.#aged++
    const isWithinSilence = this.#silence >= silenceMs && age <= this.#silence + freshMs
    if (isNews && (isWithinSilence || this.#aged >= agedExaminations)) {
      if (!isWithinSilence) this.#provenMs = Math.min(this.#provenMs, this.#freshAtMs)
      this.#stretch = this.#stretchUntil("delayed", undefined)
      return this.#late(object, written)
    }
    this.#cannotTell(object)
  }

  /** What follows the server's answer counts as if the stream had been silent since: opening it took its time. */
  #isBeyondProbe(): void {
    const silence = this.#readMs - this.#probedMs
    this.#isLiveAgain()
    this.#provenMs = this.#probedMs
    this.#silence = silence
    this.#examines = true
    this.#isBurst = true
  }

  #fresh(object: ObservedObject, written: number): void {
    this.#sawWrite(written)
    this.#freshAtMs = this.#readMs
    this.#isLiveAgain()
    setTiming(object, "live", undefined, 0)
  }

  #late(object: ObservedObject, written: number | undefined): void {
    const age = written === undefined ? 0 : this.#server.nowMs() - written
    if (written === undefined || !this.#tells(object, written)) return setTiming(object, "late", this.#stretch, 0)
    this.#sawWrite(written)
    // Nothing before it is missing any more.
    if (this.#through === undefined) this.#provenMs = Math.max(this.#provenMs, this.#readMs - age)
    setTiming(object, "late", this.#stretch, Math.floor(this.#clock.wallMicros() - age * 1000) + middleMicros)
  }

  /**
   * Whether an object says when a late change was made. Changes come in the order of their versions, so one that was written before its predecessor
   * does not; nor does a deletion at once.
   */
  #tells(object: ObservedObject, written: number): boolean {
    if (written < this.#newestWrite || (object.action === deleted && !wasTerminating(object))) return false
    return written > this.#newestWrite || !mayBeUntimed(object)
  }

  /** A client may have given an object times in the future; they must not make all later changes look old. */
  #sawWrite(written: number): void {
    this.#newestWrite = Math.max(this.#newestWrite, Math.min(written, this.#server.nowMs()))
  }

  /** Only a silence makes it doubtful. */
  #cannotTell(object: ObservedObject): void {
    if (this.#silence >= silenceMs) return setTiming(object, "undecided", this.#stretchUntil("delayed", undefined), 0)
    this.#examined()
    setTiming(object, "live", undefined, 0)
  }

  #examined(): void {
    this.#examines = false
    this.#silence = 0
    this.#examinedMs = this.#readMs
  }

  #isLiveAgain(): void {
    this.#through = undefined
    this.#stretch = undefined
    this.#liveUntil = 0
    this.#aged = 0
    this.#readMs = this.#clock.monotonicMs()
    this.#provenMs = this.#readMs
    this.#examined()
  }

  #stretchUntil(cause: LateCause, notAfter: number | undefined): LateStretch {
    return { notBefore: Math.max(0, this.#provenMicros() - liveWithinMicros), notAfter, cause }
  }

  /** The last moment up to which nothing is missing, µs by the receiver's clock, also if that clock has been set since. */
  #provenMicros(): number {
    if (this.#liveUntil > 0) return this.#liveUntil
    return Math.floor(this.#clock.wallMicros() - (this.#clock.monotonicMs() - this.#provenMs) * 1000)
  }
}

/** As in {@link ObservedObject.action}. */
const deleted = 2

const setTiming = (
  object: ObservedObject,
  timing: Timing,
  stretch: LateStretch | undefined,
  happenedMicros: number,
): void => {
  object.timing = timing
  object.stretch = stretch
  object.happenedMicros = happenedMicros
}
