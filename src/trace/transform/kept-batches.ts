/**
 * The moments of a SimKube trace. Those at which the program leaves nothing to happen go, but for the first and the last: a replay begins and ends with them.
 * Moments at which nothing happened before stay, because they are there for their time.
 */
import type { TraceItem } from "../trace-item.ts"

type Batch = Extract<TraceItem, { type: "batch" }>

export class KeptBatches {
  #held: Batch | undefined
  #wasEmptied = false
  #hasFirst = false

  /** A moment begins; returns what the one before is by then. */
  begin(batch: Batch): ReadonlyArray<TraceItem> {
    const before = this.#wasEmptied && this.#hasFirst ? [] : this.#released()
    this.#held = batch
    this.#wasEmptied = false
    return before
  }

  /** Something happens at this moment. */
  use(): ReadonlyArray<TraceItem> {
    return this.#released()
  }

  /** Something does not happen any more. */
  drop(): void {
    this.#wasEmptied = true
  }

  /** No further moment begins. */
  end(): ReadonlyArray<TraceItem> {
    return this.#released()
  }

  #released(): ReadonlyArray<TraceItem> {
    const held = this.#held
    this.#held = undefined
    this.#hasFirst ||= held !== undefined
    return held === undefined ? [] : [held]
  }
}
