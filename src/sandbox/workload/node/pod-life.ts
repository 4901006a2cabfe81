/**
 * The life of a Pod on a node as a pure function of time: what a kubelet would report now, when it reports next, and
 * its Events.
 *
 * Created → (init containers done) running → ready → ended, and restarted after a growing pause, or finished; or asked
 * to terminate → terminated → removed. All containers of a Pod go through this together.
 */

import type { Pod } from "../../../kube/client/objects.ts"
import { isFinished } from "../pod-facts.ts"
import type { PodPlan } from "./delays.ts"

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

export interface PodEvent {
  readonly reason: "Pulled" | "Created" | "Started" | "Killing" | "BackOff"
}

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
export const advance = (pod: Pod, plan: PodPlan, run: PodRun, nowMs: number): Step => {
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
    events: [{ reason: "Pulled" }, { reason: "Created" }, { reason: "Started" }],
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
  const events: ReadonlyArray<PodEvent> = isRestarted && run.restarts > 0 ? [{ reason: "BackOff" }] : []
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
      return { atMs: nowMs, becomes: { stage: "stopping" }, events: [{ reason: "Killing" }] }
    default:
      // Nothing runs, so there is nothing to wait for, and ended containers keep their exit code.
      return { atMs: nowMs, becomes: { stage: "stopped" }, events: [] }
  }
}
