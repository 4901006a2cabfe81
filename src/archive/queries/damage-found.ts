/** The damaged blocks that an answer met, as gaps: what they hold is missing from it, and everything else is there. */

import type { GapEvent, ObjectEvent } from "../../trace/index.ts"
import { eventIn } from "../blocks/event-merge.ts"
import type { EventPlace } from "../blocks/stored-blocks.ts"
import { damageGap } from "../damage/window-damage.ts"
import { confined } from "../directory/archive-errors.ts"
import type { KeptKind } from "../rows/kind-table.ts"
import { rowsOf } from "../tables/database.ts"
import type { QueriedRecording } from "./queried-recording.ts"

/** Collects the damage of one answer. */
export class DamageFound {
  readonly #recording: QueriedRecording
  readonly #gaps = new Map<string, GapEvent>()

  constructor(recording: QueriedRecording) {
    this.#recording = recording
  }

  get count(): number {
    return this.#gaps.size
  }

  /** In the order of their times. */
  get gaps(): ReadonlyArray<GapEvent> {
    return [...this.#gaps.values()].sort((one, other) => one.fromTime - other.fromTime)
  }

  /** An event with its object, valid until the next is read; `undefined` if its block is damaged, which is noted. */
  event(kind: KeptKind, sequence: number): ObjectEvent | undefined {
    const place = this.place(kind, sequence)
    // The name is read afterwards: a damaged row of a name is an error.
    return place && eventIn(place, this.#recording.names, kind)
  }

  /** The same with its object as it is stored, without its name. */
  place(kind: KeptKind, sequence: number): EventPlace | undefined {
    // Decompresses the block.
    const place = confined(() => this.#recording.source.eventAt(sequence))
    if (typeof place !== "string") return place
    this.#note(kind, sequence, place, "its changes are missing")
    return undefined
  }

  /**
   * Notes the blocks of a kind that were found to have no table of contents, after a sequence number and with changes in a stretch of time, µs since
   * the Unix epoch: what they hold was passed over.
   */
  noteLostTables(kind: KeptKind, afterSequence: number, from = 0, until = Number.MAX_SAFE_INTEGER): void {
    const { source, cut } = this.#recording
    if (!source.lacksTableAfter(kind, afterSequence)) return
    for (const { key, minTime, maxTime } of this.#blocksOf(kind, afterSequence)) {
      if (minTime >= until || key > cut) return
      if (maxTime >= from && source.lacksTable(key))
        this.#note(kind, key, source.faultOf(key) ?? "damaged", "what it changed is unknown")
    }
  }

  #blocksOf(kind: KeptKind, afterSequence: number) {
    return this.#recording.reading(() =>
      rowsOf<{ readonly key: number; readonly minTime: number; readonly maxTime: number }>(
        this.#recording.database,
        `SELECT last_sequence AS key, min_time AS minTime, max_time AS maxTime FROM block_kind
        WHERE kind = ? AND last_sequence > ? ORDER BY last_sequence`,
        ...[kind.id, afterSequence],
      ),
    )
  }

  #note(kind: KeptKind, sequence: number, fault: string, lost: string): void {
    const block = this.#blocksOf(kind, sequence - 1)[0]
    const key = block?.key ?? sequence
    const id = `${kind.gvk} ${key}`
    if (this.#gaps.has(id)) return
    const { cut } = this.#recording
    this.#gaps.set(id, damageGap(kind, block ?? { key, minTime: 0, maxTime: 0 }, { cut, fault, lost }))
  }
}
