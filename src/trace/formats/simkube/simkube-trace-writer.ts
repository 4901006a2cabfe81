/**
 * Writes a SimKube trace (format version 2) from a sequence of changes, without holding them: memory grows with the
 * index, one entry per object, and not with the number of events, which wait in a spool (see `simkube-file.ts`).
 *
 * Form: always a head event at the start of the window, with the start snapshot if there is one; then the changes. SimKube applies all of
 * an event's `applied_objs` before it deletes its `deleted_objs`, so one event has applies followed by deletes, never a delete followed by
 * an apply: a delete and a re-creation within one second become two events of that second (SimKube itself would lose the object, W-05).
 * A change after which the object is the same as before, because only its status or the like has changed, is not written.
 * Times are rounded down to seconds and never decrease: a change that is earlier than its predecessor gets the predecessor's second.
 */

import type { Action } from "../../event.ts"
import { isJsonObject, type JsonObject, MalformedJsonError, parseExactJson } from "../../json/exact-json.ts"
import { withoutManagedFields } from "../../sanitising/managed-fields.ts"
import {
  deletionStub,
  type IsOwnerInTrace,
  noOwnerInTrace,
  type SimkubeObject,
  type SimkubeType,
  sanitise,
  simkubeType,
} from "../../sanitising/sanitise.ts"
import type { Spool } from "../../spool.ts"
import { MessagePackError } from "./message-pack/message-pack.ts"
import { encodeMessagePack, MessagePackWriter } from "./message-pack/message-pack-writer.ts"
import { SimkubeSimd } from "./simd/simkube-simd.ts"
import { type EncodedTrackedObjects, encodeTrackedObjects, type TrackedObjects } from "./simkube-config.ts"
import { SimkubeEvents, writeSimkubeFile } from "./simkube-file.ts"
import { namespacedName, type OwnedLifecycles, UnwritableChangeError } from "./simkube-trace.ts"
import { type EncodedSimkubeObject, stateHash, WrittenIndex, writeSimkubeObject } from "./written-index.ts"

/** What a trace is made from. */
export interface SimkubeTraceOptions {
  readonly trackedObjects: TrackedObjects
  /**
   * Start of the window, Unix seconds: the time of the head event, from which SimKube counts. A window from 0 on starts with its first
   * change instead: SimKube's driver sleeps from one event to the next, and would start 56 years late.
   */
  readonly startSeconds: number
  /**
   * End of the window, Unix seconds: if given, an empty event is written there. Default: none, as in SimKube's own exports; but then a
   * replay stops right after the last change and loses the idle time after it (W-34).
   */
  readonly endMarkerSeconds?: number
  /** The owner references to keep in the objects that the writer sanitises. Default: none. */
  readonly isOwnerInTrace?: (owned: SimkubeObjectName, reference: JsonObject) => boolean
  /** Stores the events until they are counted. The caller disposes of it after the last chunk. */
  readonly spool: Spool
}

/** Identifies an object. */
export interface SimkubeObjectName {
  readonly gvk: string
  /** The empty string for cluster-scoped objects. */
  readonly namespace: string
  readonly name: string
}

/** One object of the start snapshot, as the server sent it; the writer sanitises. */
export interface SimkubeSnapshotObject extends SimkubeObjectName {
  readonly object: JsonObject
}

/** An object's JSON as the server sent it, and the UIDs of its owners that are in the trace: references to others are left out. */
interface RecordedObject {
  readonly json: Uint8Array
  readonly keptOwners: ReadonlyArray<string>
}

/** One change: an object as the server sent it, or its deletion. `time` is in µs since the Unix epoch. */
export type SimkubeChange =
  | (SimkubeSnapshotObject & { readonly action: "applied"; readonly time: number })
  | (SimkubeObjectName & { readonly action: Exclude<Action, "applied">; readonly time: number })

/** Add the snapshot, then the changes in order, then take the chunks of {@link finish}. */
export class SimkubeTraceWriter {
  readonly #config: EncodedTrackedObjects
  readonly #types = new Map<string, SimkubeType>()
  readonly #events: SimkubeEvents
  readonly #index = new WrittenIndex()
  readonly #leftOut = new Map<string, number>()
  readonly #endMarkerSeconds: number | undefined
  readonly #isOwnerInTrace: SimkubeTraceOptions["isOwnerInTrace"]
  /** The object being encoded: nothing is added to an event before it is complete. */
  readonly #object = new MessagePackWriter()
  #isHeadOpen = true
  /** Set until the head event has started. */
  #startSeconds: number | undefined
  #seconds: number
  #unchanged = 0

  constructor(options: SimkubeTraceOptions) {
    this.#config = encodeTrackedObjects(options.trackedObjects)
    for (const gvk of this.#config.entries.keys()) {
      const type = simkubeType(gvk)
      if (type !== undefined) this.#types.set(gvk, type)
    }
    this.#endMarkerSeconds = options.endMarkerSeconds
    this.#isOwnerInTrace = options.isOwnerInTrace
    this.#seconds = options.startSeconds
    this.#startSeconds = options.startSeconds
    this.#events = new SimkubeEvents(options.spool)
    if (options.startSeconds > 0) this.#beginHead(options.startSeconds)
  }

  /**
   * Objects and changes left out, per GVK: of kinds that are not tracked, or that SimKube's format cannot represent (see
   * `encodeTrackedObjects`). The exporter must report them.
   */
  get leftOut(): ReadonlyMap<string, number> {
    return this.#leftOut
  }

  /** Changes that were not written because the object is the same as before once it is sanitised. */
  get unchanged(): number {
    return this.#unchanged
  }

  /** Whether the index already has `namespace/name` (`name` of a cluster-scoped object) of a kind. */
  isIndexed(gvk: string, name: string): boolean {
    return this.#index.has(gvk, name)
  }

  /**
   * Adds an object to the head event: it existed when the window started. Only before the first {@link add}.
   * @throws UnwritableChangeError, which changes nothing; SpoolError, after which the trace is lost.
   */
  addSnapshot(object: SimkubeSnapshotObject): void {
    this.#expectHead()
    const type = this.#admit(object.gvk)
    if (type !== undefined) this.#applySnapshot(object, this.#encode(object, this.#sanitise(type, object)))
  }

  /** {@link addSnapshot} for an object as it was recorded: the same bytes in the trace, in a sixth of the time. */
  addRecordedSnapshot(name: SimkubeObjectName, object: RecordedObject): void {
    this.#expectHead()
    const type = this.#admit(name.gvk)
    if (type !== undefined) this.#applySnapshot(name, this.#encodeRecorded(type, name, object))
  }

  /**
   * Adds the next change, unless it changes nothing of what is written.
   * @throws UnwritableChangeError, which changes nothing; SpoolError, after which the trace is lost.
   */
  add(change: SimkubeChange): void {
    const type = this.#admit(change.gvk)
    if (type === undefined) return
    if (change.action === "applied") {
      this.#apply(change, change.time, this.#encode(change, this.#sanitise(type, change)))
    } else {
      const { bytes } = this.#encode(change, deletionStub(type, change.namespace, change.name))
      this.#enter(change.time, false)
      this.#events.delete(bytes)
      this.#index.forget(change.gvk, namespacedName(change.namespace, change.name))
    }
  }

  /** {@link add} for an applied object as it was recorded. `time` is in µs since the Unix epoch. */
  addRecorded(name: SimkubeObjectName & { readonly time: number }, object: RecordedObject): void {
    const type = this.#admit(name.gvk)
    if (type !== undefined) this.#apply(name, name.time, this.#encodeRecorded(type, name, object))
  }

  /**
   * The file, in chunks of about 64 KiB, each with memory of its own. Call it once, after the last change. Only lifecycles with a pod and
   * with an owner in the index are written, as SimKube's readers expect; the list may be empty or computed while it is read.
   * @throws SpoolError
   */
  *finish(lifecycles: Iterable<OwnedLifecycles> = []): Generator<Uint8Array> {
    this.#beginHead(this.#endMarkerSeconds ?? this.#startSeconds)
    if (this.#endMarkerSeconds !== undefined) this.#events.begin(Math.max(this.#seconds, this.#endMarkerSeconds))
    this.#events.end()
    const config = encodeMessagePack(new Map([["trackedObjects", this.#config.entries]]))
    yield* writeSimkubeFile(config, this.#events, this.#index, this.#written(lifecycles))
  }

  /** SimKube's name of a kind that its format can represent. Otherwise `undefined`, and the object is counted as left out. */
  #admit(gvk: string): SimkubeType | undefined {
    const type = this.#types.get(gvk)
    if (type === undefined) this.#leftOut.set(gvk, (this.#leftOut.get(gvk) ?? 0) + 1)
    return type
  }

  #applySnapshot({ gvk, namespace, name }: SimkubeObjectName, object: EncodedSimkubeObject): void {
    this.#beginHead(this.#startSeconds)
    this.#events.apply(object.bytes)
    this.#index.apply(gvk, namespacedName(namespace, name), object)
  }

  #apply({ gvk, namespace, name }: SimkubeObjectName, time: number, object: EncodedSimkubeObject): void {
    if (!this.#index.apply(gvk, namespacedName(namespace, name), object)) {
      this.#unchanged++
      return
    }
    this.#enter(time, true)
    this.#events.apply(object.bytes)
  }

  #beginHead(seconds: number | undefined): void {
    if (this.#startSeconds === undefined || seconds === undefined) return
    this.#startSeconds = undefined
    this.#events.begin(seconds)
  }

  #expectHead(): void {
    if (!this.#isHeadOpen) throw new Error("the start snapshot must be complete before the first change")
  }

  /** Opens the event that the next change belongs to. */
  #enter(time: number, isApplied: boolean): void {
    this.#seconds = Math.max(this.#seconds, Math.floor(time / 1_000_000))
    this.#beginHead(this.#seconds)
    const startsEvent =
      this.#isHeadOpen || this.#events.seconds !== this.#seconds || (isApplied && this.#events.holdsDeletions)
    if (startsEvent) this.#events.begin(this.#seconds)
    this.#isHeadOpen = false
  }

  #sanitise(type: SimkubeType, source: SimkubeSnapshotObject): SimkubeObject {
    const rule = this.#isOwnerInTrace
    const isOwnerInTrace: IsOwnerInTrace = rule === undefined ? noOwnerInTrace : (reference) => rule(source, reference)
    return sanitise(type, source.object, isOwnerInTrace)
  }

  /** The encoded object, valid until the next one. Its JSON is parsed only if it is unusual. */
  #encodeRecorded(type: SimkubeType, source: SimkubeObjectName, object: RecordedObject): EncodedSimkubeObject {
    const { json, keptOwners } = object
    const quick = keptOwners.length === 0 ? SimkubeSimd.ofThread() : undefined
    if (quick?.encode(type, json) === true) return { bytes: quick.encoded, hash: quick.hash, state: quick.state }
    const isOwnerInTrace: IsOwnerInTrace = ({ uid }) => typeof uid === "string" && keptOwners.includes(uid)
    return this.#encode(source, sanitise(type, readRecorded(source, json), isOwnerInTrace))
  }

  /** The encoded object, valid until the next one. */
  #encode(source: SimkubeObjectName, object: SimkubeObject): EncodedSimkubeObject {
    this.#object.clear()
    try {
      const hash = writeSimkubeObject(this.#object, object)
      const bytes = this.#object.view()
      return { bytes, hash, state: stateHash(bytes) }
    } catch (error) {
      if (!(error instanceof MessagePackError)) throw error
      throw unwritable(source, error.message)
    }
  }

  /** Only the lifecycles that SimKube's readers expect: with pods, and with owners in the index. */
  *#written(lifecycles: Iterable<OwnedLifecycles>): Generator<OwnedLifecycles> {
    for (const { gvk, owner, pods } of lifecycles) {
      if (!this.#index.has(gvk, owner)) continue
      const lived = new Map([...pods].filter(([, list]) => list.length > 0))
      if (lived.size > 0) yield { gvk, owner, pods: lived }
    }
  }
}

const readRecorded = (source: SimkubeObjectName, json: Uint8Array): JsonObject => {
  try {
    const object = parseExactJson(withoutManagedFields(json))
    if (isJsonObject(object)) return object
  } catch (error) {
    if (!(error instanceof MalformedJsonError)) throw error
    throw unwritable(source, error.message)
  }
  throw unwritable(source, "the recorded bytes are not a JSON object")
}

const unwritable = ({ gvk, namespace, name }: SimkubeObjectName, detail: string): UnwritableChangeError =>
  new UnwritableChangeError({ gvk, namespace, name, detail })
