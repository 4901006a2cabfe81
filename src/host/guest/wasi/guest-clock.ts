/** The clocks of a guest, in ns. Its monotonic clock is that of its thread, and so goes on while the guest is unloaded. */
import type { Clock } from "../../../clock.ts"

/** Added to the monotonic clock: Go refuses one that says 0. */
const beginning = 1_000_000_000n

export class GuestClock {
  readonly #clock: Pick<Clock, "wallMicros" | "monotonicMs">

  constructor(clock: Pick<Clock, "wallMicros" | "monotonicMs">) {
    this.#clock = clock
  }

  /** ns since the Unix epoch. */
  wallNanos(): bigint {
    return BigInt(this.#clock.wallMicros()) * 1000n
  }

  /** ns since a moment that means nothing; never less than before. */
  monotonicNanos(): bigint {
    return BigInt(Math.floor(this.#clock.monotonicMs() * 1e6)) + beginning
  }
}
