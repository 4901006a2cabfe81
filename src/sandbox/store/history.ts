/**
 * The changes of one kind that the server still has, oldest first, at most `limit` of them and at most 256 MiB of states
 * that have been replaced or deleted: beyond that the oldest are dropped, and requests for them get a 410. The newest state
 * of each object is kept anyway and does not count.
 */

import type { ChangeRecord } from "../../apiserver/watch/change.ts"

/** Bytes; some 90,000 changes of Deployments of 2.9 kB. */
const keptBytes = 256 * 1024 * 1024

export class History {
  readonly #limit: number
  readonly #keptBytes: number
  #bytes = 0
  /** A queue whose first `#start` slots are empty; compacted when they are the larger half. */
  #records: Array<ChangeRecord | undefined> = []
  #start = 0
  #floor: bigint

  /** `floor` is the version from which this history is complete; `limit` counts changes, `bytes` outdated states. */
  constructor(limit: number, floor: bigint, bytes = keptBytes) {
    this.#limit = limit
    this.#keptBytes = bytes
    this.#floor = floor
  }

  /** A watch may resume at this version or any later one. */
  get floor(): bigint {
    return this.#floor
  }

  get size(): number {
    return this.#records.length - this.#start
  }

  append(record: ChangeRecord): void {
    this.#records.push(record)
    this.#bytes += outdatedBytes(record)
    while (this.size > this.#limit || this.#bytes > this.#keptBytes) this.#forgetOldest()
    if (this.#start > 1024 && this.#start * 2 > this.#records.length) {
      this.#records = this.#records.slice(this.#start)
      this.#start = 0
    }
  }

  /** The changes above a version that is not below the floor, oldest first. */
  after(version: bigint): ReadonlyArray<ChangeRecord> {
    return this.#records.slice(this.#indexAfter(version)) as ReadonlyArray<ChangeRecord>
  }

  /** The newest change at or below the version, as a version; two versions with the same result have the same state. */
  stateOf(version: bigint): bigint {
    const index = this.#indexAfter(version)
    return index === this.#start ? this.#floor : (this.#records[index - 1]?.change.revision ?? this.#floor)
  }

  /** Drops everything; the history is complete from `floor`. */
  reset(floor: bigint): void {
    this.#records = []
    this.#start = 0
    this.#bytes = 0
    this.#floor = floor
  }

  #forgetOldest(): void {
    const oldest = this.#records[this.#start]
    if (oldest !== undefined) {
      this.#floor = oldest.change.revision
      this.#bytes -= outdatedBytes(oldest)
    }
    this.#records[this.#start] = undefined
    this.#start++
  }

  /** Index of the first record above the version. */
  #indexAfter(version: bigint): number {
    let low = this.#start
    let high = this.#records.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const record = this.#records[middle]
      if (record !== undefined && record.change.revision > version) high = middle
      else low = middle + 1
    }
    return low
  }
}

/** The bytes that only the history keeps because of this change. */
const outdatedBytes = ({ change, previous }: ChangeRecord): number =>
  (previous === undefined ? 0 : previous.line.length) + (change.type === "DELETED" ? change.line.length : 0)
