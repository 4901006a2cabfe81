/**
 * All objects of one kind at a moment, as bytes, sorted on demand; and the changes that carry it on to later moments.
 *
 * Its version is the highest of all states and deletions up to the moment. So a list and a watch that begins at the version of that list fit together, and
 * objects keep the versions that they had. Memory: the bytes of the objects and some 400 bytes each.
 */
import { type ChangeRecord, keyOf, restamped, type Snapshot, snapshotOf } from "../../apiserver/index.ts"
import type { Past, PastChange, PastKind } from "../past/past.ts"
import type { RecordedResource } from "./recorded-resource.ts"
import { RecordedState, servedObject } from "./recorded-state.ts"

/** µs: how far back the last changes before a moment are looked for at first. In a busy kind few changes are so recent, and all of them are read. */
const firstLook = 1000

/** What is kept for each object besides its bytes. */
const entryBytes = 400

const compact = (json: string): string => json

export class KindState {
  readonly recorded: RecordedResource
  readonly #states = new Map<string, RecordedState>()
  #version = 1n
  #bytes = 0
  #unknownStatuses = 0
  #sorted: Snapshot | undefined

  constructor(recorded: RecordedResource) {
    this.recorded = recorded
  }

  /** Rejects with what reading the past throws. */
  static async load(past: Past, recorded: RecordedResource, time: number): Promise<KindState> {
    const state = new KindState(recorded)
    const { kind } = recorded
    for await (const batch of past.stateAt(kind.gvk, time)) for (const change of batch) state.apply(change)
    const begin = Math.max(kind.since - 1, lastRestart(kind, time)?.from ?? 0)
    // The last changes may be deletions, whose objects are not among the states.
    for (let look = firstLook; ; look *= 16) {
      const after = Math.max(begin, time - look)
      let isFound = false
      for await (const batch of past.changes(kind.gvk, after, time))
        for (const { version } of batch) {
          state.#reach(version)
          isFound = true
        }
      if (isFound || after <= begin) return state
    }
  }

  /** At least 1: 0 would mean any version. */
  get version(): bigint {
    return this.#version
  }

  /** Bytes of memory, about. */
  get bytes(): number {
    return this.#bytes
  }

  /** Whether the status of any object is older than the moment. */
  get hasUnknownStatus(): boolean {
    return this.#unknownStatuses > 0
  }

  /** Whether that is true of any object. */
  some(isTrue: (state: RecordedState) => boolean): boolean {
    return Array.from(this.#states.values()).some(isTrue)
  }

  get(namespace: string, name: string): RecordedState | undefined {
    return this.#states.get(keyOf(namespace, name))
  }

  /** All objects in the order of lists; a later change makes a new snapshot. */
  get snapshot(): Snapshot {
    this.#sorted ??= snapshotOf(this.#states.values())
    return this.#sorted
  }

  /** Starts a new history, in which versions count from anew. The objects stay until they change. */
  restart(): void {
    this.#version = 1n
  }

  /** Enters a change; `undefined` if it changes nothing, such as the deletion of an object that is not here. */
  apply(change: PastChange): ChangeRecord | undefined {
    const { namespace, name, uid, version } = change
    const key = keyOf(namespace, name)
    const previous = this.#states.get(key)
    this.#reach(version)
    if (change.action === "applied") {
      const type = previous === undefined ? "ADDED" : "MODIFIED"
      const next = new RecordedState(type, change, version, servedObject(this.recorded, change))
      if (previous !== undefined && previous.revision === version && previous.object.equals(next.object))
        return undefined
      this.#replace(key, previous, next)
      return { change: next, previous }
    }
    // The deletion of an object may be reported after its successor's creation.
    if (previous === undefined || previous.uid !== uid) return undefined
    this.#replace(key, previous, undefined)
    const last =
      change.object.length === 0
        ? restamped(previous, "DELETED", version, compact)
        : new RecordedState("DELETED", change, version, servedObject(this.recorded, change))
    return { change: last, previous }
  }

  #reach(version: bigint): void {
    if (version > this.#version) this.#version = version
  }

  #replace(key: string, previous: RecordedState | undefined, next: RecordedState | undefined): void {
    if (previous !== undefined) this.#bytes -= previous.chunk.length + entryBytes
    this.#unknownStatuses += Number(next?.isStatusUnknown ?? false) - Number(previous?.isStatusUnknown ?? false)
    if (next === undefined) this.#states.delete(key)
    else {
      this.#bytes += next.chunk.length + entryBytes
      this.#states.set(key, next)
    }
    this.#sorted = undefined
  }
}

/** The last restart of the kind's history before a moment. */
const lastRestart = ({ restarts }: PastKind, time: number): PastKind["restarts"][number] | undefined =>
  restarts.findLast(({ from }) => from < time)

/** From when on the history of which a moment is part is complete: watches can begin at the version of this moment, and not before. */
export const historyBegin = (kind: PastKind, time: number): number =>
  Math.max(kind.since, lastRestart(kind, time)?.to ?? 0)
