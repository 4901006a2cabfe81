/**
 * The last seen state of an object before an event, for filters on events without bytes (`vanished`).
 *
 * Vanished objects come in bursts: all those that a list no longer contained. So the first query about a stretch of history sorts the
 * events of its tables of contents by object, and the following ones are binary searches. Memory: 12 bytes for each event of the kind since
 * its last checkpoint plus the checkpoint's columns, for one stretch at a time.
 */

import { VANISHED } from "../../wire/index.ts"
import type { BlockSource } from "../blocks/block-source.ts"
import { byObject, lowerBound } from "../blocks/number-columns.ts"
import { RetentionOutranError } from "../directory/archive-errors.ts"
import type { KindKey } from "../rows/kind-table.ts"
import { ATTEMPTS, type CheckpointChain, type StateHistory } from "./state-history.ts"

/** Events read beyond the requested one: about as many as vanish in a relist of one kind. */
const MARGIN_EVENTS = 4096

interface Stretch {
  readonly kind: number
  readonly chain: CheckpointChain
  /** Object numbers of the stretch's events with bytes, ascending. */
  readonly numbers: Uint32Array
  /** Their sequence numbers; of each object, ascending. */
  readonly sequences: Float64Array
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
    const { numbers, sequences, chain } = this.#stretchBefore(kind, sequence)
    const first = lowerBound(numbers, number)
    const at = lowerBound(sequences, sequence, first, lowerBound(numbers, number + 1, first)) - 1
    if (at >= first) return sequences[at]
    for (const states of chain.steps.toReversed()) {
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
    const numbers: Array<number> = []
    let throughSequence = sequence
    for (const frame of this.#source.framesAfter(kind, chain.throughSequence)) {
      if (frame.firstSequence > sequence + MARGIN_EVENTS) break
      for (let index = 0; index < frame.events.count; index++) {
        if (frame.events.action(index) === VANISHED) continue
        numbers.push(frame.events.objectNumber(index))
        sequences.push(frame.sequence(index))
      }
      throughSequence = Math.max(throughSequence, frame.lastSequence)
    }
    const sorted = byObject(Uint32Array.from(numbers), numbers.length)
    return {
      ...{ kind: kind.id, chain, throughSequence },
      numbers: Uint32Array.from(sorted, (index) => numbers[index] as number),
      sequences: Float64Array.from(sorted, (index) => sequences[index] as number),
    }
  }
}
