/**
 * Gives the pods of a replay the lives that the trace has. When a pod is created: how long it takes to start. When a
 * node reports that it runs: when it ends; if that is not known yet, it is decided later and written directly. What
 * has been decided stays.
 */
import type { Clock, Timer } from "../../clock.ts"
import { type ApiClient, kinds, NotFoundError, type OwnerReference, type Pod } from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"
import {
  createDelayAnnotation,
  type JsonObject,
  jitterSuffix,
  readyDelayAnnotation,
  podStages as stages,
} from "../../trace/index.ts"
import { simulationLabel } from "../api/derived-names.ts"
import type { Placement } from "../objects/pod-templates.ts"
import { type Ownership, replayLabel } from "../objects/target-object.ts"
import type { LiveSchedule, Speed } from "../schedule/replay-clock.ts"
import type { PatchOperation, PodReview } from "../webhook/webhook-server.ts"
import {
  type IdentityOptions,
  ownersInTrace,
  recordedHash,
  rememberedIdentity,
  sequenceAnnotation,
  stableHashAnnotation,
} from "./pod-identity.ts"
import type { LifeMatching, RecordedLife } from "./recorded-lives.ts"

// How long the pods of a Simulation take to start: `spec.lifecycleParams` as annotations that virtual nodes understand.

/** In real ms; `undefined`: as in the trace, and 0 if that does not say. */
export interface StartDelays {
  /** From being scheduled to the start of the containers. */
  readonly createMs: number | undefined
  /** At most so much longer. */
  readonly createJitterMs: number | undefined
  /** From there to ready. */
  readonly readyMs: number | undefined
  readonly readyJitterMs: number | undefined
}

/** Annotations of a pod; none for a delay that `life` knows and the Simulation does not set. Pure. */
export const startDelayMarks = (
  { createMs, createJitterMs, readyMs, readyJitterMs }: StartDelays,
  life: Pick<RecordedLife, "startMs" | "readyMs"> | undefined,
): Readonly<Record<string, string>> => ({
  ...delayMarks(createDelayAnnotation, createMs, createJitterMs, life?.startMs),
  ...delayMarks(readyDelayAnnotation, readyMs, readyJitterMs, life?.readyMs),
})

const delayMarks = (
  name: string,
  ms: number | undefined,
  jitterMs: number | undefined,
  recordedMs: number | undefined,
): Readonly<Record<string, string>> => {
  if (ms === undefined && jitterMs === undefined && recordedMs !== undefined) return {}
  const least = ms ?? 0
  // kwok's jitter is the upper limit of the delay, not what is added to it.
  return { [name]: `${least}ms`, [`${name}${jitterSuffix}`]: `${least + (jitterMs ?? 0)}ms` }
}

// Durations of the trace as real ones.

/** How durations of the trace pass in the target; by the speed and the pauses known when it is asked. */
interface LifeTiming {
  /** Real ms that a duration of the trace takes at the present speed. */
  readonly scaledMs: (traceMs: number) => number
  /**
   * When something ends that began at `startedMs` and takes `traceMs` of the trace: both ms since the Unix epoch; `undefined` while the
   * replay is paused.
   */
  readonly endMs: (startedMs: number, traceMs: number) => number | undefined
}

/** `schedule`: `undefined` before the first moment of the trace is due. */
export const lifeTiming = (
  clock: Pick<Clock, "monotonicMs" | "wallMicros">,
  speedNow: () => Speed,
  schedule: () => LiveSchedule | undefined,
): LifeTiming => {
  const scaledMs = (traceMs: number): number => {
    const speed = speedNow()
    return speed === "max" ? 0 : traceMs / speed
  }
  return {
    scaledMs,
    endMs: (startedMs, traceMs) => {
      const current = schedule()
      if (current === undefined) return startedMs + scaledMs(traceMs)
      const toMonotonic = clock.monotonicMs() - clock.wallMicros() / 1000
      const dueMs = current.dueMs(current.positionMicros(startedMs + toMonotonic) + traceMs * 1000)
      return Number.isFinite(dueMs) ? Math.max(startedMs, dueMs - toMonotonic) : undefined
    },
  }
}

// What a replay adds to a pod, as JSON patches. Nothing that is there is removed.

/** Labels and annotations to set. */
interface Marks {
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

/** Sets what differs. */
const markPatch = ({ metadata }: Pod, { labels, annotations }: Marks): ReadonlyArray<PatchOperation> => [
  ...entriesPatch("/metadata/labels", metadata.labels, labels),
  ...entriesPatch("/metadata/annotations", metadata.annotations, annotations),
]

/** For pods whose template the replay could not change, such as those of a custom kind with unknown template paths. */
const placementPatch = ({ spec }: Pod, { nodeSelector, taintKey }: Placement): ReadonlyArray<PatchOperation> => {
  const patch = [...entriesPatch("/spec/nodeSelector", spec.nodeSelector, nodeSelector)]
  const { tolerations } = spec
  if (taintKey === undefined || tolerations?.some(({ key }) => key === taintKey)) return patch
  const toleration = { key: taintKey, operator: "Exists", effect: "NoSchedule" }
  if (tolerations === undefined) patch.push({ op: "add", path: "/spec/tolerations", value: [toleration] })
  else patch.push({ op: "add", path: "/spec/tolerations/-", value: toleration })
  return patch
}

const entriesPatch = (
  path: string,
  present: Readonly<Record<string, string>> | undefined,
  wanted: Readonly<Record<string, string>>,
): ReadonlyArray<PatchOperation> => {
  const missing = Object.entries(wanted).filter(([key, value]) => present?.[key] !== value)
  if (missing.length === 0) return []
  if (present === undefined) return [{ op: "add", path, value: Object.fromEntries(missing) }]
  return missing.map(([key, value]) => ({ op: "add", path: `${path}/${escaped(key)}`, value }))
}

/** RFC 6901. */
const escaped = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1")

/** Where lives come from, and how the target gets them. */
export interface PodLivesOptions extends IdentityOptions {
  readonly own: Pick<Ownership, "replay" | "simulation">
  readonly client: ApiClient
  readonly clock: Pick<Clock, "after" | "wallMicros">
  /** How long pods take to start, whatever the trace has. Default: as the trace has it, or as the target decides. */
  readonly delays?: StartDelays | undefined
  readonly timing: LifeTiming
  readonly matching: LifeMatching
  readonly ownersOf: (pod: Pod) => Promise<ReadonlyArray<OwnerReference>>
  /** Whether more of the trace's lives may become stages. */
  readonly isLearning: () => boolean
  /** Resolves when more is known, or when there is no more time to wait for it. */
  readonly learn: () => Promise<void>
  readonly onProblem: (problem: string) => void
}

/** A pod that runs, and whose end is not decided. */
interface Undecided {
  readonly pod: Pod
  readonly namespace: string
  readonly owners: ReadonlyArray<string>
  readonly startedMs: number
}

/** More are left to the cluster. */
const mostUndecided = 10_000
/** ms between two looks at the undecided. */
const lookMs = 500

/** What became of the lives that a trace has. */
export interface LivesCount {
  /** Pods of the trace that the replay or the target's controllers were to create. */
  readonly recorded: number
  /** Pods that the API server asked the webhook about when it was about to create them. */
  readonly created: number
  /** Of those, the ones for which the trace had a life. */
  readonly told: number
  /** Why the webhook was not asked at some time, or at all, as a sentence for people; `null`: it was, whenever this was looked at. */
  readonly unasked: string | null
}

/**
 * Reviews the pods of one run. A pod whose life is not known gets labels, hash and number, and lives as the target
 * decides. After `close` it updates no pod by itself.
 */
export class PodLives {
  readonly #options: PodLivesOptions
  /** By UID. */
  readonly #undecided = new Map<string, Undecided>()
  /** Whether it was said that there are too many. */
  #isFull = false
  #timer: Timer | undefined
  #isClosed = false
  #created = 0
  #told = 0

  constructor(options: PodLivesOptions) {
    this.#options = options
  }

  /** What to change in the pod. Rejects if its spec is nested too deeply to have a hash. */
  async review(review: PodReview): Promise<ReadonlyArray<PatchOperation>> {
    return review.operation === "CREATE" ? this.#creating(review) : this.#changed(review)
  }

  get count(): Pick<LivesCount, "created" | "told"> {
    return { created: this.#created, told: this.#told }
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#undecided.clear()
  }

  async #creating({ pod, namespace, isDryRun }: PodReview): Promise<ReadonlyArray<PatchOperation>> {
    const { own, placement, matching, delays, isLearning, learn } = this.#options
    const owners = await this.#owners(pod, namespace)
    const hash = recordedHash(pod.spec as unknown as JsonObject, this.#options)
    // Counted by the uppermost, which does not depend on what has been read of the trace.
    const number = matching.number(owners.at(-2) ?? owners[0] ?? "", hash, isDryRun)
    let life = this.#life(owners, hash, number)
    if (life === undefined && isLearning() && !isDryRun) {
      await learn()
      life = this.#life(owners, hash, number)
    }
    if (!isDryRun) {
      this.#created++
      if (life !== undefined) this.#told++
    }
    const marks = {
      labels: { [replayLabel]: own.replay, [simulationLabel]: own.simulation ?? own.replay },
      annotations: {
        [stableHashAnnotation]: String(hash),
        [sequenceAnnotation]: String(number),
        ...(life === undefined ? {} : this.#startUp(life)),
        ...(delays === undefined ? {} : startDelayMarks(delays, life)),
      },
    }
    return [...markPatch(pod, marks), ...placementPatch(pod, placement)]
  }

  async #changed({ pod, before, namespace }: PodReview): Promise<ReadonlyArray<PatchOperation>> {
    const { metadata, status } = pod
    if (status?.phase !== "Running" || metadata.deletionTimestamp !== undefined) return []
    if (metadata.labels?.[stages.completeLabel] !== undefined) return []
    // Pods from before the webhook have no number; one that is undecided waits for its turn.
    if (this.#undecided.has(metadata.uid ?? "") || rememberedIdentity(pod) === undefined) return []
    const isNew = before?.status?.phase !== "Running"
    const startedMs = isNew ? this.#options.clock.wallMicros() / 1000 : startOf(pod)
    const undecided = { pod, namespace, startedMs, owners: await this.#owners(pod, namespace) }
    const end = this.#endOf(undecided)
    if (end !== undefined) return end === "never" ? [] : markPatch(pod, end)
    if (this.#undecided.size >= mostUndecided && !this.#isFull) {
      this.#isFull = true
      this.#options.onProblem(
        `more than ${mostUndecided} pods wait for their recorded end: others run until the replay ends`,
      )
    }
    if (this.#undecided.size < mostUndecided && !this.#isClosed) {
      this.#undecided.set(metadata.uid ?? "", undecided)
      this.#timer ??= this.#options.clock.after(lookMs, () => void this.#decide())
    }
    return []
  }

  async #owners(pod: Pod, namespace: string): Promise<ReadonlyArray<string>> {
    const chain = await this.#options.ownersOf({ ...pod, metadata: { ...pod.metadata, namespace } })
    return ownersInTrace(namespace, pod, chain, this.#options)
  }

  #life(owners: ReadonlyArray<string>, hash: bigint, number: number): RecordedLife | undefined {
    for (const owner of owners) {
      const life = this.#options.matching.life(owner, hash, number)
      if (life !== undefined) return life
    }
    return undefined
  }

  #startUp({ startMs, readyMs, runMs }: RecordedLife): Readonly<Record<string, string>> {
    const { timing } = this.#options
    const delay = (name: string, ms: number | undefined) => {
      if (ms === undefined) return {}
      const scaled = `${Math.round(timing.scaledMs(ms))}ms`
      return { [name]: scaled, [`${name}${stages.jitterSuffix}`]: scaled }
    }
    return {
      ...delay(stages.createDelayAnnotation, startMs),
      ...delay(stages.readyDelayAnnotation, readyMs),
      ...(runMs !== undefined && { [stages.runTimeAnnotation]: `${Math.round(runMs)}ms` }),
    }
  }

  /** `undefined`: not known yet. */
  #endOf({ pod, owners, startedMs }: Undecided): Marks | "never" | undefined {
    const { timing, isLearning } = this.#options
    const identity = rememberedIdentity(pod)
    if (identity === undefined) return "never"
    const life = this.#life(owners, identity.hash, identity.number)
    if (life?.runMs === undefined) return isLearning() ? undefined : "never"
    const endMs = timing.endMs(startedMs, life.runMs)
    if (endMs === undefined) return undefined
    return {
      labels: { [stages.completeLabel]: "true" },
      annotations: {
        [stages.completeTimeAnnotation]: new Date(endMs).toISOString(),
        ...(life.exitCode !== 0 && { [stages.exitCodeAnnotation]: String(life.exitCode) }),
        ...(life.restarts !== 0 && { [stages.restartsAnnotation]: String(life.restarts) }),
      },
    }
  }

  async #decide(): Promise<void> {
    const writes: Array<Promise<void>> = []
    for (const [uid, undecided] of this.#undecided) {
      const end = this.#endOf(undecided)
      if (end === undefined) continue
      this.#undecided.delete(uid)
      // After a pause thousands may be due: the client sends as many at once as it is allowed to.
      if (end !== "never") writes.push(this.#write(uid, undecided, end))
    }
    await Promise.all(writes)
    if (this.#isClosed) return
    this.#timer = this.#undecided.size > 0 ? this.#options.clock.after(lookMs, () => void this.#decide()) : undefined
  }

  async #write(uid: string, { pod, namespace }: Undecided, marks: Marks): Promise<void> {
    const { client, onProblem } = this.#options
    const { name } = pod.metadata
    try {
      // The UID guards against a pod that was created again under this name.
      await client.patch(kinds.pods, { namespace, name }, "merge", { metadata: { uid, ...marks } })
    } catch (error) {
      if (error instanceof NotFoundError || this.#isClosed) return
      onProblem(`pod ${namespace}/${name} does not end when it should: ${messageOf(error)}`)
    }
  }
}

/** When its first container started, by its status, which has whole seconds: the server may not have asked at that moment. */
const startOf = ({ metadata, status }: Pod): number => {
  const starts = (status?.containerStatuses ?? []).flatMap(
    ({ state }) => Date.parse(state.running?.startedAt ?? "") || [],
  )
  return starts.length > 0
    ? Math.min(...starts)
    : Date.parse(status?.startTime ?? metadata.creationTimestamp ?? "") || 0
}
