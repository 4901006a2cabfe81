/**
 * Turns what a watch session observes into events of the recording: decides what counts as a change, gives objects their
 * numbers, and draws the conclusions of a list. On a stream of pods it also has their lives followed, into the same frames: so
 * events and lives are complete up to one version, and a crash loses or repeats neither without the other.
 *
 * A UID dies once; a name is never held by two objects at the same time. Under pressure `isWritable` turns false and the
 * session stops reading; what is already read always finds a place.
 */
import { parseResourceVersion, type ResourceVersion } from "../../kube/resource-version.ts"
import type { DetectRules } from "../../kube/scanner/detect-rules.ts"
import type { ScannedObject } from "../../kube/scanner/scanned-object.ts"
import type { KindState, ListReason } from "../../kube/watch/protocol.ts"
import type { ObservedAction, WatchSink } from "../../kube/watch/sink.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { GapReason } from "../../trace/event.ts"
import { type NewObject, VANISHED } from "../../trace/observations.ts"
import type { KindResumePoint, StoredObject } from "../stored-state.ts"
import { type FollowedPods, type InterruptedKind, interruption } from "./followed-pods.ts"
import { type FrameOutlet, FrameWriter } from "./frame-writer.ts"
import { ListUnderWay } from "./list-under-way.ts"
import { LiveIndex, type LiveObject } from "./live-index.ts"
import { owedList } from "./owed-list.ts"
import { noOwners, ownersFingerprint, unknownOwners } from "./owner-fingerprint.ts"
import { type PodStatistics, PodTracker } from "./pod-tracker.ts"

export type { FrameOutlet } from "./frame-writer.ts"

/** What the owner is told; all rare. */
export interface SinkListener {
  stateChanged(state: KindState, detail: string): void
  alarm(detail: string): void
  unauthorized(): void
  clusterIdentified(uid: string): void
  /** Called per recorded event, only when set: for the debug line. */
  readonly recorded?: (action: "applied" | "deleted", object: LiveObject, timeMicros: number) => void
}

/** What of an object is recorded. */
export interface RecordingRules {
  readonly gvk: string
  readonly rules: DetectRules
  readonly keepManagedFields: boolean
  /** Objects with ownerReferences are left out at ingest (`skipOwned: ingest`). */
  readonly skipOwned: boolean
  /** Only objects of these namespaces are recorded; `undefined` records all. */
  readonly namespaces: ReadonlySet<string> | undefined
  /** What is asked for, as `selectionOf` writes it. Default: not said. */
  readonly selection?: string
  /** False: objects make no events; only the lives of pods are recorded. Default true. */
  readonly recordsEvents?: boolean
}

/** Counters since the sink was made. */
export interface SinkStatistics {
  recorded: number
  /** Changes that `detect` does not count. */
  unchanged: number
  vanished: number
  /** Objects that `skipOwned: ingest` or `namespaces` leaves out. */
  leftOut: number
  gaps: number
}

/** A watch observes these two; the third action follows from lists. */
const appliedAction = 1
const deletedAction = 2

const noBytes = new Uint8Array(0)

export class RecordingSink implements WatchSink {
  readonly statistics: SinkStatistics = { recorded: 0, unchanged: 0, vanished: 0, leftOut: 0, gaps: 0 }
  readonly #kind: RecordingRules
  readonly #listener: SinkListener
  readonly #index: LiveIndex
  readonly #frames: FrameWriter
  readonly #countsAll: boolean
  readonly #list: ListUnderWay
  readonly #pods: PodTracker | undefined
  readonly #recordsEvents: boolean
  #interrupted: ReadonlyArray<InterruptedKind>
  /** To be noted with the next list that is complete; `undefined` once it is. */
  #selection: string | undefined
  #scratch = Buffer.alloc(0)

  constructor(
    kind: RecordingRules,
    outlet: FrameOutlet,
    clock: Clock,
    listener: SinkListener,
    resume: KindResumePoint,
    objects: Iterable<StoredObject>,
    pods?: FollowedPods,
  ) {
    this.#kind = kind
    this.#listener = listener
    this.#countsAll = kind.rules.detect === "all"
    this.#recordsEvents = kind.recordsEvents ?? true
    this.#frames = new FrameWriter(kind.gvk, outlet, clock, resume, pods !== undefined)
    this.#pods = pods && new PodTracker(this.#frames, (detail) => listener.alarm(detail), pods)
    this.#interrupted = pods?.interrupted ?? []
    const selection = kind.selection ?? ""
    this.#list = new ListUnderWay(this.#frames, owedList(resume, selection))
    this.#selection = selection === "" || selection === resume.selection ? undefined : selection
    // A recording that resumes and was never told: it is taken to hold what is asked for.
    if (resume.selection === "" && resume.resumeVersion !== "") this.#noteSelection()
    this.#index = new LiveIndex(resume.nextObjectNumber)
    for (const stored of objects) {
      const object = this.#index.restore(stored.number, stored.uid, stored.namespace, stored.name)
      object.version = stored.version
      object.epoch = resume.epoch
      object.fingerprintLow = stored.fingerprintLow | 0
      object.fingerprintHigh = stored.fingerprintHigh | 0
    }
  }

  get isWritable(): boolean {
    return this.#frames.isWritable
  }

  /** Objects alive in the recording. */
  get liveObjects(): number {
    return this.#index.size
  }

  /** What became of the pods followed; `undefined` if none are. */
  get podStatistics(): (PodStatistics & { readonly size: number }) | undefined {
    return this.#pods && { ...this.#pods.statistics, size: this.#pods.size }
  }

  /** µs since the Unix epoch of the last event; 0 before the first. */
  get lastEventTime(): number {
    return this.#frames.lastTime
  }

  observed(
    action: ObservedAction,
    fromList: boolean,
    version: ResourceVersion | string,
    bytes: Buffer,
    start: number,
    end: number,
    scanned: ScannedObject,
  ): void {
    if (this.#pods !== undefined && !this.#isElsewhere(bytes, scanned)) {
      this.#pods.observed(action === deletedAction, bytes, start, end, scanned)
    }
    if (this.#recordsEvents) this.#observeObject(action, version, bytes, start, end, scanned)
    // Objects of a list come in no order, so none of them says how far it is complete.
    if (!fromList) this.#reach(version)
  }

  #observeObject(
    action: ObservedAction,
    version: ResourceVersion | string,
    bytes: Buffer,
    start: number,
    end: number,
    scanned: ScannedObject,
  ): void {
    const known = this.#index.get(bytes, scanned.uidStart, scanned.uidEnd)
    if (known !== undefined) this.#compareOwners(known, bytes, scanned)
    // Decided at first sight: an object that is recorded already and adopted later must still be seen to die.
    if (known === undefined && this.#isLeftOut(bytes, scanned)) this.statistics.leftOut++
    else if (action === deletedAction) {
      const object = known ?? this.#meet(version, bytes, scanned)
      this.#record(deletedAction, object, version, scanned, bytes, start, end)
      this.#index.remove(object)
    } else if (known === undefined) {
      this.#record(appliedAction, this.#meet(version, bytes, scanned), version, scanned, bytes, start, end)
    } else if (this.#isChange(known, version, scanned)) {
      this.#record(appliedAction, known, version, scanned, bytes, start, end)
    } else {
      this.#index.mark(known)
      known.version = version
      known.epoch = this.#frames.epoch
      this.statistics.unchanged++
    }
  }

  /** An object that is adopted or released is named again with its new owners, whether or not `detect` counts the change. */
  #compareOwners(known: LiveObject, bytes: Buffer, scanned: ScannedObject): void {
    const owners = ownersFingerprint(bytes, scanned)
    if (owners === known.owners) return
    const isNews = owners !== noOwners || known.owners !== unknownOwners
    known.owners = owners
    if (isNews) this.#frames.object(namedObject(known, owners, bytes, scanned))
  }

  readDone(): void {
    this.#frames.readDone()
  }

  listStarted(reason: ListReason, detail?: string): void {
    this.#list.started(reason, detail, this.#index.size > 0)
    this.#frames.listBegins(this.#list.reason)
    this.#index.beginList()
    this.#pods?.listStarted()
  }

  listCompleted(version: string): void {
    const { reason } = this.#list
    for (const object of [...this.#index.missing()]) this.#vanish(object, parseResourceVersion(version) ?? version)
    this.#pods?.listCompleted()
    if (reason !== "first") this.#recordGap(reason, version)
    this.#recordInterruption(reason, version)
    this.#list.completed()
    this.#noteSelection()
    this.#frames.reach(version)
    this.#frames.flush()
    // A page can end outside a network read; the next event must not inherit its time.
    this.#frames.readDone()
  }

  progressed(version: string): void {
    this.#reach(version)
    if (!this.#list.isUnderWay) this.#frames.progress()
  }

  epochStarted(detail: string): void {
    this.#frames.beginEpoch()
    this.#list.epochStarted(detail)
  }

  clusterIdentified(uid: string): void {
    this.#listener.clusterIdentified(uid)
  }

  stateChanged(state: KindState, detail: string): void {
    this.#listener.stateChanged(state, detail)
  }

  alarm(detail: string): void {
    this.#listener.alarm(detail)
  }

  unauthorized(): void {
    this.#listener.unauthorized()
  }

  /** Sends what is gathered. */
  flush(): void {
    this.#frames.flush()
  }

  /** Sends what is gathered and gives up timers; for a sink whose session has stopped. */
  close(): void {
    this.#frames.close()
  }

  /** During a list nothing is complete; after a crash the next life lists. */
  #reach(version: ResourceVersion | string): void {
    if (!this.#list.isUnderWay) this.#frames.reach(version)
  }

  #isLeftOut(bytes: Buffer, scanned: ScannedObject): boolean {
    const { skipOwned } = this.#kind
    return (skipOwned && isOwned(bytes, scanned)) || this.#isElsewhere(bytes, scanned)
  }

  /** In a namespace that is not recorded. */
  #isElsewhere(bytes: Buffer, { namespaceStart, namespaceEnd }: ScannedObject): boolean {
    const { namespaces } = this.#kind
    return namespaces !== undefined && !namespaces.has(bytes.toString("utf8", namespaceStart, namespaceEnd))
  }

  /** Gives a UID that was never seen its number. */
  #meet(version: ResourceVersion | string, bytes: Buffer, scanned: ScannedObject): LiveObject {
    const uid = bytes.toString("utf8", scanned.uidStart, scanned.uidEnd)
    const namespace = bytes.toString("utf8", scanned.namespaceStart, scanned.namespaceEnd)
    const name = bytes.toString("utf8", scanned.nameStart, scanned.nameEnd)
    const before = this.#index.named(namespace, name)
    // Deleted and created again where nobody watched: the old one must be gone before the new one appears.
    if (before !== undefined) this.#vanish(before, version)
    const object = this.#index.add(uid, namespace, name)
    object.owners = ownersFingerprint(bytes, scanned)
    this.#frames.object(namedObject(object, object.owners, bytes, scanned))
    return object
  }

  #isChange(object: LiveObject, version: ResourceVersion | string, scanned: ScannedObject): boolean {
    if (object.epoch === this.#frames.epoch && object.version === version) return false
    if (this.#countsAll) return true
    return (
      object.fingerprintLow !== (scanned.fingerprintLow | 0) || object.fingerprintHigh !== (scanned.fingerprintHigh | 0)
    )
  }

  #record(
    action: 1 | 2,
    object: LiveObject,
    version: ResourceVersion | string,
    scanned: ScannedObject,
    bytes: Buffer,
    start: number,
    end: number,
  ): void {
    const { fingerprintLow, fingerprintHigh } = scanned
    object.version = version
    object.epoch = this.#frames.epoch
    object.fingerprintLow = fingerprintLow | 0
    object.fingerprintHigh = fingerprintHigh | 0
    this.#index.mark(object)
    this.statistics.recorded++
    if (!this.#kind.keepManagedFields && scanned.managedFieldsEnd > scanned.managedFieldsStart) {
      const length = this.#cut(bytes, start, end, scanned.managedFieldsStart, scanned.managedFieldsEnd)
      this.#frames.event(action, object.number, version, fingerprintLow, fingerprintHigh, this.#scratch, 0, length)
    } else {
      this.#frames.event(action, object.number, version, fingerprintLow, fingerprintHigh, bytes, start, end)
    }
    this.#listener.recorded?.(action === appliedAction ? "applied" : "deleted", object, this.#frames.lastTime)
  }

  #vanish(object: LiveObject, version: ResourceVersion | string): void {
    this.#frames.event(VANISHED, object.number, version, 0, 0, noBytes, 0, 0)
    this.#index.remove(object)
    this.statistics.vanished++
  }

  #noteSelection(): void {
    if (this.#selection !== undefined) this.#frames.selection(this.#selection)
    this.#selection = undefined
  }

  #recordGap(reason: GapReason, toVersion: string): void {
    this.statistics.gaps++
    this.#frames.gap({
      fromVersion: this.#frames.completeVersion,
      toVersion,
      fromTime: this.#frames.completeTime,
      // Also after the clock was set back.
      toTime: Math.max(this.#frames.now(), this.#frames.completeTime),
      reason,
      detail: this.#list.detailOf(reason),
    })
  }

  /** Pods were listed although the recording knew how to resume: what happened in between is not in it. */
  #recordInterruption(reason: "first" | GapReason, toVersion: string): void {
    for (const { gvk, fromVersion, fromTime } of this.#interrupted) {
      // A list made for another reason has left a gap of the kind itself.
      if (fromVersion === toVersion || (reason !== "first" && gvk === this.#kind.gvk)) continue
      this.statistics.gaps++
      const toTime = Math.max(this.#frames.now(), fromTime)
      this.#frames.gap({ gvk, fromVersion, toVersion, fromTime, toTime, ...interruption })
    }
    this.#interrupted = []
  }

  /** Copies the object without `managedFields` to the scratch buffer; answers its length. */
  #cut(bytes: Buffer, start: number, end: number, from: number, until: number): number {
    if (this.#scratch.length < end - start) this.#scratch = Buffer.allocUnsafe((end - start) * 2)
    const head = bytes.copy(this.#scratch, 0, start, from)
    return head + bytes.copy(this.#scratch, head, until, end)
  }
}

const namedObject = (object: LiveObject, owners: number, bytes: Buffer, scanned: ScannedObject): NewObject => {
  const { number, uid, namespace, name } = object
  const { ownerReferencesStart, ownerReferencesEnd } = scanned
  return owners === noOwners
    ? { number, uid, namespace, name }
    : { number, uid, namespace, name, ownerReferences: bytes.subarray(ownerReferencesStart, ownerReferencesEnd) }
}

/** An empty array is no owner, however it is written; whatever else stands there is at least one object. */
const isOwned = (bytes: Buffer, { ownerReferencesStart, ownerReferencesEnd }: ScannedObject): boolean => {
  const brace = ownerReferencesEnd - ownerReferencesStart > 2 ? bytes.indexOf(123, ownerReferencesStart) : -1
  return brace >= 0 && brace < ownerReferencesEnd
}
