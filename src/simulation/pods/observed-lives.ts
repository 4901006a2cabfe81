/**
 * The lives of pods from a trace that has Pod objects with their status, by UID, or by name in formats without UIDs.
 * The owner is the uppermost that the trace knows. A pod that was deleted while it ran has no end of its own; of one
 * that was running at the start, only the rest counts.
 */

import { isRecord } from "../../is-record.ts"
import {
  exactJsonIn,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  NestingTooDeepError,
  type ObjectEvent,
  podKind,
  stablePodSpecHash,
} from "../../trace/index.ts"
import { controllerOf, metadataOf, podControllers } from "./pod-identity.ts"
import { type GrowingLife, ownerKey, type RecordedLives } from "./recorded-lives.ts"

// The moments of a pod's life: when it was scheduled, started, ready and ended, as its status and the recording show them.

/** One moment as far as it is known. */
interface Moment {
  /** ms since the Unix epoch, whole seconds: what the status says. */
  readonly statedMs: number | undefined
  /** ms since the Unix epoch: when the recording first saw it; `undefined` if it had happened before. */
  readonly seenMs: number | undefined
}

/** What one state of a pod shows. */
interface ShownMoments {
  /** ms since the Unix epoch; `undefined`: the state does not say when; `false`: it has not happened. */
  readonly scheduled: number | undefined | false
  readonly started: number | undefined | false
  readonly ready: number | undefined | false
  /** Its containers have ended and are not started again. */
  readonly ended: number | undefined | false
  readonly exitCode: number
  readonly restarts: number
}

/** ms by which a whole second and another clock's second can differ. */
const tolerance = 1500

/** ms from one moment to a later one. */
const between = (from: Moment, to: Moment): number | undefined => {
  const [stated, seen] = [difference(from.statedMs, to.statedMs), difference(from.seenMs, to.seenMs)]
  // One state may show both moments for the first time.
  const isSeenApart = seen !== undefined && from.seenMs !== to.seenMs
  const chosen = stated === undefined || (isSeenApart && Math.abs(seen - stated) <= tolerance) ? seen : stated
  return chosen ?? difference(from.statedMs ?? from.seenMs, to.statedMs ?? to.seenMs)
}

const difference = (from: number | undefined, to: number | undefined): number | undefined =>
  from === undefined || to === undefined ? undefined : Math.max(0, to - from)

/** Total: what has another form than Kubernetes writes counts as absent. */
const momentsOf = (pod: Readonly<Record<string, unknown>>): ShownMoments => {
  const spec = isRecord(pod.spec) ? pod.spec : {}
  const status = isRecord(pod.status) ? pod.status : {}
  const containers = recordsIn(status.containerStatuses)
  const states = containers.map(({ state }) => (isRecord(state) ? state : {}))
  const running = recordsIn(states.map((state) => state.running))
  const terminated = recordsIn(states.map((state) => state.terminated))
  const phase = status.phase
  const isOver = phase === "Succeeded" || phase === "Failed"
  // Between two restarts all containers may have ended, and the phase is Running.
  const hasEnded =
    isOver || (phase === undefined && terminated.length > 0 && terminated.length === recordsIn(spec.containers).length)
  const hasStarted = phase === "Running" || isOver || running.length + terminated.length > 0
  const condition = conditionSince(status, "PodScheduled")
  const isBound = typeof spec.nodeName === "string" && spec.nodeName !== ""
  const earliest = minimum([...running, ...terminated].map(({ startedAt }) => millisOf(startedAt)))
  return {
    scheduled: condition !== false ? condition : isBound ? undefined : false,
    started: hasStarted && (earliest ?? (running.length > 0 ? undefined : millisOf(status.startTime))),
    ready: conditionSince(status, "Ready"),
    ended: hasEnded && maximum(terminated.map(({ finishedAt }) => millisOf(finishedAt))),
    exitCode: maximum(terminated.map(({ exitCode }) => numberOf(exitCode))) ?? (phase === "Failed" ? 1 : 0),
    restarts: maximum(containers.map(({ restartCount }) => numberOf(restartCount))) ?? 0,
  }
}

const conditionSince = (status: Readonly<Record<string, unknown>>, type: string): number | undefined | false => {
  const condition = recordsIn(status.conditions).find((each) => each.type === type)
  return condition?.status === "True" && millisOf(condition.lastTransitionTime)
}

const recordsIn = (list: unknown): ReadonlyArray<Record<string, unknown>> =>
  Array.isArray(list) ? list.filter(isRecord) : []

const minimum = (values: ReadonlyArray<number | undefined>): number | undefined =>
  values.reduce(
    (least, each) => (each === undefined || (least !== undefined && least <= each) ? least : each),
    undefined,
  )

const maximum = (values: ReadonlyArray<number | undefined>): number | undefined =>
  values.reduce((most, each) => (each === undefined || (most !== undefined && most >= each) ? most : each), undefined)

const numberOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined)

const millisOf = (time: unknown): number | undefined => {
  const ms = typeof time === "string" ? Date.parse(time) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

interface ObservedPod {
  readonly owner: string
  readonly hash: bigint
  readonly created: number
  readonly life: GrowingLife
  isKnown: boolean
  scheduled: Moment | undefined
  started: Moment | undefined
  ready: Moment | undefined
  isOver: boolean
  /** Whether a replay has it, or its owner creates it there. */
  readonly isCounted: boolean
}

/**
 * Adds what it learns to the lives given to it. Take all events in the order of the trace, with {@link ObservedLives.startMs} set before
 * the first. Memory: the moments of each pod that exists, and an entry for each pod and parent that there ever was.
 */
export class ObservedLives {
  readonly #lives: RecordedLives
  /** ms since the Unix epoch: the first moment that is replayed. */
  startMs = 0
  readonly #pods = new Map<string, ObservedPod>()
  /** Pods that exist at the start, and µs at which further ones were created; not those that no replay creates. */
  readonly #created = { before: 0, since: [] as number[] }
  /** Controlling owners of what may own pods. */
  readonly #parents = new Map<string, string>()

  constructor(lives: RecordedLives) {
    this.#lives = lives
  }

  /** How many pods the trace has read so far from the start until a moment (µs since the Unix epoch), without those of DaemonSets and nodes. */
  count(until: number): number {
    return this.#created.before + this.#created.since.filter((time) => time < until).length
  }

  /** One event of the trace, in its order. `isSnapshot`: what it shows may have happened before. */
  observe(event: ObjectEvent, isSnapshot: boolean): void {
    if (event.gvk === podKind) return this.#observePod(event, isSnapshot)
    if (event.action === "applied" && mayOwnPods(event.gvk)) this.#observeOwner(event)
  }

  #observeOwner({ gvk, namespace, name, object }: ObjectEvent): void {
    const key = ownerKey(gvk, namespace, name)
    if (this.#parents.has(key) || !Buffer.from(object.buffer, object.byteOffset, object.length).includes(ownerMember))
      return
    const value = parsed(object)
    const parent = controllerOf(metadataOf(value))
    if (parent === undefined) return
    this.#parents.set(key, ownerKey(`${parent.apiVersion}.${parent.kind}`, namespace, parent.name))
    this.#lives.move(key, this.#uppermost(key))
  }

  #observePod({ uid, namespace, name, action, time, object }: ObjectEvent, isSnapshot: boolean): void {
    const key = uid === "" ? `${namespace}/${name}` : uid
    const known = this.#pods.get(key)
    if (action !== "applied") {
      if (known === undefined) return
      this.#pods.delete(key)
      if (known.isCounted && time / 1000 < this.startMs) this.#created.before--
      if (action === "deleted") this.#read(known, object, time, true)
      if (known.isKnown && time / 1000 < this.startMs) this.#lives.remove(known.owner, known.hash, known.life)
      return
    }
    if (known?.isOver === true) return
    if (known !== undefined) return this.#read(known, object, time, false)
    const pod = this.#meet(namespace, name, object)
    if (pod === undefined) return
    this.#pods.set(key, pod)
    if (pod.isCounted && (isSnapshot || time / 1000 < this.startMs)) this.#created.before++
    else if (pod.isCounted) this.#created.since.push(time)
    this.#read(pod, object, isSnapshot ? undefined : time, false)
  }

  #meet(namespace: string, name: string, bytes: Uint8Array): ObservedPod | undefined {
    const object = parsed(bytes)
    const hash = object === undefined ? undefined : hashOf(object.spec)
    if (object === undefined || hash === undefined) return undefined
    return {
      owner: this.#ownerOf(object, namespace, name),
      hash,
      created: millisOf(metadataOf(object).creationTimestamp) ?? 0,
      life: { startMs: undefined, readyMs: undefined, runMs: undefined, exitCode: 0, restarts: 0 },
      isKnown: false,
      scheduled: undefined,
      started: undefined,
      ready: undefined,
      isOver: false,
      isCounted: !tiedToNodes.has(controllerOf(metadataOf(object))?.kind ?? ""),
    }
  }

  /** `time`: µs at which the state was recorded; `undefined`: it is older. */
  #read(pod: ObservedPod, bytes: Uint8Array, time: number | undefined, isDeletion: boolean): void {
    const value = bytes.length === 0 ? undefined : parsed(bytes)
    if (value === undefined) return
    const shown = momentsOf(value)
    const seenMs = time === undefined ? undefined : time / 1000
    const moment = (stated: number | undefined): Moment => ({ statedMs: stated, seenMs })
    if (shown.scheduled !== false) pod.scheduled ??= moment(shown.scheduled)
    if (shown.started !== false) pod.started ??= moment(shown.started)
    // Becoming ready again after a restart is not part of the start.
    if (shown.ready !== false) pod.ready ??= moment(shown.ready)
    const { life, scheduled, started, ready } = pod
    life.restarts = shown.restarts
    if (started !== undefined) {
      if (scheduled !== undefined) life.startMs ??= between(scheduled, started)
      if (ready !== undefined) life.readyMs ??= between(started, ready)
      if (shown.ended !== false && !isDeletion && metadataOf(value).deletionTimestamp === undefined) {
        pod.isOver = true
        life.exitCode = shown.exitCode
        life.runMs = this.#rest(started, moment(shown.ended))
      }
    }
    if (pod.isKnown || (scheduled ?? started) === undefined) return
    pod.isKnown = true
    this.#lives.add(pod.owner, pod.hash, life, pod.created)
  }

  /** The whole life of a pod that had ended before the replay starts: if it is created again, that is what is known of it. */
  #rest(started: Moment, ended: Moment): number | undefined {
    const startedMs = started.statedMs ?? started.seenMs ?? 0
    const run = between(started, ended)
    if (run === undefined || startedMs >= this.startMs || startedMs + run <= this.startMs) return run
    return startedMs + run - this.startMs
  }

  #ownerOf(pod: JsonObject, namespace: string, name: string): string {
    const [nearest, above] = podControllers(pod)
    // The ReplicaSets of a Deployment need not be in the trace; the CronJob of a Job is its owner only if the trace says so.
    const owner = above?.kind === "Deployment" ? above : nearest
    if (owner === undefined) return ownerKey(podKind, namespace, name)
    return this.#uppermost(ownerKey(`${owner.apiVersion}.${owner.kind}`, namespace, owner.name))
  }

  #uppermost(key: string): string {
    let top = key
    for (let depth = 0; depth < deepestChain; depth++) {
      const parent = this.#parents.get(top)
      if (parent === undefined) break
      top = parent
    }
    return top
  }
}

/** A chain that is longer is a circle. */
const deepestChain = 8

/** Kinds of owners whose pods belong to a node of the recorded cluster. */
const tiedToNodes: ReadonlySet<string> = new Set(["DaemonSet", "Node"])

const ownerMember = '"ownerReferences"'

/** Custom kinds may own pods; of the built-in ones these are owned themselves. */
const mayOwnPods = (gvk: string): boolean =>
  gvk === "batch/v1.Job" || gvk === "apps/v1.ReplicaSet" || /^[^/]+\.[^/]+\//.test(gvk.replace(/^[^/]*\.k8s\.io\//, ""))

/** `undefined` if it nests too deeply. */
const hashOf = (spec: JsonValue | undefined): bigint | undefined => {
  try {
    return stablePodSpecHash(spec)
  } catch (error) {
    if (error instanceof NestingTooDeepError) return undefined
    throw error
  }
}

/** `undefined` if it is not an object, which the replay of that object reports. */
const parsed = (bytes: Uint8Array): JsonObject | undefined => {
  const value = exactJsonIn(bytes)
  return isJsonObject(value) ? value : undefined
}
