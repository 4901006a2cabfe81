/**
 * Whether what one session watches may be called complete as of now: the server is sending what follows the last version delivered.
 *
 * A 200 to a watch that resumes does not say so. A version that has expired is refused by the first line after it, and a kind called
 * complete in between would be so for a time of which nothing is recorded. So the server must have said something since, or have been
 * silent for a while; a watch that begins where a list has just ended needs neither.
 */
import type { Clock } from "../../../clock.ts"
import type { WatchSession } from "../../../kube/watch/session.ts"

/** ms after the 200 in which a refusal would have come; servers send both at once. Shorter than the time between frames of mere progress. */
const settleMs = 500

export class LiveWatch {
  readonly #session: Pick<WatchSession, "phase" | "delivered">
  readonly #clock: Pick<Clock, "monotonicMs">
  #settledMs = Number.POSITIVE_INFINITY
  #wasLive = false

  constructor(session: Pick<WatchSession, "phase" | "delivered">, clock: Pick<Clock, "monotonicMs">) {
    this.#session = session
    this.#clock = clock
  }

  /** The server has answered 200. `afterList`: to a watch that begins where a list has just ended. */
  answered(afterList: boolean): void {
    this.#settledMs = this.#clock.monotonicMs() + (afterList ? 0 : settleMs)
  }

  /** What was so when it was last asked stays so when the session is stopped: nothing is missed before that. */
  get isLive(): boolean {
    const { phase, delivered } = this.#session
    if (phase.tag === "stopped") return this.#wasLive
    this.#wasLive =
      phase.tag === "watching" &&
      phase.answered &&
      (phase.heard || delivered !== phase.from || this.#clock.monotonicMs() >= this.#settledMs)
    return this.#wasLive
  }
}
