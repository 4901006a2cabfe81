/**
 * Decides for each change of a watch whether it was received when it happened, and until when the stream was live.
 *
 * A stream is live while bytes arrive on it. There are two ways for changes to be late, and two kinds of evidence:
 *
 * - **The stream was interrupted** (nothing was recording, the connection was lost, the server refused). Before it is resumed, the server is
 *   asked for its present version (rule 14): all changes up to the version that was current on connecting happened before the response. What follows is
 *   judged as after a silence since then.
 * - **The stream is open and delayed** (a network that drops packets, a proxy that buffers, a server that is behind). Then the changes themselves
 *   say so: after a silence, and once a second otherwise, the next object is examined for the time at which the server wrote it
 *   (written-time.ts). A change is late if it was written within the silence, more than {@link freshMs} ago and after everything
 *   seen before; the following ones are late until one was written just now.
 *
 * An old time is evidence only if it moved since the version before. A label that is removed after 40 s of silence, a taint, a count that became zero
 * leave the times of the object as they were: such a change happened at any time since, mostly just now. So did one without times, a deletion that did
 * not have to wait, and one whose predecessor another kind has seen just now, although a webhook kept its write for seconds. They share the fate of their
 * neighbours.
 *
 * A live change costs two comparisons and the reading of its times, a network read one reading of the clock.
 */
import type { Clock } from "../../../clock.ts"
import { parseResourceVersion, type ResourceVersion } from "../../resource-version.ts"
import {
  type LateCause,
  type LateStretch,
  liveWithinMicros,
  type ObservedObject,
  type Timing,
} from "./observed-object.ts"

import type { VersionClock } from "./version-clock.ts"
import { hasMoved, mayBeRewritten, type Writes, WrittenTimes, writesOfEarlierLife } from "./written-time.ts"

// The server's clock, from the `Date` header of its responses. It is compared with the monotonic clock, so that a receiver's clock that is set
// does not make changes look old.

/** `Date` has whole seconds, rounded down. */
const middleMs = 500
/** ms within which two clocks count as equal: `Date` cannot tell, and machines of a cluster are synchronised. */
const equalWithinMs = 1000

class ServerClock {
  readonly #clock: Pick<Clock, "monotonicMs" | "wallMicros">
  /** The server's time at monotonic 0, ms since the Unix epoch; `undefined`: it sends no dates, so the receiver's clock is used. */
  #atZero: number | undefined

  constructor(clock: Pick<Clock, "monotonicMs" | "wallMicros">) {
    this.#clock = clock
  }

  /** A response began with this `Date`, in ms. A head that a proxy holds back makes the server's clock appear slow, and changes younger. */
  dated(dateMs: number): void {
    const ours = this.#clock.wallMicros() / 1000
    const server = dateMs + middleMs
    this.#atZero = (Math.abs(server - ours) <= equalWithinMs ? ours : server) - this.#clock.monotonicMs()
  }

  /** ms since the Unix epoch. */
  nowMs(): number {
    return this.#atZero === undefined ? this.#clock.wallMicros() / 1000 : this.#atZero + this.#clock.monotonicMs()
  }
}

/** As {@link WatchSink.writesBefore}. */
export type WritesBefore = (object: Readonly<ObservedObject>) => Writes | "new" | "unknown"

interface LivenessOptions {
  readonly clock: Clock
  /** µs until which the recording is known to be complete; 0 if nothing is recorded. */
  readonly liveUntil: number
  /** What the watches of other kinds know. Default: nothing. */
  readonly versions?: VersionClock | undefined
  /** Default: nothing is known, so that a time of an object is never evidence. */
  readonly writesBefore?: WritesBefore | undefined
}

/**
 * Whether the time that an object says is that of the change. `sure`: it moved. `likely`, good enough for an estimate: nothing has been written later so
 * far, and the object was written again in the same second, or the version before is not known. `no`: the change left no time.
 */
type Dating = "sure" | "likely" | "no"

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
  readonly #versions: VersionClock | undefined
  readonly #writesBefore: WritesBefore | undefined
  readonly #times = new WrittenTimes()
  /** µs by the receiver's clock until which an earlier life was live; 0 once this one has been live itself. */
  #liveUntil: number
  /** The same, for the whole of this life. */
  readonly #recordedUntil: number
  /** Monotonic ms up to which nothing is missing on the stream. */
  #provenMs: number
  #cause: LateCause = "stopped"
  /** The server's version when the stream was resumed, until it is reached: changes up to it are late. */
  #currentOnConnecting: ResourceVersion | undefined
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
  /** The stretch began without a silence. */
  #isBehind = false
  #aged = 0
  /** Of the change before, if it is a number. */
  #lastVersion = 0
  /** The time of the network read by both clocks, ms and µs; 0: not yet asked. */
  #serverMs = 0
  #wallMicros = 0
  #hasBookmark = false
  /** The latest time of a write seen so far, ms by the server's clock. */
  #newestWrite: number

  constructor({ clock, liveUntil, versions, writesBefore }: LivenessOptions) {
    this.#clock = clock
    this.#server = new ServerClock(clock)
    this.#versions = versions
    this.#writesBefore = writesBefore
    this.#liveUntil = liveUntil
    this.#recordedUntil = liveUntil
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
    this.#serverMs = 0
    if (silence >= silenceMs) {
      // What was delayed before has arrived; a new silence needs new evidence.
      if (this.#currentOnConnecting === undefined) this.#stretch = undefined
      this.#isBehind = false
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
    if (this.#writesBefore !== undefined) this.#times.read(object)
    if (this.#examines || this.#isLate) this.#examine(object)
    else if (object.timing !== "live") setTiming(object, "live", undefined, 0)
    if (typeof object.version === "number") this.#lastVersion = object.version
  }

  /** An object of a list: its times will be those before its next version. */
  listedObject(object: ObservedObject): void {
    if (this.#writesBefore !== undefined) this.#times.read(object)
  }

  /** A bookmark: everything up to `version` has been delivered. */
  reached(version: string): void {
    this.#hasBookmark = true
    const reached = parseResourceVersion(version)
    if (this.#currentOnConnecting !== undefined && reached !== undefined && reached > this.#currentOnConnecting)
      this.#isLiveAgain()
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
    this.#currentOnConnecting = through
    this.#probedMs = this.#clock.monotonicMs()
    const now = this.#clock.wallMicros()
    this.#stretch = this.#stretchUntil(this.#cause, now)
    // What left no time lies between the last change that did and this, in proportion to the versions, which even a quiet server counts.
    this.#versions?.note(through, now)
  }

  /** Whether what arrives is known to be late. */
  get #isLate(): boolean {
    return this.#stretch !== undefined
  }

  #examine(object: ObservedObject): void {
    if (this.#writesBefore === undefined) this.#times.read(object)
    this.#readClocks()
    object.sinceMicros = this.#onReceiversClock(Math.max(object.created, object.written))
    if (this.#currentOnConnecting !== undefined) {
      if (typeof object.version !== "string" && object.version <= this.#currentOnConnecting)
        return this.#late(object, this.#dating(object) !== "no")
      this.#isBeyondProbe()
    }
    const isLate = this.#isLate
    if (this.#ageAtMost(object) <= (isLate && this.#isBurst ? freshInBurstMs : freshMs)) return this.#fresh(object)
    const dating = this.#dating(object)
    // Once the burst is over, what left no time has probably just happened.
    if (isLate && (dating === "sure" || this.#isBurst || this.#isBehind)) return this.#late(object, dating !== "no")
    if (dating !== "sure") return this.#cannotTell(object)
    const written = object.written * 1000
    const age = this.#serverMs - written
    const isNews = written > this.#newestWrite
    this.#sawWrite(written)
    if (isNews && age <= this.#readMs - this.#freshAtMs + freshMs) this.#aged++
    const isWithinSilence = this.#silence >= silenceMs && age <= this.#silence + freshMs
    if (isNews && (isWithinSilence || this.#aged >= agedExaminations)) {
      this.#isBehind = !isWithinSilence
      if (this.#isBehind) this.#provenMs = Math.min(this.#provenMs, this.#freshAtMs)
      this.#stretch = this.#stretchUntil("delayed", undefined)
      return this.#late(object, true)
    }
    this.#cannotTell(object)
  }

  #readClocks(): void {
    if (this.#serverMs !== 0) return
    this.#serverMs = this.#server.nowMs()
    this.#wallMicros = this.#clock.wallMicros()
  }

  #onReceiversClock(serverSeconds: number): number {
    if (serverSeconds === 0) return 0
    return Math.floor(this.#wallMicros - (this.#serverMs - serverSeconds * 1000) * 1000)
  }

  /** ms since the change can have happened: it was after every write that the object names, and after lower versions. */
  #ageAtMost({ version, created, written }: ObservedObject): number {
    const since = Math.max(created, written)
    let age = since === 0 ? Number.POSITIVE_INFINITY : this.#serverMs - since * 1000
    if (typeof version !== "number" || age <= freshInBurstMs) return age
    if (this.#probedMs > 0) age = Math.min(age, this.#readMs - this.#probedMs)
    // Versions up to the last of this stream tell nothing: they were received with the same delay.
    const before = this.#versions?.before(version - 1, this.#lastVersion + 1)
    return before === undefined ? age : Math.min(age, (this.#wallMicros - before.micros) / 1000)
  }

  #dating(object: ObservedObject): Dating {
    const before = this.#writesBefore?.(object) ?? "unknown"
    if (object.written === 0) return "no"
    if (before === "new") return object.action === deleted ? "no" : "sure"
    if (before === "unknown")
      return object.action !== deleted && this.#isWrittenAfter(object, this.#provenMicros()) ? "likely" : "no"
    if (before.written !== writesOfEarlierLife.written) {
      if (hasMoved(object, before)) return "sure"
      const isLatest = object.written * 1000 === this.#newestWrite
      const isSoon = object.action === deleted ? object.isTerminating : mayBeRewritten(object, before)
      return isLatest && isSoon ? "likely" : "no"
    }
    return this.#recordedUntil > 0 && this.#isWrittenAfter(object, this.#recordedUntil) ? "sure" : "no"
  }

  /** `micros`: by the receiver's clock. */
  #isWrittenAfter({ written }: ObservedObject, micros: number): boolean {
    return written * 1000 > this.#serverMs - (this.#wallMicros - micros) / 1000
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

  #fresh(object: ObservedObject): void {
    this.#sawWrite(object.written * 1000)
    this.#freshAtMs = this.#readMs
    this.#isLiveAgain()
    setTiming(object, "live", undefined, 0)
  }

  /** Changes come in the order of their versions, so one that was written before its predecessor does not say when it happened. */
  #late(object: ObservedObject, isDated: boolean): void {
    const written = object.written * 1000
    if (!isDated || written < this.#newestWrite) return setTiming(object, "late", this.#stretch, 0)
    this.#sawWrite(written)
    // Nothing before it is missing any more.
    const age = this.#serverMs - written
    if (this.#currentOnConnecting === undefined) this.#provenMs = Math.max(this.#provenMs, this.#readMs - age)
    setTiming(object, "late", this.#stretch, this.#onReceiversClock(object.written) + middleMicros)
  }

  /** A client may have given an object times in the future; they must not make all later changes look old. */
  #sawWrite(written: number): void {
    this.#readClocks()
    this.#newestWrite = Math.max(this.#newestWrite, Math.min(written, this.#serverMs))
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
    this.#currentOnConnecting = undefined
    this.#stretch = undefined
    this.#isBehind = false
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
