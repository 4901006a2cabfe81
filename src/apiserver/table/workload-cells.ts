/** Cells of the rows of workloads: revisions, Jobs, CronJobs and autoscalers (kubernetes/pkg/printers/internalversion, 1.34.4). */
import { list, member, number as numberIn, scalar as scalarIn, text as textIn } from "../kinds/json-member.ts"
import { type Column, hasCondition, humanDuration, since } from "./columns.ts"

export const revisionOwner: Column = (revision) => {
  const owner = list(revision, "metadata", "ownerReferences").find(
    (candidate) => member(candidate, "controller") === true,
  )
  const version = textIn(owner, "apiVersion")
  const kind = version.includes("/") ? `${textIn(owner, "kind")}.${version.split("/")[0]}` : textIn(owner, "kind")
  return owner === undefined ? "<none>" : `${kind.toLowerCase()}/${textIn(owner, "name")}`
}

export const jobStatus: Column = (job) => {
  if (hasCondition(job, "Complete")) return "Complete"
  if (hasCondition(job, "Failed")) return "Failed"
  if (member(job, "metadata", "deletionTimestamp") !== undefined) return "Terminating"
  for (const type of ["Suspended", "FailureTarget", "SuccessCriteriaMet"]) if (hasCondition(job, type)) return type
  return "Running"
}

export const jobCompletions: Column = (job) => {
  const succeeded = numberIn(job, "status", "succeeded")
  const wanted = member(job, "spec", "completions")
  if (wanted !== undefined) return `${succeeded}/${String(wanted)}`
  const parallelism = numberIn(job, "spec", "parallelism")
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`
}

export const jobDuration: Column = (job, now) => {
  const start = Date.parse(textIn(job, "status", "startTime"))
  if (Number.isNaN(start)) return ""
  const end = Date.parse(textIn(job, "status", "completionTime"))
  return humanDuration((Number.isNaN(end) ? now : end) - start)
}

export const suspended: Column = (cronJob) => {
  const suspend = member(cronJob, "spec", "suspend")
  return typeof suspend === "boolean" ? (suspend ? "True" : "False") : "<unset>"
}

export const lastSchedule: Column = (cronJob, now) => {
  const time = member(cronJob, "status", "lastScheduleTime")
  return time === undefined ? "<none>" : since(time, now)
}

export const scaleTarget: Column = (autoscaler) =>
  `${textIn(autoscaler, "spec", "scaleTargetRef", "kind")}/${textIn(autoscaler, "spec", "scaleTargetRef", "name")}`

/** Two are listed one by one. */
export const metrics: Column = (autoscaler) => {
  const specs = list(autoscaler, "spec", "metrics")
  const states = list(autoscaler, "status", "currentMetrics")
  if (specs.length === 0) return "<none>"
  const shown = specs.slice(0, 2).map((spec, index) => metricText(spec, states[index]))
  const more = specs.length - 2
  return more > 0 ? `${shown.join(", ")} + ${more} more...` : shown.join(", ")
}

/** The member of each type of metric; all but the two resource types show a plain value. */
const metricMembers = new Map([
  ["External", "external"],
  ["Object", "object"],
  ["Pods", "pods"],
  ["Resource", "resource"],
  ["ContainerResource", "containerResource"],
])

const metricText = (spec: unknown, state: unknown): string => {
  const type = textIn(spec, "type")
  const key = metricMembers.get(type)
  if (key === undefined) return "<unknown type>"
  const target = member(spec, key, "target")
  const current = member(state, key, "current")
  const average = scalarIn(target, "averageValue")
  const currentAverage = scalarIn(current, "averageValue")
  if (type === "Pods") return `${currentAverage ?? unknown(current)}/${average ?? "0"}`
  if (type === "External" || type === "Object") {
    if (average !== undefined) return `${currentAverage ?? "<unknown>"}/${average} (avg)`
    return `${scalarIn(current, "value") ?? unknown(current)}/${scalarIn(target, "value") ?? "<nil>"}`
  }
  const resource = textIn(spec, key, "name")
  if (average !== undefined) return `${resource}: ${currentAverage ?? unknown(current)}/${average}`
  return `${resource}: ${percent(current) ?? "<unknown>"}/${percent(target) ?? "<auto>"}`
}

/** A status without the value prints Go's absent quantity; no status at all prints `<unknown>`. */
const unknown = (current: unknown): string => (current === undefined ? "<unknown>" : "<nil>")

const percent = (value: unknown): string | undefined => {
  const found = scalarIn(value, "averageUtilization")
  return found === undefined ? undefined : `${found}%`
}
