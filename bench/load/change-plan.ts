/**
 * Which of the generator's events are changes and which are heartbeats: updates of `status` alone. Generator and harness each compute it, so that
 * they need not exchange it.
 */

/** 2^32 divided by the golden ratio: multiples of it fill a range evenly and do not follow the pattern in which objects change. */
const goldenStep = 2_654_435_761

/** True for that share of all events, evenly spread. `number` counts from 1. */
const isChosen = (number: number, share: number): boolean => (Math.imul(number, goldenStep) >>> 0) / 2 ** 32 < share

export class ChangePlan {
  readonly #heartbeatShare: number
  /** The last event of each order is a change, because otherwise the end of an order could not be observed. */
  readonly #lastOfOrders = new Set<number>()
  #events = 0
  #changes = 0

  /** @param heartbeatShare 0 to 1 */
  constructor(heartbeatShare: number) {
    this.#heartbeatShare = heartbeatShare
  }

  /** Events ordered so far, heartbeats included. */
  get events(): number {
    return this.#events
  }

  /** Those of them that are changes. */
  get changes(): number {
    return this.#changes
  }

  order(events: number): void {
    const until = this.#events + events
    this.#lastOfOrders.add(until)
    while (this.#events < until) if (!this.isHeartbeat(++this.#events)) this.#changes++
  }

  /** Of an event that was ordered; `number` counts from 1. */
  isHeartbeat(number: number): boolean {
    return isChosen(number, this.#heartbeatShare) && !this.#lastOfOrders.has(number)
  }
}
