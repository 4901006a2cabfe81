/**
 * How an object is, judged by its status alone, so that a reader need not parse the rest: which tone its row has, what is wrong with it, and the rows
 * below it.
 *
 * Total for values of any structure: what is not as Kubernetes writes it counts as absent.
 */

import { conditionsOf, conditionTone, groupAndKind, statusOfCondition, wrongIn } from "./conditions.ts"
import { containersIn, type Wrong } from "./containers.ts"
import type { FindingCode } from "./finding.ts"
import { integerIn, type Members, membersIn, textIn } from "./json.ts"
import type { Part } from "./lane.ts"
import { type Tone, tones } from "./tile.ts"

/** How an object is. */
export interface Health {
  readonly tone: Tone
  /** What is wrong; with a tone that is not bad, it is wrong only if it lasts. */
  readonly wrong?: Wrong
  /** Of all containers together; only of pods. */
  readonly restarts?: number
  /** How a run of a container failed before the present one. */
  readonly failedBefore?: Wrong
}

/** A row below an object. */
export interface PartHealth {
  readonly part: Part
  readonly tone: Tone
  /** `Waiting: CrashLoopBackOff`, `True`. */
  readonly text: string
}

/** What the scheduler says of a pod for which it finds no node. */
export const UNSCHEDULABLE = "Unschedulable"

/** Whether a pod's condition says that: `status.reason` comes from the kubelet of a node, and such a pod has none. */
export const isUnschedulable = (condition: unknown): boolean =>
  textIn(condition, "type") === "PodScheduled" && textIn(condition, "reason") === UNSCHEDULABLE

/** What a pod that is deleted looks like while it ends. */
const endingCodes: ReadonlySet<FindingCode | undefined> = new Set(["failed-pod", "crash-loop"])

type Judge = (status: Members | undefined, conditions: ReadonlyArray<Members>) => Health

/** How the object is whose kind is `gvk`. Of an object whose kind says nothing of how it is: plain. */
export const healthOf = (gvk: string, object: unknown): Health => {
  const kind = groupAndKind(gvk)
  if (plainKinds.has(kind)) return { tone: tones.plain }
  const status = membersIn(object, "status")
  const conditions = conditionsOf(object)
  const wrong = wrongIn(kind, conditions)
  const judge = Object.hasOwn(judges, kind) ? judges[kind] : undefined
  const health: Health = wrong === undefined ? (judge ?? byConditions)(status, conditions) : { tone: tones.bad, wrong }
  const isGoing = textIn(membersIn(object, "metadata"), "deletionTimestamp") !== undefined
  // Its processes were ended by a signal, and many programs then end with an error.
  if (isGoing && kind === "Pod" && endingCodes.has(health.wrong?.code))
    return { tone: tones.waiting, restarts: health.restarts ?? 0 }
  return isGoing && health.tone !== tones.bad && health.tone !== tones.over
    ? { ...health, tone: tones.waiting }
    : health
}

/** Whether anything can be found wrong with objects of a kind. */
export const canBeWrong = (gvk: string): boolean => findable.has(groupAndKind(gvk))

/** Whether all objects of a kind are plain, so that they need not be read. */
export const isAlwaysPlain = (gvk: string): boolean => plainKinds.has(groupAndKind(gvk))

/** The conditions of an object, and the containers of a pod, in its own order. */
export const partsOf = (gvk: string, object: unknown): ReadonlyArray<PartHealth> => {
  const kind = groupAndKind(gvk)
  const parts: PartHealth[] = []
  const seen = new Set<string>()
  for (const condition of conditionsOf(object)) {
    const [type, status] = [textIn(condition, "type"), textIn(condition, "status")]
    if (type === undefined || status === undefined || seen.has(type)) continue
    seen.add(type)
    const reason = textIn(condition, "reason")
    const text = reason === undefined ? status : `${status} (${reason})`
    parts.push({ part: { id: `condition/${type}`, label: type }, tone: conditionTone(kind, type, status), text })
  }
  if (kind !== "Pod") return parts
  for (const { kind: sort, name, tone, text } of containersIn(membersIn(object, "status")))
    parts.push({ part: { id: `${sort}/${name}`, label: name }, tone, text })
  return parts
}

const podHealth: Judge = (status, conditions) => {
  const phase = textIn(status, "phase")
  // A debugger that has ended says nothing of the pod, and stays in its status.
  const containers = containersIn(status).filter((each) => each.kind !== "ephemeral container")
  const restarts = containers.reduce((sum, each) => sum + each.restarts, 0)
  const failedBefore = containers.find((each) => each.failedBefore !== undefined)?.failedBefore
  const facts = { restarts, ...(failedBefore && { failedBefore }) }
  if (phase === "Succeeded") return { tone: tones.over, ...facts }
  const wrong = containers.find((each) => each.wrong !== undefined)?.wrong
  if (phase === "Failed") {
    const message = textIn(status, "message") ?? wrong?.message ?? textIn(status, "reason") ?? ""
    return {
      tone: tones.bad,
      wrong: { code: wrong?.code === "out-of-memory" ? wrong.code : "failed-pod", message },
      ...facts,
    }
  }
  if (wrong !== undefined) return { tone: tones.bad, wrong, ...facts }
  const blocked = phase === "Pending" ? conditions.find(isUnschedulable) : undefined
  if (blocked !== undefined) {
    const message = textIn(blocked, "message") ?? ""
    return { tone: tones.bad, wrong: { code: "unscheduled-pod", message }, ...facts }
  }
  if (phase === undefined) return { tone: tones.plain, ...facts }
  const isReady = statusOfCondition(conditions, "Ready") === "True"
  return { tone: phase === "Running" && isReady ? tones.good : tones.waiting, ...facts }
}

const jobHealth: Judge = (status, conditions) => {
  if (statusOfCondition(conditions, "Complete") === "True") return { tone: tones.over }
  return {
    tone: (integerIn(status, "active") ?? 0) > 0 ? tones.good : status === undefined ? tones.plain : tones.waiting,
  }
}

/** `missing` of `wanted` are not available. It is part of every roll-out, so it is wrong only if it lasts. */
const replicaHealth = (wanted: number, missing: number): Health =>
  missing <= 0
    ? { tone: tones.good }
    : { tone: tones.waiting, wrong: { code: "replicas-missing", message: `${missing} of ${wanted} are not available` } }

const deploymentHealth: Judge = (status, conditions) => {
  if (status === undefined) return { tone: tones.plain }
  const missing = integerIn(status, "unavailableReplicas") ?? 0
  const health = replicaHealth(missing + (integerIn(status, "availableReplicas") ?? 0), missing)
  const isRolledOut = conditions.some(
    (each) => textIn(each, "type") === "Progressing" && textIn(each, "reason") === "NewReplicaSetAvailable",
  )
  const isDown = isRolledOut && statusOfCondition(conditions, "Available") === "False"
  return isDown ? { ...health, tone: tones.bad } : health
}

/** Of StatefulSets and ReplicaSets: availability is newer than readiness, and absent where it is 0. */
const setHealth: Judge = (status) => {
  const wanted = integerIn(status, "replicas")
  if (wanted === undefined) return { tone: tones.plain }
  const available = Math.max(integerIn(status, "availableReplicas") ?? 0, integerIn(status, "readyReplicas") ?? 0)
  return replicaHealth(wanted, wanted - available)
}

const daemonSetHealth: Judge = (status) => {
  const wanted = integerIn(status, "desiredNumberScheduled")
  if (wanted === undefined) return { tone: tones.plain }
  return replicaHealth(wanted, wanted - (integerIn(status, "numberAvailable") ?? 0))
}

/** By what `status.phase` says. */
const phaseHealth =
  (phases: Readonly<Record<string, Tone>>): Judge =>
  (status) => {
    const phase = textIn(status, "phase") ?? ""
    return { tone: Object.hasOwn(phases, phase) ? (phases[phase] ?? tones.plain) : tones.plain }
  }

/** Any kind: by its conditions Ready and Available. */
const byConditions: Judge = (_, conditions) => {
  const found = ["Ready", "Available"].map((type) => statusOfCondition(conditions, type))
  if (found.includes("False")) return { tone: tones.bad }
  if (found.includes("Unknown")) return { tone: tones.waiting }
  return { tone: found.includes("True") ? tones.good : tones.plain }
}

const judges: Readonly<Record<string, Judge>> = {
  Pod: podHealth,
  "batch/Job": jobHealth,
  "apps/Deployment": deploymentHealth,
  "apps/StatefulSet": setHealth,
  "apps/ReplicaSet": setHealth,
  "apps/DaemonSet": daemonSetHealth,
  PersistentVolumeClaim: phaseHealth({ Pending: tones.waiting, Bound: tones.good, Lost: tones.bad }),
  PersistentVolume: phaseHealth({ Bound: tones.good, Released: tones.waiting, Failed: tones.bad }),
  Namespace: phaseHealth({ Active: tones.good, Terminating: tones.waiting }),
}

const findable = new Set([
  ...["Pod", "Node", "batch/Job"],
  ...["apps/Deployment", "apps/StatefulSet", "apps/ReplicaSet", "apps/DaemonSet"],
])

/** Kinds of Kubernetes without a status that says how they are; there are many objects of them, which then need not be read. */
const plainKinds = new Set([
  ...["ConfigMap", "Secret", "ServiceAccount", "Event", "events.k8s.io/Event", "Endpoints", "LimitRange"],
  ...["discovery.k8s.io/EndpointSlice", "coordination.k8s.io/Lease", "apps/ControllerRevision"],
  ...["rbac.authorization.k8s.io/Role", "rbac.authorization.k8s.io/RoleBinding"],
  ...["rbac.authorization.k8s.io/ClusterRole", "rbac.authorization.k8s.io/ClusterRoleBinding"],
])
