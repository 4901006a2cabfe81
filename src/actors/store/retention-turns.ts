/**
 * When the store removes the beginning of the recording: in turns of some ms between which frames are taken and committed, and with pauses in
 * proportion, so that ingest keeps 97 % of the thread. When the disk is short of room, half of it.
 *
 * A turn that fails changes nothing that was recorded; the next one comes later.
 */
import { CorruptArchiveError } from "../../archive/archive-errors.ts"
import type { Retention } from "../../archive/retention/retention.ts"
import type { Clock, Timer } from "../../clock.ts"
import { messageOf } from "../../message-of.ts"
import type { RetentionSettings } from "./definition.ts"
import { policyOf } from "./retention-policy.ts"

/** ms after which a turn ends. Its last transaction may take some more. */
const turnMs = 4

/** Pause after a turn, as a multiple of its length. With 4, a GB was gone within 8 s instead of 70, but the 99th percentile of commits rose by a quarter. */
const pausesPerTurn = 39

/**
 * ms after a MB was given back to the file system. Every fourth fills the log, and the commit that then writes it into the database waits for the disk for
 * 33 ms: as often as this, that concerns less than one event in a hundred.
 */
const giveBackPauseMs = 1500

/** ms between looks whether anything is to be removed. */
export const retentionLookMs = 5000

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

  /** `report` is told when it begins to fail, and `undefined` when it succeeds again. */
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

  /** ms of the longest turn in this life. */
  get longestMs(): number {
    return this.#longestMs
  }

  #later(delayMs: number): void {
    this.#timer?.cancel()
    if (this.#isStopped) return
    this.#timer = this.#clock.after(delayMs, () => this.#turn())
  }

  #turn(): void {
    const start = this.#clock.monotonicMs()
    const passed = (): number => this.#clock.monotonicMs() - start
    let hasMore = false
    try {
      hasMore = this.#retention.step(() => passed() >= turnMs)
      this.#tell(undefined)
    } catch (cause) {
      this.#tell(messageOf(cause))
      // What cannot be read now will not be readable later; the next life looks again.
      if (cause instanceof CorruptArchiveError) return
    }
    const took = passed()
    this.#longestMs = Math.max(this.#longestMs, took)
    this.#later(hasMore ? this.#pauseAfter(took) : retentionLookMs)
  }

  #pauseAfter(tookMs: number): number {
    if (this.#retention.isShort) return tookMs
    return Math.max(tookMs * pausesPerTurn, this.#retention.isGivingBack ? giveBackPauseMs : 0)
  }

  #tell(trouble: string | undefined): void {
    if (trouble === this.#trouble) return
    this.#trouble = trouble
    this.#report(trouble)
  }
}
