/** Admission policies. They are stored; nothing evaluates their rules. */

import { type Errors, notSupported, required } from "../../../apiserver/answers/field-error.ts"
import type { DefaultTable } from "../default-table.ts"
import { child, isAbsent, items, list, text, texts } from "../fields.ts"
import type { Kind } from "../kind.ts"

const matchResources: DefaultTable = {
  set: { matchPolicy: "Equivalent", namespaceSelector: {}, objectSelector: {} },
  each: { resourceRules: { set: { scope: "*" } }, excludeResourceRules: { set: { scope: "*" } } },
}

const failurePolicies = ["Fail", "Ignore"]

export const admissionPolicyKind: Kind = {
  defaults: {
    make: { spec: { set: { failurePolicy: "Fail" }, within: { matchConstraints: matchResources } }, status: {} },
  },
  newStatus: () => ({}),
  generation: ["spec"],
  check: (object, errors) => {
    const spec = child(object, "spec")
    if (list(spec, "validations").length === 0 && list(spec, "auditAnnotations").length === 0) {
      errors.push(required("spec.validations", "validations or auditAnnotations must be non-empty"))
      errors.push(required("spec.auditAnnotations", "validations or auditAnnotations must be non-empty"))
    }
    const policy = text(spec, "failurePolicy")
    if (!failurePolicies.includes(policy)) errors.push(notSupported("spec.failurePolicy", policy, failurePolicies))
    const constraints = child(spec, "matchConstraints")
    if (constraints === undefined) errors.push(required("spec.matchConstraints"))
    else if (list(constraints, "resourceRules").length === 0)
      errors.push(required("spec.matchConstraints.resourceRules"))
    checkExpressions(items(spec, "validations"), errors)
  },
}

const checkExpressions = (validations: ReturnType<typeof items>, errors: Errors): void => {
  for (const [index, validation] of validations.entries())
    if (text(validation, "expression").trim() === "")
      errors.push(required(`spec.validations[${index}].expression`, "expression is not specified"))
}

const actions = ["Audit", "Deny", "Warn"]

export const admissionPolicyBindingKind: Kind = {
  defaults: { make: { spec: { within: { matchResources } } } },
  generation: ["spec"],
  check: (object, errors) => {
    const spec = child(object, "spec")
    if (text(spec, "policyName") === "") errors.push(required("spec.policyName"))
    const chosen = texts(spec, "validationActions")
    if (chosen.length === 0)
      errors.push(required("spec.validationActions", "at least one validation action is required"))
    for (const [index, action] of chosen.entries())
      if (!actions.includes(action)) errors.push(notSupported(`spec.validationActions[${index}]`, action, actions))
    const reference = child(spec, "paramRef")
    if (reference !== undefined && isAbsent(reference.parameterNotFoundAction))
      errors.push(required("spec.paramRef.parameterNotFoundAction"))
  },
}
