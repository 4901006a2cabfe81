/** The last changes of a kind, for watches that resume, within a bound of bytes; older ones are read from the past. */
import type { ChangeRecord } from "../../apiserver/watch/change.ts"

/** Bytes: half a minute of a busy kind, and hours of a quiet one. */
const keptBytes = 16 * 1024 * 1024

export class RecentChanges {
  readonly #limit: number
  #records: ChangeRecord[] = []
  #bytes = 0
  #floor: bigint

  /** `floor`: the version from which on changes are added. `limit`: bytes. */
  constructor(floor: bigint, limit = keptBytes) {
    this.#floor = floor
    this.#limit = limit
  }

  /** Every change above this version is here. */
  get floor(): bigint {
    return this.#floor
  }

  add(record: ChangeRecord): void {
    this.#records.push(record)
    this.#bytes += sizeOf(record)
    if (this.#bytes <= this.#limit) return
    // Half at once, so that not every change moves all others. Changes that a list brought may be of any order of versions.
    const kept = this.#records.length >> 1
    for (const dropped of this.#records.splice(0, this.#records.length - kept)) {
      this.#bytes -= sizeOf(dropped)
      if (dropped.change.revision > this.#floor) this.#floor = dropped.change.revision
    }
  }

  /** In the order in which they were added. */
  after(version: bigint): ReadonlyArray<ChangeRecord> {
    return this.#records.filter(({ change }) => change.revision > version)
  }

  /** Another history begins. */
  restart(floor: bigint): void {
    this.#records = []
    this.#bytes = 0
    this.#floor = floor
  }
}

const sizeOf = ({ change, previous }: ChangeRecord): number => change.line.length + (previous?.line.length ?? 0)
