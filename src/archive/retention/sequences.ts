/** Sets of sequence numbers, 8 bytes each: which events live on. */
import { lowerBound } from "../checkpoints/lower-bound.ts"
import type { ObjectStates } from "../checkpoints/object-states.ts"

/** In ascending order. */
export type Sequences = Float64Array

/** Of the last events of the objects that are alive. */
export const liveSequences = (states: ObjectStates): Sequences =>
  states.sequences
    .slice(0, states.count)
    .filter((_, index) => states.dead[index] === 0)
    .sort()

/** All of them in one. */
export const joined = (all: ReadonlyArray<Sequences>): Sequences => {
  const whole = new Float64Array(all.reduce((sum, each) => sum + each.length, 0))
  let at = 0
  for (const each of all) {
    whole.set(each, at)
    at += each.length
  }
  return whole.sort()
}

/** Whether a sequence number is among them. */
export const includes = (sequences: Sequences, sequence: number): boolean =>
  sequences[lowerBound(sequences, sequence)] === sequence
