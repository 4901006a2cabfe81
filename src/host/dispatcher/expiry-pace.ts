/**
 * Slows a guest that watches from an expired version again and again: it is answered 410 at once each time, and some do not list as they
 * should, so that they would keep the host busy.
 *
 * The first time is free: a version that has expired is part of every controller's life. So is a watch from the present state.
 */
import type { Clock } from "../../clock.ts"
import { BackOff, type BackOffPolicy } from "../../runtime/back-off.ts"

interface Expiries {
  readonly backOff: BackOff
  lastMs: number
  /** Monotonic ms before which no watch from a version begins. */
  notBeforeMs: number
}

export class ExpiryPace {
  readonly #clock: Pick<Clock, "monotonicMs">
  readonly #random: () => number
  readonly #policy: BackOffPolicy
  readonly #modules = new Map<string, Expiries>()

  /** `random` returns a number in [0, 1). */
  constructor(clock: Pick<Clock, "monotonicMs">, random: () => number, policy: BackOffPolicy) {
    this.#clock = clock
    this.#random = random
    this.#policy = policy
  }

  /** A watch of the module has expired. */
  expired(module: string): void {
    const now = this.#clock.monotonicMs()
    const before = this.#modules.get(module)
    if (before === undefined || now - before.lastMs > this.#policy.resetAfterMs) {
      const backOff = new BackOff(this.#policy, this.#random)
      this.#modules.set(module, { backOff, lastMs: now, notBeforeMs: now })
      return
    }
    before.lastMs = now
    before.notBeforeMs = now + before.backOff.next(now)
  }

  /** ms until a watch of the module may begin. `resourceVersion`: as the guest wrote it. */
  delayMs(module: string, resourceVersion: string): number {
    if (resourceVersion === "" || resourceVersion === "0") return 0
    return Math.max(0, (this.#modules.get(module)?.notBeforeMs ?? 0) - this.#clock.monotonicMs())
  }

  /** The module is removed. */
  forget(module: string): void {
    this.#modules.delete(module)
  }
}
