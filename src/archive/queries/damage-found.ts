/** The damaged blocks that an answer met, as gaps: what they hold is missing from it, and everything else is there. */

import type { GapEvent, ObjectEvent } from "../../trace/event.ts"
import { eventIn } from "../blocks/event-merge.ts"
import type { EventPlace } from "../blocks/stored-blocks.ts"
import { ArchiveIoError, CorruptArchiveError } from "../directory/archive-errors.ts"
import type { KeptKind } from "../rows/kind-table.ts"
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
    const { source, names } = this.#recording
    let place: EventPlace
    try {
      // Decompresses the block. The name is read afterwards: a damaged row of a name is an error.
      place = source.eventAt(sequence)
    } catch (error) {
      const fault = faultOf(error)
      if (fault === undefined) throw error
      this.#note(kind, sequence, fault, "its changes are missing")
      return undefined
    }
    return eventIn(place, names, kind)
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
      this.#recording.database
        .prepare(
          "SELECT last_sequence, min_time, max_time FROM block_kind WHERE kind = ? AND last_sequence > ? ORDER BY last_sequence",
        )
        .all(kind.id, afterSequence)
        .map((row) => ({
          key: Number(row.last_sequence),
          minTime: Number(row.min_time),
          maxTime: Number(row.max_time),
        })),
    )
  }

  #note(kind: KeptKind, sequence: number, fault: string, lost: string): void {
    const block = this.#blocksOf(kind, sequence - 1)[0]
    const key = block?.key ?? sequence
    const id = `${kind.gvk} ${key}`
    if (this.#gaps.has(id)) return
    const toTime = block?.maxTime ?? 0
    this.#gaps.set(id, {
      ...{ type: "gap", sequence: Math.min(key, this.#recording.cut), time: toTime, gvk: kind.gvk, namespace: "" },
      ...{ fromVersion: "", toVersion: "", fromTime: block?.minTime ?? 0, toTime, reason: "damaged" },
      detail: `the block up to event ${key} is damaged (${fault}): ${lost}`,
    })
  }
}

/** What is wrong with a block; `undefined`: the error is about something else. */
const faultOf = (error: unknown): string | undefined => {
  if (error instanceof CorruptArchiveError) return error.reason
  if (error instanceof ArchiveIoError) return `${error.code}: ${error.reason}`
  return undefined
}
