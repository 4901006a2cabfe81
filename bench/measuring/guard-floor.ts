/**
 * The floor of the regression guard. Pure.
 *
 * The guard compares the informer's CPU per event divided by the recorder's, within one round. A calibration measures it in rounds as long
 * as the guard's own and keeps every round. The floor is **half the spread below the smallest of them**:
 *
 * floor = min − (max − min) / 2
 *
 * The guard judges the *median* of its rounds. For a false alarm, half of them would have to be below the smallest round of the calibration
 * by more than half of the whole variation: other work on the machine sometimes slows one subject of a round and not the other, but hardly
 * in half of the rounds and always ours. A slowdown of the recorder by more than median / floor is detected.
 */
import { median } from "../report/statistics.ts"

/** Minimum number of rounds for a meaningful spread. */
export const fewestCalibrationRounds = 5

export interface Calibration {
  /** The informer's CPU per event divided by ours, one value per round. */
  readonly ratios: ReadonlyArray<number>
  /** What it was measured on, and of what. */
  readonly machine: string
  readonly commit: string
  readonly date: string
}

/** @throws RangeError for fewer than five rounds, or a value that is not a ratio. */
export const floorOf = (ratios: ReadonlyArray<number>): number => {
  if (ratios.length < fewestCalibrationRounds) {
    throw new RangeError(`${ratios.length} rounds are no calibration: ${fewestCalibrationRounds} at least`)
  }
  if (!ratios.every((ratio) => Number.isFinite(ratio) && ratio > 0)) throw new RangeError("a ratio is above 0")
  const smallest = Math.min(...ratios)
  return smallest - (Math.max(...ratios) - smallest) / 2
}

/** By how much the recorder's CPU may rise before the median falls to the floor, 0.2 being a fifth. */
export const foundRise = (ratios: ReadonlyArray<number>): number => median(ratios) / floorOf(ratios) - 1

/** Why the guard fails; `undefined` if it does not. */
export const guardFailure = (ratios: ReadonlyArray<number>, floor: number): string | undefined => {
  const value = median(ratios)
  if (Number.isNaN(value)) return "no round was complete, so nothing is known"
  if (value >= floor) return undefined
  return `the informer takes ${value.toFixed(2)} times our CPU for an event; the floor is ${floor.toFixed(2)}`
}
