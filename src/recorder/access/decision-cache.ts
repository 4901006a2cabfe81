/** Decisions that hold for a while, a bounded number of them: whoever sends many tokens pushes out others' and nothing else. */
import type { Clock } from "../../runtime/clock.ts"

export class DecisionCache<Value> {
  readonly #clock: Pick<Clock, "monotonicMs">
  readonly #maximum: number
  /** Oldest first. */
  readonly #entries = new Map<string, { readonly value: Value; readonly until: number }>()

  /** `maximum`: entries kept. */
  constructor(clock: Pick<Clock, "monotonicMs">, maximum: number) {
    this.#clock = clock
    this.#maximum = maximum
  }

  /** `undefined` when there is none, or its time is over. */
  get(key: string): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (this.#clock.monotonicMs() < entry.until) return entry.value
    this.#entries.delete(key)
    return undefined
  }

  /** Keeps a value for so many ms. */
  set(key: string, value: Value, lifeMs: number): void {
    this.#entries.delete(key)
    this.#entries.set(key, { value, until: this.#clock.monotonicMs() + lifeMs })
    const oldest = this.#entries.keys().next().value
    if (this.#entries.size > this.#maximum && oldest !== undefined) this.#entries.delete(oldest)
  }
}
