/**
 * Turns what a watch session observes into frames for the store: decides what counts as a change, gives objects their
 * numbers, and batches.
 *
 * Guarantees: the resume version a frame carries is never ahead of the events before it; a UID dies once; times never
 * decrease. Under pressure `isWritable` turns false and the session stops reading; what is already read always finds a
 * place. A frame leaves when its slab is full or 5 ms after its first event.
 */
import { parseResourceVersion, type ResourceVersion } from "../../kube/resource-version.ts"
import type { DetectRules } from "../../kube/scanner/detect-rules.ts"
import type { ScannedObject } from "../../kube/scanner/scanned-object.ts"
import type { KindState, ListReason } from "../../kube/watch/protocol.ts"
import type { ObservedAction, WatchSink } from "../../kube/watch/sink.ts"
import type { Clock, Timer } from "../../runtime/clock.ts"
import type { Outbox } from "../../runtime/outbox.ts"
import { ObservationsBuilder, VANISHED } from "../../trace/observations.ts"
import type { KindResumePoint, StoredObject } from "../stored-state.ts"
import { LiveIndex, type LiveObject } from "./live-index.ts"

/** ms that an event may wait for company (architecture §3: a frame is at most 5 ms old). */
const frameAgeMs = 5
/** ms between frames that only move the resume version of a kind whose changes do not count. */
const progressIntervalMs = 1000
/** Bytes asked of the outbox for an ordinary frame: a quarter of a slab, so that its rest is worth using. */
const frameBytes = 64 * 1024

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
}

/** Where frames go: the outbox of the `observations` mailbox. */
export type FrameOutlet = Pick<Outbox, "reserve" | "commit" | "isWritable">

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

export class RecordingSink implements WatchSink {
  readonly statistics: SinkStatistics = { recorded: 0, unchanged: 0, vanished: 0, leftOut: 0, gaps: 0 }
  readonly #kind: RecordingRules
  readonly #outbox: FrameOutlet
  readonly #clock: Clock
  readonly #listener: SinkListener
  readonly #index: LiveIndex
  readonly #builder: ObservationsBuilder
  readonly #countsAll: boolean
  /** Everything delivered up to here is in a frame or in the one under construction. */
  #reached: ResourceVersion | string | undefined
  /** The version and time of the last frame that said so. */
  #completeVersion: string
  #completeTime: number
  #epoch: number
  #listing: ListReason | undefined
  #epochDetail = ""
  #frameOpen = false
  #flushTimer: Timer | undefined
  #progressTimer: Timer | undefined
  /** Time of the present network read, µs; 0 between reads. */
  #readTime = 0
  #lastTime: number
  #scratch = Buffer.alloc(0)

  constructor(
    kind: RecordingRules,
    outbox: FrameOutlet,
    clock: Clock,
    listener: SinkListener,
    resume: KindResumePoint,
    objects: Iterable<StoredObject>,
  ) {
    this.#kind = kind
    this.#outbox = outbox
    this.#clock = clock
    this.#listener = listener
    this.#builder = new ObservationsBuilder(kind.gvk)
    this.#countsAll = kind.rules.detect === "all"
    this.#epoch = resume.epoch
    this.#completeVersion = resume.resumeVersion
    this.#completeTime = resume.completeTime
    this.#lastTime = resume.lastTime
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
    return this.#outbox.isWritable
  }

  /** Objects alive in the recording. */
  get liveObjects(): number {
    return this.#index.size
  }

  /** µs since the Unix epoch of the last event; 0 before the first. */
  get lastEventTime(): number {
    return this.#lastTime
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
    const uid = bytes.toString("latin1", scanned.uidStart, scanned.uidEnd)
    const known = this.#index.get(uid)
    // Decided at first sight: an object that is recorded already and adopted later must still be seen to die.
    if (known === undefined && this.#isLeftOut(bytes, scanned)) {
      this.statistics.leftOut++
      if (!fromList) this.#reached = version
      return
    }
    if (action === deletedAction) {
      const object = known ?? this.#meet(uid, version, bytes, scanned)
      this.#append(deletedAction, object, version, scanned, bytes, start, end)
      this.#index.remove(object)
    } else if (known === undefined) {
      this.#append(appliedAction, this.#meet(uid, version, bytes, scanned), version, scanned, bytes, start, end)
    } else {
      this.#index.mark(known)
      if (this.#isChange(known, version, scanned))
        this.#append(appliedAction, known, version, scanned, bytes, start, end)
      else {
        known.version = version
        known.epoch = this.#epoch
        this.statistics.unchanged++
      }
    }
    if (!fromList) this.#reached = version
  }

  readDone(): void {
    this.#readTime = 0
    if (this.#frameOpen) {
      this.#flushTimer ??= this.#clock.after(frameAgeMs, () => this.flush())
    } else if (this.#reached !== undefined) {
      this.#progressTimer ??= this.#clock.after(progressIntervalMs, () => this.#sendProgress())
    }
  }

  listStarted(reason: ListReason): void {
    this.flush()
    this.#listing = reason
    this.#reached = undefined
    this.#index.beginList()
  }

  listCompleted(version: string): void {
    const reason = this.#listing ?? "expired"
    for (const object of [...this.#index.missing()]) {
      this.#appendEvent(VANISHED, object, versionValue(version), 0, 0, noBytes, 0, 0)
      this.#index.remove(object)
      this.statistics.vanished++
    }
    if (reason !== "first") this.#recordGap(reason, version)
    this.#listing = undefined
    this.#reached = version
    this.flush()
    // A page can end outside a network read; the next event must not inherit its time.
    this.#readTime = 0
  }

  progressed(version: string): void {
    if (this.#listing !== undefined) return
    this.#reached = version
    if (this.#frameOpen) return
    this.#sendProgress()
  }

  epochStarted(detail: string): void {
    this.flush()
    this.#epoch++
    this.#epochDetail = detail
    this.#reached = undefined
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

  /** Sends what is gathered. Call it last when the session has stopped. */
  flush(): void {
    this.#flushTimer?.cancel()
    this.#flushTimer = undefined
    if (!this.#frameOpen) {
      if (this.#reached !== undefined) this.#sendProgress()
      return
    }
    this.#sayHowFar()
    this.#outbox.commit(this.#builder.finish())
    this.#frameOpen = false
  }

  /** Gives up timers; for a sink that will not be used any more. */
  close(): void {
    this.flush()
    this.#progressTimer?.cancel()
  }

  #isLeftOut(bytes: Buffer, scanned: ScannedObject): boolean {
    const { skipOwned, namespaces } = this.#kind
    if (skipOwned && scanned.ownerReferencesEnd - scanned.ownerReferencesStart > 2) return true
    if (namespaces === undefined) return false
    return !namespaces.has(bytes.toString("utf8", scanned.namespaceStart, scanned.namespaceEnd))
  }

  #meet(uid: string, version: ResourceVersion | string, bytes: Buffer, scanned: ScannedObject): LiveObject {
    const namespace = bytes.toString("utf8", scanned.namespaceStart, scanned.namespaceEnd)
    const name = bytes.toString("utf8", scanned.nameStart, scanned.nameEnd)
    const before = this.#index.named(namespace, name)
    if (before !== undefined) {
      // Deleted and created again where nobody watched: the old one must be gone before the new one appears.
      this.#appendEvent(VANISHED, before, version, 0, 0, noBytes, 0, 0)
      this.#index.remove(before)
      this.statistics.vanished++
    }
    const object = this.#index.add(uid, namespace, name)
    const owners =
      scanned.ownerReferencesEnd > scanned.ownerReferencesStart
        ? { ownerReferences: bytes.subarray(scanned.ownerReferencesStart, scanned.ownerReferencesEnd) }
        : {}
    const row = { number: object.number, uid, namespace, name, ...owners }
    this.#openFrame(frameBytes)
    if (!this.#builder.addObject(row)) {
      this.flush()
      this.#openFrame(this.#builder.sizeFor(0, row))
      this.#builder.addObject(row)
    }
    return object
  }

  #isChange(object: LiveObject, version: ResourceVersion | string, scanned: ScannedObject): boolean {
    if (object.epoch === this.#epoch && object.version === version) return false
    if (this.#countsAll) return true
    return (
      object.fingerprintLow !== (scanned.fingerprintLow | 0) || object.fingerprintHigh !== (scanned.fingerprintHigh | 0)
    )
  }

  #append(
    action: 1 | 2,
    object: LiveObject,
    version: ResourceVersion | string,
    scanned: ScannedObject,
    bytes: Buffer,
    start: number,
    end: number,
  ): void {
    object.version = version
    object.epoch = this.#epoch
    object.fingerprintLow = scanned.fingerprintLow | 0
    object.fingerprintHigh = scanned.fingerprintHigh | 0
    this.#index.mark(object)
    this.statistics.recorded++
    if (!this.#kind.keepManagedFields && scanned.managedFieldsEnd > scanned.managedFieldsStart) {
      const length = this.#cut(bytes, start, end, scanned.managedFieldsStart, scanned.managedFieldsEnd)
      this.#appendEvent(
        action,
        object,
        version,
        scanned.fingerprintLow,
        scanned.fingerprintHigh,
        this.#scratch,
        0,
        length,
      )
    } else {
      this.#appendEvent(action, object, version, scanned.fingerprintLow, scanned.fingerprintHigh, bytes, start, end)
    }
    this.#listener.recorded?.(action === appliedAction ? "applied" : "deleted", object, this.#lastTime)
  }

  #appendEvent(
    action: 1 | 2 | 3,
    object: LiveObject,
    version: ResourceVersion | string,
    low: number,
    high: number,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): void {
    const time = this.#time()
    this.#openFrame(frameBytes)
    if (this.#builder.append(action, object.number, time, version, low, high, bytes, start, end)) return
    this.flush()
    this.#openFrame(Math.max(frameBytes, this.#builder.sizeFor(end - start)))
    if (!this.#builder.append(action, object.number, time, version, low, high, bytes, start, end)) {
      throw new Error(
        `an event of ${end - start} bytes of ${this.#kind.gvk} ${object.namespace}/${object.name} fits no frame`,
      )
    }
  }

  /** One reading per network read; never behind an earlier one, also across restarts and set clocks. */
  #time(): number {
    if (this.#readTime === 0) this.#readTime = Math.max(this.#clock.wallMicros(), this.#lastTime)
    this.#lastTime = this.#readTime
    return this.#readTime
  }

  #openFrame(minimumBytes: number): void {
    if (this.#frameOpen) return
    this.#builder.begin(this.#outbox.reserve(minimumBytes), this.#epoch)
    this.#frameOpen = true
  }

  #sendProgress(): void {
    this.#progressTimer?.cancel()
    this.#progressTimer = undefined
    if (this.#frameOpen || this.#reached === undefined || this.#listing !== undefined) return
    if (String(this.#reached) === this.#completeVersion) return
    this.#openFrame(4096)
    this.flush()
  }

  /** During a list nothing is complete; a crash then resumes or lists from where it was complete before. */
  #sayHowFar(): void {
    if (this.#reached === undefined || this.#listing !== undefined) return
    this.#completeVersion = String(this.#reached)
    this.#completeTime = this.#clock.wallMicros()
    this.#builder.completeThrough(this.#completeVersion)
  }

  #recordGap(reason: Exclude<ListReason, "first">, toVersion: string): void {
    const now = this.#time()
    const gap = {
      fromVersion: this.#completeVersion,
      toVersion,
      fromTime: this.#completeTime,
      toTime: now,
      reason,
      detail: reason === "cluster-restored" ? this.#epochDetail : gapDetails[reason],
    }
    this.statistics.gaps++
    this.#openFrame(frameBytes)
    if (this.#builder.addGap(gap)) return
    this.flush()
    this.#openFrame(frameBytes)
    this.#builder.addGap(gap)
  }

  /** Copies the object without `managedFields` to the scratch buffer; answers its length. */
  #cut(bytes: Buffer, start: number, end: number, from: number, until: number): number {
    if (this.#scratch.length < end - start) this.#scratch = Buffer.allocUnsafe((end - start) * 2)
    const head = bytes.copy(this.#scratch, 0, start, from)
    return head + bytes.copy(this.#scratch, head, until, end)
  }
}

/** A watch observes these two; the third action follows from lists. */
const appliedAction = 1
const deletedAction = 2

const noBytes = new Uint8Array(0)

const gapDetails = {
  expired: "the server no longer had the changes after the last version recorded; its present state was listed",
  overload: "reading was suspended until the server hung up and forgot the changes; its present state was listed",
} as const

/** The version of a list as the column of a frame takes it. */
const versionValue = (text: string): ResourceVersion | string => parseResourceVersion(text) ?? text
