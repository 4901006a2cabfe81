/** The rows of workloads: apps, batch, autoscaling, policy and the core group's ReplicationController. */

import { type LabelSelectorObject, selectorText } from "../../../kube/label-selector.ts"
import { list, member, number, scalar, text } from "../../kinds/json-member.ts"
import { ageOf, humanDuration, since } from "./age.ts"
import type { Cells } from "./printer.ts"
import { containerCells, formatLabels, formatSelector, hasCondition } from "./selector-text.ts"

const nameOf = (object: unknown): string => text(object, "metadata", "name")
const template = (object: unknown): unknown => member(object, "spec", "template", "spec")

export const deploymentCells: Cells = (object, now) => [
  nameOf(object),
  `${number(object, "status", "readyReplicas")}/${number(object, "spec", "replicas")}`,
  number(object, "status", "updatedReplicas"),
  number(object, "status", "availableReplicas"),
  ageOf(object, now),
  ...containerCells(template(object)),
  selectorText((member(object, "spec", "selector") ?? undefined) as LabelSelectorObject | undefined) ?? "<invalid>",
]

const replicaCells: Cells = (object, now) => [
  nameOf(object),
  number(object, "spec", "replicas"),
  number(object, "status", "replicas"),
  number(object, "status", "readyReplicas"),
  ageOf(object, now),
  ...containerCells(template(object)),
]

export const replicaSetCells: Cells = (object, now) => [
  ...replicaCells(object, now),
  formatSelector(member(object, "spec", "selector")),
]

/** Its selector is a plain set of labels. */
export const replicationControllerCells: Cells = (object, now) => [
  ...replicaCells(object, now),
  formatLabels(member(object, "spec", "selector")),
]

export const statefulSetCells: Cells = (object, now) => [
  nameOf(object),
  `${number(object, "status", "readyReplicas")}/${number(object, "spec", "replicas")}`,
  ageOf(object, now),
  ...containerCells(template(object)),
]

export const daemonSetCells: Cells = (object, now) => [
  nameOf(object),
  number(object, "status", "desiredNumberScheduled"),
  number(object, "status", "currentNumberScheduled"),
  number(object, "status", "numberReady"),
  number(object, "status", "updatedNumberScheduled"),
  number(object, "status", "numberAvailable"),
  formatLabels(member(object, "spec", "template", "spec", "nodeSelector")),
  ageOf(object, now),
  ...containerCells(template(object)),
  formatSelector(member(object, "spec", "selector")),
]

export const controllerRevisionCells: Cells = (object, now) => {
  const owner = list(object, "metadata", "ownerReferences").find(
    (candidate) => member(candidate, "controller") === true,
  )
  const [group = ""] = text(owner, "apiVersion").split("/")
  const kind = text(owner, "apiVersion").includes("/") ? `${text(owner, "kind")}.${group}` : text(owner, "kind")
  return [
    nameOf(object),
    owner === undefined ? "<none>" : `${kind.toLowerCase()}/${text(owner, "name")}`,
    number(object, "revision"),
    ageOf(object, now),
  ]
}

export const jobCells: Cells = (object, now) => [
  nameOf(object),
  jobStatus(object),
  jobCompletions(object),
  jobDuration(object, now),
  ageOf(object, now),
  ...containerCells(template(object)),
  formatSelector(member(object, "spec", "selector")),
]

const jobStatus = (job: unknown): string => {
  if (hasCondition(job, "Complete")) return "Complete"
  if (hasCondition(job, "Failed")) return "Failed"
  if (member(job, "metadata", "deletionTimestamp") !== undefined) return "Terminating"
  for (const type of ["Suspended", "FailureTarget", "SuccessCriteriaMet"]) if (hasCondition(job, type)) return type
  return "Running"
}

const jobCompletions = (job: unknown): string => {
  const succeeded = number(job, "status", "succeeded")
  const wanted = member(job, "spec", "completions")
  if (wanted !== undefined) return `${succeeded}/${String(wanted)}`
  const parallelism = number(job, "spec", "parallelism")
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`
}

const jobDuration = (job: unknown, now: number): string => {
  const start = Date.parse(text(job, "status", "startTime"))
  if (Number.isNaN(start)) return ""
  const end = Date.parse(text(job, "status", "completionTime"))
  return humanDuration((Number.isNaN(end) ? now : end) - start)
}

export const cronJobCells: Cells = (object, now) => {
  const lastSchedule = member(object, "status", "lastScheduleTime")
  const suspend = member(object, "spec", "suspend")
  return [
    nameOf(object),
    text(object, "spec", "schedule"),
    scalar(object, "spec", "timeZone") ?? "<none>",
    typeof suspend === "boolean" ? (suspend ? "True" : "False") : "<unset>",
    list(object, "status", "active").length,
    lastSchedule === undefined ? "<none>" : since(lastSchedule, now),
    ageOf(object, now),
    ...containerCells(member(object, "spec", "jobTemplate", "spec", "template", "spec")),
    formatSelector(member(object, "spec", "jobTemplate", "spec", "selector")),
  ]
}

export const podDisruptionBudgetCells: Cells = (object, now) => [
  nameOf(object),
  scalar(object, "spec", "minAvailable") ?? "N/A",
  scalar(object, "spec", "maxUnavailable") ?? "N/A",
  number(object, "status", "disruptionsAllowed"),
  ageOf(object, now),
]

export const horizontalPodAutoscalerCells: Cells = (object, now) => [
  nameOf(object),
  `${text(object, "spec", "scaleTargetRef", "kind")}/${text(object, "spec", "scaleTargetRef", "name")}`,
  metricsText(list(object, "spec", "metrics"), list(object, "status", "currentMetrics")),
  scalar(object, "spec", "minReplicas") ?? "<unset>",
  number(object, "spec", "maxReplicas"),
  number(object, "status", "currentReplicas"),
  ageOf(object, now),
]

/** The number of metrics that are listed one by one. */
const shownMetrics = 2

const metricsText = (specs: ReadonlyArray<unknown>, statuses: ReadonlyArray<unknown>): string => {
  if (specs.length === 0) return "<none>"
  const shown = specs.slice(0, shownMetrics).map((spec, index) => metricText(spec, statuses[index]))
  const more = specs.length - shownMetrics
  return more > 0 ? `${shown.join(", ")} + ${more} more...` : shown.join(", ")
}

/** The member of each type of metric; all but the two resource types show a plain value. */
const metricMembers: Readonly<Record<string, string>> = {
  External: "external",
  Object: "object",
  Pods: "pods",
  Resource: "resource",
  ContainerResource: "containerResource",
}

const metricText = (spec: unknown, status: unknown): string => {
  const type = text(spec, "type")
  const key = Object.hasOwn(metricMembers, type) ? metricMembers[type] : undefined
  if (key === undefined) return "<unknown type>"
  const target = member(spec, key, "target")
  const current = member(status, key, "current")
  const average = scalar(target, "averageValue")
  const currentAverage = scalar(current, "averageValue")
  if (type === "Pods") return `${currentAverage ?? unknown(current)}/${average ?? "0"}`
  if (type === "External" || type === "Object") {
    if (average !== undefined) return `${currentAverage ?? "<unknown>"}/${average} (avg)`
    return `${scalar(current, "value") ?? unknown(current)}/${scalar(target, "value") ?? "<nil>"}`
  }
  const name = text(spec, key, "name")
  if (average !== undefined) return `${name}: ${currentAverage ?? unknown(current)}/${average}`
  return `${name}: ${percent(current) ?? "<unknown>"}/${percent(target) ?? "<auto>"}`
}

/** A status without the value prints Go's absent quantity; no status at all prints `<unknown>`. */
const unknown = (current: unknown): string => (current === undefined ? "<unknown>" : "<nil>")

const percent = (value: unknown): string | undefined => {
  const found = scalar(value, "averageUtilization")
  return found === undefined ? undefined : `${found}%`
}

export const podTemplateCells: Cells = (object) => [
  nameOf(object),
  ...containerCells(member(object, "template", "spec")),
  formatLabels(member(object, "template", "metadata", "labels")),
]

export const scaleCells: Cells = (object, now) => [
  nameOf(object),
  number(object, "spec", "replicas"),
  number(object, "status", "replicas"),
  ageOf(object, now),
]
