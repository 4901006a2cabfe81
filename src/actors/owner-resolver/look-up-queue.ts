/**
 * Schedules look-ups at the API server.
 *
 * Guarantee: one request per owner at a time (single flight); at most `concurrency` at once and `perSecond` on average; a Retry-After
 * delays everything it applies to; a failed look-up is never taken for an answer but repeated with a back-off that doubles. Failures that a
 * kind or the whole server shares have a shared back-off: ten thousand look-ups of a forbidden kind are a few requests a minute. Bounded:
 * beyond `maximumPending` a look-up is rejected, and the caller must be able to find it again.
 */
import type { Clock, Timer } from "../../clock.ts"
import { type OwnerQuestion, questionKey } from "../../wire/index.ts"
import type { LookUpOutcome } from "./look-up.ts"

export interface LookUpLimits {
  /** Concurrent requests. Default 8: each is for one object's metadata, 2 ms on a healthy server. */
  readonly concurrency: number
  /** Requests a second on average, and the burst after a pause. Defaults 50 and 100, as in client-go's controllers. */
  readonly perSecond: number
  readonly burst: number
  /** Waiting look-ups. Default 20,000, some 10 MB. */
  readonly maximumPending: number
  /** ms before a failed look-up is repeated; doubles with each failure up to the maximum. Defaults 1 s and 60 s. */
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

interface QueueListener {
  answered(question: OwnerQuestion, answer: Answer): void
  /** Called for each failure; the look-up stays in the queue. */
  failed(question: OwnerQuestion, failure: LookUpFailure): void
}

interface Entry {
  readonly question: OwnerQuestion
  /** What is stored about this owner may be outdated; nothing waits for the new answer. */
  readonly isRefresh: boolean
  /** Its own failures; shared ones are counted with the kind or the server. */
  readonly own: Pause
  /** Monotonic ms before which it is not requested. */
  dueAt: number
}

/** ms between checks of the look-ups in back-off: precise enough, and bounded work if many wait. */
const lookMs = 250

export class LookUpQueue {
  readonly #ask: (question: OwnerQuestion) => Promise<LookUpOutcome>
  readonly #clock: Clock
  readonly #random: () => number
  readonly #limits: LookUpLimits
  readonly #listener: QueueListener
  readonly #entries = new Map<string, Entry>()
  #ready: Array<Entry> = []
  /** In `#ready` and already started. */
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

  /** Look-ups without a result, including refreshes. */
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

  /** Requests made since the start, and the number that failed. */
  get requests(): number {
    return this.#requests
  }

  get failures(): number {
    return this.#failures
  }

  /** The look-ups of owners of which nothing is known, oldest first. */
  *unknownOwners(): Generator<OwnerQuestion> {
    for (const { question, isRefresh } of this.#entries.values()) if (!isRefresh) yield question
  }

  isPending(question: OwnerQuestion): boolean {
    return this.#entries.has(questionKey(question))
  }

  /** Returns false if too many wait. A UID that is waiting counts as accepted. `isRefresh`: something is known of this owner. */
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

  /** Retries failed look-ups now: someone needs them, or the credentials are new. A Retry-After still applies. */
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
    while (!this.#isClosed && this.#running < this.#limits.concurrency) {
      const entry = this.#ready[this.#taken]
      if (entry === undefined || now < this.#server.until || !this.#takeToken(now)) break
      this.#taken++
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

  /** Everything that would fail the same way waits too. The failure may concern this object only, even though its kind is blamed. */
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
    // Look-ups with the fewest failures first: an object that fails on its own must not delay its whole kind each time.
    this.#ready.push(...due.sort((left, right) => left.own.failures - right.own.failures))
    this.#pump()
  }

  #lookLater(): void {
    const isIdle = this.#waiting.size === 0 && this.#taken === this.#ready.length
    if (this.#isClosed || isIdle || this.#timer !== undefined) return
    this.#timer = this.#clock.after(lookMs, () => this.#look())
  }
}

/**
 * How long to wait after a failure: a back-off that doubles with each failure, and what the server asked for. All times are monotonic ms.
 */
class Pause {
  readonly #limits: Pick<LookUpLimits, "firstBackOffMs" | "longestBackOffMs">
  #failures = 0
  #failedAt = Number.NEGATIVE_INFINITY
  #backOffUntil = 0
  #askedUntil = 0

  constructor(limits: Pick<LookUpLimits, "firstBackOffMs" | "longestBackOffMs">) {
    this.#limits = limits
  }

  /** Failures since the last success. */
  get failures(): number {
    return this.#failures
  }

  /** Time before which no request is made; in the past if there is no need to wait. */
  get until(): number {
    return Math.max(this.#backOffUntil, this.#askedUntil)
  }

  /**
   * `retryAfterMs`: the server's Retry-After; 0 if absent. Concurrent requests that fail together count once: a failure of a request that
   * started before the last counted failure does not double the back-off. `random`: in [0, 1).
   */
  failed(startedAt: number, now: number, retryAfterMs: number, random: number): void {
    const { firstBackOffMs, longestBackOffMs } = this.#limits
    if (startedAt >= this.#failedAt) {
      this.#failures++
      this.#failedAt = now
    }
    const backOff = Math.min(longestBackOffMs, firstBackOffMs * 2 ** (this.#failures - 1))
    // Half of it is jitter, so that requests that failed together are not repeated together.
    this.#backOffUntil = Math.max(this.#backOffUntil, now + backOff * (0.5 + random / 2))
    this.#askedUntil = Math.max(this.#askedUntil, now + retryAfterMs)
  }

  /** Call after a success. */
  reset(): void {
    this.#failures = 0
    this.#backOffUntil = 0
  }

  /** Ends the back-off because someone is waiting. A Retry-After still applies. */
  cutShort(): void {
    this.#backOffUntil = 0
  }
}
