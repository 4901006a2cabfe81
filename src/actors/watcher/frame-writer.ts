/**
 * Batches what is recorded into frames for the store.
 *
 * Guarantee: the resume version in a frame is never ahead of the events in that frame and those before it; times never decrease, also
 * across restarts and clock changes; everything that is added finds room, in a slab of its own size if necessary. A frame is sent when its
 * slab is full or 5 ms after the network read that started it.
 */
import type { Clock, Timer } from "../../clock.ts"
import type { VersionClock } from "../../kube/index.ts"
import type { ResourceVersion } from "../../kube/offline.ts"
import type { Outbox } from "../../runtime/index.ts"
import { podLivesKind } from "../../trace/index.ts"
import {
  type FrameEvent,
  type Gap,
  type KindResumePoint,
  type NewObject,
  ObservationsBuilder,
  type PodLife,
} from "../../wire/index.ts"
import { type FrameProgress, WholeProgress } from "./kind-progress.ts"
import { LateTimes, type Observed } from "./late-times.ts"

/** ms that an event may wait for others (docs/reference/architecture.md#mailboxes). */
const frameAgeMs = 5
/** ms between frames that only advance the resume version of a kind whose changes do not count. */
const progressIntervalMs = 1000
/** Bytes requested from the outbox for an ordinary frame: a quarter of a slab, so that its rest remains usable. */
const frameBytes = 64 * 1024
/** Bytes of a frame with progress only. */
const progressBytes = 4096

/** UTF-8 takes at most three bytes per UTF-16 unit. */
const bytesPerCharacter = 3

/** Bytes of an event in addition to its object, and of naming the object: UID, namespace and name have at most 352 characters. */
const eventAllowance = 4096

/** Bytes of an event in addition to its object, with a version of at most 128 characters. */
const eventBytes = 512

/** Bytes of a frame's late range: five numbers, the cause, and a namespace of at most 63 characters. */
const lateRangeBytes = 300
/** ms that late changes which wait for a neighbour may wait in an open frame: other kinds, which have more to tell, catch up meanwhile. */
const lateFrameAgeMs = 250

/** Where frames go: the outbox of the `observations` mailbox. */
export type FrameOutlet = Pick<Outbox, "reserve" | "commit" | "isWritable">

interface FrameWriterOptions {
  /** Pod lifecycles are recorded too, and are complete up to the same version as the kind. Default false. */
  readonly tracksPods?: boolean
  /** The progress of a kind that is watched namespace by namespace. */
  readonly byNamespace?: FrameProgress | undefined
  /**
   * When versions of all kinds were received, to estimate when late changes happened. Default: those of this kind
   * alone.
   */
  readonly versions?: VersionClock | undefined
}

export class FrameWriter {
  readonly #gvk: string
  readonly #outlet: FrameOutlet
  readonly #clock: Clock
  readonly #builder: ObservationsBuilder
  /** For a kind that is watched namespace by namespace, {@link reach} is not called, and frames do not contain this. */
  readonly #whole: WholeProgress
  readonly #progress: FrameProgress
  /** Bytes kept free for progress in every frame. */
  readonly #roomBytes: number
  /** The part of them by which a frame is enlarged; a version alone is small enough to fit into what is requested. */
  readonly #moreBytes: number
  #epoch: number
  readonly #late: LateTimes
  #isOpen = false
  /** Whether the open frame has room for a late range. */
  #hasLateRoom = false
  #flushTimer: Timer | undefined
  #progressTimer: Timer | undefined
  /** Time of the current network read, µs; 0 between reads. */
  #readTime = 0
  #lastTime: number
  #lastNow = 0

  constructor(
    gvk: string,
    outlet: FrameOutlet,
    clock: Clock,
    resume: KindResumePoint,
    { tracksPods = false, byNamespace, versions }: FrameWriterOptions = {},
  ) {
    this.#gvk = gvk
    this.#outlet = outlet
    this.#clock = clock
    this.#builder = new ObservationsBuilder(gvk, { tracksPods })
    this.#whole = new WholeProgress(resume)
    this.#progress = byNamespace ?? this.#whole
    this.#roomBytes = this.#progress.roomBytes
    this.#moreBytes = byNamespace === undefined ? 0 : this.#roomBytes
    this.#epoch = resume.epoch
    this.#lastTime = resume.lastTime
    this.#late = new LateTimes({ version: resume.resumeVersion, micros: resume.lastTime }, versions)
  }

  get isWritable(): boolean {
    return this.#outlet.isWritable
  }

  get epoch(): number {
    return this.#epoch
  }

  /** µs since the Unix epoch of the last event; 0 before the first. */
  get lastTime(): number {
    return this.#lastTime
  }

  /** Changes that were recorded as late, so far. */
  get lateChanges(): number {
    return this.#late.changes
  }

  /** The version up to which the sent events are complete; the empty string before the first list. */
  get completeVersion(): string {
    return this.#whole.completeVersion
  }

  /** µs since the Unix epoch at which that version was sent; 0 before. */
  get completeTime(): number {
    return this.#whole.completeTime
  }

  /**
   * Adds an event: with the time of the current network read, or, if it was observed late, the best estimate of when it happened. The caller may
   * reuse the record afterwards. `namespace`: of the stream that observed it; the empty string: of all.
   */
  event(event: FrameEvent, observed?: Observed, namespace = ""): void {
    const received = this.now()
    if (observed !== undefined && observed.timing !== "live")
      return this.#lateEvent(event, observed, received, namespace)
    event.timeMicros = received
    event.receivedMicros = 0
    this.#append(event)
    this.#late.live(event.version, received, this.#builder)
    this.#lastTime = received
  }

  /** Counts the values that were replaced in the object of the last event, in the order of `valueKinds`. */
  redacted(counts: Uint32Array): void {
    this.#builder.redacted(counts)
  }

  #lateEvent(event: FrameEvent, observed: Observed, received: number, namespace: string): void {
    this.#makeLateRoom(observed, namespace)
    this.#late.decide(observed, namespace, this.#builder)
    event.timeMicros = this.#late.estimate(observed, received)
    event.receivedMicros = received
    this.#append(event, observed)
    this.#late.added(observed, this.#builder.count - 1, received, namespace, this.#builder)
    this.#lastTime = this.#builder.time(this.#builder.count - 1)
  }

  /** A frame has one late range, for which it was given room when it was begun. */
  #makeLateRoom({ stretch }: Observed, namespace: string): void {
    if (this.#isOpen && !(this.#hasLateRoom && this.#late.fits(stretch, namespace))) this.flush()
  }

  #append(event: FrameEvent, late?: Observed): void {
    const builder = this.#builder
    const isLate = late !== undefined
    this.#open(frameBytes, isLate)
    if (builder.append(event)) return
    this.#send(true)
    // What waited in that frame has been dated, and may be later than what was estimated before.
    if (isLate) event.timeMicros = this.#late.estimate(late, event.receivedMicros)
    const bytes = event.end - event.start
    this.#open(Math.max(frameBytes, builder.sizeFor(bytes)), isLate)
    if (builder.append(event)) return
    throw new Error(`an event of ${bytes} bytes of ${this.#gvk} object ${event.objectNumber} fits no frame`)
  }

  /** When an observed change happened, as far as it is known now, µs; never before what has been added. */
  timeOf(observed: Observed): number {
    const received = this.now()
    return observed.timing === "late" ? this.#late.estimate(observed, received) : received
  }

  /**
   * Names an object with a new number, before its first event, or with new owners. The frame afterwards has room for an event of `objectBytes`, and for its late
   * range: that an object has appeared is known by an event in the frame that names it.
   */
  object(object: NewObject, objectBytes: number, observed?: Observed, namespace = ""): void {
    const following = objectBytes + eventBytes
    const isLate = observed !== undefined && observed.timing !== "live"
    if (isLate) this.#makeLateRoom(observed, namespace)
    this.#open(frameBytes, isLate)
    if (this.#builder.addObject(object, following)) return
    this.#send(true)
    this.#open(Math.max(frameBytes, this.#builder.sizeFor(following, object)), isLate)
    if (!this.#builder.addObject(object)) throw this.#noRoom(`object ${object.number}`)
  }

  gap(gap: Gap): void {
    this.#open(frameBytes)
    if (this.#builder.addGap(gap)) return
    this.flush()
    this.#open(frameBytes)
    if (!this.#builder.addGap(gap)) throw this.#noRoom("a gap")
  }

  /** Call when a list begins: from now on nothing is complete, and the store learns that before anything of the list. */
  listBegins(reason: string): void {
    this.flush()
    this.#whole.listBegins(this.#nowOrLast())
    this.#open(frameBytes)
    if (!this.#builder.listReason(reason)) throw this.#noRoom("the beginning of a list")
    this.flush()
  }

  /** Notes the selection, which is sent with the next frame. */
  selection(text: string): void {
    this.#open(frameBytes)
    if (this.#builder.selection(text)) return
    this.flush()
    this.#open(progressBytes + bytesPerCharacter * text.length)
    if (!this.#builder.selection(text)) throw this.#noRoom("a selection")
  }

  /**
   * Records a lifecycle change of a pod. The frame afterwards has room for an event of `objectBytes` and its object's name: if the two were
   * in different frames and only the first was stored, a deleted pod would be treated as a new one.
   */
  podLife(life: PodLife, objectBytes: number, observed?: Observed, namespace = ""): void {
    const following = objectBytes + eventAllowance
    const isLate = observed !== undefined && observed.timing !== "live"
    if (isLate) this.#makeLateRoom(observed, namespace)
    this.#open(frameBytes, isLate)
    if (!this.#builder.addPodLife(life, following)) {
      this.#send(true)
      const bytes = this.#builder.sizeForPodLife(life) + following + this.#whole.roomBytes
      this.#open(Math.max(frameBytes, bytes), isLate)
      if (!this.#builder.addPodLife(life)) throw this.#noRoom(`pod ${life.pod}`)
    }
    // If Pods are recorded as objects, the late change was already counted with the Pod's event.
    if (isLate && this.#gvk === podLivesKind) this.#late.counted(observed, this.now(), namespace)
  }

  /** Everything up to `version` has been added or does not count; `undefined`: nothing is complete until further notice. */
  reach(version: ResourceVersion | string | undefined): void {
    this.#whole.reach(version)
  }

  /** As in {@link Standing}. The end of it is sent at once. */
  behind(isBehind: boolean): void {
    // What is in the frame was complete before.
    this.flush()
    this.#whole.behind(isBehind)
    if (!isBehind) this.progress()
  }

  /** A list is complete up to `version`. */
  listEnds(version: string): void {
    this.reach(version)
  }

  /** Versions from now on belong to a new history. */
  beginEpoch(): void {
    this.flush()
    this.#epoch++
    this.#whole.reach(undefined)
  }

  /** Reads the clock once per network read; never earlier than before. µs since the Unix epoch. */
  now(): number {
    if (this.#readTime === 0) this.#readTime = Math.max(this.#clock.wallMicros(), this.#lastTime, this.#lastNow)
    this.#lastNow = this.#readTime
    return this.#readTime
  }

  /** Call at the end of a network read: the next event gets its own time. */
  readDone(): void {
    this.#readTime = 0
    if (this.#isOpen) this.#flushTimer ??= this.#clock.after(frameAgeMs, () => this.#frameIsDue())
    else if (this.#progress.mayHaveNews) {
      this.#progressTimer ??= this.#clock.after(progressIntervalMs, () => this.progress())
    }
  }

  #frameIsDue(): void {
    if (this.#late.isWaiting) this.#flushTimer = this.#clock.after(lateFrameAgeMs, () => this.flush())
    else this.flush()
  }

  /** Sends the progress, in a separate frame if nothing else is waiting. */
  progress(): void {
    this.#progressTimer?.cancel()
    this.#progressTimer = undefined
    if (this.#isOpen) return
    const newsBytes = this.#progress.newsBytes(this.#nowOrLast())
    if (newsBytes === 0) return
    this.#open(progressBytes + newsBytes)
    this.flush()
  }

  /** Sends the gathered frame. */
  flush(): void {
    this.#send(false)
  }

  /** `isFull`: more of the same follows at once. */
  #send(isFull: boolean): void {
    this.#flushTimer?.cancel()
    this.#flushTimer = undefined
    if (!this.#isOpen) return this.progress()
    this.#builder.keepFree(0)
    const late = this.#late.close(this.#builder, isFull)
    if (late !== undefined && !this.#builder.addLateRange(late)) throw this.#noRoom("a late range")
    const isWritten = this.#progress.write(this.#builder, this.#nowOrLast())
    this.#outlet.commit(this.#builder.finish())
    this.#isOpen = false
    // Only if an opaque version is longer than the room kept for it: then it is sent separately.
    if (!isWritten) this.progress()
  }

  /** Sends the gathered frame and cancels all timers. */
  close(): void {
    this.flush()
    this.#progressTimer?.cancel()
  }

  #noRoom(what: string): Error {
    return new Error(`${what} of ${this.#gvk} fits no frame`)
  }

  #open(minimumBytes: number, hasLateRoom = false): void {
    if (this.#isOpen) return
    const lateBytes = hasLateRoom ? lateRangeBytes : 0
    this.#builder.begin(this.#outlet.reserve(minimumBytes + this.#moreBytes + lateBytes), this.#epoch)
    this.#builder.keepFree(this.#roomBytes + lateBytes)
    this.#hasLateRoom = hasLateRoom
    this.#isOpen = true
  }

  #nowOrLast(): number {
    return Math.max(this.#clock.wallMicros(), this.#lastTime, this.#lastNow)
  }
}
