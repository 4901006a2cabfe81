/** The `status` that a kubelet writes for a Pod at the stage of a {@link PodRun}. */
import type { Condition, Container, ContainerState, ContainerStatus, Pod, PodStatus } from "../../../kube/index.ts"
import { fnv32a } from "../pods/controller-revisions.ts"
import { conditionOf } from "../pods/pods.ts"
import type { PodRun } from "./pod-runner.ts"

/** RFC 3339 with whole seconds. */
const at = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`

/** The members of the status that a kubelet owns. `hostIP`: the node's. */
export const podStatus = (pod: Pod, run: PodRun, hostIP: string): PodStatus => {
  const { containers, initContainers = [] } = pod.spec
  const known = pod.status ?? {}
  const names = containers.map(({ name }) => name).join(" ")
  const isReady =
    run.stage === "ready" || (run.stage === "stopping" && conditionOf(known.conditions, "Ready")?.status === "True")
  const phase = phaseOf(run)
  const condition = (
    type: string,
    isTrue: boolean,
    sinceMs: number,
    why?: { reason: string; message?: string },
  ): Condition => {
    const status = isTrue ? "True" : "False"
    const before = conditionOf(known.conditions, type)
    const lastTransitionTime =
      before?.status === status && before.lastTransitionTime ? before.lastTransitionTime : at(sinceMs)
    return { type, status, lastProbeTime: null, lastTransitionTime, ...why }
  }
  const isInitialized = run.stage !== "creating" || initContainers.length === 0
  const unready =
    phase === "Succeeded"
      ? { reason: "PodCompleted" }
      : phase === "Failed"
        ? { reason: "PodFailed" }
        : { reason: "ContainersNotReady", message: `containers with unready status: [${names}]` }
  const notInitialized = {
    reason: "ContainersNotInitialized",
    message: `containers with incomplete status: [${initContainers.map(({ name }) => name).join(" ")}]`,
  }
  const lastMs = Math.max(run.sinceMs, run.startedMs)
  const scheduled = conditionOf(known.conditions, "PodScheduled")
  return {
    phase,
    conditions: [
      condition("PodReadyToStartContainers", run.stage !== "creating" && !isOver(run), lastMs),
      condition(
        "Initialized",
        isInitialized,
        lastMs,
        isInitialized ? (phase === "Succeeded" ? { reason: "PodCompleted" } : undefined) : notInitialized,
      ),
      condition("Ready", isReady, lastMs, isReady ? undefined : unready),
      condition("ContainersReady", isReady, lastMs, isReady ? undefined : unready),
      ...(scheduled === undefined ? [] : [scheduled]),
    ],
    hostIP,
    hostIPs: [{ ip: hostIP }],
    startTime: known.startTime ?? at(run.sinceMs),
    ...(run.startedMs === 0 ? {} : { podIP: run.podIP, podIPs: [{ ip: run.podIP }] }),
    ...(initContainers.length === 0
      ? {}
      : { initContainerStatuses: initContainers.map((container) => initStatus(pod, container, run)) }),
    containerStatuses: containers.map((container) => containerStatus(pod, container, run, isReady)),
  }
}

const isOver = ({ stage }: PodRun): boolean => stage === "finished" || stage === "stopped"

const phaseOf = (run: PodRun): string => {
  if (isOver(run)) return run.exitCode === 0 ? "Succeeded" : "Failed"
  return run.stage === "creating" ? "Pending" : "Running"
}

const terminated = (pod: Pod, container: Container, run: PodRun): ContainerState => ({
  terminated: {
    exitCode: run.exitCode,
    reason: run.exitCode === 0 ? "Completed" : "Error",
    ...(run.message !== undefined && { message: run.message }),
    startedAt: at(run.startedMs),
    finishedAt: at(run.endedMs),
    containerID: containerId(pod, container, run.restarts),
  },
})

const containerStatus = (pod: Pod, container: Container, run: PodRun, ready: boolean): ContainerStatus => {
  const before = pod.status?.containerStatuses?.find(({ name }) => name === container.name)
  const isEnded = isOver(run) || run.stage === "waiting"
  const isInBackOff = run.stage === "waiting" && run.restarts > 0
  const state: ContainerState =
    run.startedMs === 0
      ? { waiting: { reason: (pod.spec.initContainers?.length ?? 0) > 0 ? "PodInitializing" : "ContainerCreating" } }
      : isInBackOff
        ? { waiting: { reason: "CrashLoopBackOff", message: backOffMessage(pod, container, run) } }
        : isEnded
          ? terminated(pod, container, run)
          : { running: { startedAt: at(run.startedMs) } }
  // A restarted container keeps its previous end in `lastState`.
  const ended = before?.state.terminated
  const wasRestarted = before !== undefined && ended !== undefined && run.restarts > before.restartCount
  const lastState = isInBackOff
    ? terminated(pod, container, run)
    : wasRestarted
      ? { terminated: ended }
      : (before?.lastState ?? {})
  return {
    name: container.name,
    state,
    lastState,
    ready,
    restartCount: run.restarts,
    image: container.image ?? "",
    imageID: "",
    ...(run.startedMs === 0 ? {} : { containerID: containerId(pod, container, run.restarts) }),
    started: !isEnded && run.startedMs !== 0,
  }
}

/** As soon as the Pod starts, init containers have ended and sidecars run. */
const initStatus = (pod: Pod, container: Container, run: PodRun): ContainerStatus => {
  const isSidecar = container.restartPolicy === "Always"
  const time = at(run.startedMs)
  const state: ContainerState =
    run.startedMs === 0
      ? { waiting: { reason: "PodInitializing" } }
      : isSidecar && !isOver(run)
        ? { running: { startedAt: time } }
        : {
            terminated: {
              exitCode: 0,
              reason: "Completed",
              startedAt: time,
              finishedAt: isSidecar ? at(run.endedMs) : time,
            },
          }
  return {
    name: container.name,
    // Init containers run once, however often the others are restarted.
    state:
      pod.status?.initContainerStatuses?.find(({ name }) => name === container.name)?.state.terminated === undefined
        ? state
        : (pod.status.initContainerStatuses.find(({ name }) => name === container.name)?.state ?? state),
    lastState: {},
    ready: run.startedMs !== 0,
    restartCount: 0,
    image: container.image ?? "",
    imageID: "",
    started: isSidecar && !isOver(run) && run.startedMs !== 0,
  }
}

const backOffMessage = (pod: Pod, container: Container, run: PodRun): string => {
  const seconds = Math.min(300, 10 * 2 ** (run.restarts - 1))
  const pause = seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`
  const { name, namespace, uid } = pod.metadata
  return `back-off ${pause} restarting failed container=${container.name} pod=${name}_${namespace}(${uid})`
}

/** Stable for one start, and different for each start. */
const containerId = (pod: Pod, container: Container, restarts: number): string => {
  const seed = `${pod.metadata.uid}/${container.name}/${restarts}`
  const words = Array.from({ length: 8 }, (_, index) =>
    fnv32a(Buffer.from(`${seed}/${index}`))
      .toString(16)
      .padStart(8, "0"),
  )
  return `sandbox://${words.join("")}`
}
