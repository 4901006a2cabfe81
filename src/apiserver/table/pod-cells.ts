/**
 * The row of a Pod. Its status column shows the most important fact of init containers, containers, conditions, phase
 * and deletion; the rules are those of kubernetes/pkg/printers/internalversion of 1.34.4.
 */

import { list, member, number, text } from "../kinds/json-member.ts"
import type { JsonObject } from "../kinds/resources.ts"
import { age, type Cell, since } from "./columns.ts"
import type { RowCondition } from "./printers.ts"

/** Restarts and when the last one ended, as an RFC 3339 timestamp; the empty string for never. */
interface Restarts {
  readonly count: number
  readonly last: string
}

interface Progress {
  readonly reason: string
  readonly ready: number
  readonly restarts: Restarts
}

export const podCells = (pod: JsonObject, now: number): ReadonlyArray<Cell> => {
  const { reason, ready, restarts } = progressOf(pod)
  const sidecars = list(pod, "spec", "initContainers").filter(isSidecar).length
  const total = list(pod, "spec", "containers").length + sidecars
  const again = restarts.count !== 0 && restarts.last !== ""
  return [
    text(pod, "metadata", "name"),
    `${ready}/${total}`,
    endingOf(pod) ?? reason,
    again ? `${restarts.count} (${since(restarts.last, now)} ago)` : String(restarts.count),
    age(pod, now),
    text(list(pod, "status", "podIPs")[0] ?? { ip: member(pod, "status", "podIP") }, "ip") || "<none>",
    text(pod, "spec", "nodeName") || "<none>",
    text(pod, "status", "nominatedNodeName") || "<none>",
    readinessGates(pod),
  ]
}

export const podConditions = (pod: JsonObject): ReadonlyArray<RowCondition> => {
  const phase = text(pod, "status", "phase")
  if (phase !== "Succeeded" && phase !== "Failed") return []
  const message = phase === "Succeeded" ? "The pod has completed successfully." : "The pod failed."
  return [{ type: "Completed", status: "True", reason: phase, message }]
}

const isSidecar = (container: unknown): boolean => text(container, "restartPolicy") === "Always"

const conditionsOf = (pod: JsonObject): ReadonlyArray<unknown> => list(pod, "status", "conditions")

const isTrue = (pod: JsonObject, type: string): boolean =>
  conditionsOf(pod).some((condition) => text(condition, "type") === type && text(condition, "status") === "True")

/** The status of a Pod that is being deleted; `undefined` for any other Pod. */
const endingOf = (pod: JsonObject): string | undefined => {
  if (member(pod, "metadata", "deletionTimestamp") === undefined) return undefined
  if (text(pod, "status", "reason") === "NodeLost") return "Unknown"
  const phase = text(pod, "status", "phase")
  return phase === "Succeeded" || phase === "Failed" ? undefined : "Terminating"
}

const progressOf = (pod: JsonObject): Progress => {
  const gated = conditionsOf(pod).some(
    (condition) => text(condition, "type") === "PodScheduled" && text(condition, "reason") === "SchedulingGated",
  )
  const phase = text(pod, "status", "reason") || text(pod, "status", "phase")
  const initial = initProgress(pod, gated ? "SchedulingGated" : phase)
  if (initial.initializing && !isTrue(pod, "Initialized")) return initial
  return mainProgress(pod, initial)
}

/** Goes up to the first init container that is not done. */
const initProgress = (
  pod: JsonObject,
  reason: string,
): Progress & { readonly initializing: boolean; readonly sidecarRestarts: Restarts } => {
  const specs = list(pod, "spec", "initContainers")
  let ready = 0
  let restarts: Restarts = { count: 0, last: "" }
  let sidecarRestarts = restarts
  for (const [index, status] of list(pod, "status", "initContainerStatuses").entries()) {
    const sidecar = isSidecar(specs.find((spec) => text(spec, "name") === text(status, "name")))
    restarts = withRestarts(restarts, status)
    if (sidecar) sidecarRestarts = withRestarts(sidecarRestarts, status)
    const terminated = member(status, "state", "terminated")
    if (terminated !== undefined && number(terminated, "exitCode") === 0) continue
    if (sidecar && member(status, "started") === true) {
      if (member(status, "ready") === true) ready++
      continue
    }
    const waiting = text(status, "state", "waiting", "reason")
    let blocked = `Init:${index}/${specs.length}`
    if (terminated !== undefined) blocked = `Init:${exitOf(terminated)}`
    else if (waiting !== "" && waiting !== "PodInitializing") blocked = `Init:${waiting}`
    return { reason: blocked, ready, restarts, sidecarRestarts, initializing: true }
  }
  return { reason, ready, restarts, sidecarRestarts, initializing: false }
}

/** Goes from the last container to the first, whose reason wins. */
const mainProgress = (pod: JsonObject, initial: Progress & { readonly sidecarRestarts: Restarts }): Progress => {
  let { reason, ready, sidecarRestarts: restarts } = initial
  let isRunning = false
  for (const status of list(pod, "status", "containerStatuses").toReversed()) {
    restarts = withRestarts(restarts, status)
    const waiting = text(status, "state", "waiting", "reason")
    const terminated = member(status, "state", "terminated")
    if (waiting !== "") reason = waiting
    else if (terminated !== undefined) reason = exitOf(terminated)
    else if (member(status, "ready") === true && member(status, "state", "running") !== undefined) {
      isRunning = true
      ready++
    }
  }
  if (reason === "Completed" && isRunning) reason = isTrue(pod, "Ready") ? "Running" : "NotReady"
  return { reason, ready, restarts }
}

const exitOf = (terminated: unknown): string => {
  const signal = number(terminated, "signal")
  const code = signal === 0 ? `ExitCode:${number(terminated, "exitCode")}` : `Signal:${signal}`
  return text(terminated, "reason") || code
}

const withRestarts = ({ count, last }: Restarts, status: unknown): Restarts => {
  const finished = text(status, "lastState", "terminated", "finishedAt")
  return { count: count + number(status, "restartCount"), last: finished > last ? finished : last }
}

const readinessGates = (pod: JsonObject): string => {
  const gates = list(pod, "spec", "readinessGates")
  if (gates.length === 0) return "<none>"
  const passed = gates.filter((gate) => {
    const type = text(gate, "conditionType")
    const condition = conditionsOf(pod).find((candidate) => text(candidate, "type") === type)
    return text(condition, "status") === "True"
  })
  return `${passed.length}/${gates.length}`
}
