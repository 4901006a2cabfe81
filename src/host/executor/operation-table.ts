/**
 * Which operations of which modules are under way, and to whom each is answered.
 *
 * Guaranteed: an operation that was taken is completed exactly once, to the worker that asked for it, unless its module's life, or that
 * worker's, ends before. Nothing is completed for a life that has ended. An operation that is asked for twice is carried out once.
 */
import type { Clock } from "../../clock.ts"
import { statusAnswer } from "./guest-request.ts"
import type { Completion, ModuleLife, Operation, OperationKey, Operations } from "./operation-frames.ts"
import { defaultLimits, type RequestExecutor } from "./request-executor.ts"

interface OperationTableOptions {
  readonly clock: Pick<Clock, "after">
  readonly requests: RequestExecutor
  /** An operation has ended; the worker is the one to tell. */
  readonly completed: (worker: string, completion: Completion) => void
  /**
   * The life asked for more than its module may have under way. The operation is dropped, so the life has to be ended.
   * Reported once a life.
   */
  readonly overrun: (life: ModuleLife, maximumOperations: number) => void
}

interface Underway {
  readonly worker: string
  readonly cancel: () => void
}

interface Life {
  readonly incarnation: number
  readonly underway: Map<bigint, Underway>
  isOverrun: boolean
}

export class OperationTable {
  readonly #options: OperationTableOptions
  readonly #lives = new Map<string, Life>()

  constructor(options: OperationTableOptions) {
    this.#options = options
  }

  receive(worker: string, { ended, operations, outstanding }: Operations): void {
    for (const life of ended) this.#endUpTo(life)
    for (const operation of operations) this.#take(worker, operation)
    for (const key of outstanding) this.#recover(worker, key)
  }

  /** Gives up what would be answered to a worker that has died. */
  workerLost(worker: string): void {
    for (const { underway } of this.#lives.values()) {
      for (const [id, one] of underway) {
        if (one.worker !== worker) continue
        underway.delete(id)
        one.cancel()
      }
    }
  }

  /** Gives up everything of a module and forgets its lives. */
  remove(module: string): void {
    const life = this.#lives.get(module)
    if (life !== undefined) this.#giveUp(life)
    this.#lives.delete(module)
  }

  close(): void {
    for (const module of [...this.#lives.keys()]) this.remove(module)
  }

  #take(worker: string, operation: Operation): void {
    const { clock, requests, overrun } = this.#options
    const { module, incarnation, id } = operation
    const life = this.#lifeOf(operation)
    if (life === undefined) return
    // The worker has named it to this life of the executor, and the frame that asks for it was delivered again.
    if (life.underway.has(id)) return
    const limits = requests.limitsOf(module)
    // A request of a module that is not registered is answered; a delay has no answer that would say so.
    if (limits === undefined && "delayMs" in operation) return
    const { maximumOperations } = limits ?? defaultLimits
    if (life.underway.size >= maximumOperations) {
      if (!life.isOverrun) overrun({ module, incarnation }, maximumOperations)
      life.isOverrun = true
      return
    }
    const key: OperationKey = { module, incarnation, id }
    const started =
      "request" in operation
        ? requests.submit(module, operation.request, (response) => this.#complete(life, { ...key, response }))
        : clock.after(Number(operation.delayMs), () => this.#complete(life, key))
    life.underway.set(id, { worker, cancel: () => started.cancel() })
  }

  /** A request that is not under way here was taken by a former life of this thread. */
  #recover(worker: string, key: OperationKey): void {
    const life = this.#lifeOf(key)
    if (life === undefined) return
    if (life.underway.has(key.id)) return
    const message =
      "the response is lost, because the request executor was restarted meanwhile; the request may have been carried out"
    this.#options.completed(worker, { ...key, response: statusAnswer(503, message) })
  }

  #complete(life: Life, completion: Completion): void {
    const one = life.underway.get(completion.id)
    if (one === undefined) return
    life.underway.delete(completion.id)
    this.#options.completed(one.worker, completion)
  }

  /** The module's present life; a newer one ends the former. `undefined` for a life that has ended. */
  #lifeOf({ module, incarnation }: ModuleLife): Life | undefined {
    const life = this.#lives.get(module)
    if (life !== undefined && life.incarnation >= incarnation)
      return life.incarnation === incarnation ? life : undefined
    if (life !== undefined) this.#giveUp(life)
    const fresh: Life = { incarnation, underway: new Map(), isOverrun: false }
    this.#lives.set(module, fresh)
    return fresh
  }

  #endUpTo({ module, incarnation }: ModuleLife): void {
    const life = this.#lives.get(module)
    if (life === undefined || life.incarnation > incarnation) return
    this.#giveUp(life)
    // From now on only a newer life is heard.
    this.#lives.set(module, { incarnation: incarnation + 1, underway: new Map(), isOverrun: false })
  }

  #giveUp(life: Life): void {
    const all = [...life.underway.values()]
    life.underway.clear()
    for (const one of all) one.cancel()
  }
}
