/**
 * Decides which question is put to the API server when.
 *
 * Guaranteed: one request per owner at a time (single flight); at most `concurrency` at once and `perSecond` on average;
 * a wait that the server asks for (Retry-After) holds back what it covers; a failure is never an answer, it is asked again
 * with a back-off that doubles, and one that a kind or the server shares doubles for all of it together: ten thousand questions
 * about a forbidden kind are a few requests a minute. Bounded: beyond `maximumPending` a question is refused, and the caller says where it can be
 * found again.
 */
import type { Clock, Timer } from "../../clock.ts"
import { type OwnerQuestion, questionKey } from "../../wire/owner-messages.ts"
import type { LookUpOutcome } from "./look-up.ts"
import { Pause } from "./pause.ts"

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
  /** Something is known of this owner, and may be out of date: nobody waits for the answer. */
  readonly isRefresh: boolean
  /** Its own failures; those it shares are counted where it shares them. */
  readonly own: Pause
  /** Monotonic ms before which it is not asked. */
  dueAt: number
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
  readonly #server: Pause
  readonly #kinds = new Map<string, Pause>()
  #refreshes = 0
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
    this.#server = new Pause(limits)
    this.#tokens = limits.burst
    this.#tokensAt = clock.monotonicMs()
  }

  /** Questions without an answer, refreshes included. */
  get pending(): number {
    return this.#entries.size
  }

  /** Owners of which nothing is known. */
  get unknown(): number {
    return this.#entries.size - this.#refreshes
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

  /** The questions about owners of which nothing is known, oldest first. */
  *unknownOwners(): Generator<OwnerQuestion> {
    for (const { question, isRefresh } of this.#entries.values()) if (!isRefresh) yield question
  }

  isPending(question: OwnerQuestion): boolean {
    return this.#entries.has(questionKey(question))
  }

  /** False when too many wait. A UID that waits already counts as taken. `isRefresh`: something is known of this owner. */
  add(question: OwnerQuestion, isRefresh = false): boolean {
    if (this.#entries.has(questionKey(question))) return true
    if (this.#isClosed || this.#entries.size >= this.#limits.maximumPending) return false
    const entry: Entry = { question, isRefresh, own: new Pause(this.#limits), dueAt: 0 }
    this.#entries.set(questionKey(question), entry)
    if (isRefresh) this.#refreshes++
    this.#ready.push(entry)
    this.#pump()
    return true
  }

  /** What waits after a failure is tried now: somebody needs it, or credentials are new. A wait the server asked for stands. */
  retryNow(): void {
    for (const pause of [this.#server, ...this.#kinds.values()]) pause.cutShort()
    for (const entry of this.#waiting) {
      entry.own.cutShort()
      entry.dueAt = entry.own.until
    }
    this.#look()
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#entries.clear()
    this.#refreshes = 0
    this.#waiting.clear()
    this.#ready = []
    this.#taken = 0
  }

  #pump(): void {
    const now = this.#clock.monotonicMs()
    while (!this.#isClosed && this.#running < this.#limits.concurrency && this.#taken < this.#ready.length) {
      if (now < this.#server.until || !this.#takeToken(now)) break
      const entry = this.#ready[this.#taken++] as Entry
      const until = this.#kinds.get(entry.question.gvk)?.until ?? 0
      if (now < until) {
        this.#tokens++
        this.#wait(entry, until)
      } else this.#run(entry, now)
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

  #run(entry: Entry, startedAt: number): void {
    this.#running++
    this.#requests++
    void this.#ask(entry.question).then((outcome) => {
      this.#running--
      if (this.#isClosed) return
      if (outcome.tag === "failed") this.#failed(entry, outcome, startedAt)
      else this.#answered(entry, outcome)
      this.#pump()
    })
  }

  #answered({ question, isRefresh }: Entry, answer: Answer): void {
    this.#entries.delete(questionKey(question))
    if (isRefresh) this.#refreshes--
    this.#server.reset()
    this.#kinds.delete(question.gvk)
    this.#listener.answered(question, answer)
  }

  #failed(entry: Entry, failure: LookUpFailure, startedAt: number): void {
    this.#failures++
    const pauses = this.#pausesOf(entry, failure)
    const now = this.#clock.monotonicMs()
    for (const pause of pauses) pause.failed(startedAt, now, failure.retryAfterMs ?? 0, this.#random())
    this.#wait(entry, Math.max(...pauses.map(({ until }) => until)))
    this.#listener.failed(entry.question, failure)
  }

  /** What else would fail the same way waits with it. It may be this object alone after all, though the kind is blamed. */
  #pausesOf({ question: { gvk }, own }: Entry, { reach }: LookUpFailure): ReadonlyArray<Pause> {
    if (reach !== "kind") return [reach === "server" ? this.#server : own]
    const kind = this.#kinds.get(gvk) ?? new Pause(this.#limits)
    this.#kinds.set(gvk, kind)
    return [kind, own]
  }

  #wait(entry: Entry, until: number): void {
    entry.dueAt = until
    this.#waiting.add(entry)
  }

  #look(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    const now = this.#clock.monotonicMs()
    const due = [...this.#waiting].filter(({ dueAt }) => dueAt <= now)
    for (const entry of due) this.#waiting.delete(entry)
    // Those that failed least go first: an object that fails by itself must not make its whole kind wait each time.
    this.#ready.push(...due.sort((left, right) => left.own.failures - right.own.failures))
    this.#pump()
  }

  #lookLater(): void {
    const isIdle = this.#waiting.size === 0 && this.#taken === this.#ready.length
    if (this.#isClosed || isIdle || this.#timer !== undefined) return
    this.#timer = this.#clock.after(lookMs, () => this.#look())
  }
}
