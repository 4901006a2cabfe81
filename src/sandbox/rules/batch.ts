/** Jobs and CronJobs: the selector that a Job generates for itself, and validation of their specs and of a Job's status. */

import { parseSchedule } from "../../kube/index.ts"
import { type Complaints, subdomainComplaints } from "../../kube/offline.ts"
import { child, ensured, isAbsent, isSame, items, number, text } from "./fields.ts"
import type { CheckChange, Fields, Kind, MutableObject } from "./kind-rules.ts"
import { isUsable, matches } from "./metadata.ts"
import { templateLabels } from "./pods.ts"
import type { Check, Place, RulesByType } from "./type-rules.ts"
import { borrowLabels, fillTemplateLabels, matching, statusCheck } from "./workloads.ts"

const uidLabel = "batch.kubernetes.io/controller-uid"
/** Each label twice: before 1.27 Kubernetes wrote them without a prefix, and it still writes both. */
const uidLabels = ["controller-uid", uidLabel]
const nameLabels = ["job-name", "batch.kubernetes.io/job-name"]

/** A Job selects its pods by its uid unless `manualSelector` leaves that to the client. */
const selectOwnPods = (object: MutableObject): void => {
  const spec = ensured(object, "spec")
  if (spec.manualSelector === true) return
  const metadata = ensured(ensured(spec, "template"), "metadata")
  const shared = metadata.labels !== undefined && metadata.labels === object.metadata.labels
  const labels = ensured(metadata, "labels")
  const { name, uid } = object.metadata
  for (const key of nameLabels) labels[key] ??= name
  for (const key of uidLabels) labels[key] ??= uid
  // The server's default makes the Job's labels and its template's one map, so they are added to both.
  if (shared) object.metadata.labels = labels
  ensured(ensured(spec, "selector"), "matchLabels")[uidLabel] ??= uid
}

/** Of a Job only: the Job in a CronJob is a template, which gets the defaults of its pods. */
const deriveJob = (job: Fields): void => {
  const spec = ensured(job, "spec")
  spec.completionMode ??= "NonIndexed"
  spec.suspend ??= false
  spec.manualSelector ??= false
  if (isAbsent(spec.completions) && isAbsent(spec.parallelism)) spec.completions = 1
  spec.parallelism ??= 1
  spec.backoffLimit ??= isAbsent(spec.backoffLimitPerIndex) ? 6 : 2_147_483_647
  spec.podReplacementPolicy ??= isAbsent(spec.podFailurePolicy) ? "TerminatingOrFailed" : "Failed"
  borrowLabels(job)
}

const checkIndexing: Check = (_value, at, { completionMode, completions }) => {
  if (completionMode === "Indexed" && isAbsent(completions))
    at.at("completions").required("when completion mode is Indexed")
}

const checkEnding: Check = (_value, at, spec) => {
  const restart = text(child(child(spec, "template"), "spec"), "restartPolicy")
  const place = at.at("template", "spec", "restartPolicy")
  if (restart === "" || restart === "Always") place.required('valid values: "OnFailure", "Never"')
  else if (restart !== "OnFailure" && restart !== "Never") place.notSupported(restart, ["OnFailure", "Never"])
}

/** Of a Job whose selector is its own: the labels that it generates, and a selector that matches them. */
const checkGeneratedSelector = (object: MutableObject, root: Place): void => {
  const spec = child(object, "spec")
  const selector = child(spec, "selector")
  if (spec?.manualSelector === true || selector === undefined) return
  const labels = templateLabels(child(spec, "template"))
  const { name, uid } = object.metadata
  const expected = Object.fromEntries([
    ...uidLabels.map((key) => [key, uid] as const),
    ...nameLabels.map((key) => [key, name] as const),
  ])
  const place = root.at("spec", "template", "metadata", "labels")
  for (const [key, value] of Object.entries(expected)) {
    const detail = `must be '${String(value)}'`
    if (labels?.[key] === undefined) place.required(detail)
    else if (labels[key] !== value) place.invalid(labels, detail)
  }
  if (isUsable(selector) && !matches(selector, expected))
    root.at("spec", "selector").invalid(selector, "`selector` not auto-generated")
}

/** What a Job's spec must say itself, and a CronJob's template may not. */
const checkJob = (object: MutableObject, root: Place): void => {
  checkGeneratedSelector(object, root)
  const spec = child(object, "spec") ?? {}
  const selector = child(spec, "selector")
  const at = root.at("spec")
  if (selector === undefined) at.at("selector").required()
  matching(selector, spec, at)
}

const checkSchedule: Check = (schedule, at) => {
  if (typeof schedule !== "string" || schedule === "") return
  const parsed = parseSchedule(schedule)
  if ("problem" in parsed) at.invalid(schedule, parsed.problem)
}

const isTimeZone = (name: string): boolean => {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name })
    return true
  } catch (_unknown) {
    return false
  }
}

const checkTimeZone: Check = (zone, at) => {
  if (typeof zone !== "string") return
  if (zone === "") at.invalid(zone, "must be nil or non-empty string")
  else if (!isTimeZone(zone)) at.invalid(zone, `unknown time zone ${zone}`)
}

export const types: RulesByType = {
  "batch/v1.Job": { derive: deriveJob },
  "batch/v1.JobSpec": { checks: { self: [checkIndexing, checkEnding] } },
  "batch/v1.CronJobSpec": {
    checks: { schedule: checkSchedule, timeZone: checkTimeZone },
  },
}

/** The scheduling fields that may change in the template of a Job that has not started. */
const placement = new Set(["affinity", "nodeSelector", "tolerations", "schedulingGates"])

const checkJobChange: CheckChange = (object, old, root) => {
  const [spec, before] = [child(object, "spec") ?? {}, child(old, "spec") ?? {}]
  checkJob(object, root)
  const isElastic = [spec, before].every(
    ({ completionMode, completions, parallelism }) => completionMode === "Indexed" && completions === parallelism,
  )
  if (!isElastic && !isSame(spec.completions, before.completions))
    root.at("spec", "completions").immutable(spec.completions)
  const isWaiting = before.suspend === true && isAbsent(child(old, "status")?.startTime)
  if (!isSame(fixedTemplate(spec, isWaiting), fixedTemplate(before, isWaiting)))
    root.at("spec", "template").immutable(spec.template)
}

const fixedTemplate = (jobSpec: Fields, isPlaceable: boolean): unknown => {
  const spec = child(child(jobSpec, "template"), "spec")
  return isPlaceable && spec !== undefined
    ? Object.entries(spec)
        .filter(([key]) => !placement.has(key))
        .sort(([left], [right]) => (left < right ? -1 : 1))
    : jobSpec.template
}

const checkCounters = statusCheck()

const holds = (status: Fields, type: string): boolean =>
  items(status, "conditions").some((condition) => condition.type === type && condition.status === "True")

/** As its controller would write it. Does not check completedIndexes, uncountedTerminatedPods and what follows from them. */
const checkJobStatus: CheckChange = (object, old, root) => {
  checkCounters(object, old, root)
  const [status, before] = [child(object, "status") ?? {}, child(old, "status") ?? {}]
  const at = root.at("status")
  const [isComplete, count] = [holds(status, "Complete"), (key: string): number => number(status, key) ?? 0]
  if (isComplete && isAbsent(status.completionTime))
    at.at("completionTime").required("completionTime is required for Complete jobs")
  if (!isComplete && !isAbsent(status.completionTime)) {
    const problem = "cannot set completionTime when there is no Complete=True condition"
    at.at("completionTime").invalid(status.completionTime, problem)
  }
  if (isComplete || holds(status, "Failed")) {
    if (isAbsent(status.startTime)) at.at("startTime").required("startTime is required for finished job")
    for (const key of ["active", "terminating"])
      if (count(key) > 0) at.at(key).invalid(count(key), `${key}>0 is invalid for finished job`)
  }
  if (count("ready") > count("active")) at.at("ready").invalid(status.ready, "cannot set more ready pods than active")
  for (const key of ["failed", "succeeded"])
    if (count(key) < (number(before, key) ?? 0)) at.at(key).invalid(count(key), `cannot decrease the ${key} counter`)
  const isRestarted = !isAbsent(before.startTime) && before.startTime !== status.startTime
  if (isRestarted && child(object, "spec")?.suspend !== true)
    at.at("startTime").required("startTime cannot be removed for unsuspended job")
}

/** The controller appends a dash and ten digits of a time to make the names of Jobs. */
const cronJobName = (name: string): Complaints => {
  const complaints = subdomainComplaints(name)
  return name.length > 52 ? [...complaints, "must be no more than 52 characters"] : complaints
}

export const kinds: Readonly<Record<string, Kind>> = {
  "batch/Job": {
    prepare: (object, old) => (old === undefined ? selectOwnPods(object) : undefined),
    readBack: fillTemplateLabels,
    checkNew: checkJob,
    checkChange: checkJobChange,
    checkStatus: checkJobStatus,
  },
  "batch/CronJob": { name: cronJobName },
}
