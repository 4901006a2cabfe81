/**
 * When the store removes the beginning of the recording: in turns of some ms between which frames are taken and committed, and with pauses in
 * proportion, so that ingest keeps 97 % of the thread. When the disk is short of room, half of it; and when the recording outgrows its limit, as much as it takes
 * to end that.
 *
 * A turn that fails changes nothing that was recorded; the next one comes later.
 */

import { CorruptArchiveError, type Retention, type RetentionPolicy } from "../../archive/index.ts"
import type { Clock, Timer } from "../../clock.ts"
import { messageOf } from "../../message-of.ts"
import type { RetentionSettings } from "./store-interface.ts"

/** ms after which a turn ends. Its last transaction may take some more. */
const turnMs = 4

/** Multiple of a turn for which the pause after it lasts. With 4, a GB was gone within 8 s instead of 70, but the 99th percentile of commits rose by a quarter. */
const pausesPerTurn = 39

/** Bytes beyond its limit that change nothing: as many come in at 5,000 changes/s while strides are folded, before any of their blocks is free. */
const toleratedBytes = 1024 * 1024

/**
 * Further bytes at which a recording gives retention half of the thread: with each of them pauses become shorter, and beyond them turns longer, by the same
 * factor. With twice as many, 8 MiB in all, retention has nearly all of it, and what is taken in waits.
 */
const outgrownBytes = 3.5 * 1024 * 1024

/** Bytes committed, before compression, after which a pause may be too long: 94 times a second when 130,000 changes are recorded. */
const committedBytes = 4 * 1024 * 1024

/**
 * ms after a MB was given back to the file system. Every fourth fills the log, and the commit that then writes it into the database waits for the disk for
 * 33 ms: as often as this, that concerns less than one event in a hundred.
 */
const giveBackPauseMs = 1500

/** ms between looks whether anything is to be removed. */
const retentionLookMs = 5000

/** ms from the start to the first look: a recorder that is killed again and again within seconds would otherwise remove nothing. */
const firstLookMs = 500

/** Belongs to one life of the store. */
export class RetentionTurns {
  readonly #retention: Retention
  readonly #clock: Clock
  readonly #report: (trouble: string | undefined) => void
  #timer: Timer | undefined
  #trouble: string | undefined
  #isPressed = false
  #isStopped = false
  #longestMs = 0
  /** ms of the last turn, and when it ended. */
  #tookMs = 0
  #endedMs = 0
  #dueMs = 0
  #committed = 0

  /** `report` gets the reason when retention begins to fail, and `undefined` when it succeeds again. */
  constructor(retention: Retention, clock: Clock, report: (trouble: string | undefined) => void) {
    this.#retention = retention
    this.#clock = clock
    this.#report = report
  }

  start(policy: RetentionSettings | undefined): void {
    if (policy !== undefined) this.#retention.setPolicy(policyOf(policy))
    // Without a reserve the disk may be full, and the first commits would take what little there is.
    this.#later(this.#retention.isShort ? 0 : firstLookMs)
  }

  setPolicy(policy: RetentionSettings): void {
    this.#retention.setPolicy(policyOf(policy))
    this.#later(0)
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  /** A commit found no room: what retention can remove is removed at once. */
  press(): void {
    this.#retention.press()
    if (!this.#isPressed) this.#later(0)
    this.#isPressed = true
  }

  /** There is room again. */
  relax(): void {
    this.#isPressed = false
    this.#retention.relax()
  }

  /** So many bytes were committed. What has outgrown its limit meanwhile does not wait for the end of the pause. */
  committed(bytes: number): void {
    this.#committed += bytes
    if (this.#committed < committedBytes) return
    this.#committed = 0
    const outgrown = this.#outgrown()
    if (outgrown === 0) return
    const dueMs = this.#endedMs + this.#tookMs * pausesFor(outgrown)
    if (dueMs < this.#dueMs) this.#later(Math.max(0, dueMs - this.#clock.monotonicMs()))
  }

  /** ms of the longest turn in this life. */
  get longestMs(): number {
    return this.#longestMs
  }

  #later(delayMs: number): void {
    this.#timer?.cancel()
    if (this.#isStopped) return
    this.#dueMs = this.#clock.monotonicMs() + delayMs
    this.#timer = this.#clock.after(delayMs, () => this.#turn())
  }

  #turn(): void {
    const start = this.#clock.monotonicMs()
    const lengthMs = turnMs / Math.min(1, pausesFor(this.#outgrown()))
    const passed = (): number => this.#clock.monotonicMs() - start
    let hasMore = false
    try {
      hasMore = this.#retention.step(() => passed() >= lengthMs)
      this.#tell(this.#retention.pinTrouble)
    } catch (cause) {
      this.#tell(messageOf(cause))
      // What cannot be read now will not be readable later; the next life looks again.
      if (cause instanceof CorruptArchiveError) return
    }
    this.#tookMs = passed()
    this.#endedMs = start + this.#tookMs
    this.#longestMs = Math.max(this.#longestMs, this.#tookMs)
    this.#later(hasMore ? this.#pause() : retentionLookMs)
  }

  #pause(): number {
    if (this.#retention.isShort) return this.#tookMs
    const outgrown = this.#outgrown()
    const pauseMs = this.#tookMs * pausesFor(outgrown)
    return this.#retention.isGivingBack && outgrown === 0 ? Math.max(pauseMs, giveBackPauseMs) : pauseMs
  }

  #outgrown(): number {
    try {
      return this.#retention.outgrown()
    } catch (cause) {
      this.#tell(messageOf(cause))
      return 0
    }
  }

  #tell(trouble: string | undefined): void {
    if (trouble === this.#trouble) return
    this.#trouble = trouble
    this.#report(trouble)
  }
}

/** Pause after a turn, as a multiple of its length. */
const pausesFor = (outgrown: number): number =>
  pausesPerTurn ** (1 - Math.min(2, Math.max(0, outgrown - toleratedBytes) / outgrownBytes))

// The limits in the form in which the archive takes them.

/** Plain data has no maps. */
export const policyOf = ({ kinds, ...limits }: RetentionSettings): RetentionPolicy => ({
  ...limits,
  kinds: new Map(kinds.map(({ gvk, ...own }) => [gvk, own])),
})
