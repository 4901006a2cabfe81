/** By how much the same changes are at other times in two traces: how the shifts are distributed, and the largest. Memory: eight bytes for each change. */
import type { ComparedName } from "./change-log.ts"
import { GrowingColumn } from "./growing-column.ts"

/** One change at two times. */
export interface TimeShift {
  readonly object: ComparedName
  /** µs after the start of the first trace. */
  readonly offset: number
  /** µs by which it is later in the second trace; negative: earlier. */
  readonly shift: number
}

/** All of them. Times are µs. */
export interface TimeShiftSummary {
  /** Changes that both traces have. */
  readonly pairs: number
  /** Those whose times differ by more than the tolerance, by direction. */
  readonly earlier: number
  readonly later: number
  /** Of the amounts of all pairs; 0 without any. */
  readonly median: number
  readonly percentile90: number
  readonly percentile99: number
  readonly maximum: number
  /** The largest of those beyond the tolerance, largest first. */
  readonly largest: ReadonlyArray<TimeShift>
}

const mostLargest = 20

/** Collects shifts. `tolerance`: µs up to which times count as the same. */
export class TimeShifts {
  readonly #tolerance: number
  readonly #amounts = new GrowingColumn()
  #earlier = 0
  #later = 0
  readonly #largest: TimeShift[] = []

  constructor(tolerance: number) {
    this.#tolerance = tolerance
  }

  add(shift: TimeShift): void {
    const amount = Math.abs(shift.shift)
    this.#amounts.push(amount)
    if (amount <= this.#tolerance) return
    if (shift.shift < 0) this.#earlier++
    else this.#later++
    const last = this.#largest.at(-1)
    if (this.#largest.length === mostLargest && last !== undefined && amount <= Math.abs(last.shift)) return
    const place = this.#largest.findIndex((other) => Math.abs(other.shift) < amount)
    this.#largest.splice(place < 0 ? this.#largest.length : place, 0, shift)
    this.#largest.length = Math.min(this.#largest.length, mostLargest)
  }

  summary(): TimeShiftSummary {
    const sorted = this.#amounts.sorted()
    const percentile = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0
    return {
      ...{ pairs: sorted.length, earlier: this.#earlier, later: this.#later },
      ...{ median: percentile(0.5), percentile90: percentile(0.9), percentile99: percentile(0.99) },
      maximum: sorted.at(-1) ?? 0,
      largest: this.#largest,
    }
  }
}
