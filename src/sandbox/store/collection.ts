/**
 * The server's state of one kind: live objects, bounded history, and listeners. Listeners are called synchronously,
 * in the order of the changes.
 */

import {
  type Change,
  type ChangeRecord,
  keyOf,
  type Resource,
  type Snapshot,
  snapshotOf,
} from "../../apiserver/index.ts"
import { formatGvk } from "../../kube/offline.ts"

// The changes of one kind that the server still has, oldest first, at most `limit` of them and at most 256 MiB of states
// that have been replaced or deleted: beyond that the oldest are dropped, and requests for them get a 410. The newest state
// of each object is kept anyway and does not count.

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

/** The values that a put copies from the previous state. */
export interface Stamps {
  readonly creationTimestamp: string
  /** 0 for objects without a spec. */
  readonly generation: number
  /** Digest of the spec's JSON; shows whether the next change increments the generation. */
  readonly specDigest: string
}

/** A live object: its newest state and what the next put of it needs. */
export interface LiveObject {
  readonly change: Change
  /** Absent for states that clients wrote: a put then derives them from the object. */
  readonly stamps?: Stamps
  /** The real server would have stored it without the defaults that it fills in at every read. Absent: false. */
  readonly readBack?: boolean
}

/** The number of states that are kept sorted for paged lists; an older one is rebuilt from the history. */
const keptSnapshots = 4

export class Collection {
  /** `apps/v1.Deployment` */
  readonly name: string
  /** Replaced when the definition of a custom kind changes. */
  resource: Resource
  readonly live = new Map<string, LiveObject>()
  readonly history: History
  readonly #listeners = new Set<(record: ChangeRecord) => unknown>()
  readonly #snapshots = new Map<bigint, Snapshot>()

  constructor(resource: Resource, historyLimit: number, floor: bigint) {
    this.resource = resource
    this.name = formatGvk(resource.gvk)
    this.history = new History(historyLimit, floor)
  }

  /** The returned function ends the subscription. */
  listen(listener: (record: ChangeRecord) => unknown): () => unknown {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Makes `next` the state of its object; `undefined` removes the object that `record` deletes. */
  apply(record: ChangeRecord, next: LiveObject | undefined): void {
    const key = keyOf(record.change.namespace, record.change.name)
    if (next === undefined) this.live.delete(key)
    else this.live.set(key, next)
    this.history.append(record)
    for (const listener of this.#listeners) listener(record)
  }

  /** The state at a version, which must not be below the history's floor. */
  snapshotAt(version: bigint): Snapshot {
    const state = this.history.stateOf(version)
    const known = this.#snapshots.get(state)
    if (known !== undefined) return known
    const snapshot = snapshotOf(this.statesAt(version).values())
    this.#snapshots.set(state, snapshot)
    for (const oldest of this.#snapshots.keys()) {
      if (this.#snapshots.size <= keptSnapshots) break
      this.#snapshots.delete(oldest)
    }
    return snapshot
  }

  /** By key: the newest state of every object that existed at the version. */
  statesAt(version: bigint): Map<string, Change> {
    const states = new Map<string, Change>()
    for (const [key, { change }] of this.live) states.set(key, change)
    for (const { change, previous } of this.history.after(version).toReversed()) {
      const key = keyOf(change.namespace, change.name)
      if (previous === undefined) states.delete(key)
      else states.set(key, previous)
    }
    return states
  }

  /** Starts over with other objects and no history. Listeners are not called: they have been disconnected. */
  reset(objects: ReadonlyMap<string, LiveObject>, floor: bigint): void {
    this.live.clear()
    for (const [key, object] of objects) this.live.set(key, object)
    this.history.reset(floor)
    this.#snapshots.clear()
  }
}
