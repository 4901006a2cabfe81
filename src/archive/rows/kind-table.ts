/**
 * What the recording knows about each kind: the state from which its next watcher goes on.
 *
 * The resume version moves in the same transaction as the events it speaks of, so that a crash can neither skip
 * nor repeat a change. In memory stands the state after everything appended; the database has it as of the last commit.
 */

import type { DatabaseSync, StatementSync } from "node:sqlite"
import { podLivesKind } from "../../trace/pods/pod-lives-kind.ts"
import type { Observations } from "../../wire/observations.ts"
import { advanceNamespaces, NamespaceRows, type RecordedNamespace, readNamespaces } from "./namespace-rows.ts"

/** State of one kind. Times are µs since the Unix epoch. */
export interface KindState {
  readonly gvk: string
  /** Counts the histories of the kind: one more after each restored cluster. Versions compare only within one. */
  readonly epoch: number
  /**
   * Resource version up to which the recording is complete; empty before the first, and while it is watched namespace by namespace.
   * Resume the watch here.
   */
  readonly completeThrough: string
  /** Of a kind that is watched namespace by namespace how far each is recorded; otherwise empty. */
  readonly namespaces: ReadonlyArray<RecordedNamespace>
  /**
   * When the kind was last complete; while its first list is under way, when that began; 0 before. A new epoch forgets the version and keeps the time: the gap
   * between both histories begins then.
   */
  readonly completeThroughTime: number
  /** Number for the next UID that was never seen; starts at 1. */
  readonly nextObjectNumber: number
  /** No later event may be earlier than this; 0 before the first. */
  readonly lastEventTime: number
  /** UID of namespace kube-system when the kind was last recorded (metadata key `clusterUid`); empty if unknown. */
  readonly clusterUid: string
  /** Why a list is under way: until it is complete the objects recorded are partly of before and partly of after it. Empty: none. */
  readonly listReason: string
  /** What of the kind is recorded (see the watcher's selection); empty if that was never said. */
  readonly selection: string
  /**
   * When its first list was complete: from then on everything is known but for gaps, also of a kind of which there is no object.
   * 0 before. Never changes afterwards.
   */
  readonly recordedSince: number
}

/** A kind with the archive's own number for it. */
export interface KindEntry extends KindState {
  readonly id: number
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

/** All kinds of a recording; each a small entry. */
export class KindTable {
  readonly #byGvk = new Map<string, Mutable<KindEntry>>()
  readonly #byId = new Map<number, KindEntry>()
  readonly #changed = new Set<Mutable<KindEntry>>()
  /** Kinds whose epoch began when no other cluster was known of. */
  readonly #awaitsCluster = new Set<KindEntry>()
  #nextId = 1
  readonly #save: StatementSync
  readonly #namespaceRows: NamespaceRows

  constructor(database: DatabaseSync) {
    this.#save = database.prepare(`
      INSERT OR REPLACE INTO kind (id, gvk, epoch, complete_through, complete_through_time, next_object_number,
        last_event_time, cluster_uid, list_reason, selection, recorded_since) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
    const kinds = readKinds(database)
    this.#namespaceRows = new NamespaceRows(database, new Map(kinds.map(({ id, namespaces }) => [id, namespaces])))
    for (const kind of kinds) {
      this.#know({ ...kind })
      this.#nextId = Math.max(this.#nextId, kind.id + 1)
    }
  }

  /** Whether the kind's state is ahead of the last commit. */
  isChanged(gvk: string): boolean {
    const kind = this.#byGvk.get(gvk)
    return kind !== undefined && this.#changed.has(kind)
  }

  get(gvk: string): KindEntry | undefined {
    return this.#byGvk.get(gvk)
  }

  /** The kind's number; a kind seen for the first time gets the next one. */
  idOf(gvk: string): number {
    return this.#entry(gvk).id
  }

  /** The kind with this number, which {@link idOf} gave out. */
  byId(id: number): KindEntry {
    const kind = this.#byId.get(id)
    if (kind === undefined) throw new RangeError(`no kind has number ${id}`)
    return kind
  }

  /**
   * Moves a kind's state past a frame that was taken. `now` is µs since the Unix epoch: when a version was learnt by a
   * frame without events, such as a bookmark.
   */
  advance(frame: Observations, lastTime: number, clusterUid: string, now: number): void {
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
    const completeTime = frame.count > 0 ? lastTime : Math.max(now, kind.lastEventTime)
    const hasNamespaces = isOfEpoch && this.#advanceNamespaces(kind, frame, completeTime)
    if (isComplete) {
      kind.listReason = ""
      kind.completeThrough = frame.completeThrough
      if (!frame.isComplete) kind.namespaces = []
      kind.completeThroughTime = completeTime
      kind.recordedSince ||= completeTime
    }
    if (frame.count > 0 || frame.podLifeCount > 0) kind.lastEventTime = Math.max(kind.lastEventTime, lastTime)
    kind.nextObjectNumber = Math.max(kind.nextObjectNumber, nextNumberAfter(frame))
    this.#learnCluster(kind, clusterUid, isNewEpoch, isOfEpoch)
    if (!frame.tracksPods || frame.gvk === podLivesKind) return
    const lives = this.#entry(podLivesKind)
    this.#changed.add(lives)
    lives.lastEventTime = Math.max(lives.lastEventTime, kind.lastEventTime)
    if (isNewEpoch || isComplete || (hasNamespaces && !frame.livesLag)) this.#advanceLives(lives, kind, isComplete)
  }

  /**
   * From the first frame on that tells of namespaces no version says how far the kind as a whole is recorded. Where one did, it holds
   * for each of its namespaces, and so does the time since when.
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
   * A kind's cluster is the one of its epoch. Of another cluster the recording hears once, from whichever kind notices first: frames of
   * others may still be of the old one, and with the new UID in their rows they would go on there after a crash as if nothing
   * had happened. An epoch's own frame may come before that news; then its next one takes it.
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
   * Lifecycles tracked on the stream of v1.Pod are complete as far as that is, but only once a frame says so: while a watcher
   * makes up for the time in which they were not tracked, its kind is ahead of them.
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
      this.#save.run(
        kind.id,
        kind.gvk,
        kind.epoch,
        kind.completeThrough,
        kind.completeThroughTime,
        kind.nextObjectNumber,
        kind.lastEventTime,
        kind.clusterUid,
        kind.listReason,
        kind.selection,
        kind.recordedSince,
      )
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

/** State of a kind that was never recorded. */
export const unknownKind = (gvk: string): KindState => ({
  gvk,
  epoch: 0,
  completeThrough: "",
  namespaces: [],
  completeThroughTime: 0,
  nextObjectNumber: 1,
  lastEventTime: 0,
  clusterUid: "",
  listReason: "",
  selection: "",
  recordedSince: 0,
})

/** Object numbers a frame may use: those given out before it and those it names itself. */
export const nextNumberAfter = (frame: Observations): number => {
  let next = 1
  for (let index = 0; index < frame.newObjectCount; index++) next = Math.max(next, frame.newObject(index).number + 1)
  return next
}

/** Every kind as committed, in the order they were first seen. */
export const readKinds = (database: DatabaseSync): ReadonlyArray<KindEntry> => {
  const namespaces = readNamespaces(database)
  return database
    .prepare("SELECT * FROM kind ORDER BY id")
    .all()
    .map((row) => ({
      id: Number(row.id),
      gvk: String(row.gvk),
      epoch: Number(row.epoch),
      completeThrough: String(row.complete_through),
      namespaces: namespaces.get(Number(row.id)) ?? [],
      completeThroughTime: Number(row.complete_through_time),
      nextObjectNumber: Number(row.next_object_number),
      lastEventTime: Number(row.last_event_time),
      clusterUid: String(row.cluster_uid),
      listReason: String(row.list_reason),
      selection: String(row.selection),
      recordedSince: Number(row.recorded_since),
    }))
}
