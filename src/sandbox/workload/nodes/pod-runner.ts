/**
 * Runs the Pods bound to virtual nodes: reports the states of their lives, records a kubelet's Events, and removes Pods
 * that were asked to terminate.
 *
 * Under overload reports are late; the times in them are still those of the plan.
 */
import { type Controller, KeyedController, keyOf, type Surroundings, sameJson } from "../../../host/index.ts"
import { kinds, type Pod, parseDuration } from "../../../kube/index.ts"
import { podStages as stages } from "../../../trace/index.ts"
import { isFinished } from "../pods/pods.ts"
import { podStatus } from "./pod-status.ts"

/** Address of a virtual node; `undefined` for any other node. */
export type HostAddress = (node: string) => string | undefined

export const podRunner = (surroundings: Surroundings, delays: Delays, hostAddress: HostAddress): Controller => {
  const { cluster, events } = surroundings
  const pods = cluster.cache<Pod>(kinds.pods)
  const runs = new Map<string, { readonly run: PodRun; readonly random: number }>()
  let addresses = 0

  /** 10.128.0.0/9, one after the other: unique for 8 million Pods. */
  const nextAddress = (): string => {
    addresses = (addresses + 1) % 2 ** 23
    return `10.${128 + (addresses >> 16)}.${(addresses >> 8) & 255}.${addresses & 255}`
  }

  const isOurs = (pod: Pod): boolean => hostAddress(pod.spec.nodeName ?? "") !== undefined

  const record = (pod: Pod, event: PodEvent): void => {
    for (const { name, image } of pod.spec.containers) {
      const [type, message] = eventText(event, name, image ?? "", pod)
      const source = { component: "kubelet", host: pod.spec.nodeName ?? "" }
      events.record(source, { object: pod, type, reason: event, message, fieldPath: `spec.containers{${name}}` })
    }
  }

  const reconcile = async (key: string): Promise<void> => {
    const pod = pods.byKey(key)
    const hostIP = hostAddress(pod?.spec.nodeName ?? "")
    if (pod === undefined || hostIP === undefined) return
    const nowMs = cluster.nowMs()
    const uid = pod.metadata.uid ?? ""
    const known = runs.get(uid)
    const random = known?.random ?? cluster.random()
    const before = known?.run ?? beginRun(pod, pod.spec.hostNetwork === true ? hostIP : nextAddress(), nowMs)
    const step = advance(pod, planOf(pod, delays, random), before, nowMs)
    runs.set(uid, { run: step.run, random })
    for (const event of step.events) record(pod, event)
    const isRemoved = step.run.stage === "stopped"
    const neverRan = step.run.startedMs === 0 && isRemoved
    const isSettled = before.stage === "finished"
    const status = podStatus(pod, step.run, hostIP)
    if (!neverRan && !isSettled && !sameJson(kubeletPart(pod), status)) {
      await cluster.patch<Pod>(kinds.pods, pod, "merge", { metadata: { uid }, status }, "status")
    }
    if (isRemoved) await cluster.delete(kinds.pods, pod, { gracePeriodSeconds: 0 })
    else controller.enqueueAfter(key, step.nextMs)
  }

  const controller = new KeyedController("pod-runner", surroundings, reconcile, () =>
    [...pods.all()].filter(isOurs).map(keyOf),
  )
  pods.onChange((changes) => {
    for (const { previous, current } of changes) {
      if (current === undefined) runs.delete(previous?.metadata.uid ?? "")
      else if (isOurs(current)) controller.enqueue(keyOf(current))
    }
  })
  return controller
}

/** The members that podStatus writes. */
const kubeletPart = ({ status = {} }: Pod): unknown => {
  const { phase, conditions, hostIP, hostIPs, startTime, podIP, podIPs, initContainerStatuses, containerStatuses } =
    status
  return { phase, conditions, hostIP, hostIPs, startTime, podIP, podIPs, initContainerStatuses, containerStatuses }
}

const eventText = (
  reason: PodEvent,
  name: string,
  image: string,
  pod: Pod,
): readonly ["Normal" | "Warning", string] => {
  const { name: podName, namespace, uid } = pod.metadata
  switch (reason) {
    case "Pulled":
      return ["Normal", `Container image "${image}" already present on machine`]
    case "Created":
      return ["Normal", `Created container: ${name}`]
    case "Started":
      return ["Normal", `Started container ${name}`]
    case "Killing":
      return ["Normal", `Stopping container ${name}`]
    case "BackOff":
      return ["Warning", `Back-off restarting failed container ${name} in pod ${podName}_${namespace}(${uid})`]
  }
}

// The life of a Pod on a node as a pure function of time: what a kubelet would report now, when it reports next, and
// its Events.
//
// Created → (init containers done) running → ready → ended, and restarted after a growing pause, or finished; or asked
// to terminate → terminated → removed. All containers of a Pod go through this together.

type Stage = "creating" | "running" | "ready" | "waiting" | "finished" | "stopping" | "stopped"

/** The current stage of a Pod. Times in ms since the epoch. */
export interface PodRun {
  readonly uid: string
  readonly podIP: string
  readonly stage: Stage
  /** When this stage began. */
  readonly sinceMs: number
  /** 0 before the containers' first start. */
  readonly startedMs: number
  readonly endedMs: number
  readonly readyMs: number
  readonly restarts: number
  readonly exitCode: number
  /** The termination message of the containers, which processes have. */
  readonly message?: string
}

/** Its reason. */
type PodEvent = "Pulled" | "Created" | "Started" | "Killing" | "BackOff"

interface Step {
  readonly run: PodRun
  /** In order. */
  readonly events: ReadonlyArray<PodEvent>
  /** ms from now until the next step; `undefined` if only a change of the Pod causes one. */
  readonly nextMs: number | undefined
}

/** client-go's crash back-off: 10 s, doubled, at most 5 min. */
const firstBackOffMs = 10_000
const maximumBackOffMs = 300_000

const backOffMs = (restarts: number): number =>
  Math.min(maximumBackOffMs, firstBackOffMs * 2 ** Math.max(0, restarts - 1))

/** A Pod seen for the first time; one that already runs (the node was restarted) continues from its own status. */
export const beginRun = (pod: Pod, podIP: string, nowMs: number): PodRun => {
  const status = pod.status?.containerStatuses?.[0]
  const since = status?.state.running?.startedAt ?? status?.state.terminated?.startedAt
  const startedMs = Date.parse(since ?? "") || 0
  const isRunning = status?.state.running !== undefined
  return {
    uid: pod.metadata.uid ?? "",
    podIP: pod.status?.podIP ?? podIP,
    stage: isFinished(pod) ? "finished" : isRunning ? (status.ready ? "ready" : "running") : "creating",
    sinceMs: isRunning ? startedMs : nowMs,
    startedMs,
    endedMs: nowMs,
    readyMs: startedMs,
    restarts: status?.restartCount ?? 0,
    exitCode: status?.state.terminated?.exitCode ?? 0,
  }
}

/** The Pod's stage at `nowMs`. May advance several stages at once if much time has passed. */
const advance = (pod: Pod, plan: PodPlan, run: PodRun, nowMs: number): Step => {
  const events: PodEvent[] = []
  let current = run
  for (;;) {
    const due = nextStage(pod, plan, current, nowMs)
    if (due === undefined) return { run: current, events, nextMs: undefined }
    if (due.atMs > nowMs) return { run: current, events, nextMs: due.atMs - nowMs }
    current = { ...current, ...due.becomes, sinceMs: due.atMs }
    events.push(...due.events)
    // A stage that clients must see (terminated before removed, started before ended) is reported separately.
    if (current.stage === "stopped" || current.stage === "finished" || current.stage === "waiting") {
      const after = nextStage(pod, plan, current, nowMs)
      return { run: current, events, nextMs: after === undefined ? undefined : Math.max(0, after.atMs - nowMs) }
    }
  }
}

interface Due {
  readonly atMs: number
  readonly becomes: Partial<PodRun> & { readonly stage: Stage }
  readonly events: ReadonlyArray<PodEvent>
}

const nextStage = (pod: Pod, plan: PodPlan, run: PodRun, nowMs: number): Due | undefined => {
  if (pod.metadata.deletionTimestamp !== undefined) return stopping(plan, run, nowMs)
  const startAt = (atMs: number, restarts: number): Due => ({
    atMs,
    becomes: { stage: "running", startedMs: atMs, restarts },
    events: ["Pulled", "Created", "Started"],
  })
  switch (run.stage) {
    case "creating":
      return startAt(run.sinceMs + plan.createMs, run.restarts)
    case "waiting":
      return startAt(run.endedMs + pauseMs(run), run.restarts + 1)
    case "running":
    case "ready": {
      const readyAt = run.stage === "ready" || plan.readyMs === undefined ? Infinity : run.startedMs + plan.readyMs
      const end = endOf(pod, plan, run)
      if (end !== undefined && end.atMs <= readyAt) return end
      return readyAt === Infinity
        ? undefined
        : { atMs: readyAt, becomes: { stage: "ready", readyMs: readyAt }, events: [] }
    }
    default:
      return undefined
  }
}

/** The first restart is immediate, as by the kubelet; the next ones wait. */
const pauseMs = ({ restarts }: PodRun): number => (restarts === 0 ? 0 : backOffMs(restarts))

const endOf = (pod: Pod, plan: PodPlan, run: PodRun): Due | undefined => {
  const { lastEndAtMs, endMs, exitCode, restarts } = plan
  if (lastEndAtMs === undefined) return endMs === undefined ? undefined : ended(pod, plan, run, run.startedMs + endMs)
  const atMs = Math.max(run.startedMs, lastEndAtMs)
  return { atMs, becomes: { stage: "finished", endedMs: atMs, exitCode, restarts }, events: [] }
}

const ended = (pod: Pod, { exitCode }: PodPlan, run: PodRun, atMs: number): Due => {
  const policy = pod.spec.restartPolicy ?? "Always"
  const isRestarted = policy === "Always" || (policy === "OnFailure" && exitCode !== 0)
  const stage = isRestarted ? "waiting" : "finished"
  const events: ReadonlyArray<PodEvent> = isRestarted && run.restarts > 0 ? ["BackOff"] : []
  return { atMs, becomes: { stage, endedMs: atMs, exitCode }, events }
}

/** Exit code of a process ended by SIGTERM. */
const terminatedBySignal = 143

const stopping = (plan: PodPlan, run: PodRun, nowMs: number): Due | undefined => {
  switch (run.stage) {
    case "stopped":
      return undefined
    case "stopping":
      return {
        atMs: run.sinceMs + plan.terminateMs,
        becomes: { stage: "stopped", endedMs: run.sinceMs + plan.terminateMs, exitCode: terminatedBySignal },
        events: [],
      }
    case "running":
    case "ready":
      return { atMs: nowMs, becomes: { stage: "stopping" }, events: ["Killing"] }
    default:
      // Nothing runs, so there is nothing to wait for, and ended containers keep their exit code.
      return { atMs: nowMs, becomes: { stage: "stopped" }, events: [] }
  }
}

// The delays of virtual nodes, and the Pod annotations that override them.
//
// Annotations of `simkube.io/kwok-stage-…` count as kwok's stages would count them (src/trace/pods/pod-stages.ts), so
// pods of a replay live here as they do on kwok's nodes; those below come first.
//
// - `sandbox.kubereel.dev/create-after: 2s`: from binding to the start of the containers
// - `…/ready-after: 5s`: from the start of the containers to their being ready; `never` for unready
// - `…/complete-after: 3s`: the containers end 3 s after their start, by default with exit code 0
// - `…/fail-after: 1s`: the same with exit code 1; with restarts, a crash loop
// - `…/exit-code: "3"`: the exit code of either
// - `…/terminate-after: 10s`: from the request to terminate to the end, at most the grace period
//
// Durations are Go's (`1h2m3.5s`, `200ms`); an unreadable one counts as absent.

/** All in ms. */
export interface Delays {
  /** From binding to the start of the containers. Default 200. */
  readonly createMs: number
  /** From there to ready. Default 300. */
  readonly readyMs: number
  /** From the start to the end of containers that are to complete. Default 1,000, as kwok's Jobs. */
  readonly completeMs: number
  /** From the request to terminate to the end. Default 100. */
  readonly terminateMs: number
  /** Each delay is increased by a random share of itself up to this. Default 0. */
  readonly jitter: number
}

export const defaultDelays: Delays = { createMs: 200, readyMs: 300, completeMs: 1000, terminateMs: 100, jitter: 0 }

const prefix = "sandbox.kubereel.dev/"

/** The planned course of one Pod. */
interface PodPlan {
  readonly createMs: number
  /** `undefined`: never. */
  readonly readyMs: number | undefined
  /** `undefined`: it keeps running. */
  readonly endMs: number | undefined
  /**
   * ms since the epoch: its last end, after which no container is restarted, whatever the restart policy; before
   * `endMs`.
   */
  readonly lastEndAtMs: number | undefined
  readonly exitCode: number
  /** By its last end. */
  readonly restarts: number
  readonly terminateMs: number
}

/** `random` in [0, 1), drawn once for each Pod. */
const planOf = (pod: Pod, delays: Delays, random: number): PodPlan => {
  const { annotations = {}, labels = {} } = pod.metadata
  const annotation = (name: string): string | undefined => annotations[prefix + name]
  const given = (name: string): number | undefined => parseDuration(annotation(name) ?? "")
  const staged = (name: string): number | undefined => {
    const ms = parseDuration(annotations[name] ?? "")
    const limit = parseDuration(annotations[name + stages.jitterSuffix] ?? "")
    return ms === undefined || limit === undefined ? ms : limit <= ms ? limit : ms + (limit - ms) * random
  }
  const varied = (ms: number): number => ms * (1 + delays.jitter * random)
  const isMeantToEnd =
    (pod.spec.restartPolicy ?? "Always") !== "Always" ||
    pod.metadata.ownerReferences?.some(({ kind, controller }) => controller === true && kind === "Job") === true
  const failMs = given("fail-after")
  const code = annotation("exit-code") ?? annotations[stages.exitCodeAnnotation] ?? ""
  const restarts = annotations[stages.restartsAnnotation] ?? ""
  const isFollowed = annotations[stages.runTimeAnnotation] !== undefined
  const isComplete = labels[stages.completeLabel] !== undefined
  const graceMs = (pod.metadata.deletionGracePeriodSeconds ?? 30) * 1000
  return {
    createMs: given("create-after") ?? staged(stages.createDelayAnnotation) ?? varied(delays.createMs),
    readyMs:
      annotation("ready-after") === "never"
        ? undefined
        : (given("ready-after") ?? staged(stages.readyDelayAnnotation) ?? varied(delays.readyMs)),
    endMs: failMs ?? given("complete-after") ?? (isMeantToEnd && !isFollowed ? varied(delays.completeMs) : undefined),
    lastEndAtMs: isComplete ? Date.parse(annotations[stages.completeTimeAnnotation] ?? "") || 0 : undefined,
    restarts: /^\d{1,6}$/.test(restarts) ? Number(restarts) : 0,
    exitCode: /^\d{1,3}$/.test(code) ? Number(code) & 255 : failMs === undefined ? 0 : 1,
    terminateMs: Math.min(graceMs, given("terminate-after") ?? varied(delays.terminateMs)),
  }
}
