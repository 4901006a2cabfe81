/**
 * Follows pod lifecycles on a stream of Pod objects and records each change (src/trace/pods/pod-lifecycle.ts defines a lifecycle).
 *
 * By UID: a reused name is another pod (W-30). A pod is tracked from the first object in which it has run until it is deleted or missing
 * from a list, and a UID is removed once. Pods that existed when an earlier life of the watcher ended resume where they were. An object
 * that cannot be read changes nothing, is counted, and is reported once per reason (W-36).
 *
 * Memory is O(pods that run or have run and still exist), some 150 bytes each. It never waits for anything: the owners of a pod are looked
 * up at export.
 */
import { type ObservedObject, type ScannedObject, type Writes, writesOfEarlierLife } from "../../kube/index.ts"
import {
  endedLifetime,
  findPodStatus,
  isJsonObject,
  type JsonValue,
  MalformedJsonError,
  NestingTooDeepError,
  nextLifetime,
  type ObservedLifetime,
  observeLifetime,
  type PodLifetime,
  type PodOddity,
  type PodProblem,
  parseExactJson,
  readPodSpec,
  readPodStatus,
  stablePodSpecHash,
} from "../../trace/index.ts"
import type { PodIdentity, StoredPod } from "../../wire/index.ts"
import type { FrameWriter } from "./frame-writer.ts"
import { noOwners, ownersFingerprint, unknownOwners } from "./objects/owner-fingerprint.ts"
import { UidTable } from "./objects/uid-table.ts"

// Reads from a Pod object only what its lifecycle consists of.

/** One Pod object at `bytes[start, end)`, valid as long as these are. */
class PodObject {
  readonly #bytes: Buffer
  readonly #start: number
  readonly #end: number
  /** Start of the status, −1 if the object must be read as a whole. */
  #status: number
  #isParsed = false
  #parsed: JsonValue | undefined
  #spec: JsonValue | undefined

  constructor(bytes: Buffer, start: number, end: number) {
    this.#bytes = bytes
    this.#start = start
    this.#end = end
    this.#status = findPodStatus(bytes, start, end)
  }

  get byteLength(): number {
    return this.#end - this.#start
  }

  /** `containers`: the number of main containers of the pod, if already known. */
  lifetime(containers: number | undefined): ObservedLifetime | PodProblem {
    const found = this.#status < 0 ? undefined : readPodStatus(this.#bytes, this.#status, this.#end)
    if (found === undefined) {
      this.#status = -1
      if (!isJsonObject(this.#whole())) return "the object cannot be read"
    }
    return observeLifetime(found ?? this.#member("status"), () => containers ?? this.mainContainers())
  }

  /** `undefined` if it cannot be read. */
  specHash(): bigint | undefined {
    const spec = this.#podSpec()
    if (spec === undefined && this.#whole() === undefined) return undefined
    try {
      return stablePodSpecHash(spec)
    } catch (error) {
      if (error instanceof NestingTooDeepError) return undefined
      throw error
    }
  }

  /** `undefined` if the value is not a list. */
  mainContainers(): number | undefined {
    const spec = this.#podSpec()
    const containers = isJsonObject(spec) ? spec.containers : undefined
    return Array.isArray(containers) ? containers.length : undefined
  }

  #podSpec(): JsonValue | undefined {
    if (this.#status >= 0) this.#spec ??= readPodSpec(this.#bytes, this.#start, this.#status)
    return this.#spec ?? this.#member("spec")
  }

  #member(name: "spec" | "status"): JsonValue | undefined {
    const whole = this.#whole()
    return isJsonObject(whole) && Object.hasOwn(whole, name) ? whole[name] : undefined
  }

  #whole(): JsonValue | undefined {
    if (this.#isParsed) return this.#parsed
    this.#isParsed = true
    try {
      this.#parsed = parseExactJson(this.#bytes.subarray(this.#start, this.#end))
    } catch (error) {
      if (!(error instanceof MalformedJsonError)) throw error
    }
    return this.#parsed
  }
}

/** Counters since the tracker was made. */
export interface PodStatistics {
  /** Lifecycle changes recorded. */
  records: number
  /** Objects from which no lifecycle could be read. */
  undecodable: number
}

interface TrackedPod extends Writes {
  readonly number: number
  readonly uid: string
  life: PodLifetime
  owners: number
  /** Number of main containers in its spec, which never changes; `undefined` until counted. */
  containers: number | undefined
  readonly namespace: string
  /** The latest list that had begun when the pod was seen. */
  list: number
  written: number
  writes: number
  fields: number
}

/** The state from earlier lives of the watcher. */
export interface KnownPods {
  readonly nextPodNumber: number
  readonly pods: Iterable<StoredPod>
}

export class PodTracker {
  readonly statistics: PodStatistics = { records: 0, undecodable: 0 }
  readonly #frames: FrameWriter
  readonly #alarm: (detail: string) => void
  readonly #pods = new UidTable<TrackedPod>()
  readonly #reported = new Set<PodProblem | PodOddity>()
  #nextNumber: number
  #list = 0
  /** The change that is being observed; `undefined`: a list has ended. */
  #observation: Readonly<ObservedObject> | undefined
  #streamNamespace = ""

  constructor(frames: FrameWriter, alarm: (detail: string) => void, known: KnownPods) {
    this.#frames = frames
    this.#alarm = alarm
    this.#nextNumber = known.nextPodNumber
    for (const { number, uid, namespace, start, end, owned } of known.pods) {
      const owners = owned ? unknownOwners : noOwners
      this.#pods.set(uid, {
        number,
        uid,
        namespace,
        life: { start, end },
        owners,
        containers: undefined,
        list: 0,
        ...writesOfEarlierLife,
      })
    }
  }

  /** Pods that have run and still exist. */
  get size(): number {
    return this.#pods.size
  }

  /**
   * Observes one object; never throws because of the object's content. `streamNamespace`: the only one that its stream watches; the empty string:
   * all.
   */
  observed(observation: Readonly<ObservedObject>, streamNamespace = ""): void {
    const { action, bytes, start, end, scanned } = observation
    this.#observation = observation
    this.#streamNamespace = streamNamespace
    const isDeleted = action === 2
    const known = this.#pods.get(bytes, scanned.uidStart, scanned.uidEnd)
    if (known !== undefined) {
      known.list = this.#list
      known.written = observation.written
      known.writes = observation.writes
      known.fields = observation.fields
    }
    const object = new PodObject(bytes, start, end)
    const observed = object.lifetime(known?.containers)
    if (typeof observed === "string") this.#cannotTell(observed, bytes, scanned)
    else if (observed.oddity !== undefined) this.#reportOnce(observed.oddity, bytes, scanned)
    const life = typeof observed === "string" ? known?.life : nextLifetime(known?.life, observed)
    if (life === undefined) return
    const owners = ownersFingerprint(bytes, scanned)
    if (known === undefined) return this.#meet(life, isDeleted, object, owners, bytes, scanned)
    if (known.owners === unknownOwners) known.owners = owners
    // Owners that it has lost remain owners of its lifecycle.
    const isAdopted = owners !== noOwners && owners !== known.owners
    if (life === known.life && !isAdopted && !isDeleted) return
    known.life = life
    const identity = isAdopted ? this.#identity(object, bytes, scanned) : undefined
    if (isAdopted) known.owners = owners
    if (isDeleted) this.#pods.delete(known.uid)
    this.#record(known.number, life, isDeleted, object.byteLength, identity, identity && ownersOf(bytes, scanned))
  }

  /** The pod with the UID at `bytes[start, end)`, if it has run. */
  get(bytes: Uint8Array, start: number, end: number): Writes | undefined {
    return this.#pods.get(bytes, start, end)
  }

  /** Call when a list begins: pods that are not in it will have ended. Returns its number; see the index of live objects. */
  listStarted(): number {
    return ++this.#list
  }

  /**
   * Call when the list is complete. Pods that are not in it (of its namespace, for a list of one) ended unobserved: as of now, unless their
   * end is known.
   */
  listCompleted(list: number, namespace: string | undefined): void {
    this.#end((pod) => pod.list < list && (namespace === undefined || pod.namespace === namespace))
  }

  /** Pods in namespaces other than these. */
  outside(namespaces: ReadonlySet<string>): ReadonlyArray<{ readonly namespace: string }> {
    return [...this.#pods.values()].filter(({ namespace }) => !namespaces.has(namespace))
  }

  /** Stops following pods in namespaces other than these. */
  confine(namespaces: ReadonlySet<string>): void {
    this.#end((pod) => !namespaces.has(pod.namespace))
  }

  #end(isGone: (pod: TrackedPod) => boolean): void {
    this.#observation = undefined
    for (const pod of [...this.#pods.values()]) {
      if (!isGone(pod)) continue
      this.#pods.delete(pod.uid)
      this.#record(pod.number, pod.life, true, 0, undefined, undefined)
    }
  }

  #meet(
    life: PodLifetime,
    isDeleted: boolean,
    object: PodObject,
    owners: number,
    bytes: Buffer,
    scanned: ScannedObject,
  ): void {
    const identity = this.#identity(object, bytes, scanned)
    if (identity === undefined) return
    const number = this.#nextNumber++
    if (!isDeleted) {
      const { uid, namespace } = identity
      const containers = object.mainContainers()
      const { written = 0, writes = 0, fields = 0 } = this.#observation ?? {}
      const known = { uid, namespace, life, owners, containers, list: this.#list }
      this.#pods.set(uid, { number, ...known, written, writes, fields })
    }
    const ownerReferences = owners === noOwners ? undefined : ownersOf(bytes, scanned)
    this.#record(number, life, isDeleted, object.byteLength + (ownerReferences?.length ?? 0), identity, ownerReferences)
  }

  #record(
    pod: number,
    life: PodLifetime,
    gone: boolean,
    objectBytes: number,
    identity: PodIdentity | undefined,
    ownerReferences: Uint8Array | undefined,
  ): void {
    const observation = this.#observation
    const time = observation === undefined ? this.#frames.now() : this.#frames.timeOf(observation)
    const { start, end } = gone ? endedLifetime(life, Math.floor(time / 1_000_000)) : life
    this.statistics.records++
    const received = this.#frames.now()
    const names = {
      ...(received > time && { received }),
      ...(identity && { identity }),
      ...(ownerReferences && { ownerReferences }),
    }
    this.#frames.podLife({ pod, time, start, end, gone, ...names }, objectBytes, observation, this.#streamNamespace)
  }

  /** `undefined`, and counted, if the pod's spec cannot be hashed. */
  #identity(object: PodObject, bytes: Buffer, scanned: ScannedObject): PodIdentity | undefined {
    const specHash = object.specHash()
    if (specHash === undefined) {
      this.#cannotTell("the object cannot be read", bytes, scanned)
      return undefined
    }
    return {
      uid: bytes.toString("utf8", scanned.uidStart, scanned.uidEnd),
      namespace: bytes.toString("utf8", scanned.namespaceStart, scanned.namespaceEnd),
      name: bytes.toString("utf8", scanned.nameStart, scanned.nameEnd),
      specHash,
    }
  }

  #cannotTell(problem: PodProblem, bytes: Buffer, scanned: ScannedObject): void {
    this.statistics.undecodable++
    this.#reportOnce(problem, bytes, scanned)
  }

  #reportOnce(reason: PodProblem | PodOddity, bytes: Buffer, scanned: ScannedObject): void {
    if (this.#reported.has(reason)) return
    this.#reported.add(reason)
    const namespace = bytes.toString("utf8", scanned.namespaceStart, scanned.namespaceEnd)
    const name = bytes.toString("utf8", scanned.nameStart, scanned.nameEnd)
    this.#alarm(
      `the lifecycle of pod ${namespace}/${name} cannot be followed: ${reason}; ` +
        "further pods with this problem are counted but not logged",
    )
  }
}

const ownersOf = (bytes: Buffer, { ownerReferencesStart, ownerReferencesEnd }: ScannedObject): Uint8Array =>
  bytes.subarray(ownerReferencesStart, ownerReferencesEnd)
