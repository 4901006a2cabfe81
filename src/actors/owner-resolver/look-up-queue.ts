/**
 * Decides which question is put to the API server when.
 *
 * Guaranteed: one request per UID at a time (single flight); at most `concurrency` at once and `perSecond` on average;
 * a wait that the server asks for (Retry-After) holds back what it covers; a failure is never an answer, it is asked again
 * with a back-off that doubles. Bounded: beyond `maximumPending` a question is refused, and the caller says where it can be
 * found again.
 */
import type { Clock, Timer } from "../../runtime/clock.ts"
import type { OwnerQuestion } from "../owner-messages.ts"
import type { LookUpOutcome } from "./look-up.ts"

export interface LookUpLimits {
  /** Requests at once. Default 8: each is one object's metadata, 2 ms on a healthy server. */
  readonly concurrency: number
  /** Requests a second on average, and how many may come at once after a pause. Defaults 50 and 100, as client-go's controllers. */
  readonly perSecond: number
  readonly burst: number
  /** Questions waiting. Default 20,000, some 10 MB. */
  readonly maximumPending: number
  /** ms before a failed question is asked again; doubles with each failure up to the longest. Defaults 1 s and 60 s. */
  readonly firstBackOffMs: number
  readonly longestBackOffMs: number
}

export const defaultLookUpLimits: LookUpLimits = {
  concurrency: 8,
  perSecond: 50,
  burst: 100,
  maximumPending: 20_000,
  firstBackOffMs: 1000,
  longestBackOffMs: 60_000,
}

export type Answer = Exclude<LookUpOutcome, { tag: "failed" }>
export type LookUpFailure = Extract<LookUpOutcome, { tag: "failed" }>

export interface QueueListener {
  answered(question: OwnerQuestion, answer: Answer): void
  /** Each failure; the question stays in the queue. */
  failed(question: OwnerQuestion, failure: LookUpFailure): void
}

interface Entry {
  readonly question: OwnerQuestion
  failures: number
  /** Monotonic ms before which it is not asked. */
  dueAt: number
  isRunning: boolean
}

/** ms between looks at what waits for its back-off: precise enough, and bounded work with many waiting. */
const lookMs = 250

export class LookUpQueue {
  readonly #ask: (question: OwnerQuestion) => Promise<LookUpOutcome>
  readonly #clock: Clock
  readonly #random: () => number
  readonly #limits: LookUpLimits
  readonly #listener: QueueListener
  readonly #entries = new Map<string, Entry>()
  #ready: Array<Entry> = []
  /** In `#ready` and taken already. */
  #taken = 0
  readonly #waiting = new Set<Entry>()
  #running = 0
  #tokens: number
  #tokensAt: number
  /** Monotonic ms until which nothing, or nothing about a kind, is asked. */
  #pausedUntil = 0
  readonly #kindPausedUntil = new Map<string, number>()
  #timer: Timer | undefined
  #requests = 0
  #failures = 0
  #isClosed = false

  constructor(
    ask: (question: OwnerQuestion) => Promise<LookUpOutcome>,
    clock: Clock,
    random: () => number,
    limits: LookUpLimits,
    listener: QueueListener,
  ) {
    this.#ask = ask
    this.#clock = clock
    this.#random = random
    this.#limits = limits
    this.#listener = listener
    this.#tokens = limits.burst
    this.#tokensAt = clock.monotonicMs()
  }

  /** Questions without an answer. */
  get pending(): number {
    return this.#entries.size
  }

  get running(): number {
    return this.#running
  }

  /** Requests made since the beginning, and how many of them failed. */
  get requests(): number {
    return this.#requests
  }

  get failures(): number {
    return this.#failures
  }

  /** The questions without an answer, oldest first. */
  *questions(): Generator<OwnerQuestion> {
    for (const { question } of this.#entries.values()) yield question
  }

  isPending(uid: string): boolean {
    return this.#entries.has(uid)
  }

  /** False when too many wait. A UID that waits already counts as taken. */
  add(question: OwnerQuestion): boolean {
    if (this.#entries.has(question.uid)) return true
    if (this.#isClosed || this.#entries.size >= this.#limits.maximumPending) return false
    const entry: Entry = { question, failures: 0, dueAt: 0, isRunning: false }
    this.#entries.set(question.uid, entry)
    this.#ready.push(entry)
    this.#pump()
    return true
  }

  /** What waits after a failure is tried now: somebody needs it, or credentials are new. A wait the server asked for stands. */
  retryNow(): void {
    this.#kindPausedUntil.clear()
    for (const entry of this.#waiting) entry.dueAt = 0
    this.#look()
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#entries.clear()
    this.#waiting.clear()
    this.#ready = []
    this.#taken = 0
  }

  #pump(): void {
    const now = this.#clock.monotonicMs()
    while (!this.#isClosed && this.#running < this.#limits.concurrency && this.#taken < this.#ready.length) {
      if (now < this.#pausedUntil || !this.#takeToken(now)) break
      const entry = this.#ready[this.#taken++] as Entry
      const kindPausedUntil = this.#kindPausedUntil.get(entry.question.gvk) ?? 0
      if (now < kindPausedUntil) {
        this.#tokens++
        this.#wait(entry, kindPausedUntil)
      } else this.#run(entry)
    }
    if (this.#taken === this.#ready.length || this.#taken > 1024) {
      this.#ready.splice(0, this.#taken)
      this.#taken = 0
    }
    this.#lookLater()
  }

  #takeToken(now: number): boolean {
    const { perSecond, burst } = this.#limits
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#tokensAt) / 1000) * perSecond)
    this.#tokensAt = now
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }

  #run(entry: Entry): void {
    this.#running++
    this.#requests++
    entry.isRunning = true
    void this.#ask(entry.question).then((outcome) => {
      this.#running--
      entry.isRunning = false
      if (this.#isClosed) return
      if (outcome.tag === "failed") this.#failed(entry, outcome)
      else {
        this.#entries.delete(entry.question.uid)
        this.#listener.answered(entry.question, outcome)
      }
      this.#pump()
    })
  }

  #failed(entry: Entry, failure: LookUpFailure): void {
    this.#failures++
    entry.failures++
    const { firstBackOffMs, longestBackOffMs } = this.#limits
    const backOff = Math.min(longestBackOffMs, firstBackOffMs * 2 ** (entry.failures - 1))
    // Half of it is jitter: what failed together must not be asked again together.
    const delay = Math.max(failure.retryAfterMs ?? 0, backOff * (0.5 + this.#random() / 2))
    const until = this.#clock.monotonicMs() + delay
    const { gvk } = entry.question
    if (failure.reach === "server") this.#pausedUntil = Math.max(this.#pausedUntil, until)
    if (failure.reach === "kind") this.#kindPausedUntil.set(gvk, Math.max(this.#kindPausedUntil.get(gvk) ?? 0, until))
    this.#wait(entry, until)
    this.#listener.failed(entry.question, failure)
  }

  #wait(entry: Entry, until: number): void {
    entry.dueAt = until
    this.#waiting.add(entry)
  }

  #look(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    const now = this.#clock.monotonicMs()
    for (const entry of this.#waiting) {
      if (entry.dueAt > now) continue
      this.#waiting.delete(entry)
      this.#ready.push(entry)
    }
    this.#pump()
  }

  #lookLater(): void {
    const isIdle = this.#waiting.size === 0 && this.#taken === this.#ready.length
    if (this.#isClosed || isIdle || this.#timer !== undefined) return
    this.#timer = this.#clock.after(lookMs, () => this.#look())
  }
}
