/** Jobs and CronJobs: the selector that a Job generates for itself, and validation of their specs. */

import { type Errors, immutable, invalid, notSupported, required } from "../../../apiserver/answers/field-error.ts"
import { parseSchedule } from "../../../kube/cron-schedule.ts"
import { type Complaints, subdomainComplaints } from "../../../kube/names.ts"
import { child, ensured, isAbsent, isEmptyMap, isSame, items, list, number, text } from "../fields.ts"
import type { Kind } from "../kind.ts"
import type { Fields, MutableObject } from "../kind-rules.ts"
import { checkPodTemplate, templateLabels } from "../pods/pod-validation.ts"
import { checkNotNegative } from "../values/number-validation.ts"
import { checkSelector, isUsable, matches } from "../values/selector-validation.ts"
import { checkJobStatus } from "./job-status.ts"
import { cronJob, job } from "./workload-defaults.ts"

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

const jobNumbers = [
  "parallelism",
  "completions",
  "activeDeadlineSeconds",
  "backoffLimit",
  "ttlSecondsAfterFinished",
  "backoffLimitPerIndex",
  "maxFailedIndexes",
]
const modes = ["NonIndexed", "Indexed"]
const endings = ["OnFailure", "Never"]
const indexedParallelism = 100_000

/** Checks a Job's spec, in a Job and in a CronJob's template. */
const checkSpec = (spec: Fields, field: string, errors: Errors): void => {
  checkNotNegative(spec, jobNumbers, field, errors)
  const mode = spec.completionMode
  if (typeof mode === "string" && !modes.includes(mode))
    errors.push(notSupported(`${field}.completionMode`, mode, modes))
  if (mode === "Indexed") {
    if (isAbsent(spec.completions)) errors.push(required(`${field}.completions`, "when completion mode is Indexed"))
    const parallelism = number(spec, "parallelism") ?? 0
    if (parallelism > indexedParallelism)
      errors.push(
        invalid(
          `${field}.parallelism`,
          parallelism,
          `must be less than or equal to ${indexedParallelism} when completion mode is Indexed`,
        ),
      )
  } else if (isAbsent(mode) || mode === "NonIndexed")
    for (const key of ["backoffLimitPerIndex", "maxFailedIndexes"])
      if (!isAbsent(spec[key])) errors.push(invalid(`${field}.${key}`, spec[key], "requires indexed completion mode"))
  checkFailurePolicy(spec, `${field}.podFailurePolicy.rules`, errors)
  const template = child(spec, "template")
  checkPodTemplate(template, `${field}.template`, errors)
  const place = `${field}.template.spec.restartPolicy`
  const restart = text(child(template, "spec"), "restartPolicy")
  if (restart === "" || restart === "Always") errors.push(required(place, 'valid values: "OnFailure", "Never"'))
  else if (!endings.includes(restart)) errors.push(notSupported(place, restart, endings))
  else if (child(spec, "podFailurePolicy") !== undefined && restart !== "Never")
    errors.push(invalid(place, restart, 'only "Never" is supported when podFailurePolicy is specified'))
}

const actions = ["Count", "FailIndex", "FailJob", "Ignore"]

const checkFailurePolicy = (spec: Fields, field: string, errors: Errors): void => {
  for (const [index, rule] of items(child(spec, "podFailurePolicy"), "rules").entries()) {
    const place = `${field}[${index}]`
    const action = text(rule, "action")
    if (action === "")
      errors.push(required(`${place}.action`, 'valid values: ["Count" "FailIndex" "FailJob" "Ignore"]'))
    else if (!actions.includes(action)) errors.push(notSupported(`${place}.action`, action, actions))
    else if (action === "FailIndex" && isAbsent(spec.backoffLimitPerIndex))
      errors.push(invalid(`${place}.action`, action, "requires the backoffLimitPerIndex to be set"))
    const codes = child(rule, "onExitCodes")
    if (codes !== undefined && list(codes, "values").length === 0)
      errors.push(invalid(`${place}.onExitCodes.values`, codes.values ?? null, "at least one value is required"))
  }
}

const checkGeneratedSelector = (object: MutableObject, errors: Errors): void => {
  const spec = child(object, "spec")
  const selector = child(spec, "selector")
  if (spec?.manualSelector === true || selector === undefined) return
  const labels = templateLabels(child(spec, "template"))
  const [uid, name] = [text(object.metadata, "uid"), text(object.metadata, "name")]
  const expected: Fields = {}
  const expect = (keys: ReadonlyArray<string>, value: string): void => {
    for (const key of keys) expected[key] = value
  }
  expect(uidLabels, uid)
  expect(nameLabels, name)
  for (const key of ["controller-uid", "job-name", uidLabel, "batch.kubernetes.io/job-name"]) {
    const actual = labels?.[key]
    if (actual === undefined)
      errors.push(required("spec.template.metadata.labels", `must be '${String(expected[key])}'`))
    else if (actual !== expected[key])
      errors.push(invalid("spec.template.metadata.labels", labels, `must be '${String(expected[key])}'`))
  }
  if (isUsable(selector) && !matches(selector, expected))
    errors.push(invalid("spec.selector", selector, "`selector` not auto-generated"))
}

const checkSelectingSpec = (object: MutableObject, errors: Errors): void => {
  const spec = child(object, "spec") ?? {}
  checkSpec(spec, "spec", errors)
  const selector = child(spec, "selector")
  if (selector === undefined) errors.push(required("spec.selector"))
  checkSelector(selector, "spec.selector", errors)
  const labels = templateLabels(child(spec, "template"))
  if ((selector === undefined || isUsable(selector)) && !matches(selector, labels))
    errors.push(invalid("spec.template.metadata.labels", labels ?? null, "`selector` does not match template `labels`"))
}

const checkJob = (object: MutableObject, errors: Errors): void => {
  checkGeneratedSelector(object, errors)
  checkSelectingSpec(object, errors)
}

/** The scheduling fields that may change in the template of a Job that has not started. */
const placement = ["affinity", "nodeSelector", "tolerations", "schedulingGates"]

const checkJobChange = (object: MutableObject, old: MutableObject, errors: Errors): void => {
  const [spec, before] = [child(object, "spec") ?? {}, child(old, "spec") ?? {}]
  const elastic =
    spec.completionMode === "Indexed" &&
    before.completionMode === "Indexed" &&
    spec.completions === spec.parallelism &&
    before.completions === before.parallelism
  const unchanged = (key: string): void => {
    if (!isSame(spec[key], before[key])) errors.push(immutable(`spec.${key}`, spec[key] ?? null))
  }
  if (!elastic) unchanged("completions")
  unchanged("selector")
  const waiting = before.suspend === true && isAbsent(child(old, "status")?.startTime)
  const [template, earlier] = [child(spec, "template"), child(before, "template")]
  if (!isSame(stripped(template, waiting), stripped(earlier, waiting)))
    errors.push(immutable("spec.template", template))
  for (const key of ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"])
    unchanged(key)
}

const stripped = (template: Fields | undefined, placeable: boolean): Fields | undefined => {
  const spec = child(template, "spec")
  if (!placeable || template === undefined || spec === undefined) return template
  const rest = { ...spec }
  for (const key of placement) delete rest[key]
  return { spec: rest }
}

/** An object that was stored without labels is read with those of its template. */
export const fillTemplateLabels = (object: MutableObject): boolean => {
  const labels = templateLabels(child(child(object, "spec"), "template"))
  if (labels === undefined || isEmptyMap(labels) || !isEmptyMap(object.metadata.labels)) return false
  object.metadata.labels = { ...labels }
  return true
}

const emptyStatus = (): Fields => ({})

export const jobKind: Kind = {
  defaults: job,
  newStatus: emptyStatus,
  statusOmits: ["active", "succeeded", "failed"],
  generation: ["spec"],
  prepareCreate: selectOwnPods,
  readBack: fillTemplateLabels,
  check: checkJob,
  checkChange: checkJobChange,
  checkStatus: checkJobStatus,
}

const policies = ["Allow", "Forbid", "Replace"]

const isTimeZone = (name: string): boolean => {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name })
    return true
  } catch (_unknown) {
    return false
  }
}

const checkCronJob = (object: MutableObject, errors: Errors): void => {
  const spec = child(object, "spec") ?? {}
  const schedule = text(spec, "schedule")
  if (schedule === "") errors.push(required("spec.schedule"))
  else {
    const parsed = parseSchedule(schedule)
    if ("problem" in parsed) errors.push(invalid("spec.schedule", schedule, parsed.problem))
  }
  const zone = spec.timeZone
  if (typeof zone === "string") {
    if (zone === "") errors.push(invalid("spec.timeZone", zone, "must be nil or non-empty string"))
    else if (zone.toLowerCase() === "local")
      errors.push(
        invalid(
          "spec.timeZone",
          zone,
          "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",
        ),
      )
    else if (!isTimeZone(zone)) errors.push(invalid("spec.timeZone", zone, `unknown time zone ${zone}`))
  }
  checkNotNegative(spec, ["startingDeadlineSeconds"], "spec", errors)
  const policy = text(spec, "concurrencyPolicy")
  if (policy === "") errors.push(required("spec.concurrencyPolicy"))
  else if (!policies.includes(policy)) errors.push(notSupported("spec.concurrencyPolicy", policy, policies))
  checkJobTemplate(child(spec, "jobTemplate") ?? {}, errors)
  checkNotNegative(spec, ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"], "spec", errors)
}

const checkJobTemplate = (template: Fields, errors: Errors): void => {
  const field = "spec.jobTemplate.spec"
  const spec = child(template, "spec") ?? {}
  checkSpec(spec, field, errors)
  if (child(spec, "selector") !== undefined)
    errors.push(invalid(`${field}.selector`, spec.selector, "`selector` will be auto-generated"))
  if (spec.manualSelector === true) errors.push(notSupported(`${field}.manualSelector`, true, ["nil", "false"]))
}

/** The controller appends a dash and ten digits of a time to make the names of Jobs. */
const cronJobName = (name: string): Complaints => {
  const complaints = subdomainComplaints(name)
  return name.length > 52 ? [...complaints, "must be no more than 52 characters"] : complaints
}

export const cronJobKind: Kind = {
  name: cronJobName,
  defaults: cronJob,
  newStatus: emptyStatus,
  generation: ["spec"],
  check: checkCronJob,
}
