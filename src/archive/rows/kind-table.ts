/**
 * The recorded state of each kind, from which its next watcher resumes.
 *
 * The resume version moves in the same transaction as the events it covers, so that a crash can neither skip nor repeat a change. Memory
 * has the state after everything appended; the database has the state of the last commit.
 */

import { podLivesKind } from "../../trace/index.ts"
import { isSameProgress, type NamespaceProgress, type Observations } from "../../wire/index.ts"
import { type Connection, prepare, rowsOf, type Statement } from "../tables/database.ts"
import { fieldsOf, rowWriter } from "../tables/tables.ts"
import { Beginnings } from "./beginnings.ts"

// The progress of each namespace of a kind that is watched namespace by namespace: a row each. Kinds watched as a whole have no rows.

interface RecordedNamespace extends NamespaceProgress {
  /** µs since the Unix epoch at which its first list was complete; 0 before. */
  readonly recordedSince: number
}

/**
 * A kind's namespaces after a frame. `completedAt`: µs, for those whose first list it completes. Returns the same array if nothing has
 * changed.
 */
const advanceNamespaces = (
  before: ReadonlyArray<RecordedNamespace>,
  frame: Observations,
  completedAt: number,
): ReadonlyArray<RecordedNamespace> => {
  if (frame.namespaceCount === 0 && frame.leftNamespaces.length === 0) return before
  const namespaces = new Map(before.map((each) => [each.namespace, each]))
  for (const namespace of frame.leftNamespaces) namespaces.delete(namespace)
  for (let index = 0; index < frame.namespaceCount; index++) {
    const progress = frame.namespace(index)
    const since = namespaces.get(progress.namespace)?.recordedSince ?? 0
    const recordedSince = since === 0 && progress.completeThrough !== "" ? completedAt : since
    namespaces.set(progress.namespace, { ...progress, recordedSince })
  }
  return [...namespaces.values()]
}

/** Writes rows that differ from the stored ones. */
class NamespaceRows {
  readonly #put: (row: Readonly<Record<string, unknown>>) => void
  readonly #delete: Statement<never>
  /** By kind, as in the database once {@link markSaved} was called. */
  readonly #stored: Map<number, ReadonlyArray<RecordedNamespace>>
  readonly #saved = new Map<number, ReadonlyArray<RecordedNamespace>>()

  constructor(database: Connection, stored: ReadonlyMap<number, ReadonlyArray<RecordedNamespace>>) {
    this.#stored = new Map(stored)
    this.#put = rowWriter(database, "kind_namespace", { or: "REPLACE" })
    this.#delete = prepare(database, "DELETE FROM kind_namespace WHERE kind = ? AND namespace = ?")
  }

  /** Inside the commit's transaction. */
  save(kind: number, namespaces: ReadonlyArray<RecordedNamespace>): void {
    const stored = new Map(this.#stored.get(kind)?.map((each) => [each.namespace, each]))
    for (const each of namespaces) {
      const before = stored.get(each.namespace)
      stored.delete(each.namespace)
      if (before !== undefined && isSameProgress(before, each) && before.recordedSince === each.recordedSince) continue
      this.#put({ ...each, kind })
    }
    for (const namespace of stored.keys()) this.#delete.run(kind, namespace)
    this.#saved.set(kind, namespaces)
  }

  /** After the commit. */
  markSaved(): void {
    for (const [kind, namespaces] of this.#saved) this.#stored.set(kind, namespaces)
    this.#saved.clear()
  }
}

/** A kind to read: the archive's number for it, and its name. */
export interface KindKey {
  readonly id: number
  readonly gvk: string
}

/** State of one kind. Times are µs since the Unix epoch. */
export interface KindState {
  readonly gvk: string
  /** Counts the histories of the kind: one more after each restored cluster. Versions are comparable only within one. */
  readonly epoch: number
  /**
   * Resource version up to which the recording is complete; empty before the first, and while it is watched namespace by namespace.
   * Resume the watch here.
   */
  readonly completeThrough: string
  /** The progress of each namespace of a kind that is watched namespace by namespace; otherwise empty. */
  readonly namespaces: ReadonlyArray<RecordedNamespace>
  /**
   * When the kind was last complete; while its first list is in progress, when that began; 0 before. A new epoch resets the version and
   * keeps the time, at which the gap between both histories begins.
   */
  readonly completeThroughTime: number
  /** Number for the next new UID; starts at 1. */
  readonly nextObjectNumber: number
  /** No later event may be earlier than this; 0 before the first. */
  readonly lastEventTime: number
  /** No later event may be received earlier than this; 0 before the first. */
  readonly lastReceivedTime: number
  /** UID of namespace kube-system when the kind was last recorded (metadata key `clusterUid`); empty if unknown. */
  readonly clusterUid: string
  /**
   * Reason of the list in progress: until it is complete, the recorded objects are partly from before and partly from after it. Empty: no
   * list.
   */
  readonly listReason: string
  /** The recorded selection of the kind's objects (see the watcher's selection); empty if unknown. */
  readonly selection: string
  /**
   * When its first list was complete: from then on everything is recorded except in gaps, also for a kind without objects. 0 before. Never
   * changes afterwards.
   */
  readonly recordedSince: number
}

/** A kind with the archive's number for it. */
export interface KindEntry extends KindState {
  readonly id: number
}

/** µs since the Unix epoch: when the last event of a frame happened, and when it was received. */
interface LastTimes {
  readonly lastTime: number
  readonly lastReceived: number
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

/** All kinds of a recording; each a small entry. */
export class KindTable {
  readonly #byGvk = new Map<string, Mutable<KindEntry>>()
  readonly #byId = new Map<number, KindEntry>()
  readonly #changed = new Set<Mutable<KindEntry>>()
  /** Kinds whose epoch began before any other cluster was known. */
  readonly #awaitsCluster = new Set<KindEntry>()
  #nextId = 1
  readonly #save: (row: Readonly<Record<string, unknown>>) => void
  readonly #namespaceRows: NamespaceRows

  constructor(database: Connection) {
    this.#save = rowWriter(database, "kind", { or: "REPLACE" })
    const kinds = readKinds(database)
    this.#namespaceRows = new NamespaceRows(database, new Map(kinds.map(({ id, namespaces }) => [id, namespaces])))
    for (const kind of kinds) {
      this.#know({ ...kind })
      this.#nextId = Math.max(this.#nextId, kind.id + 1)
    }
  }

  isChanged(gvk: string): boolean {
    const kind = this.#byGvk.get(gvk)
    return kind !== undefined && this.#changed.has(kind)
  }

  all(): ReadonlyArray<KindEntry> {
    return [...this.#byId.values()]
  }

  get(gvk: string): KindEntry | undefined {
    return this.#byGvk.get(gvk)
  }

  /** The kind's number; a new kind gets the next one. */
  idOf(gvk: string): number {
    return this.#entry(gvk).id
  }

  /** The kind with this number, which {@link idOf} has assigned. */
  byId(id: number): KindEntry {
    const kind = this.#byId.get(id)
    if (kind === undefined) throw new RangeError(`no kind has number ${id}`)
    return kind
  }

  /**
   * Advances a kind's state past a frame that was taken. `now` is µs since the Unix epoch: the time of a version in a frame without events,
   * such as a bookmark.
   */
  advance(frame: Observations, { lastTime, lastReceived }: LastTimes, clusterUid: string, now: number): void {
    const kind = this.#entry(frame.gvk)
    this.#changed.add(kind)
    const isNewEpoch = frame.epoch > kind.epoch
    if (isNewEpoch) {
      kind.epoch = frame.epoch
      kind.completeThrough = ""
    }
    if (frame.selection !== "") kind.selection = frame.selection
    if (frame.listReason !== "") {
      kind.listReason = frame.listReason
      if (kind.completeThroughTime === 0) kind.completeThroughTime = Math.max(now, kind.lastEventTime)
    }
    const isOfEpoch = frame.epoch === kind.epoch
    const isComplete = isOfEpoch && (frame.completeThrough !== "" || frame.isComplete)
    const quietSince = Math.max(now, kind.lastEventTime)
    // Late changes can be of a time at which the kind was already known to be complete.
    const completeTime = Math.max(
      kind.completeThroughTime,
      frame.isBehind ? 0 : frame.count > 0 ? lastTime : quietSince,
    )
    const listedTime = frame.count > 0 ? lastReceived : quietSince
    const hasNamespaces = isOfEpoch && this.#advanceNamespaces(kind, frame, listedTime)
    if (isComplete) {
      kind.listReason = ""
      kind.completeThrough = frame.completeThrough
      if (!frame.isComplete) kind.namespaces = []
      kind.completeThroughTime = completeTime
      kind.recordedSince ||= listedTime
    }
    if (frame.count > 0 || frame.podLifeCount > 0) {
      kind.lastEventTime = Math.max(kind.lastEventTime, lastTime)
      kind.lastReceivedTime = Math.max(kind.lastReceivedTime, lastReceived)
    }
    kind.nextObjectNumber = Math.max(kind.nextObjectNumber, nextNumberAfter(frame))
    this.#learnCluster(kind, clusterUid, isNewEpoch, isOfEpoch)
    if (!frame.tracksPods || frame.gvk === podLivesKind) return
    const lives = this.#entry(podLivesKind)
    this.#changed.add(lives)
    lives.lastEventTime = Math.max(lives.lastEventTime, kind.lastEventTime)
    lives.lastReceivedTime = Math.max(lives.lastReceivedTime, kind.lastReceivedTime)
    if (isNewEpoch || isComplete || (hasNamespaces && !frame.livesLag)) this.#advanceLives(lives, kind, isComplete)
  }

  /**
   * From the first frame with namespaces on, there is no version up to which the kind as a whole is recorded. If there was one, it applies
   * to each of its namespaces, and so does the time since which it is recorded.
   */
  #advanceNamespaces(kind: Mutable<KindEntry>, frame: Observations, completeTime: number): boolean {
    const isWhole = kind.completeThrough !== ""
    const since = isWhole ? kind.recordedSince : completeTime
    const namespaces = advanceNamespaces(kind.namespaces, frame, since)
    if (namespaces === kind.namespaces) return false
    kind.namespaces = namespaces
    kind.completeThrough = ""
    kind.listReason = ""
    if (kind.completeThroughTime === 0) kind.completeThroughTime = completeTime
    return true
  }

  /**
   * The cluster of a kind is the one of its epoch. The recording is notified of another cluster once, by the first kind that notices; later
   * frames of other kinds may still be from the old one, and if their rows got the new UID, they would resume there after a crash as if
   * nothing had happened. If a frame of the new epoch arrives before the notification, the next one of its kind sets the UID.
   */
  #learnCluster(kind: Mutable<KindEntry>, clusterUid: string, isNewEpoch: boolean, isOfEpoch: boolean): void {
    if (kind.clusterUid === clusterUid) {
      if (isNewEpoch) this.#awaitsCluster.add(kind)
      return
    }
    const isAwaited = isOfEpoch && this.#awaitsCluster.has(kind)
    if (kind.clusterUid !== "" && !isNewEpoch && !isAwaited) return
    this.#awaitsCluster.delete(kind)
    kind.clusterUid = clusterUid
  }

  /**
   * Lifecycles tracked on the stream of v1.Pod are complete up to the same point as that kind, but only once a frame says so: after a time
   * without tracking, the kind is ahead of them until its watcher has listed all pods.
   */
  #advanceLives(lives: Mutable<KindEntry>, pods: KindEntry, isComplete: boolean): void {
    if (isComplete) lives.recordedSince ||= pods.completeThroughTime
    lives.epoch = pods.epoch
    lives.completeThrough = pods.completeThrough
    lives.namespaces = pods.namespaces
    lives.completeThroughTime = pods.completeThroughTime
    lives.clusterUid = pods.clusterUid
  }

  /** Writes changed rows; inside the commit's transaction. */
  save(): void {
    for (const kind of this.#changed) {
      this.#save({ ...kind })
      this.#namespaceRows.save(kind.id, kind.namespaces)
    }
  }

  /** After the commit. */
  markSaved(): void {
    this.#changed.clear()
    this.#namespaceRows.markSaved()
  }

  #know(kind: Mutable<KindEntry>): void {
    this.#byGvk.set(kind.gvk, kind)
    this.#byId.set(kind.id, kind)
  }

  #entry(gvk: string): Mutable<KindEntry> {
    let kind = this.#byGvk.get(gvk)
    if (kind === undefined) {
      kind = { id: this.#nextId++, ...unknownKind(gvk) }
      this.#know(kind)
      this.#changed.add(kind)
    }
    return kind
  }
}

/** State of a kind before anything is recorded. */
export const unknownKind = (gvk: string): KindState => ({
  gvk,
  epoch: 0,
  completeThrough: "",
  namespaces: [],
  completeThroughTime: 0,
  nextObjectNumber: 1,
  lastEventTime: 0,
  lastReceivedTime: 0,
  clusterUid: "",
  listReason: "",
  selection: "",
  recordedSince: 0,
})

/** Object numbers that a frame may use: those assigned before it, and those it introduces itself. */
export const nextNumberAfter = (frame: Observations): number => {
  let next = 1
  for (let index = 0; index < frame.newObjectCount; index++) next = Math.max(next, frame.newObject(index).number + 1)
  return next
}

/** A kind as readers see it. */
export interface KeptKind extends KindEntry {
  /** µs since the Unix epoch: retention has removed what happened up to then; 0: nothing. The kind counts as recorded only since. */
  readonly removedThrough: number
}

/** Every kind as committed, without the time that retention has removed. */
export const readKeptKinds = (database: Connection): ReadonlyArray<KeptKind> => {
  const retained = new Beginnings(database).all()
  return readKinds(database).map((kind) => {
    const removedThrough = retained.get(kind.id)?.removedThrough ?? 0
    const since = (recordedSince: number): number =>
      recordedSince === 0 ? 0 : Math.max(recordedSince, removedThrough + 1)
    const namespaces = kind.namespaces.map((each) => ({ ...each, recordedSince: since(each.recordedSince) }))
    return { ...kind, namespaces, recordedSince: since(kind.recordedSince), removedThrough }
  })
}

/** Every kind as committed, in the order of first appearance. */
export const readKinds = (database: Connection): ReadonlyArray<KindEntry> => {
  const namespaces = Map.groupBy(
    rowsOf<RecordedNamespace & { readonly kind: number }>(
      database,
      `SELECT ${fieldsOf("kind_namespace")} FROM kind_namespace ORDER BY kind, namespace`,
    ),
    ({ kind }) => kind,
  )
  return rowsOf<Omit<KindEntry, "namespaces">>(database, `SELECT ${fieldsOf("kind")} FROM kind ORDER BY id`).map(
    (row) => ({
      ...row,
      namespaces: (namespaces.get(row.id) ?? []).map(({ kind: _, ...namespace }) => namespace),
    }),
  )
}

/** µs since the Unix epoch: the last moment at which anything of these kinds is known to have been recorded, an event or a bookmark; 0: none is. */
export const lastTimeOf = (kinds: ReadonlyArray<KindState>): number =>
  Math.max(
    0,
    ...kinds.flatMap(({ completeThroughTime, lastEventTime, namespaces }) => [
      ...[completeThroughTime, lastEventTime],
      ...namespaces.map(({ completeTime }) => completeTime),
    ]),
  )
