/**
 * Turns observed objects of one kind into events: decides what counts as a change, and assigns numbers to objects. On a stream of pods it
 * also has their lifecycles followed, into the same frames, so that events and lifecycles are complete up to one version, and a crash loses
 * or repeats neither without the other.
 *
 * A UID is deleted once; no two objects have the same name at the same time. Shared by the sinks of all streams of a kind.
 */

import {
  type DetectRules,
  type ObservedObject,
  type ScannedObject,
  type Writes,
  writesOfEarlierLife,
} from "../../kube/index.ts"
import { parseResourceVersion, type ResourceVersion } from "../../kube/offline.ts"
import { FrameEvent, type KindResumePoint, type NewObject, type StoredObject, VANISHED } from "../../wire/index.ts"
import type { FrameWriter } from "./frame-writer.ts"
import { noOwners, ownersFingerprint, unknownOwners } from "./objects/owner-fingerprint.ts"
import { type KindRedaction, RedactedObjects } from "./objects/redacted-objects.ts"
import { UidTable } from "./objects/uid-table.ts"
import type { PodStatistics, PodTracker } from "./pod-tracker.ts"

// The live objects of one kind in the recording, by UID.
//
// A watcher cannot name an object of another kind, so a relist of one kind cannot delete another kind's objects. Memory is O(live objects):
// an entry is removed when its object is deleted, and a UID is deleted once.

interface LiveObject extends Writes {
  /** Number of this UID within its kind, assigned once. */
  readonly number: number
  readonly uid: string
  readonly namespace: string
  readonly name: string
  version: ResourceVersion | string
  epoch: number
  fingerprintLow: number
  fingerprintHigh: number
  /** Fingerprint of its ownerReferences (owner-fingerprint.ts). */
  owners: number
  /** The latest list that had begun when the object was seen. */
  list: number
  /** Of the version that was seen last. */
  written: number
  writes: number
  fields: number
}

class LiveIndex {
  readonly #byUid = new UidTable<LiveObject>()
  /** Among live objects of one kind a namespace/name is unique; needed to see a re-creation across a relist. */
  readonly #byName = new Map<string, LiveObject>()
  #nextNumber: number
  #list = 0

  constructor(nextNumber: number) {
    this.#nextNumber = nextNumber
  }

  get size(): number {
    return this.#byUid.size
  }

  /** The object with the UID at `bytes[start, end)`. */
  get(bytes: Uint8Array, start: number, end: number): LiveObject | undefined {
    return this.#byUid.get(bytes, start, end)
  }

  /** The live object with that name and any UID. */
  named(namespace: string, name: string): LiveObject | undefined {
    return this.#byName.get(`${namespace}/${name}`)
  }

  /** Assigns a number to a UID. The caller must have removed an older object of the same name. */
  add(uid: string, namespace: string, name: string): LiveObject {
    return this.#insert(this.#nextNumber++, uid, namespace, name)
  }

  /** Restores an object from the stored state. */
  restore(number: number, uid: string, namespace: string, name: string): LiveObject {
    return this.#insert(number, uid, namespace, name)
  }

  remove(object: LiveObject): void {
    this.#byUid.delete(object.uid)
    const key = `${object.namespace}/${object.name}`
    if (this.#byName.get(key) === object) this.#byName.delete(key)
  }

  /**
   * Call when a list begins; objects that are not in it will have vanished. Returns its number. Lists of several namespaces may be in
   * progress at once; an earlier list that was not completed is forgotten.
   */
  beginList(): number {
    return ++this.#list
  }

  /** Call when the object is in a running list, or was seen alive after it. */
  mark(object: LiveObject): void {
    object.list = this.#list
  }

  /** The objects last seen before that list began; if it is a list of one namespace, only those of that namespace. */
  *missing(list: number, namespace: string | undefined): Generator<LiveObject> {
    for (const object of this.#byUid.values()) {
      if (object.list < list && (namespace === undefined || object.namespace === namespace)) yield object
    }
  }

  /** The objects in namespaces other than these, except objects without a namespace. */
  *outside(namespaces: ReadonlySet<string>): Generator<LiveObject> {
    for (const object of this.#byUid.values()) {
      if (object.namespace !== "" && !namespaces.has(object.namespace)) yield object
    }
  }

  /** Whether there is any object in the namespace; `undefined`: in any namespace. */
  has(namespace: string | undefined): boolean {
    if (namespace === undefined) return this.size > 0
    for (const object of this.#byUid.values()) if (object.namespace === namespace) return true
    return false
  }

  #insert(number: number, uid: string, namespace: string, name: string): LiveObject {
    const object: LiveObject = {
      number,
      uid,
      namespace,
      name,
      version: 0,
      epoch: 0,
      fingerprintLow: 0,
      fingerprintHigh: 0,
      owners: unknownOwners,
      list: this.#list,
      written: 0,
      writes: 0,
      fields: 0,
    }
    this.#byUid.set(uid, object)
    this.#byName.set(`${namespace}/${name}`, object)
    return object
  }
}

/** The parts of an object that are recorded. */
export interface RecordingRules {
  readonly gvk: string
  readonly rules: DetectRules
  readonly keepManagedFields: boolean
  /** Objects with ownerReferences are not recorded (`skipOwned: ingest`). */
  readonly skipOwned: boolean
  /** False: objects produce no events; only pod lifecycles are recorded. Default true. */
  readonly recordsEvents?: boolean
  /** Default: objects are recorded as they are observed. */
  readonly redaction?: KindRedaction | undefined
  /** Objects that are known from earlier lives were recorded with other redaction. Default false. */
  readonly isRedactedAnew?: boolean
}

/** Counters since the recorder was made. */
interface RecordingStatistics {
  recorded: number
  /** Changes that `detect` does not count. */
  unchanged: number
  vanished: number
  /** Objects not recorded because of `skipOwned: ingest`. */
  leftOut: number
  gaps: number
}

/** Called per recorded event if present: for the debug line. */
export type EventListener = (action: "applied" | "deleted", object: LiveObject, timeMicros: number) => void

/** The number of a list, in the index of objects and in that of pods. */
export interface ListNumbers {
  readonly objects: number
  readonly pods: number
}

/** How an object was observed: in a list, or as added or modified by a watch; the third action is implied by lists. */
const deletedAction = 2

const noBytes = new Uint8Array(0)

/**
 * The epoch of an object that was recorded with other redaction: it is recorded again when it is seen next, whatever has changed of it, so that
 * what the present rules replace does not stay in the state.
 */
const otherRedaction = -1

export class ObjectRecorder {
  readonly statistics: RecordingStatistics = { recorded: 0, unchanged: 0, vanished: 0, leftOut: 0, gaps: 0 }
  readonly #frames: FrameWriter
  readonly #index: LiveIndex
  readonly #kind: RecordingRules
  readonly #countsAll: boolean
  readonly #recordsEvents: boolean
  readonly #pods: PodTracker | undefined
  readonly #redacted: RedactedObjects | undefined
  readonly #recorded: EventListener | undefined
  /** Reused for each event. */
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
    this.#countsAll = kind.rules.countsAll
    this.#recordsEvents = kind.recordsEvents ?? true
    this.#pods = pods
    this.#redacted = kind.redaction && new RedactedObjects(kind.rules, kind.redaction)
    this.#recorded = recorded
    this.#index = new LiveIndex(resume.nextObjectNumber)
    for (const stored of objects) {
      const object = this.#index.restore(stored.number, stored.uid, stored.namespace, stored.name)
      object.version = stored.version
      object.epoch = kind.isRedactedAnew === true ? otherRedaction : resume.epoch
      object.fingerprintLow = stored.fingerprintLow | 0
      object.fingerprintHigh = stored.fingerprintHigh | 0
      object.written = writesOfEarlierLife.written
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

  /** Statistics of the followed pods; `undefined` if none are followed. */
  get podStatistics(): (PodStatistics & { readonly size: number }) | undefined {
    return this.#pods && { ...this.#pods.statistics, size: this.#pods.size }
  }

  /** As a sink says it ({@link WatchSink.writesBefore}). */
  writesBefore({ bytes, scanned: { uidStart, uidEnd } }: Readonly<ObservedObject>): Writes | "new" | "unknown" {
    if (!this.#recordsEvents) return this.#pods?.get(bytes, uidStart, uidEnd) ?? "unknown"
    return this.#index.get(bytes, uidStart, uidEnd) ?? (this.#kind.skipOwned ? "unknown" : "new")
  }

  /**
   * Records one object as a session observed it. The hot path. `streamNamespace`: the only one that its stream watches; the empty string: all.
   */
  observed(received: Readonly<ObservedObject>, streamNamespace = ""): void {
    const observed = this.#redacted === undefined ? received : this.#redacted.of(received)
    if (this.#pods !== undefined) this.#pods.observed(observed, streamNamespace)
    if (!this.#recordsEvents) return
    const { bytes, scanned } = observed
    const known = this.#index.get(bytes, scanned.uidStart, scanned.uidEnd)
    if (known !== undefined) this.#compareOwners(known, observed, streamNamespace)
    // Decided at first sight: the deletion of an object that is already recorded and adopted later must still be recorded.
    if (known === undefined && this.#kind.skipOwned && isOwned(bytes, scanned)) this.statistics.leftOut++
    else if (observed.action === deletedAction) {
      const object = known ?? this.#meet(observed, streamNamespace)
      this.#record(object, observed, streamNamespace)
      this.#index.remove(object)
    } else if (known === undefined) {
      this.#record(this.#meet(observed, streamNamespace), observed, streamNamespace)
    } else if (this.#isChange(known, observed)) {
      this.#record(known, observed, streamNamespace)
    } else {
      this.#index.mark(known)
      known.version = observed.version
      known.epoch = this.#frames.epoch
      known.written = observed.written
      known.writes = observed.writes
      known.fields = observed.fields
      this.statistics.unchanged++
    }
  }

  /** Call when a list begins; others may be in progress. */
  beginList(): ListNumbers {
    return { objects: this.#index.beginList(), pods: this.#pods?.listStarted() ?? 0 }
  }

  /** Deletes what has not been in any list or watch since that list began; for a list of one namespace, only in that namespace. */
  completeList(list: ListNumbers, namespace: string | undefined, version: string): void {
    const at = parseResourceVersion(version) ?? version
    for (const object of [...this.#index.missing(list.objects, namespace)]) this.#vanish(object, at)
    this.#pods?.listCompleted(list.pods, namespace)
  }

  /** The other namespaces with recorded objects. */
  beside(namespaces: ReadonlySet<string>): ReadonlySet<string> {
    const others = [...this.#index.outside(namespaces), ...(this.#pods?.outside(namespaces) ?? [])]
    return new Set(others.map(({ namespace }) => namespace))
  }

  /** Restricts the recording to these namespaces: objects in others are recorded as gone. Kinds without namespaces are not affected. */
  confine(namespaces: ReadonlySet<string>): void {
    for (const object of [...this.#index.outside(namespaces)]) this.#vanish(object, object.version)
    this.#pods?.confine(namespaces)
  }

  /** Names an adopted or released object again with its new owners, even if `detect` does not count the change. */
  #compareOwners(known: LiveObject, observed: Readonly<ObservedObject>, streamNamespace: string): void {
    const { bytes, scanned } = observed
    const owners = ownersFingerprint(bytes, scanned)
    if (owners === known.owners) return
    const isNews = owners !== noOwners || known.owners !== unknownOwners
    known.owners = owners
    if (isNews) this.#name(known, observed, streamNamespace)
  }

  /** Assigns a number to a new UID. */
  #meet(observed: Readonly<ObservedObject>, streamNamespace: string): LiveObject {
    const { version, bytes, scanned } = observed
    const uid = bytes.toString("utf8", scanned.uidStart, scanned.uidEnd)
    const namespace = bytes.toString("utf8", scanned.namespaceStart, scanned.namespaceEnd)
    const name = bytes.toString("utf8", scanned.nameStart, scanned.nameEnd)
    const before = this.#index.named(namespace, name)
    // Deleted and created again while unobserved: the old object must be gone before the new one appears.
    if (before !== undefined) this.#vanish(before, version, observed, streamNamespace)
    const object = this.#index.add(uid, namespace, name)
    object.owners = ownersFingerprint(bytes, scanned)
    this.#name(object, observed, streamNamespace)
    return object
  }

  #name(object: LiveObject, observed: Readonly<ObservedObject>, streamNamespace: string): void {
    const { bytes, start, end, scanned } = observed
    this.#frames.object(namedObject(object, object.owners, bytes, scanned), end - start, observed, streamNamespace)
  }

  #isChange(object: LiveObject, { version, scanned }: Readonly<ObservedObject>): boolean {
    if (object.epoch === this.#frames.epoch && object.version === version) return false
    if (this.#countsAll || object.epoch === otherRedaction) return true
    return (
      object.fingerprintLow !== (scanned.fingerprintLow | 0) || object.fingerprintHigh !== (scanned.fingerprintHigh | 0)
    )
  }

  #record(object: LiveObject, observed: Readonly<ObservedObject>, streamNamespace: string): void {
    const { action, version, bytes, start, end, scanned } = observed
    const { fingerprintLow, fingerprintHigh } = scanned
    const event = this.#event
    object.version = version
    object.epoch = this.#frames.epoch
    object.written = observed.written
    object.writes = observed.writes
    object.fields = observed.fields
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
    this.#frames.event(event, observed, streamNamespace)
    const replaced = this.#redacted?.replaced
    if (replaced !== undefined) this.#frames.redacted(replaced)
    // The recorder outlives the connection that owns the buffer.
    event.bytes = noBytes
    this.#recorded?.(action === deletedAction ? "deleted" : "applied", object, this.#frames.lastTime)
  }

  /** `observed`: the change that implies it; `undefined`: a list does. */
  #vanish(
    object: LiveObject,
    version: ResourceVersion | string,
    observed?: Readonly<ObservedObject>,
    streamNamespace = "",
  ): void {
    const event = this.#event
    event.action = VANISHED
    event.objectNumber = object.number
    event.version = version
    event.fingerprintLow = 0
    event.fingerprintHigh = 0
    event.bytes = noBytes
    event.start = 0
    event.end = 0
    this.#frames.event(event, observed, streamNamespace)
    this.#index.remove(object)
    this.statistics.vanished++
  }

  /** Copies the object without `managedFields` to the scratch buffer; returns its length. */
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

/** An empty array in any notation means no owner; any other value contains at least one object. */
const isOwned = (bytes: Buffer, { ownerReferencesStart, ownerReferencesEnd }: ScannedObject): boolean => {
  const brace = ownerReferencesEnd - ownerReferencesStart > 2 ? bytes.indexOf(123, ownerReferencesStart) : -1
  return brace >= 0 && brace < ownerReferencesEnd
}
