/**
 * The recent changes of one selection, for subscribers that resume after a version. Bounded by bytes: what it no longer reaches is answered
 * as the API server answers an old version, with "expired".
 */

import type { ResourceVersion } from "../../../kube/offline.ts"
import { firstIndex } from "./object-places.ts"
import { isAbove, type StateChange } from "./state-change.ts"

interface Entry {
  readonly change: StateChange
  /** The version that contains the change; all changes that one list has shown have the list's. */
  readonly at: ResourceVersion | string
}

/** Beside the states, which it mostly shares with the selection. */
const entryBytes = 200

export class ChangeJournal {
  readonly #maximumBytes: number
  #entries: Entry[] = []
  /** Entries before it have been dropped. */
  #first = 0
  #bytes = 0
  /** Everything after it is here; `undefined` before the first list. */
  #start: ResourceVersion | string | undefined

  constructor(maximumBytes: number) {
    this.#maximumBytes = maximumBytes
  }

  get size(): number {
    return this.#entries.length - this.#first
  }

  /** Bytes that its entries may keep alive; those of states that are also the present ones are included. */
  get bytes(): number {
    return this.#bytes
  }

  /** Forgets everything: what follows comes after that version, perhaps in another history. */
  reset(version: ResourceVersion | string): void {
    this.#entries = []
    this.#first = 0
    this.#bytes = 0
    this.#start = version
  }

  add(change: StateChange, at: ResourceVersion | string): void {
    this.#entries.push({ change, at })
    this.#bytes += change.bytes + entryBytes
    while (this.#bytes > this.#maximumBytes) {
      const dropped = this.#entries[this.#first]
      if (dropped === undefined) break
      this.#first++
      this.#bytes -= dropped.change.bytes + entryBytes
      this.#start = dropped.at
    }
    // In blocks, because a shift per entry would move them all.
    if (this.#first > 64 && this.#first * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#first)
      this.#first = 0
    }
  }

  /**
   * The changes after a version, oldest first; `undefined` if some of them are no longer here, or if the version is unknown. Versions that
   * are not integers are known if they are the start or that of a change.
   */
  since(version: ResourceVersion | string): ReadonlyArray<StateChange> | undefined {
    const start = this.#start
    if (start === undefined) return undefined
    if (version === start) return this.#from(this.#first)
    if (typeof version === "string") {
      const index = this.#entries.findLastIndex(({ at }, position) => position >= this.#first && at === version)
      return index < 0 ? undefined : this.#from(index + 1)
    }
    if (!isAbove(version, start)) return undefined
    return this.#from(firstIndex(this.#entries, this.#first, ({ at }) => isAbove(at, version)))
  }

  #from(index: number): ReadonlyArray<StateChange> {
    return this.#entries.slice(index).map(({ change }) => change)
  }
}
