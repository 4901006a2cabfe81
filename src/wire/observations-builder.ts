/**
 * Writes one frame of observations (`proto/observations.proto`) directly into memory of the caller.
 *
 * Guarantees: the bytes of an object are copied once, from the network buffer into the target; no object, string or BigInt is created per
 * event (integer versions below 2^53); `finish` never needs more room than `begin` was given, because what does not fit is rejected with
 * `false` before anything is written. Columns are gathered in growing arrays, reused from frame to frame, and written after the objects.
 *
 * Under overload there is nothing to drop here: `false` means "finish this frame and begin the next". One object larger than any slab gets
 * a slab of its own ({@link ObservationsBuilder.sizeFor}).
 */

import protobuf from "protobufjs/minimal.js"
import { formatGvk, type GroupVersionKind, valueKinds } from "../kube/offline.ts"
import type { FrameEvent } from "./frame-event.ts"
import { FrameTimes } from "./frame-times.ts"
import { utf8BytesPerUnit } from "./message.ts"
import { type NamespaceProgress, namespaceProgressBytes, progressFields } from "./namespace-progress.ts"
import {
  gapFields,
  lateRangeFields,
  newObjectFields,
  OBJECTS_TAG,
  observationFields,
  podLifeFields,
  podLifeMessage,
} from "./observation-fields.ts"
import {
  COLUMN_BYTES_PER_EVENT,
  type Gap,
  type LateRange,
  type NewObject,
  PAYLOAD_HEADER_BYTES,
  type PodLife,
} from "./observation-wire.ts"

const Tag = observationFields.tags

/** Largest tag and length of one length-delimited field. */
const FIELD_HEADER_BYTES = 6
/** Field headers of the seven columns, of gvk and complete_through, plus epoch (6), time_base (9), four booleans (3 each) and redacted (3, 5 each). */
const FIXED_BYTES = PAYLOAD_HEADER_BYTES + 9 * FIELD_HEADER_BYTES + 6 + 9 + 4 * 3 + 3 + 5 * valueKinds.length
const TWO_POW_32 = 0x1_0000_0000
/** A 256 KiB frame of 4 KiB objects contains 64 events; the columns grow by doubling. */
const DEFAULT_CAPACITY = 64

/** The content of a frame about a kind that is watched namespace by namespace. */
export interface NamespacesNews {
  /** The namespaces with news. */
  readonly moved: ReadonlyArray<NamespaceProgress>
  /** Those that are no longer watched. */
  readonly left: ReadonlyArray<string>
  /** All namespaces are complete with this frame, as of now. */
  readonly isComplete: boolean
  /** Pod lifecycles are not complete up to the versions in `moved`. */
  readonly livesLag: boolean
}

/** Builds one frame at a time; make one per watcher and reuse it. */
export class ObservationsBuilder {
  readonly #gvk: string
  readonly #gvkBytes: number
  readonly #tracksPods: boolean
  /** Columns 5, 6, 7, 9, 11 in wire format: little-endian. */
  #actions: Uint8Array
  #objectNumbers: DataView
  #lengths: DataView
  #versions: DataView
  #fingerprints: DataView
  /** Columns 8 and 23. */
  readonly #times: FrameTimes
  #capacity: number

  #target: Uint8Array = new Uint8Array(0)
  #epoch = 0
  #count = 0
  #payloadEnd = PAYLOAD_HEADER_BYTES
  #opaque = false
  #completeThrough = ""
  #isBehind = false
  #keptBytes = 0
  readonly #redacted = new Uint32Array(valueKinds.length)
  #hasRedacted = false
  /** Fields 10, 12, 13, 15, 17 to 22 and 24 in the order of the calls; rare, so encoded at once. */
  readonly #rare = protobuf.Writer.create()
  readonly #columns = protobuf.Writer.create()

  /**
   * `initialCapacity`: events per frame before the columns grow. `tracksPods`: whether the completeness in the frames applies to pod
   * lifecycles too; default false.
   */
  constructor(
    gvk: string | GroupVersionKind,
    options: { readonly initialCapacity?: number; readonly tracksPods?: boolean } = {},
  ) {
    this.#gvk = typeof gvk === "string" ? gvk : formatGvk(gvk)
    this.#tracksPods = options.tracksPods ?? false
    this.#gvkBytes = Buffer.byteLength(this.#gvk)
    this.#capacity = Math.max(1, options.initialCapacity ?? DEFAULT_CAPACITY)
    this.#actions = new Uint8Array(this.#capacity)
    this.#objectNumbers = new DataView(new ArrayBuffer(this.#capacity * 4))
    this.#lengths = new DataView(new ArrayBuffer(this.#capacity * 4))
    this.#versions = new DataView(new ArrayBuffer(this.#capacity * 8))
    this.#fingerprints = new DataView(new ArrayBuffer(this.#capacity * 8))
    this.#times = new FrameTimes(this.#capacity)
  }

  get count(): number {
    return this.#count
  }

  get payloadLength(): number {
    return this.#payloadEnd - PAYLOAD_HEADER_BYTES
  }

  /** Upper bound of the result of {@link finish}: at most 110 bytes too high, and 8 per event if none is late. */
  get byteLength(): number {
    return (
      this.#payloadEnd -
      PAYLOAD_HEADER_BYTES +
      this.#count * COLUMN_BYTES_PER_EVENT +
      this.#rare.pos +
      FIXED_BYTES +
      this.#gvkBytes +
      this.#keptBytes +
      this.#completeThrough.length * utf8BytesPerUnit
    )
  }

  /**
   * Bytes of a target that certainly fits one event of `objectBytes`, its object row and a `complete_through`: the slab to request when
   * `append` returned false in a fresh frame.
   */
  sizeFor(objectBytes: number, object?: NewObject): number {
    return this.#fixedSize(objectBytes) + (object === undefined ? 0 : newObjectFields.byteLength(object))
  }

  /** Likewise for a lifecycle record. */
  sizeForPodLife(life: PodLife): number {
    return this.#fixedSize(0) + podLifeFields.byteLength(podLifeMessage(life))
  }

  /**
   * Starts a frame in `target`, discarding the previous one. `epoch` counts the histories of the kind: 0 for its first, one more after
   * every restored cluster.
   *
   * @throws RangeError if `target` cannot hold even an empty frame; every slab of 4 KiB does.
   */
  begin(target: Uint8Array, epoch: number): void {
    this.#target = target
    this.#epoch = epoch
    this.#count = 0
    this.#payloadEnd = PAYLOAD_HEADER_BYTES
    this.#times.begin()
    this.#opaque = false
    this.#completeThrough = ""
    this.#isBehind = false
    this.#keptBytes = 0
    this.#redacted.fill(0)
    this.#hasRedacted = false
    this.#rare.reset()
    if (!this.#fits(0)) throw new RangeError(`a frame of ${this.#gvk} does not fit into ${target.length} bytes`)
  }

  /**
   * Adds one event; nothing of the record is kept.
   *
   * `false`, with nothing written, if the event does not fit, if it happened or was received before the previous event, if it was received
   * 2^32 µs or more after that or before it happened, or if the frame would mix integer and opaque versions: finish the frame and begin a
   * new one.
   */
  append(event: Readonly<FrameEvent>): boolean {
    const { timeMicros, receivedMicros, version, start, end } = event
    const index = this.#count
    const length = end - start
    const isOpaque = typeof version === "string"
    if (isOpaque !== this.#opaque && index > 0) return false
    const versionBytes = isOpaque ? FIELD_HEADER_BYTES + version.length * utf8BytesPerUnit : 0
    if (!this.#fits(length + COLUMN_BYTES_PER_EVENT + versionBytes)) return false
    if (index === this.#capacity) this.#grow()
    if (!this.#times.add(index, timeMicros, receivedMicros === 0 ? timeMicros : receivedMicros)) return false
    if (index === 0) this.#opaque = isOpaque
    this.#actions[index] = event.action
    this.#objectNumbers.setUint32(index * 4, event.objectNumber, true)
    this.#lengths.setUint32(index * 4, length, true)
    if (typeof version === "number") {
      this.#versions.setUint32(index * 8, version, true)
      this.#versions.setUint32(index * 8 + 4, version / TWO_POW_32, true)
    } else if (isOpaque) {
      this.#versions.setBigUint64(index * 8, 0n, true)
      this.#rare.uint32(Tag.opaqueVersions).string(version)
    } else {
      this.#versions.setBigUint64(index * 8, version, true)
    }
    this.#fingerprints.setUint32(index * 8, event.fingerprintLow, true)
    this.#fingerprints.setUint32(index * 8 + 4, event.fingerprintHigh, true)
    if (length > 0) {
      copyBytes.call(event.bytes, this.#target, this.#payloadEnd, start, end)
      this.#payloadEnd += length
    }
    this.#count = index + 1
    return true
  }

  /** When an event of this frame happened: µs since the Unix epoch, as it was given. */
  time(index: number): number {
    return this.#times.happened(index)
  }

  /**
   * Changes when an appended event happened, never to later than it was received. The times of a kind must not decrease: keep the order of
   * the frame's events, and of the frame before. `isLive`: it was received when it happened; the time given does not matter.
   *
   * @throws RangeError if it was received before
   */
  retime(index: number, timeMicros: number, isLive = false): void {
    if (isLive) this.#times.moveToReceipt(index)
    else this.#times.move(index, timeMicros)
  }

  /**
   * Introduces an object with a new number. Call it before the `append` of its first event; if that `append` returns false, introduce the
   * object again in the next frame: the store ignores the repetition. `false` if it does not fit.
   */
  addObject(object: NewObject, following = 0): boolean {
    if (!this.#fits(newObjectFields.byteLength(object) + following)) return false
    const { ownerReferences: owners } = object
    const ownerReferences = owners !== undefined && owners.length > 0 ? owners : undefined
    newObjectFields.writeField(this.#rare, Tag.newObjects, { ...object, ownerReferences })
    return true
  }

  /** Reports a missing range. `false` if it does not fit. */
  addGap(gap: Gap): boolean {
    if (!this.#fits(gapFields.byteLength(gap))) return false
    gapFields.writeField(this.#rare, Tag.gaps, gap)
    return true
  }

  /** Describes late events of this frame. `false` if it does not fit. */
  addLateRange(range: LateRange): boolean {
    if (!this.#fits(lateRangeFields.byteLength(range))) return false
    lateRangeFields.writeField(this.#rare, Tag.lateRanges, range)
    return true
  }

  /** Records a lifecycle change of a pod. `false` if it does not fit, or would leave less room than `following` bytes. */
  addPodLife(life: PodLife, following = 0): boolean {
    const message = podLifeMessage(life)
    if (!this.#fits(podLifeFields.byteLength(message) + following)) return false
    podLifeFields.writeField(this.#rare, Tag.podLives, message)
    return true
  }

  /** A list begins, for this reason. `false` if it does not fit. */
  listReason(reason: string): boolean {
    return this.#addText(Tag.listReason, reason)
  }

  /** The selection of the kind's objects. `false` if it does not fit. */
  selection(text: string): boolean {
    return this.#addText(Tag.selection, text)
  }

  /**
   * The kind is complete up to `version` once this frame is stored; the last call counts. `isBehind`: that is not the state of now, so the time up to which it is
   * complete stays. `false` if it does not fit.
   */
  completeThrough(version: string, isBehind = false): boolean {
    const before = this.#completeThrough
    this.#completeThrough = version
    this.#isBehind = isBehind
    if (this.#fits(0)) return true
    this.#completeThrough = before
    return false
  }

  /**
   * Keeps so many bytes of the frame free, for content that is known only when it is finished; the last call counts. The target must be
   * larger by that amount.
   */
  keepFree(bytes: number): void {
    this.#keptBytes = bytes
  }

  /** The progress of a kind that is watched namespace by namespace. `false`, with nothing written, if it does not fit. */
  namespaces({ moved, left, isComplete, livesLag }: NamespacesNews): boolean {
    let bytes = 0
    for (const progress of moved) bytes += namespaceProgressBytes(progress)
    for (const namespace of left) bytes += FIELD_HEADER_BYTES + namespace.length * utf8BytesPerUnit
    if (!this.#fits(bytes)) return false
    const rare = this.#rare
    for (const progress of moved) progressFields.writeField(rare, Tag.namespaces, progress)
    for (const namespace of left) rare.uint32(Tag.leftNamespaces).string(namespace)
    if (isComplete) rare.uint32(Tag.complete).bool(true)
    if (livesLag) rare.uint32(Tag.livesLag).bool(true)
    return true
  }

  /** Counts values that were replaced in the last event, in the order of `valueKinds`. There is always room. */
  redacted(counts: Uint32Array): void {
    this.#hasRedacted = true
    for (let index = 0; index < counts.length; index++)
      this.#redacted[index] = (this.#redacted[index] ?? 0) + (counts[index] ?? 0)
  }

  /** Completes the frame; returns the bytes used at the front of the target. Call `begin` first. */
  finish(): number {
    const target = this.#target
    const payloadLength = this.#payloadEnd - PAYLOAD_HEADER_BYTES
    target[0] = OBJECTS_TAG
    target[1] = (payloadLength & 0x7f) | 0x80
    target[2] = ((payloadLength >>> 7) & 0x7f) | 0x80
    target[3] = ((payloadLength >>> 14) & 0x7f) | 0x80
    target[4] = ((payloadLength >>> 21) & 0x7f) | 0x80
    target[5] = payloadLength >>> 28
    const columns = this.#columns.reset()
    const count = this.#count
    columns.uint32(Tag.gvk).string(this.#gvk)
    if (this.#epoch !== 0) columns.uint32(Tag.epoch).uint32(this.#epoch)
    if (count > 0) {
      const lateness = this.#times.lateness(count)
      columns.uint32(Tag.timeBase).double(this.#times.base)
      columns.uint32(Tag.actions).bytes(this.#actions.subarray(0, count))
      columns.uint32(Tag.objectNumbers).bytes(prefix(this.#objectNumbers, count * 4))
      columns.uint32(Tag.lengths).bytes(prefix(this.#lengths, count * 4))
      columns.uint32(Tag.timeDeltas).bytes(this.#times.deltas(count))
      columns.uint32(Tag.resourceVersions).bytes(prefix(this.#versions, count * 8))
      columns.uint32(Tag.fingerprints).bytes(prefix(this.#fingerprints, count * 8))
      if (lateness !== undefined) columns.uint32(Tag.lateness).bytes(lateness)
    }
    columns.raw(this.#rare.finish(true))
    if (this.#completeThrough !== "") {
      columns.uint32(Tag.completeThrough).string(this.#completeThrough)
      if (this.#isBehind) columns.uint32(Tag.behind).bool(true)
    }
    if (this.#tracksPods) columns.uint32(Tag.tracksPods).bool(true)
    if (this.#hasRedacted) {
      columns.uint32(Tag.redacted).fork()
      for (const count of this.#redacted) columns.uint32(count)
      columns.ldelim()
    }
    columns.finishInto(target, this.#payloadEnd)
    return this.#payloadEnd + columns.pos
  }

  #addText(tag: number, text: string): boolean {
    if (!this.#fits(FIELD_HEADER_BYTES + text.length * utf8BytesPerUnit)) return false
    this.#rare.uint32(tag).string(text)
    return true
  }

  #fixedSize(objectBytes: number): number {
    return FIXED_BYTES + this.#gvkBytes + objectBytes + COLUMN_BYTES_PER_EVENT + VERSION_ALLOWANCE
  }

  #fits(more: number): boolean {
    return this.byteLength + more <= this.#target.length
  }

  #grow(): void {
    this.#capacity *= 2
    const actions = new Uint8Array(this.#capacity)
    actions.set(this.#actions)
    this.#actions = actions
    this.#objectNumbers = doubled(this.#objectNumbers)
    this.#lengths = doubled(this.#lengths)
    this.#versions = doubled(this.#versions)
    this.#fingerprints = doubled(this.#fingerprints)
    this.#times.grow(this.#capacity)
  }
}

/** An opaque version or `complete_through` of an oversized frame; longer ones are unknown in practice. */
const VERSION_ALLOWANCE = 1024

/** Copies between any two byte arrays without making a view of the source range. */
const copyBytes = Buffer.prototype.copy

const prefix = (column: DataView, bytes: number): Uint8Array => new Uint8Array(column.buffer, 0, bytes)

const doubled = (column: DataView): DataView => {
  const larger = new Uint8Array(column.byteLength * 2)
  larger.set(new Uint8Array(column.buffer))
  return new DataView(larger.buffer)
}
