/**
 * When events were committed, as seen by a separate reader, which queries the database every 2 ms. An event counts as committed when a
 * query first finds it, so every latency is exact or up to 2 ms (and this process's own delays) too high, never too low.
 */

import { ArchiveReader } from "../../src/archive/index.ts"
import { systemClock } from "../../src/clock.ts"
import { listVersion } from "../load/object-template.ts"

/** ms between two queries: the precision of a latency. */
export const lookMs = 2

/** A query that found more than the previous one. */
interface Look {
  readonly cut: number
  /** µs since the Unix epoch, on the clock of the recorder's receipts. */
  readonly wallMicros: number
  /** ms on the clock that all processes share. */
  readonly monotonicMs: number
}

/** Queries from construction until it is stopped. */
export class CommitWatch {
  readonly #reader: ArchiveReader
  readonly #from: number
  readonly #startedAt = performance.now()
  #endedAt = 0
  /** Increasing. */
  readonly #looks: Array<Look> = []
  readonly #timer: NodeJS.Timeout

  constructor(directory: string) {
    this.#reader = ArchiveReader.open(directory)
    this.#from = this.#reader.cut()
    this.#timer = setInterval(() => this.#look(), lookMs)
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#endedAt = performance.now()
    this.#look()
    this.#reader.close()
  }

  get seconds(): number {
    return (this.#endedAt - this.#startedAt) / 1000
  }

  /**
   * For each event committed in this period, the ms from a given moment until it was found committed.
   *
   * @param events in the order of their sequence numbers
   * @param elapsed ms from that moment until the query; any value for events outside of the period
   */
  latencies(
    events: ReadonlyArray<RecordedChange>,
    elapsed: (event: RecordedChange, look: Look) => number,
  ): ReadonlyArray<number> {
    const latencies: Array<number> = []
    let index = 0
    for (const event of events) {
      if (event.sequence <= this.#from) continue
      while ((this.#looks[index]?.cut ?? Number.POSITIVE_INFINITY) < event.sequence) index++
      const look = this.#looks[index]
      if (look === undefined) break
      latencies.push(elapsed(event, look))
    }
    return latencies
  }

  #look(): void {
    const cut = this.#reader.cut()
    if (cut <= (this.#looks.at(-1)?.cut ?? this.#from)) return
    const wallMicros = systemClock.wallMicros()
    this.#looks.push({ cut, wallMicros, monotonicMs: Number(process.hrtime.bigint()) / 1e6 })
  }
}

export interface RecordedChange {
  readonly sequence: number
  /** µs since the Unix epoch. */
  readonly receivedMicros: number
  /** Which of the generator's events it is, from 1; 0 and less for listed objects. */
  readonly number: number
}

/** ms from the receipt until the commit. */
export const sinceReceipt = (event: RecordedChange, look: Look): number =>
  (look.wallMicros - event.receivedMicros) / 1000

/** The objects of `gvk` in the recording, in the order of their sequence numbers. */
export const recordedChanges = (directory: string, gvk: string): ReadonlyArray<RecordedChange> => {
  const reader = ArchiveReader.open(directory)
  try {
    const changes: Array<RecordedChange> = []
    for (const event of reader.events({ kinds: [gvk] })) {
      if (event.type !== "object") continue
      const number = Number(event.resourceVersion) - listVersion
      changes.push({ sequence: event.sequence, receivedMicros: event.time, number })
    }
    return changes.sort((left, right) => left.sequence - right.sequence)
  } finally {
    reader.close()
  }
}
