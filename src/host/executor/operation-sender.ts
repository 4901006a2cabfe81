/**
 * A module worker's end: names the operations of its modules to the executor and passes on what becomes of them.
 *
 * Guaranteed: each operation is completed exactly once unless its module's life is ended here before, also if the executor's thread dies: then
 * delays are asked for again with what is left of them, and requests that the former life had are answered 503. Operations are sent in
 * frames: {@link flush} after the modules have run.
 */
import type { Clock } from "../../clock.ts"
import type { Outbox } from "../../runtime/index.ts"
import type { GuestRequest } from "../guest/abi-values.ts"
import {
  type Completion,
  decodeCompletions,
  encodeOperations,
  type ModuleLife,
  type Operation,
  type OperationKey,
} from "./operation-frames.ts"

/** An operation that is not completed. */
interface Outstanding {
  readonly key: OperationKey
  /** Monotonic ms of this thread at which a delay ends; absent for a request. */
  readonly dueMs?: number
}

const longestDelayMs = 2n ** 64n - 1n

export class OperationSender {
  readonly #outbox: Pick<Outbox, "send">
  readonly #clock: Pick<Clock, "monotonicMs">
  readonly #completed: (completion: Completion) => void
  readonly #outstanding = new Map<string, Map<bigint, Outstanding>>()
  #operations: Operation[] = []
  #ended: ModuleLife[] = []
  /** Of the executor. */
  #incarnation: number | undefined

  constructor(
    outbox: Pick<Outbox, "send">,
    clock: Pick<Clock, "monotonicMs">,
    completed: (completion: Completion) => void,
  ) {
    this.#outbox = outbox
    this.#clock = clock
    this.#completed = completed
  }

  /** Requests and delays of a life that are not completed. */
  outstanding(life: ModuleLife): number {
    return this.#outstanding.get(keyOf(life))?.size ?? 0
  }

  request(key: OperationKey, request: GuestRequest): void {
    this.#remember(key, { key })
    this.#operations.push({ ...key, request })
  }

  /** `delayMs`: below 2^64. */
  delay(key: OperationKey, delayMs: bigint): void {
    this.#remember(key, { key, dueMs: this.#clock.monotonicMs() + Number(delayMs) })
    this.#operations.push({ ...key, delayMs })
  }

  /** The life has ended: nothing of it is completed any more, and the executor gives it up. */
  end(life: ModuleLife): void {
    this.#outstanding.delete(keyOf(life))
    this.#operations = this.#operations.filter((one) => keyOf(one) !== keyOf(life))
    this.#ended.push({ module: life.module, incarnation: life.incarnation })
  }

  /** Sends what was gathered, in one frame; nothing if there is nothing. */
  flush(): void {
    if (this.#operations.length === 0 && this.#ended.length === 0) return
    this.#outbox.send(encodeOperations({ operations: this.#operations, ended: this.#ended, outstanding: [] }))
    this.#operations = []
    this.#ended = []
  }

  /** The handler of the mailbox of completions: call it when a life of the executor is attached. */
  attached(incarnation: number): void {
    const isRestart = this.#incarnation !== undefined && this.#incarnation !== incarnation
    this.#incarnation = incarnation
    if (!isRestart) return
    this.flush()
    const all = [...this.#outstanding.values()].flatMap((life) => [...life.values()])
    if (all.length === 0) return
    const now = this.#clock.monotonicMs()
    const operations = all.flatMap(({ key, dueMs }): Operation[] =>
      dueMs === undefined ? [] : [{ ...key, delayMs: wholeMs(dueMs - now) }],
    )
    // In the same mailbox as the operations: those that are delivered again come first, so the executor knows them by then.
    this.#outbox.send(encodeOperations({ operations, ended: [], outstanding: all.map(({ key }) => key) }))
  }

  /** The payload of a frame of completions. May be acknowledged as soon as this returns. */
  receive(payload: Uint8Array): void {
    for (const completion of decodeCompletions(payload)) {
      const life = this.#outstanding.get(keyOf(completion))
      if (life?.delete(completion.id) !== true) continue
      if (life.size === 0) this.#outstanding.delete(keyOf(completion))
      this.#completed(completion)
    }
  }

  #remember(key: OperationKey, one: Outstanding): void {
    const life = this.#outstanding.get(keyOf(key))
    if (life === undefined) this.#outstanding.set(keyOf(key), new Map([[key.id, one]]))
    else life.set(key.id, one)
  }
}

const keyOf = ({ module, incarnation }: ModuleLife): string => `${incarnation} ${module}`

const wholeMs = (ms: number): bigint => {
  const whole = BigInt(Math.ceil(Math.max(0, ms)))
  return whole > longestDelayMs ? longestDelayMs : whole
}
