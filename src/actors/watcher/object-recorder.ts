/**
 * Turns observed objects of one kind into events: decides what counts as a change, and gives objects their numbers. On a stream of
 * pods it also has their lives followed, into the same frames: so events and lives are complete up to one version, and a crash loses
 * or repeats neither without the other.
 *
 * A UID dies once; a name is never held by two objects at the same time. Shared by the sinks of all the streams of a kind.
 */
import { parseResourceVersion, type ResourceVersion } from "../../kube/resource-version.ts"
import type { DetectRules } from "../../kube/scanner/object/detect-rules.ts"
import type { ScannedObject } from "../../kube/scanner/object/scanned-object.ts"
import type { ObservedObject } from "../../kube/watch/observed-object.ts"
import { FrameEvent } from "../../wire/frame-event.ts"
import { type NewObject, VANISHED } from "../../wire/observations.ts"
import type { KindResumePoint, StoredObject } from "../../wire/stored-state.ts"
import type { FrameWriter } from "./frame-writer.ts"
import { LiveIndex, type LiveObject } from "./index/live-index.ts"
import { noOwners, ownersFingerprint, unknownOwners } from "./index/owner-fingerprint.ts"
import type { PodStatistics, PodTracker } from "./pods/pod-tracker.ts"

/** What of an object is recorded. */
export interface RecordingRules {
  readonly gvk: string
  readonly rules: DetectRules
  readonly keepManagedFields: boolean
  /** Objects with ownerReferences are left out at ingest (`skipOwned: ingest`). */
  readonly skipOwned: boolean
  /** False: objects make no events; only the lives of pods are recorded. Default true. */
  readonly recordsEvents?: boolean
}

/** Counters since the recorder was made. */
interface RecordingStatistics {
  recorded: number
  /** Changes that `detect` does not count. */
  unchanged: number
  vanished: number
  /** Objects that `skipOwned: ingest` leaves out. */
  leftOut: number
  gaps: number
}

/** Called per recorded event, only when there is one: for the debug line. */
export type EventListener = (action: "applied" | "deleted", object: LiveObject, timeMicros: number) => void

/** The number of a list: of its objects, and of its pods. */
export interface ListNumbers {
  readonly objects: number
  readonly pods: number
}

/** A watch observes it, or that an object was added or modified; the third action follows from lists. */
const deletedAction = 2

const noBytes = new Uint8Array(0)

export class ObjectRecorder {
  readonly statistics: RecordingStatistics = { recorded: 0, unchanged: 0, vanished: 0, leftOut: 0, gaps: 0 }
  readonly #frames: FrameWriter
  readonly #index: LiveIndex
  readonly #kind: RecordingRules
  readonly #countsAll: boolean
  readonly #recordsEvents: boolean
  readonly #pods: PodTracker | undefined
  readonly #recorded: EventListener | undefined
  /** Filled in anew for each event. */
  readonly #event = new FrameEvent()
  #scratch = Buffer.alloc(0)

  constructor(
    kind: RecordingRules,
    frames: FrameWriter,
    resume: Pick<KindResumePoint, "epoch" | "nextObjectNumber">,
    objects: Iterable<StoredObject>,
    pods: PodTracker | undefined,
    recorded: EventListener | undefined,
  ) {
    this.#frames = frames
    this.#kind = kind
    this.#countsAll = kind.rules.detect === "all"
    this.#recordsEvents = kind.recordsEvents ?? true
    this.#pods = pods
    this.#recorded = recorded
    this.#index = new LiveIndex(resume.nextObjectNumber)
    for (const stored of objects) {
      const object = this.#index.restore(stored.number, stored.uid, stored.namespace, stored.name)
      object.version = stored.version
      object.epoch = resume.epoch
      object.fingerprintLow = stored.fingerprintLow | 0
      object.fingerprintHigh = stored.fingerprintHigh | 0
    }
  }

  get frames(): FrameWriter {
    return this.#frames
  }

  get index(): LiveIndex {
    return this.#index
  }

  get gvk(): string {
    return this.#kind.gvk
  }

  /** What became of the pods followed; `undefined` if none are. */
  get podStatistics(): (PodStatistics & { readonly size: number }) | undefined {
    return this.#pods && { ...this.#pods.statistics, size: this.#pods.size }
  }

  /** One object as a session observed it. The hot path. */
  observed(observed: Readonly<ObservedObject>): void {
    if (this.#pods !== undefined) this.#pods.observed(observed)
    if (!this.#recordsEvents) return
    const { bytes, scanned } = observed
    const known = this.#index.get(bytes, scanned.uidStart, scanned.uidEnd)
    if (known !== undefined) this.#compareOwners(known, bytes, scanned)
    // Decided at first sight: an object that is recorded already and adopted later must still be seen to die.
    if (known === undefined && this.#kind.skipOwned && isOwned(bytes, scanned)) this.statistics.leftOut++
    else if (observed.action === deletedAction) {
      const object = known ?? this.#meet(observed)
      this.#record(object, observed)
      this.#index.remove(object)
    } else if (known === undefined) {
      this.#record(this.#meet(observed), observed)
    } else if (this.#isChange(known, observed)) {
      this.#record(known, observed)
    } else {
      this.#index.mark(known)
      known.version = observed.version
      known.epoch = this.#frames.epoch
      this.statistics.unchanged++
    }
  }

  /** A list begins, perhaps beside others. */
  beginList(): ListNumbers {
    return { objects: this.#index.beginList(), pods: this.#pods?.listStarted() ?? 0 }
  }

  /** What stood in no list or watch since that one began is gone; of one namespace, if the list was of one. */
  completeList(list: ListNumbers, namespace: string | undefined, version: string): void {
    const at = parseResourceVersion(version) ?? version
    for (const object of [...this.#index.missing(list.objects, namespace)]) this.#vanish(object, at)
    this.#pods?.listCompleted(list.pods, namespace)
  }

  /** The namespaces other than these in which there is something, by the recording. */
  beside(namespaces: ReadonlySet<string>): ReadonlySet<string> {
    const others = [...this.#index.outside(namespaces), ...(this.#pods?.outside(namespaces) ?? [])]
    return new Set(others.map(({ namespace }) => namespace))
  }

  /**
   * Only what is in these namespaces is recorded from here on: what there is in others is gone, as far as the recording can tell.
   * Kinds without namespaces are left alone.
   */
  confine(namespaces: ReadonlySet<string>): void {
    for (const object of [...this.#index.outside(namespaces)]) this.#vanish(object, object.version)
    this.#pods?.confine(namespaces)
  }

  /** An object that is adopted or released is named again with its new owners, whether or not `detect` counts the change. */
  #compareOwners(known: LiveObject, bytes: Buffer, scanned: ScannedObject): void {
    const owners = ownersFingerprint(bytes, scanned)
    if (owners === known.owners) return
    const isNews = owners !== noOwners || known.owners !== unknownOwners
    known.owners = owners
    if (isNews) this.#frames.object(namedObject(known, owners, bytes, scanned))
  }

  /** Gives a UID that was never seen its number. */
  #meet({ version, bytes, scanned }: Readonly<ObservedObject>): LiveObject {
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

  #isChange(object: LiveObject, { version, scanned }: Readonly<ObservedObject>): boolean {
    if (object.epoch === this.#frames.epoch && object.version === version) return false
    if (this.#countsAll) return true
    return (
      object.fingerprintLow !== (scanned.fingerprintLow | 0) || object.fingerprintHigh !== (scanned.fingerprintHigh | 0)
    )
  }

  #record(object: LiveObject, { action, version, bytes, start, end, scanned }: Readonly<ObservedObject>): void {
    const { fingerprintLow, fingerprintHigh } = scanned
    const event = this.#event
    object.version = version
    object.epoch = this.#frames.epoch
    object.fingerprintLow = fingerprintLow | 0
    object.fingerprintHigh = fingerprintHigh | 0
    this.#index.mark(object)
    this.statistics.recorded++
    event.action = action
    event.objectNumber = object.number
    event.version = version
    event.fingerprintLow = fingerprintLow
    event.fingerprintHigh = fingerprintHigh
    if (!this.#kind.keepManagedFields && scanned.managedFieldsEnd > scanned.managedFieldsStart) {
      const length = this.#cut(bytes, start, end, scanned.managedFieldsStart, scanned.managedFieldsEnd)
      event.bytes = this.#scratch
      event.start = 0
      event.end = length
    } else {
      event.bytes = bytes
      event.start = start
      event.end = end
    }
    this.#frames.event(event)
    // The recorder outlives the connection whose buffer it is.
    event.bytes = noBytes
    this.#recorded?.(action === deletedAction ? "deleted" : "applied", object, this.#frames.lastTime)
  }

  #vanish(object: LiveObject, version: ResourceVersion | string): void {
    const event = this.#event
    event.action = VANISHED
    event.objectNumber = object.number
    event.version = version
    event.fingerprintLow = 0
    event.fingerprintHigh = 0
    event.bytes = noBytes
    event.start = 0
    event.end = 0
    this.#frames.event(event)
    this.#index.remove(object)
    this.statistics.vanished++
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
