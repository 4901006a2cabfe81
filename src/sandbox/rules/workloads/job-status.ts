/** Validation of a Job's status, as its controller would write it; after Kubernetes 1.34.4, in its order. */

import { type Errors, invalid, required } from "../../../apiserver/answers/field-error.ts"
import { child, isAbsent, items, number, text } from "../fields.ts"
import type { Fields, MutableObject } from "../kind-rules.ts"
import { checkNotNegative } from "../values/number-validation.ts"

const counters = ["active", "succeeded", "failed", "ready", "terminating"]

/** Does not check completedIndexes, uncountedTerminatedPods and what follows from them. */
export const checkJobStatus = (object: MutableObject, old: MutableObject, errors: Errors): void => {
  const [status, before] = [child(object, "status") ?? {}, child(old, "status") ?? {}]
  checkNotNegative(status, counters, "status", errors)
  checkEnding(status, errors)
  const finished = holds(status, "Complete") || holds(status, "Failed")
  const [active, ready, terminating] = [count(status, "active"), count(status, "ready"), count(status, "terminating")]
  if (finished && active > 0) errors.push(invalid("status.active", active, "active>0 is invalid for finished job"))
  if (finished && isAbsent(status.startTime))
    errors.push(required("status.startTime", "startTime is required for finished job"))
  if (finished && terminating > 0)
    errors.push(invalid("status.terminating", terminating, "terminating>0 is invalid for finished job"))
  if (!isAbsent(status.ready) && ready > active)
    errors.push(invalid("status.ready", ready, "cannot set more ready pods than active"))
  for (const key of ["failed", "succeeded"]) {
    const value = count(status, key)
    if (value < count(before, key)) errors.push(invalid(`status.${key}`, value, `cannot decrease the ${key} counter`))
  }
  checkStart(object, status, before, errors)
}

const checkEnding = (status: Fields, errors: Errors): void => {
  const complete = holds(status, "Complete")
  if (complete && isAbsent(status.completionTime))
    errors.push(required("status.completionTime", "completionTime is required for Complete jobs"))
  if (!complete && !isAbsent(status.completionTime)) {
    const problem = "cannot set completionTime when there is no Complete=True condition"
    errors.push(invalid("status.completionTime", status.completionTime, problem))
  }
}

const checkStart = (object: MutableObject, status: Fields, before: Fields, errors: Errors): void => {
  if (isAbsent(before.startTime) || before.startTime === status.startTime) return
  if (child(object, "spec")?.suspend !== true)
    errors.push(required("status.startTime", "startTime cannot be removed for unsuspended job"))
}

const count = (status: Fields, key: string): number => number(status, key) ?? 0

const holds = (status: Fields, type: string): boolean =>
  items(status, "conditions").some((condition) => text(condition, "type") === type && condition.status === "True")
