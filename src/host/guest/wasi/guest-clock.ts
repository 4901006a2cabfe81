/** The clocks of a guest, in ns. Its monotonic clock goes on across an image, even into another process whose own clock began anew. */
import type { Clock } from "../../../clock.ts"

/** What an image keeps of a guest's clocks. */
export interface GuestTime {
  /** ns of the guest's monotonic clock. */
  readonly monotonicNanos: bigint
  /** µs since the Unix epoch at that moment. */
  readonly wallMicros: number
}

/** Where the monotonic clock of a new guest begins: Go refuses a clock that says 0. */
const beginning = 1_000_000_000n

export class GuestClock {
  readonly #clock: Pick<Clock, "wallMicros" | "monotonicMs">
  /** ns to add to the host's monotonic clock. */
  readonly #offset: bigint

  /** @param before the clocks of the image that the guest continues; the time since then has passed for it, too. */
  constructor(clock: Pick<Clock, "wallMicros" | "monotonicMs">, before?: GuestTime) {
    this.#clock = clock
    const now = nanosOf(clock.monotonicMs())
    // The wall clock may have been set back meanwhile; a monotonic clock must not follow it.
    const passed = before === undefined ? 0 : Math.max(0, clock.wallMicros() - before.wallMicros)
    this.#offset = (before?.monotonicNanos ?? beginning) + BigInt(passed) * 1000n - now
  }

  /** ns since the Unix epoch. */
  wallNanos(): bigint {
    return BigInt(this.#clock.wallMicros()) * 1000n
  }

  /** ns since a moment that means nothing; never less than before. */
  monotonicNanos(): bigint {
    return nanosOf(this.#clock.monotonicMs()) + this.#offset
  }

  now(): GuestTime {
    return { monotonicNanos: this.monotonicNanos(), wallMicros: this.#clock.wallMicros() }
  }
}

const nanosOf = (ms: number): bigint => BigInt(Math.floor(ms * 1e6))
