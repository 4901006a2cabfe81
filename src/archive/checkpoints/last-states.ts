/**
 * The last seen state of an object before an event, for filters on events without bytes (`vanished`).
 *
 * Vanished objects come in bursts: all those that a list no longer contained. So the first query about a stretch of history sorts the
 * events of its tables of contents by object, and the following ones are binary searches. Memory: 16 bytes for each event of the kind since
 * its last checkpoint plus the checkpoint's columns, for one stretch at a time.
 */

import { VANISHED } from "../../wire/observation-wire.ts"
import { RetentionOutranError } from "../archive-errors.ts"
import type { BlockSource, KindKey } from "../blocks/block-source.ts"
import { lowerBound } from "./lower-bound.ts"
import { ATTEMPTS, type CheckpointChain, type StateHistory } from "./state-history.ts"

/**
 * More than a stretch can contain: between two checkpoints are 64 blocks of at most 25,000 events, merged or not, or little more than 2^20 events. Object
 * number and position share the 53 bits of a number.
 */
const STRETCH_EVENTS = 1 << 21

/** Events read beyond the requested one: about as many as vanish in a relist of one kind. */
const MARGIN_EVENTS = 4096

interface Stretch {
  readonly kind: number
  readonly chain: CheckpointChain
  /** Events of the stretch with bytes, in sequence order. */
  readonly sequences: Float64Array
  /** object number · 2^21 + position in `sequences`, ascending. */
  readonly keys: Float64Array
  /** Last sequence number the stretch covers. */
  readonly throughSequence: number
}

/** Finds last states through one database connection. */
export class LastStates {
  readonly #source: BlockSource
  readonly #history: StateHistory
  #stretch: Stretch | undefined

  constructor(source: BlockSource, history: StateHistory) {
    this.#source = source
    this.#history = history
  }

  /** Sequence number of the object's last event before `sequence` that carries its bytes; `undefined` if there is none. */
  sequenceBefore(kind: KindKey, number: number, sequence: number): number | undefined {
    const stretch = this.#stretchBefore(kind, sequence)
    const position = lowerBound(stretch.sequences, sequence)
    const at = lowerBound(stretch.keys, number * STRETCH_EVENTS + position) - 1
    const key = at < 0 ? -1 : (stretch.keys[at] as number)
    if (Math.floor(key / STRETCH_EVENTS) === number) return stretch.sequences[key % STRETCH_EVENTS]
    for (const states of stretch.chain.steps.toReversed()) {
      const index = states.indexOf(number)
      if (index >= 0) return states.sequences[index]
    }
    return undefined
  }

  #stretchBefore(kind: KindKey, sequence: number): Stretch {
    const known = this.#stretch
    const isKnown =
      known !== undefined &&
      known.kind === kind.id &&
      known.chain.throughSequence < sequence &&
      sequence <= known.throughSequence
    if (isKnown) return known
    for (let attempt = 1; ; attempt++) {
      try {
        const chain = this.#history.stepsBefore(kind, { throughSequence: sequence - 1 })
        this.#stretch = this.#readStretch(kind, chain, sequence)
        return this.#stretch
      } catch (error) {
        // The beginning may move, as long as it stays before the event.
        if (!(error instanceof RetentionOutranError) || attempt === ATTEMPTS) throw error
      }
    }
  }

  #readStretch(kind: KindKey, chain: CheckpointChain, sequence: number): Stretch {
    const sequences: Array<number> = []
    const keys: Array<number> = []
    let throughSequence = sequence
    for (const frame of this.#source.framesAfter(kind, chain.throughSequence)) {
      if (frame.firstSequence > sequence + MARGIN_EVENTS) break
      for (let index = 0; index < frame.events.count; index++) {
        if (frame.events.action(index) === VANISHED) continue
        keys.push(frame.events.objectNumber(index) * STRETCH_EVENTS + sequences.length)
        sequences.push(frame.sequence(index))
      }
      throughSequence = Math.max(throughSequence, frame.lastSequence)
    }
    return {
      kind: kind.id,
      chain,
      sequences: Float64Array.from(sequences),
      keys: Float64Array.from(keys).sort(),
      throughSequence,
    }
  }
}
