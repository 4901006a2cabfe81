/** A bounded cache of decisions with expiry: a client that sends many tokens can only evict other entries. */
import type { Clock } from "../../clock.ts"

export class DecisionCache<Value> {
  readonly #clock: Pick<Clock, "monotonicMs">
  readonly #maximum: number
  /** Oldest first. */
  readonly #entries = new Map<string, { readonly value: Value; readonly until: number }>()

  /** `maximum`: the number of entries kept. */
  constructor(clock: Pick<Clock, "monotonicMs">, maximum: number) {
    this.#clock = clock
    this.#maximum = maximum
  }

  /** `undefined` if there is no entry or it has expired. */
  get(key: string): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (this.#clock.monotonicMs() < entry.until) return entry.value
    this.#entries.delete(key)
    return undefined
  }

  /** Keeps a value for `lifeMs` ms. */
  set(key: string, value: Value, lifeMs: number): void {
    this.#entries.delete(key)
    this.#entries.set(key, { value, until: this.#clock.monotonicMs() + lifeMs })
    const oldest = this.#entries.keys().next().value
    if (this.#entries.size > this.#maximum && oldest !== undefined) this.#entries.delete(oldest)
  }
}
