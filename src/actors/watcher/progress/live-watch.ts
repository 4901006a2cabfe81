/**
 * Decides whether what one session watches is complete as of now: the server is sending what follows the last delivered version.
 *
 * A 200 to a resumed watch does not prove that. An expired version is rejected by the first line after it, and a kind that was declared
 * complete in between would be so for a time of which nothing is recorded. So the server must have sent something since, or have been
 * silent for a while; a watch that begins right after a list needs neither. And what happened before it was resumed must have arrived.
 */
import type { Clock } from "../../../clock.ts"
import type { WatchSession } from "../../../kube/watch/session.ts"

/**
 * ms after the 200 within which a rejection would have arrived; servers send both at once. Shorter than the interval between frames with
 * progress only.
 */
const settleMs = 500

export class LiveWatch {
  readonly #session: Pick<WatchSession, "phase" | "delivered" | "isBehind">
  readonly #clock: Pick<Clock, "monotonicMs">
  #settledMs = Number.POSITIVE_INFINITY
  #wasLive = false

  constructor(session: Pick<WatchSession, "phase" | "delivered" | "isBehind">, clock: Pick<Clock, "monotonicMs">) {
    this.#session = session
    this.#clock = clock
  }

  /** The server has responded with 200. `afterList`: to a watch that begins right after a list. */
  answered(afterList: boolean): void {
    this.#settledMs = this.#clock.monotonicMs() + (afterList ? 0 : settleMs)
  }

  /** The last result remains valid when the session is stopped: nothing was missed before that. */
  get isLive(): boolean {
    const { phase, delivered, isBehind } = this.#session
    if (phase.tag === "stopped") return this.#wasLive
    this.#wasLive =
      phase.tag === "watching" &&
      phase.answered &&
      !isBehind &&
      (phase.heard || delivered !== phase.from || this.#clock.monotonicMs() >= this.#settledMs)
    return this.#wasLive
  }
}
