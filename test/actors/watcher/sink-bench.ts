/**
 * The recording sink between a stub session and a stub mailbox: objects go in as the scanner finds them, frames come out and are read as
 * the store would. Every reading checks the rules that every frame must obey.
 */

import type { FollowedPods } from "../../../src/actors/watcher/followed-pods.ts"
import { objectRecorder, wholeKindSink } from "../../../src/actors/watcher/kind-watch.ts"
import type { ObjectRecorder } from "../../../src/actors/watcher/object-recorder.ts"
import type { RecordingSink } from "../../../src/actors/watcher/recording-sink.ts"
import {
  compileDetectRules,
  type Detect,
  ObjectScanner,
  type ObservedObject,
  scanObjectSlowly,
} from "../../../src/kube/index.ts"
import { parseGvk, parseResourceVersion } from "../../../src/kube/offline.ts"
import type { StoredObject } from "../../../src/wire/index.ts"
import { decodeObservations, type Gap, type PodLife } from "../../../src/wire/observations.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { type RecordedEvent, type RecordedFrame, readFrames, storedAfter } from "./frame-reader.ts"

export interface Metadata {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  readonly namespace?: string
  readonly [member: string]: unknown
}
export interface KubernetesObject {
  readonly metadata: Metadata
  readonly [member: string]: unknown
}

export interface BenchOptions {
  readonly detect?: Detect
  readonly ignore?: ReadonlyArray<string>
  readonly keepManagedFields?: boolean
  readonly skipOwned?: boolean
  readonly resumeVersion?: string
  readonly epoch?: number
  readonly lastTime?: number
  readonly completeTime?: number
  readonly objects?: ReadonlyArray<StoredObject>
  /** Bytes that the outlet reserves if asked for less. */
  readonly slabBytes?: number
  /** Follow pod lifecycles from this state. Default: not at all. */
  readonly pods?: FollowedPods
  /** Default true. */
  readonly recordsEvents?: boolean
  /** Reason of the list in progress when the previous life ended. Default: none. */
  readonly listReason?: string
  /** The selections of the previous life and of this one. Default: unknown. */
  readonly selectionBefore?: string
  readonly selection?: string
}

/** A clock that the test sets. */
export class SetClock extends ManualClock {
  offsetMicros = 0

  override wallMicros(): number {
    return super.wallMicros() + this.offsetMicros
  }
}

const gvkText = "v1.ConfigMap"
const gvk = parseGvk(gvkText) ?? { group: "", version: "", kind: "" }

export class SinkBench {
  readonly clock = new SetClock()
  readonly sink: RecordingSink
  readonly recorder: ObjectRecorder
  readonly said: string[] = []
  readonly #payloads: Buffer[] = []
  readonly #scanner: ObjectScanner
  readonly #resumeObjects: ReadonlyArray<StoredObject>
  #reserved: Buffer | undefined
  isWritable = true
  /** The timing of what is observed next. */
  late: Pick<ObservedObject, "timing" | "stretch" | "happenedMicros"> = {
    timing: "live",
    stretch: undefined,
    happenedMicros: 0,
  }

  constructor(options: BenchOptions = {}) {
    const rules = compileDetectRules({ gvk, detect: options.detect ?? "all", ignore: options.ignore ?? [] })
    const { slabBytes = 256 * 1024, objects = [] } = options
    this.#scanner = new ObjectScanner(rules)
    this.#resumeObjects = objects
    const isWritable = (): boolean => this.isWritable
    const resume = {
      resumeVersion: options.resumeVersion ?? "",
      namespaces: [],
      epoch: options.epoch ?? 0,
      nextObjectNumber: Math.max(0, ...objects.map(({ number }) => number)) + 1,
      lastTime: options.lastTime ?? 0,
      completeTime: options.completeTime ?? 0,
      clusterUid: "",
      listReason: options.listReason ?? "",
      selection: options.selectionBefore ?? "",
    }
    const alarm = (detail: string): void => void this.said.push(`alarm: ${detail}`)
    this.recorder = objectRecorder(
      {
        gvk: gvkText,
        rules,
        keepManagedFields: options.keepManagedFields ?? true,
        skipOwned: options.skipOwned ?? false,
        ...(options.recordsEvents !== undefined && { recordsEvents: options.recordsEvents }),
      },
      {
        outlet: {
          get isWritable() {
            return isWritable()
          },
          reserve: (minimumBytes) => {
            this.#reserved = Buffer.alloc(Math.max(minimumBytes, slabBytes))
            return this.#reserved
          },
          commit: (length) => {
            if (this.#reserved === undefined) throw new Error("a commit without a reserve")
            this.#payloads.push(this.#reserved.subarray(0, length))
            this.#reserved = undefined
            return this.#payloads.length
          },
        },
        clock: this.clock,
        alarm,
        recorded: (action, { name }) => void this.said.push(`${action} ${name}`),
      },
      { resume, objects },
      options.pods,
    )
    this.sink = wholeKindSink({
      recorder: this.recorder,
      listener: { alarm },
      loaded: { resume },
      selection: options.selection ?? "",
      followed: options.pods,
    })
  }

  /** An object as a watch or a list sends it; the surrounding text must not matter. */
  observe(action: 1 | 2, fromList: boolean, object: KubernetesObject | string): void {
    const json = typeof object === "string" ? object : JSON.stringify(object)
    const bytes = Buffer.from(`   ${json}  `)
    const end = 3 + Buffer.byteLength(json)
    const scanner = this.#scanner
    const read = scanner.scan(bytes, 3, end) ? { bytes, start: 3, end } : scanObjectSlowly(scanner, bytes, 3, end)
    if (read instanceof Error) throw read
    const version = read.bytes.toString("utf8", scanner.resourceVersionStart, scanner.resourceVersionEnd)
    const value = parseResourceVersion(version) ?? version
    const times = { sinceMicros: 0, created: 0, written: 0, writes: 0, fields: 0, isTerminating: false, ...this.late }
    this.sink.observed({ action, fromList, version: value, ...times, ...read, scanned: scanner })
    // The bytes belong to the connection: they are overwritten by the next read.
    bytes.fill(0x21)
  }

  applied(...objects: ReadonlyArray<KubernetesObject | string>): void {
    for (const object of objects) this.observe(1, false, object)
  }

  deleted(object: KubernetesObject): void {
    this.observe(2, false, object)
  }

  /** A complete list in one network read. */
  list(
    reason: "first" | "expired" | "overload" | "cluster-restored",
    version: string,
    ...objects: ReadonlyArray<KubernetesObject>
  ): void {
    this.sink.listStarted(reason)
    for (const object of objects) this.observe(1, true, object)
    this.sink.readDone()
    this.sink.listCompleted(version)
  }

  /** The frames themselves, after a flush. */
  payloads(): ReadonlyArray<Uint8Array> {
    this.recorder.frames.flush()
    return this.#payloads
  }

  /** Every record of a pod's life. */
  lives(): ReadonlyArray<PodLife> {
    return this.payloads().flatMap((payload) => {
      const frame = decodeObservations(payload)
      return Array.from({ length: frame.podLifeCount }, (_, index) => frame.podLife(index))
    })
  }

  /** Number of frames sent. */
  get sent(): number {
    return this.#payloads.length
  }

  /** All frames so far, after a flush. */
  frames(): ReadonlyArray<RecordedFrame> {
    this.recorder.frames.flush()
    return readFrames(this.#payloads, this.#resumeObjects)
  }

  events(): ReadonlyArray<RecordedEvent> {
    return this.frames().flatMap(({ events }) => events)
  }

  /** Events as `action name@version`. */
  brief(): ReadonlyArray<string> {
    return this.events().map(({ action, name, version }) => `${action} ${name}@${version}`)
  }

  /** The objects alive at the end, as the store would send them to the next life. */
  stored(): ReadonlyArray<StoredObject> {
    this.recorder.frames.flush()
    return storedAfter(this.#payloads, this.#resumeObjects)
  }

  /** The owners recorded for each new object, as JSON. */
  ownerReferences(): ReadonlyArray<string> {
    this.recorder.frames.flush()
    return this.#payloads.flatMap((payload) => {
      const frame = decodeObservations(payload)
      return Array.from({ length: frame.newObjectCount }, (_, index) =>
        Buffer.from(frame.newObject(index).ownerReferences ?? []).toString(),
      )
    })
  }

  gaps(): ReadonlyArray<Gap> {
    return this.frames().flatMap(({ gaps }) => gaps)
  }

  /** The state from which the store would resume. */
  get completeThrough(): string {
    return this.frames().findLast(({ completeThrough }) => completeThrough !== "")?.completeThrough ?? ""
  }
}

/** An object named `name` whose UID is `uid-name` unless said otherwise. */
export const object = (
  name: string,
  version: number | string,
  more: Readonly<Record<string, unknown>> = {},
): KubernetesObject => {
  const { metadata, ...rest } = more as { readonly metadata?: object }
  return {
    metadata: { name, namespace: "shop", uid: `uid-${name}`, resourceVersion: String(version), ...metadata },
    ...rest,
  }
}
