/**
 * Follows ownership upwards: whatever owner the recording does not know is asked for, and so are that owner's owners.
 *
 * What is known stands in the database; here is only what was seen lately. What the API server said once is asked again when a
 * new object names the owner: it may have been adopted since, or been called gone by mistake. No export waits for that.
 *
 * Nothing waits for this: questions come and answers go as messages, and an export that needs them says how long it
 * waits ({@link OwnerResolver.settle}). Under overload, questions beyond the queue's bound are left out and found again in the
 * database once it has room.
 */
import type { Clock } from "../../clock.ts"
import { parseOwnerReferences } from "../../trace/ownership/owner-references.ts"
import { gvkOfReference } from "../../trace/ownership/ownership.ts"
import { type OwnerAnswer, type OwnerQuestion, questionKey } from "../../wire/owner-messages.ts"
import type { LookUpOutcome } from "./look-up.ts"
import { type Answer, type LookUpFailure, type LookUpLimits, LookUpQueue } from "./look-up-queue.ts"
import { Remembered } from "./remembered.ts"

/** What was answered about an owner before. */
export interface EarlierAnswer {
  readonly namespace: string
  /** JSON array; the empty string when it has none. */
  readonly ownerReferences: string
  readonly found: boolean
}

/** What the recording knows of owners. */
export interface OwnershipGraph {
  /** `undefined`: nobody has asked, or nothing was heard. */
  answerOf(owner: OwnerQuestion): EarlierAnswer | undefined
  /** Whether the owner is an object of the recording: then it says itself who owns it. */
  isRecorded(owner: OwnerQuestion): boolean
  /** Owners without an answer. */
  open(): Iterable<OwnerQuestion>
}

export interface ResolverListener {
  answered(answer: OwnerAnswer): void
  failed(question: OwnerQuestion, failure: LookUpFailure): void
}

export interface ResolverOptions {
  readonly graph: OwnershipGraph
  readonly ask: (question: OwnerQuestion) => Promise<LookUpOutcome>
  /** Kinds all of whose objects are recorded: the recording itself says, or will say, who owns those. */
  readonly recordedKinds: ReadonlySet<string>
  readonly clock: Clock
  readonly random: () => number
  readonly limits: LookUpLimits
  readonly listener: ResolverListener
}

/** ms for which an owner that is known is not looked at again: an adoption of it is seen after that at the latest. */
const knownForMs = 10 * 60_000
/** ms for which an owner that is gone is not asked for again. A UID does not come back; a wrong answer may be corrected. */
const goneForMs = 60_000
/** UIDs remembered, some 100 bytes each. */
const maximumRemembered = 50_000

export class OwnerResolver {
  readonly #options: ResolverOptions
  readonly #queue: LookUpQueue
  readonly #remembered: Remembered
  /** Questions were left out for want of room. */
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

  /** An object that names this owner has appeared. */
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
        // It would stand open for ever.
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

  /** Considers every owner in the database that is open: at the start, and after questions were lost. */
  rescan(): void {
    this.#hasLeftOut = false
    for (const question of this.#options.graph.open()) {
      this.#consider(question, false)
      if (this.#hasLeftOut) return
    }
  }

  /** What waits after failures is tried now. */
  retryNow(): void {
    this.#queue.retryNow()
  }

  /** Resolves when every owner met so far is known or gone, or after `deadlineMs`; answers the questions that are open then. */
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
