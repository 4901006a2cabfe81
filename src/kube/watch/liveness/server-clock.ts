/**
 * The server's clock, from the `Date` header of its responses. It is compared with the monotonic clock, so that a receiver's clock that is set
 * does not make changes look old.
 */
import type { Clock } from "../../../clock.ts"

/** `Date` has whole seconds, rounded down. */
const middleMs = 500
/** ms within which two clocks count as equal: `Date` cannot tell, and machines of a cluster are synchronised. */
const equalWithinMs = 1000

export class ServerClock {
  readonly #clock: Pick<Clock, "monotonicMs" | "wallMicros">
  /** The server's time at monotonic 0, ms since the Unix epoch; `undefined`: it sends no dates, so the receiver's clock is used. */
  #atZero: number | undefined

  constructor(clock: Pick<Clock, "monotonicMs" | "wallMicros">) {
    this.#clock = clock
  }

  /** A response began with this `Date`, in ms. A head that a proxy holds back makes the server's clock appear slow, and changes younger. */
  dated(dateMs: number): void {
    const ours = this.#clock.wallMicros() / 1000
    const server = dateMs + middleMs
    this.#atZero = (Math.abs(server - ours) <= equalWithinMs ? ours : server) - this.#clock.monotonicMs()
  }

  /** ms since the Unix epoch. */
  nowMs(): number {
    return this.#atZero === undefined ? this.#clock.wallMicros() / 1000 : this.#atZero + this.#clock.monotonicMs()
  }
}
