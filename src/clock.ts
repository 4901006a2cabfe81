/** Time as a capability. Production uses {@link systemClock}; tests drive their own clock, so none waits for real time. */

/** A timer that can be cancelled; cancelling one that has fired has no effect. */
export interface Timer {
  cancel(): void
}

export interface Clock {
  /**
   * Wall clock in µs since the Unix epoch (an integer below 2^53): `Date.now()` for the milliseconds, the monotonic clock for the
   * microseconds since that millisecond was first observed. Can go back when the machine's clock is set.
   */
  wallMicros(): number
  /** Monotonic ms, for durations and deadlines. */
  monotonicMs(): number
  /** Calls `action` once after `delayMs` of any length; never earlier, and never for `Infinity`. */
  after(delayMs: number, action: () => void): Timer
}

let observedMs = 0
let observedAt = 0

/** Maximum ms of `setTimeout`, which treats a longer delay as 1 ms (Node's documentation of timers). */
const longestDelay = 2 ** 31 - 1

/** A yearly schedule is a delay of 31,536,000,000 ms, so it is waited for in steps. */
const longTimer = (delayMs: number, action: () => void): Timer => {
  const due = performance.now() + delayMs
  let handle = setTimeout(wait, longestDelay)
  function wait(): void {
    const left = due - performance.now()
    if (left <= 0) action()
    else handle = setTimeout(wait, Math.min(left, longestDelay))
  }
  return { cancel: () => clearTimeout(handle) }
}

/** The machine's clocks. Timers keep the process alive until cancelled. */
export const systemClock: Clock = {
  wallMicros() {
    const now = Date.now()
    const monotonic = performance.now()
    if (now !== observedMs) {
      observedMs = now
      observedAt = monotonic
    }
    // The fraction stops just below 1 ms: only Date.now() starts the next millisecond.
    return now * 1000 + Math.min(999, Math.floor((monotonic - observedAt) * 1000))
  },
  monotonicMs: () => performance.now(),
  after(delayMs, action) {
    if (delayMs > longestDelay) return longTimer(delayMs, action)
    const handle = setTimeout(action, delayMs)
    return { cancel: () => clearTimeout(handle) }
  },
}

/**
 * The machine's clocks with timers that do not keep the process alive: for limits of something that does so itself (a socket, a child
 * process) and for work that can be dropped at the end (a repainted line). For delays of at most 2^31−1 ms.
 */
export const backgroundClock: Clock = {
  ...systemClock,
  after(delayMs, action) {
    const handle = setTimeout(action, delayMs).unref()
    return { cancel: () => clearTimeout(handle) }
  },
}

/** What only waits. */
export type Timers = Pick<Clock, "after">
