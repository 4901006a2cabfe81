/**
 * Follows ownership upwards: every owner that the recording does not contain is looked up, and so are its owners.
 *
 * Results are in the database; this class only caches recent ones. An owner that was looked up before is looked up again when a new object
 * names it: it may have been adopted since, or reported as gone by mistake. No export waits for that.
 *
 * Nothing blocks on this actor: questions and answers are messages, and an export that needs answers states how long it waits ({@link
 * OwnerResolver.settle}). Under overload, questions beyond the queue's bound are dropped and found again in the database once there is
 * room.
 */
import type { Clock } from "../../clock.ts"
import { gvkOfReference, parseOwnerReferences } from "../../trace/index.ts"
import { type OwnerAnswer, type OwnerQuestion, questionKey } from "../../wire/index.ts"
import type { LookUpOutcome } from "./look-up.ts"
import { type Answer, type LookUpFailure, type LookUpLimits, LookUpQueue } from "./look-up-queue.ts"

/** The previous result for an owner. */
export interface EarlierAnswer {
  readonly namespace: string
  /** JSON array; the empty string if there are none. */
  readonly ownerReferences: string
  readonly found: boolean
}

/** The recording's knowledge of owners. */
export interface OwnershipGraph {
  /** `undefined`: not looked up yet, or without success. */
  answerOf(owner: OwnerQuestion): EarlierAnswer | undefined
  /** Whether the owner is a recorded object, which then contains its own owners. */
  isRecorded(owner: OwnerQuestion): boolean
  /** Owners that are still to be looked up. */
  open(): Iterable<OwnerQuestion>
}

interface ResolverListener {
  answered(answer: OwnerAnswer): void
  failed(question: OwnerQuestion, failure: LookUpFailure): void
}

interface ResolverOptions {
  readonly graph: OwnershipGraph
  readonly ask: (question: OwnerQuestion) => Promise<LookUpOutcome>
  /** Kinds whose objects are all recorded: the recording contains, or will contain, their owners. */
  readonly recordedKinds: ReadonlySet<string>
  readonly clock: Clock
  readonly random: () => number
  readonly limits: LookUpLimits
  readonly listener: ResolverListener
}

/** ms for which a known owner is not looked up again, and so the longest time until an adoption of it is noticed. */
const knownForMs = 10 * 60_000
/** ms for which an owner that is gone is not looked up again. A UID does not come back, but a wrong result may be corrected. */
const goneForMs = 60_000
/** UIDs cached, some 100 bytes each. */
const maximumRemembered = 50_000

export class OwnerResolver {
  readonly #options: ResolverOptions
  readonly #queue: LookUpQueue
  readonly #remembered: Remembered
  /** Whether questions were dropped for lack of room. */
  #hasLeftOut = false
  readonly #waiters = new Set<() => void>()

  constructor(options: ResolverOptions) {
    this.#options = options
    this.#remembered = new Remembered(maximumRemembered, () => options.clock.monotonicMs())
    this.#queue = new LookUpQueue(options.ask, options.clock, options.random, options.limits, {
      answered: (question, answer) => this.#answered(question, answer),
      failed: (question, failure) => options.listener.failed(question, failure),
    })
  }

  get statistics() {
    const { unknown, running, requests, failures } = this.#queue
    return { pending: unknown, running, requests, failures, remembered: this.#remembered.size }
  }

  /** Call when an object that names this owner has appeared. */
  consider(question: OwnerQuestion): void {
    this.#consider(question, true)
  }

  #consider(question: OwnerQuestion, isNews: boolean): void {
    const { graph, recordedKinds } = this.#options
    const ahead = [question]
    for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
      const key = questionKey(next)
      if (recordedKinds.has(next.gvk) || this.#remembered.has(key) || this.#queue.isPending(next)) continue
      if (graph.isRecorded(next)) {
        this.#remembered.add(key, knownForMs)
        // It would stay open for ever.
        this.#options.listener.answered({ ...next, ownerReferences: noBytes, found: false, recorded: true })
        continue
      }
      const known = graph.answerOf(next)
      if (known === undefined) {
        if (!this.#queue.add(next)) this.#hasLeftOut = true
        continue
      }
      if (isNews) this.#queue.add(next, true)
      if (!known.found) continue
      this.#remembered.add(key, knownForMs)
      ahead.push(...questionsOf(known.ownerReferences, known.namespace))
    }
  }

  /** Looks up every owner that is open in the database: at the start, and after questions were dropped. */
  rescan(): void {
    this.#hasLeftOut = false
    for (const question of this.#options.graph.open()) {
      this.#consider(question, false)
      if (this.#hasLeftOut) return
    }
  }

  /** Retries failed look-ups now. */
  retryNow(): void {
    this.#queue.retryNow()
  }

  /** Resolves when every owner met so far is known or gone, or after `deadlineMs`; returns the look-ups that are still open. */
  async settle(deadlineMs: number): Promise<ReadonlyArray<OwnerQuestion>> {
    this.rescan()
    this.#queue.retryNow()
    if (this.#queue.unknown > 0) {
      await new Promise<void>((resolve) => {
        const done = (): void => {
          timer.cancel()
          this.#waiters.delete(done)
          resolve()
        }
        const timer = this.#options.clock.after(deadlineMs, done)
        this.#waiters.add(done)
      })
    }
    return [...this.#queue.unknownOwners()]
  }

  close(): void {
    this.#queue.close()
    for (const done of [...this.#waiters]) done()
  }

  #answered(question: OwnerQuestion, answer: Answer): void {
    const ownerReferences = answer.tag === "found" ? answer.ownerReferences : noBytes
    this.#remembered.add(questionKey(question), answer.tag === "found" ? knownForMs : goneForMs)
    this.#options.listener.answered({
      ...question,
      namespace: answer.namespace,
      ownerReferences,
      found: answer.tag === "found",
      recorded: false,
    })
    for (const owner of questionsOf(Buffer.from(ownerReferences).toString("utf8"), answer.namespace))
      this.consider(owner)
    if (this.#hasLeftOut && this.#queue.pending < this.#options.limits.maximumPending / 2) this.rescan()
    if (this.#queue.unknown === 0) for (const done of [...this.#waiters]) done()
  }
}

const noBytes = new Uint8Array(0)

const questionsOf = (ownerReferences: string, namespace: string): ReadonlyArray<OwnerQuestion> =>
  parseOwnerReferences(ownerReferences).map((reference) => ({
    uid: reference.uid,
    gvk: gvkOfReference(reference),
    namespace,
    name: reference.name,
  }))

/**
 * A bounded cache of recent look-ups by UID. Entries expire, so that an adoption, or a UID that was wrongly reported as gone, is noticed
 * eventually. The database keeps every result; this saves querying it.
 */
class Remembered {
  readonly #maximum: number
  readonly #now: () => number
  /** In order of insertion, so that the oldest are evicted first. */
  readonly #until = new Map<string, number>()

  /** `now` in monotonic ms. */
  constructor(maximum: number, now: () => number) {
    this.#maximum = maximum
    this.#now = now
  }

  get size(): number {
    return this.#until.size
  }

  add(uid: string, forMs: number): void {
    this.#until.delete(uid)
    this.#until.set(uid, this.#now() + forMs)
    if (this.#until.size <= this.#maximum) return
    for (const oldest of this.#until.keys()) {
      this.#until.delete(oldest)
      return
    }
  }

  has(uid: string): boolean {
    const until = this.#until.get(uid)
    if (until === undefined) return false
    if (until > this.#now()) return true
    this.#until.delete(uid)
    return false
  }
}
