/** Budgets, leases, priorities and autoscalers. */

import {
  type Errors,
  forbidden,
  invalid,
  invalidEach,
  notSupported,
  required,
} from "../../../apiserver/answers/field-error.ts"
import { pathSegmentComplaints } from "../../../kube/names.ts"
import type { DefaultTable } from "../default-table.ts"
import { child, isAbsent, list, number, text } from "../fields.ts"
import type { Kind } from "../kind.ts"
import type { Fields } from "../kind-rules.ts"
import { checkAmount, checkAtMostAll, checkNotNegative } from "../values/number-validation.ts"
import { checkSelector } from "../values/selector-validation.ts"

const budgetCounters = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 }

export const podDisruptionBudgetKind: Kind = {
  defaults: { make: { spec: {}, status: { set: budgetCounters } } },
  newStatus: () => ({ ...budgetCounters }),
  statusOmits: ["observedGeneration"],
  generation: ["spec"],
  unconditionalUpdate: false,
  check: (object, errors) => {
    const spec = child(object, "spec") ?? {}
    const { minAvailable, maxUnavailable } = spec
    if (!isAbsent(minAvailable) && !isAbsent(maxUnavailable))
      errors.push(
        invalid("spec", { minAvailable, maxUnavailable }, "minAvailable and maxUnavailable cannot be both set"),
      )
    for (const key of ["minAvailable", "maxUnavailable"]) {
      checkAmount(spec[key], `spec.${key}`, errors)
      checkAtMostAll(spec[key], `spec.${key}`, errors)
    }
    const policy = spec.unhealthyPodEvictionPolicy
    const policies = ["AlwaysAllow", "IfHealthyBudget"]
    if (!isAbsent(policy) && !policies.includes(String(policy)))
      errors.push(notSupported("spec.unhealthyPodEvictionPolicy", policy, policies))
    checkSelector(child(spec, "selector"), "spec.selector", errors)
  },
  checkStatus: (object, _old, errors) =>
    checkNotNegative(child(object, "status"), Object.keys(budgetCounters), "status", errors),
}

export const leaseKind: Kind = {
  defaults: { make: { spec: {} } },
  unconditionalUpdate: false,
  check: (object, errors) => {
    const spec = child(object, "spec")
    const seconds = number(spec, "leaseDurationSeconds")
    if (seconds !== undefined && seconds <= 0)
      errors.push(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    checkNotNegative(spec, ["leaseTransitions"], "spec", errors)
  },
}

/** Values above are kept for the system's own two classes. */
const highestPriority = 1_000_000_000
const systemClasses = ["system-node-critical", "system-cluster-critical"]

export const priorityClassKind: Kind = {
  defaults: {
    set: { value: 0, preemptionPolicy: "PreemptLowerPriority" },
    derive: (object) => {
      if (object.globalDefault === false) delete object.globalDefault
    },
  },
  generation: [],
  checkNew: (object, errors) => {
    const name = text(object.metadata, "name")
    if (name.startsWith("system-")) {
      if (!systemClasses.includes(name))
        errors.push(
          forbidden(
            "metadata.name",
            "priority class names with 'system-' prefix are reserved for system use only. error: " +
              `${name} is not a known system priority class`,
          ),
        )
    } else if ((number(object, "value") ?? 0) > highestPriority)
      errors.push(forbidden("value", `maximum allowed value of a user defined priority is ${highestPriority}`))
    const policy = text(object, "preemptionPolicy")
    const policies = ["PreemptLowerPriority", "Never"]
    if (!policies.includes(policy)) errors.push(notSupported("preemptionPolicy", policy, policies))
  },
  checkChange: (object, old, errors) => {
    for (const key of ["value", "preemptionPolicy"])
      if (object[key] !== old[key])
        errors.push(
          key === "value"
            ? forbidden(key, "may not be changed in an update.")
            : invalid(key, object[key], "field is immutable"),
        )
  },
}

const percent = { type: "Percent", value: 100, periodSeconds: 15 }

/** s and pods: how fast an autoscaler scales by default. */
const scalingRules = {
  scaleUp: {
    stabilizationWindowSeconds: 0,
    selectPolicy: "Max",
    policies: [{ type: "Pods", value: 4, periodSeconds: 15 }, percent],
  },
  scaleDown: { selectPolicy: "Max", policies: [percent] },
}

const fillBehaviour = (spec: Fields): void => {
  const behaviour = child(spec, "behavior")
  if (behaviour === undefined) return
  for (const [key, rules] of Object.entries(scalingRules))
    behaviour[key] = { ...structuredClone(rules), ...child(behaviour, key) }
}

const checkAutoscaler = (spec: Fields, errors: Errors): void => {
  const [least, most] = [number(spec, "minReplicas"), number(spec, "maxReplicas") ?? 0]
  if (least !== undefined && least < 1)
    errors.push(invalid("spec.minReplicas", least, "must be greater than or equal to 1"))
  if (most < 1) errors.push(invalid("spec.maxReplicas", most, "must be greater than 0"))
  if (least !== undefined && most < least)
    errors.push(invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
  const target = child(spec, "scaleTargetRef")
  for (const key of ["kind", "name"]) {
    const value = text(target, key)
    if (value === "") errors.push(required(`spec.scaleTargetRef.${key}`))
    else errors.push(...invalidEach(`spec.scaleTargetRef.${key}`, value, pathSegmentComplaints(value)))
  }
  const apiVersion = text(target, "apiVersion")
  if (!apiVersion.includes("/") && apiVersion !== "v1")
    errors.push(invalid("spec.scaleTargetRef.apiVersion", apiVersion, "apiVersion must specify API group"))
}

const autoscaler = (defaults: DefaultTable, newStatus: () => Fields): Kind => ({
  defaults,
  newStatus,
  check: (object, errors) => checkAutoscaler(child(object, "spec") ?? {}, errors),
})

/** percent: the default CPU usage of a pod relative to its request. */
const utilisation = 80

export const autoscalerKind = autoscaler(
  {
    make: {
      spec: {
        set: { minReplicas: 1 },
        derive: (spec) => {
          if (list(spec, "metrics").length === 0)
            spec.metrics = [
              {
                type: "Resource",
                resource: { name: "cpu", target: { type: "Utilization", averageUtilization: utilisation } },
              },
            ]
          fillBehaviour(spec)
        },
      },
      status: {
        set: { desiredReplicas: 0 },
        derive: (status) => {
          status.currentMetrics ??= null
        },
      },
    },
  },
  () => ({ desiredReplicas: 0, currentMetrics: null }),
)

export const oldAutoscalerKind = autoscaler(
  {
    make: {
      spec: { set: { minReplicas: 1, targetCPUUtilizationPercentage: utilisation } },
      status: { set: { currentReplicas: 0, desiredReplicas: 0 } },
    },
  },
  () => ({ currentReplicas: 0, desiredReplicas: 0 }),
)
