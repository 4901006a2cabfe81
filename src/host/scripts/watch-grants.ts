/**
 * Which selections the scripts of all threads may have, because the hub watches with the rights of the host.
 *
 * Guaranteed: a thread receives one message when a script may have a selection, one when it may not any more, and one
 * per reason while it may not. Only a refusal (403) takes a right away: while the API server cannot be asked, nothing
 * comes from it either. Questions are asked again at each {@link WatchGrants.recheck}, also those about kinds that do
 * not exist yet.
 */
import { messageOf } from "../../message-of.ts"
import type { HubWatchRequest, WatchAnswer } from "../dispatcher/watch-registry.ts"

interface WatchGrantsOptions {
  /** Whether the module may have the watch. If it rejects, the question stays open. */
  readonly check: (module: string, request: HubWatchRequest) => Promise<WatchAnswer>
  /** Tells the thread. An empty refusal is a permission. */
  readonly settle: (thread: string, question: number, refusal: string) => void
}

interface Question {
  readonly module: string
  readonly request: HubWatchRequest
  isBeingChecked: boolean
  isGranted: boolean
  isWithdrawn: boolean
  /** The refusal that the thread knows. */
  told: string
}

export class WatchGrants {
  readonly #options: WatchGrantsOptions
  /** By thread and its number of the question. */
  readonly #threads = new Map<string, Map<number, Question>>()

  constructor(options: WatchGrantsOptions) {
    this.#options = options
  }

  ask(thread: string, number: number, module: string, request: HubWatchRequest): void {
    const questions = this.#threads.get(thread) ?? new Map<number, Question>()
    this.#threads.set(thread, questions)
    const question = { module, request, isBeingChecked: false, isGranted: false, isWithdrawn: false, told: "" }
    questions.set(number, question)
    void this.#check(thread, number, question)
  }

  withdraw(thread: string, number: number): void {
    const questions = this.#threads.get(thread)
    const question = questions?.get(number)
    if (question !== undefined) question.isWithdrawn = true
    questions?.delete(number)
  }

  /** The thread has ended. */
  threadGone(thread: string): void {
    for (const question of this.#threads.get(thread)?.values() ?? []) question.isWithdrawn = true
    this.#threads.delete(thread)
  }

  /** Asks everything once more. Resolves when that is done. */
  async recheck(): Promise<void> {
    const checks: Promise<void>[] = []
    for (const [thread, questions] of this.#threads)
      for (const [number, question] of questions) checks.push(this.#check(thread, number, question))
    await Promise.all(checks)
  }

  async #check(thread: string, number: number, question: Question): Promise<void> {
    if (question.isBeingChecked) return
    question.isBeingChecked = true
    const answer = await this.#answerTo(question)
    question.isBeingChecked = false
    if (question.isWithdrawn || answer === "not-yet") return
    if (answer === undefined) {
      if (question.isGranted) return
      question.isGranted = true
      question.told = ""
      this.#options.settle(thread, number, "")
    } else if (question.isGranted ? answer.code === 403 : answer.message !== question.told) {
      question.isGranted = false
      question.told = answer.message
      this.#options.settle(thread, number, answer.message)
    }
  }

  async #answerTo({ module, request }: Question): Promise<WatchAnswer> {
    try {
      return await this.#options.check(module, request)
    } catch (cause) {
      return { code: 503, reason: "ServiceUnavailable", message: `it could not be checked: ${messageOf(cause)}` }
    }
  }
}
