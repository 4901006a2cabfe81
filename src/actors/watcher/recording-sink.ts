/**
 * Records what one watch session observes: has its objects turned into events (object-recorder.ts), and draws the conclusions from its
 * lists. A kind that is watched namespace by namespace has one sink per session, each of which draws conclusions about its own namespace
 * only.
 *
 * Under pressure `isWritable` becomes false and the session stops reading; what is already read always finds room.
 */

import type { ListReason, ObservedObject, WatchSink, Writes } from "../../kube/index.ts"
import type { ResourceVersion } from "../../kube/offline.ts"
import type { GapReason } from "../../trace/index.ts"
import type { InterruptedLives } from "./followed-pods.ts"
import type { FrameWriter } from "./frame-writer.ts"
import type { Standing } from "./kind-progress.ts"
import type { ListUnderWay } from "./list-under-way.ts"
import type { ListNumbers, ObjectRecorder } from "./object-recorder.ts"

/** What the owner is notified of in addition to the session's own reports; all rare. */
export interface SinkListener {
  alarm(detail: string): void
  /** A new history has begun, and the frames have dropped the state of the old one. */
  epochStarted?(detail: string): void
}

/** What the sinks of a kind share, and what belongs to one sink. */
interface SinkParts {
  readonly recorder: ObjectRecorder
  /** The frames themselves if the kind is watched as a whole. */
  readonly standing: Standing
  readonly list: ListUnderWay
  /** Noted with the first complete list; `undefined`: nothing to note. */
  readonly selection?: string | undefined
  readonly interrupted: InterruptedLives
  /** Lists contain this namespace only. */
  readonly namespace?: string
  readonly listener: SinkListener
  /** As in the watcher's configuration. */
  readonly unseenSince?: number | undefined
  /** Called after each object. */
  readonly tap?: ((object: Readonly<ObservedObject>) => void) | undefined
}

/** The detail of the gap before the first list of a kind that was installed while it was waited for. */
const unseenDetail =
  "the kind was installed meanwhile; what happened to its objects before its first list is not known, only which of them were left"

export class RecordingSink implements WatchSink {
  readonly #recorder: ObjectRecorder
  readonly #frames: FrameWriter
  readonly #standing: Standing
  readonly #list: ListUnderWay
  readonly #interrupted: InterruptedLives
  readonly #listener: SinkListener
  #namespace: string | undefined
  #selection: string | undefined
  #numbers: ListNumbers = { objects: 0, pods: 0 }
  /** µs at which the kind was last known not to be installed; `undefined`: it was listed since, or installed all the time. */
  #unseenSince: number | undefined
  readonly #tap: SinkParts["tap"]

  constructor(parts: SinkParts) {
    this.#unseenSince = parts.unseenSince
    this.#tap = parts.tap
    this.#recorder = parts.recorder
    this.#frames = parts.recorder.frames
    this.#standing = parts.standing
    this.#list = parts.list
    this.#interrupted = parts.interrupted
    this.#listener = parts.listener
    this.#namespace = parts.namespace
    this.#selection = parts.selection
  }

  get isWritable(): boolean {
    return this.#frames.isWritable
  }

  /** The kind is cluster-scoped: its lists contain everything. Call before the first one. */
  unconfine(): void {
    this.#namespace = undefined
  }

  observed(object: Readonly<ObservedObject>): void {
    this.#recorder.observed(object, this.#namespace)
    // Objects in a list are unordered, so none of them tells how far it is complete.
    if (!object.fromList) this.#reach(object.version)
    if (this.#tap !== undefined) this.#tap(object)
  }

  passedOver(version: ResourceVersion | string): void {
    this.#reach(version)
  }

  absent(): void {
    this.#unseenSince = this.#frames.now()
    this.#frames.readDone()
  }

  writesBefore(object: Readonly<ObservedObject>): Writes | "new" | "unknown" {
    return this.#recorder.writesBefore(object)
  }

  readDone(): void {
    this.#frames.readDone()
  }

  listStarted(reason: ListReason, detail?: string): void {
    this.#list.started(reason, detail, this.#recorder.index.has(this.#namespace))
    this.#standing.listBegins(this.#list.reason)
    this.#numbers = this.#recorder.beginList()
  }

  listCompleted(version: string): void {
    const { reason } = this.#list
    this.#recorder.completeList(this.#numbers, this.#namespace, version)
    if (reason !== "first") this.#recordGap(reason, version)
    else if (this.#unseenSince !== undefined) this.#recordGap("stopped", version, this.#unseenSince)
    this.#unseenSince = undefined
    this.#interrupted.listed(this, reason, version)
    this.#list.completed()
    if (this.#selection !== undefined) this.#frames.selection(this.#selection)
    this.#selection = undefined
    this.#standing.listEnds(version)
    this.#frames.flush()
    // A page can end outside of a network read; the next event must not inherit its time.
    this.#frames.readDone()
  }

  progressed(version: string): void {
    this.#reach(version)
    // Bookmarks of many namespaces arrive together, and one frame soon afterwards contains all of them.
    if (!this.#list.isUnderWay && this.#namespace === undefined) this.#frames.progress()
  }

  behind(isBehind: boolean): void {
    this.#standing.behind(isBehind)
    this.#frames.readDone()
  }

  epochStarted(detail: string): void {
    this.#frames.beginEpoch()
    this.#list.epochStarted(detail)
    this.#listener.epochStarted?.(detail)
  }

  /** During a list nothing is complete; after a crash the next life relists. */
  #reach(version: ResourceVersion | string): void {
    if (!this.#list.isUnderWay) this.#standing.reach(version)
  }

  /** `unseenSince`: of a first list. */
  #recordGap(reason: GapReason, toVersion: string, unseenSince?: number): void {
    const { completeVersion } = this.#standing
    const completeTime = unseenSince ?? this.#standing.completeTime
    const detail = unseenSince === undefined ? this.#list.detailOf(reason) : unseenDetail
    this.#recorder.statistics.gaps++
    this.#frames.gap({
      fromVersion: completeVersion,
      toVersion,
      fromTime: completeTime,
      // Also if the clock was set back.
      toTime: Math.max(this.#frames.now(), completeTime),
      reason,
      detail,
      namespace: this.#namespace ?? "",
    })
    // With a single list, the state of the kind reports this; of one among many it would be overlooked.
    if (this.#namespace !== undefined) this.#listener.alarm(`${detail}; a gap is recorded`)
  }
}
