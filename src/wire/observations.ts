/**
 * Frames of observations, `proto/observations.proto`: what a watcher sends to the store, and what a sealed block keeps of it.
 *
 * {@link ObservationsBuilder} writes them, {@link decodeObservations} reads them as columns: a decoded frame is a handful of offsets into
 * the given bytes, accessed by event index; no object is created per event. The bytes must not change while the frame is in use. {@link
 * splitObservations} splits a frame into the raw objects and everything else, so that the store can keep both without decoding either.
 *
 * Reading is total: bytes that are not a frame fail with {@link MalformedFrameError}, never with a RangeError from the middle of a column.
 * Unknown fields are skipped, so that a newer writer can add some.
 */

import { parseGvk, type ResourceVersion } from "../kube/offline.ts"
import { readerOf, type Span } from "./message.ts"
import type { NamespaceProgress } from "./namespace-progress.ts"
import {
  isTime,
  malformed,
  observationFields,
  parseGap,
  parseLateRange,
  parseNamespaceProgress,
  parseNewObject,
  parsePodLife,
  reading,
  splitObservations,
} from "./observation-fields.ts"
import {
  type ActionCode,
  type Gap,
  type LateRange,
  type NewObject,
  type PodLife,
  VANISHED,
} from "./observation-wire.ts"

export { MalformedFrameError, splitObservations } from "./observation-fields.ts"
export type { Gap, LateRange, NewObject, PodLife } from "./observation-wire.ts"
export { ObservationsBuilder } from "./observations-builder.ts"

/**
 * Reads a whole frame and checks every column against every other.
 *
 * @throws MalformedFrameError
 */
export const decodeObservations = (frame: Uint8Array): Observations => {
  const { payload, columns } = splitObservations(frame)
  const observations = new Observations(columns, payload.length, payload)
  observations.check()
  return observations
}

/**
 * Reads a frame from its columns alone, or with its payload kept elsewhere, as for a table of contents. The columns were checked when they
 * arrived; here only their structure is.
 *
 * @throws MalformedFrameError
 */
export const decodeColumns = (columns: Uint8Array, payload: Uint8Array | number): Observations =>
  typeof payload === "number"
    ? new Observations(columns, payload, columns.subarray(0, 0))
    : new Observations(columns, payload.length, payload)

const noSpan: Span = { start: 0, length: 0 }

/** A decoded frame. Indexes run from 0 to `count`−1 and are not checked: an index outside gives a RangeError or nonsense. */
export class Observations {
  /** `apps/v1.Deployment`. */
  readonly gvk: string
  /** The history of the kind that its versions belong to. */
  readonly epoch: number
  readonly count: number
  /** Bytes of all objects together. */
  readonly payloadLength: number
  /** The objects back to back; empty if the frame was decoded from its columns alone. */
  readonly payload: Uint8Array
  /** Resource version up to which the kind is complete with this frame; the empty string: no news. */
  readonly completeThrough: string
  /** That version is not the state of now: the time up to which the kind is complete stays. */
  readonly isBehind: boolean
  /** True if the server's versions are not integers: then only {@link resourceVersionText} is meaningful. */
  readonly hasOpaqueVersions: boolean
  /** Whether {@link completeThrough} applies to pod lifecycles as well as to the kind. */
  readonly tracksPods: boolean
  /** Reason of the list that begins with this frame; the empty string if none does. Nothing is complete until a later frame says so. */
  readonly listReason: string
  /** The selection of the kind's objects; the empty string: no news. */
  readonly selection: string
  /** Whether all namespaces are complete with this frame, for a kind that is watched namespace by namespace. */
  readonly isComplete: boolean
  /** Namespaces that are no longer watched. */
  readonly leftNamespaces: ReadonlyArray<string>
  /** Whether pod lifecycles are not yet complete up to the versions of the namespaces in this frame. */
  readonly livesLag: boolean
  /** Whether any event was received later than it happened. */
  readonly hasLateEvents: boolean
  /** How many values of its objects were replaced, in the order of `valueKinds`; empty: none. */
  readonly redacted: ReadonlyArray<number>

  readonly #columns: Uint8Array
  readonly #view: DataView
  readonly #timeBase: number
  /** Offsets into the columns: where each column starts. */
  readonly #actions: number
  readonly #objectNumbers: number
  readonly #lengths: number
  readonly #timeDeltas: number
  readonly #versions: number
  readonly #fingerprints: number
  readonly #lateness: number
  /** Fields 12, 13, 15, 19 and 24. */
  readonly #newObjectSpans: ReadonlyArray<Span>
  readonly #gapSpans: ReadonlyArray<Span>
  readonly #podLifeSpans: ReadonlyArray<Span>
  readonly #namespaceSpans: ReadonlyArray<Span>
  readonly #lateRangeSpans: ReadonlyArray<Span>
  readonly #opaqueVersions: ReadonlyArray<string>
  /** Running sums, computed on first use. */
  #offsets: Uint32Array | undefined
  #times: Float64Array | undefined
  #newObjects: Array<NewObject> | undefined

  /** Use {@link decodeObservations} or {@link decodeColumns}. */
  constructor(columns: Uint8Array, payloadLength: number, payload: Uint8Array) {
    const fields = reading(columns, () => observationFields.read(readerOf(columns)))
    const { actions = noSpan, lateness = noSpan, opaqueVersions = [] } = fields
    const count = actions.length
    const start = (name: string, column: Span = noSpan, width: number): number => {
      if (column.length !== count * width)
        throw malformed(columns, `${name} has ${column.length} bytes, ${count} events need ${count * width}`)
      return column.start
    }
    if (opaqueVersions.length !== 0 && opaqueVersions.length !== count)
      throw malformed(columns, `${opaqueVersions.length} opaque_versions for ${count} events`)
    this.gvk = fields.gvk ?? ""
    this.epoch = fields.epoch ?? 0
    this.count = count
    this.payloadLength = payloadLength
    this.payload = payload
    this.completeThrough = fields.completeThrough ?? ""
    this.isBehind = fields.behind ?? false
    this.listReason = fields.listReason ?? ""
    this.selection = fields.selection ?? ""
    this.isComplete = fields.complete ?? false
    this.leftNamespaces = fields.leftNamespaces ?? []
    this.livesLag = fields.livesLag ?? false
    this.hasLateEvents = lateness.length > 0
    this.hasOpaqueVersions = opaqueVersions.length > 0
    this.tracksPods = fields.tracksPods ?? false
    this.redacted = fields.redacted ?? []
    this.#columns = columns
    this.#view = new DataView(columns.buffer, columns.byteOffset, columns.byteLength)
    this.#timeBase = fields.timeBase ?? 0
    this.#actions = actions.start
    this.#objectNumbers = start("object_numbers", fields.objectNumbers, 4)
    this.#lengths = start("lengths", fields.lengths, 4)
    this.#timeDeltas = start("time_deltas", fields.timeDeltas, 4)
    this.#versions = start("resource_versions", fields.resourceVersions, 8)
    this.#fingerprints = start("fingerprints", fields.fingerprints, 8)
    this.#lateness = lateness.length === 0 ? 0 : start("lateness", lateness, 8)
    this.#newObjectSpans = fields.newObjects ?? []
    this.#gapSpans = fields.gaps ?? []
    this.#podLifeSpans = fields.podLives ?? []
    this.#namespaceSpans = fields.namespaces ?? []
    this.#lateRangeSpans = fields.lateRanges ?? []
    this.#opaqueVersions = opaqueVersions
  }

  /** All fields but the objects, as they were read. */
  get columns(): Uint8Array {
    return this.#columns
  }

  highestObjectNumber(): number {
    let highest = 0
    for (let index = 0; index < this.count; index++) highest = Math.max(highest, this.objectNumber(index))
    return highest
  }

  action(index: number): ActionCode {
    return this.#columns[this.#actions + index] as ActionCode
  }

  objectNumber(index: number): number {
    return this.#view.getUint32(this.#objectNumbers + index * 4, true)
  }

  /** Bytes of the object; 0 if it vanished. */
  length(index: number): number {
    return this.#view.getUint32(this.#lengths + index * 4, true)
  }

  offset(index: number): number {
    this.#offsets ??= this.#sumLengths()
    return this.#offsets[index] ?? 0
  }

  /** When the event happened: µs since the Unix epoch. */
  time(index: number): number {
    // A reader that passes over frames asks each for its first time only.
    if (index === 0 && this.#times === undefined) return this.firstTime()
    this.#times ??= this.#sumTimes()
    return this.#times[index] ?? 0
  }

  /** How many µs later it was received. */
  lateness(index: number): number {
    return this.hasLateEvents ? this.#view.getFloat64(this.#lateness + index * 8, true) : 0
  }

  /** When it was received: µs since the Unix epoch. */
  received(index: number): number {
    return this.time(index) + this.lateness(index)
  }

  /** Time of the last event, µs since the Unix epoch, without the array that `time` builds; 0 without events. */
  lastTime(): number {
    return this.count === 0 ? 0 : this.lastReceived() - this.lateness(this.count - 1)
  }

  /** When the last event was received, likewise. */
  lastReceived(): number {
    if (this.count === 0) return 0
    let received = this.#timeBase
    for (let index = 0; index < this.count; index++) received += this.#timeDelta(index)
    return received
  }

  /** Time of event 0 likewise. */
  firstTime(): number {
    return this.firstReceived() - (this.count === 0 ? 0 : this.lateness(0))
  }

  /** When event 0 was received, likewise. */
  firstReceived(): number {
    return this.count === 0 ? 0 : this.#timeBase + this.#timeDelta(0)
  }

  /** Low 32 bits of the integer version; 0 if versions are opaque. */
  versionLow(index: number): number {
    return this.#view.getUint32(this.#versions + index * 8, true)
  }

  versionHigh(index: number): number {
    return this.#view.getUint32(this.#versions + index * 8 + 4, true)
  }

  /** The integer version, 0 if versions are opaque. */
  resourceVersion(index: number): ResourceVersion {
    return joinVersion(this.versionLow(index), this.versionHigh(index))
  }

  /** The version as the server wrote it. */
  resourceVersionText(index: number): string {
    return this.hasOpaqueVersions ? (this.#opaqueVersions[index] as string) : this.resourceVersion(index).toString()
  }

  fingerprintLow(index: number): number {
    return this.#view.getUint32(this.#fingerprints + index * 8, true)
  }

  fingerprintHigh(index: number): number {
    return this.#view.getUint32(this.#fingerprints + index * 8 + 4, true)
  }

  /** The object's bytes, a view of `payload` (of the frame, or one kept elsewhere). */
  object(index: number, payload: Uint8Array = this.payload): Uint8Array {
    const start = this.offset(index)
    return payload.subarray(start, start + this.length(index))
  }

  /** Number of objects introduced in this frame. */
  get newObjectCount(): number {
    return this.#newObjectSpans.length
  }

  /** Read once and cached. @throws MalformedFrameError unless the frame was checked. */
  newObject(index: number): NewObject {
    this.#newObjects ??= []
    this.#newObjects[index] ??= parseNewObject(this.#columns, this.#newObjectSpans[index] ?? noSpan)
    return this.#newObjects[index]
  }

  get gapCount(): number {
    return this.#gapSpans.length
  }

  /** @throws MalformedFrameError unless the frame was checked. */
  gap(index: number): Gap {
    return parseGap(this.#columns, this.#gapSpans[index] ?? noSpan)
  }

  get podLifeCount(): number {
    return this.#podLifeSpans.length
  }

  /** @throws MalformedFrameError unless the frame was checked. */
  podLife(index: number): PodLife {
    return parsePodLife(this.#columns, this.#podLifeSpans[index] ?? noSpan)
  }

  /** The progress of the namespaces with news. */
  get namespaceCount(): number {
    return this.#namespaceSpans.length
  }

  /** @throws MalformedFrameError unless the frame was checked. */
  namespace(index: number): NamespaceProgress {
    return parseNamespaceProgress(this.#columns, this.#namespaceSpans[index] ?? noSpan)
  }

  get lateRangeCount(): number {
    return this.#lateRangeSpans.length
  }

  /** @throws MalformedFrameError unless the frame was checked. */
  lateRange(index: number): LateRange {
    return parseLateRange(this.#columns, this.#lateRangeSpans[index] ?? noSpan)
  }

  /** Compares the columns with each other and reads what is otherwise read lazily. @throws MalformedFrameError */
  check(): void {
    const columns = this.#columns
    if (parseGvk(this.gvk) === undefined) throw malformed(columns, `gvk is ${JSON.stringify(this.gvk)}`)
    if (!isTime(this.#timeBase)) throw malformed(columns, `time_base is ${this.#timeBase}`)
    let total = 0
    for (let index = 0; index < this.count; index++) {
      const action = this.action(index)
      const length = this.length(index)
      if (action < 1 || action > 3) throw malformed(columns, `action ${action} of event ${index}`)
      if (action === VANISHED && length > 0) throw malformed(columns, `vanished event ${index} has ${length} bytes`)
      total += length
    }
    if (total !== this.payloadLength) {
      throw malformed(columns, `lengths sum up to ${total}, objects hold ${this.payloadLength} bytes`)
    }
    if (this.hasLateEvents) this.#checkTimes()
    for (let index = 0; index < this.newObjectCount; index++) this.newObject(index)
    for (let index = 0; index < this.gapCount; index++) this.gap(index)
    for (let index = 0; index < this.podLifeCount; index++) this.podLife(index)
    for (let index = 0; index < this.namespaceCount; index++) this.namespace(index)
    for (let index = 0; index < this.lateRangeCount; index++) this.lateRange(index)
  }

  /** Without late events, times cannot decrease: their differences have no sign. */
  #checkTimes(): void {
    for (let index = 0, before = 0; index < this.count; index++) {
      const lateness = this.lateness(index)
      const time = this.time(index)
      if (!isTime(lateness)) throw malformed(this.#columns, `event ${index} is late by ${lateness}`)
      if (time < before)
        throw malformed(this.#columns, `event ${index} happened at ${time}, the one before at ${before}`)
      before = time
    }
  }

  #sumLengths(): Uint32Array {
    const offsets = new Uint32Array(this.count)
    for (let index = 0, sum = 0; index < this.count; sum += this.length(index), index++) offsets[index] = sum
    return offsets
  }

  #sumTimes(): Float64Array {
    const times = new Float64Array(this.count)
    for (let index = 0, received = this.#timeBase; index < this.count; index++) {
      received += this.#timeDelta(index)
      times[index] = received - this.lateness(index)
    }
    return times
  }

  #timeDelta(index: number): number {
    return this.#view.getUint32(this.#timeDeltas + index * 4, true)
  }
}

/** One number for both halves: a bigint only above 2^53−1, so that `===` agrees with equality. */
export const joinVersion = (low: number, high: number): ResourceVersion =>
  high < 0x20_0000 ? high * 0x1_0000_0000 + low : (BigInt(high) << 32n) | BigInt(low)
