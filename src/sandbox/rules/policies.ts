/** RBAC, certificates, budgets and autoscalers; admission policies and devices, which nothing here acts on. */

import { pathSegmentComplaints, subdomainComplaints } from "../../kube/offline.ts"
import { between, needed } from "./checks.ts"
import { child, emptyIsNone, isAbsent, isZero, items, list, number, text } from "./fields.ts"
import type { Fields, Kind } from "./kind-rules.ts"
import type { Check, RulesByType } from "./type-rules.ts"
import { statusCheck } from "./workloads.ts"

const group = "rbac.authorization.k8s.io"

const checkRule: Check = (_value, at, rule) => {
  const paths = list(rule, "nonResourceURLs")
  if (paths.length === 0) {
    if (list(rule, "apiGroups").length === 0)
      at.at("apiGroups").required("resource rules must supply at least one api group")
    if (list(rule, "resources").length === 0)
      at.at("resources").required("resource rules must supply at least one resource")
  } else if (["apiGroups", "resources", "resourceNames"].some((key) => list(rule, key).length > 0))
    at.at("nonResourceURLs").invalid(paths, "rules cannot apply to both regular resources and non-resource URLs")
}

const checkSubject: Check = (_value, at, subject) => {
  const [kind, name, apiGroup] = [text(subject, "kind"), text(subject, "name"), text(subject, "apiGroup")]
  if (kind === "ServiceAccount") {
    if (name !== "") at.at("name").complain(name, subdomainComplaints(name))
    if (apiGroup !== "") at.at("apiGroup").notSupported(apiGroup, [""])
  } else if (kind !== "User" && kind !== "Group") at.at("kind").notSupported(kind, ["ServiceAccount", "User", "Group"])
  else if (apiGroup !== group) at.at("apiGroup").notSupported(apiGroup, [group])
}

const checkAccountNamespaces: Check = (_value, at, binding) => {
  for (const [index, subject] of items(binding, "subjects").entries())
    if (subject.kind === "ServiceAccount" && text(subject, "namespace") === "")
      at.at("subjects", index, "namespace").required()
}

const roleReference =
  (...kinds: ReadonlyArray<string>): Check =>
  (_value, at, binding) => {
    const kind = text(child(binding, "roleRef"), "kind")
    if (!kinds.includes(kind)) at.at("kind").notSupported(kind, kinds)
  }

const onlyOne: Check = (_value, at, { minAvailable, maxUnavailable }) => {
  if (!isAbsent(minAvailable) && !isAbsent(maxUnavailable))
    at.invalid({ minAvailable, maxUnavailable }, "minAvailable and maxUnavailable cannot be both set")
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

/** percent: the default CPU usage of a pod relative to its request. */
const utilisation = 80

const deriveAutoscaler = (spec: Fields): void => {
  if (list(spec, "metrics").length === 0) {
    const target = { type: "Utilization", averageUtilization: utilisation }
    spec.metrics = [{ type: "Resource", resource: { name: "cpu", target } }]
  }
  const behaviour = child(spec, "behavior")
  if (behaviour === undefined) return
  for (const [key, rules] of Object.entries(scalingRules))
    behaviour[key] = { ...structuredClone(rules), ...child(behaviour, key) }
}

const checkMost: Check = (value, at, spec) => {
  const [least, most] = [number(spec, "minReplicas"), typeof value === "number" ? value : 0]
  if (most < 1) at.invalid(most, "must be greater than 0")
  if (least !== undefined && most < least) at.invalid(most, "must be greater than or equal to `minReplicas`")
}

const autoscaler = {
  minReplicas: between(1, Number.POSITIVE_INFINITY, "must be greater than or equal to 1"),
  maxReplicas: checkMost,
}

const checkTarget: Check = (_value, at, target) => {
  const apiVersion = text(target, "apiVersion")
  if (!apiVersion.includes("/") && apiVersion !== "v1")
    at.at("apiVersion").invalid(apiVersion, "apiVersion must specify API group")
}

const countDevices = (request: Fields): void => {
  if (request.allocationMode === "ExactCount" && isZero(request.count)) request.count = 1
}

export const types: RulesByType = {
  "rbac/v1.PolicyRule": { checks: { verbs: needed("verbs must contain at least one value"), self: checkRule } },
  "rbac/v1.RoleBinding": { checks: { roleRef: roleReference("Role", "ClusterRole") } },
  "rbac/v1.ClusterRoleBinding": { checks: { roleRef: roleReference("ClusterRole"), self: checkAccountNamespaces } },
  "rbac/v1.Subject": {
    derive: (subject) => {
      if ((subject.kind === "User" || subject.kind === "Group") && isAbsent(subject.apiGroup)) subject.apiGroup = group
    },
    checks: { self: checkSubject },
  },
  "policy/v1.PodDisruptionBudgetSpec": { checks: { self: onlyOne } },
  "autoscaling/v2.HorizontalPodAutoscalerSpec": { derive: deriveAutoscaler, checks: autoscaler },
  "autoscaling/v1.HorizontalPodAutoscalerSpec": { checks: autoscaler },
  "autoscaling/v2.CrossVersionObjectReference": { checks: { self: checkTarget } },
  "autoscaling/v1.CrossVersionObjectReference": { checks: { self: checkTarget } },
  "admissionregistration/v1.Validation": { checks: { expression: needed("expression is not specified") } },
  "admissionregistration/v1.ValidatingAdmissionPolicyBindingSpec": {
    checks: { validationActions: needed("at least one validation action is required") },
  },
  "resource/v1.ExactDeviceRequest": { derive: countDevices },
  "resource/v1.DeviceSubRequest": { derive: countDevices },
}

const roleKind: Kind = { name: pathSegmentComplaints, prepare: emptyIsNone("rules") }

export const kinds: Readonly<Record<string, Kind>> = {
  "rbac.authorization.k8s.io/Role": roleKind,
  "rbac.authorization.k8s.io/ClusterRole": roleKind,
  "rbac.authorization.k8s.io/RoleBinding": { name: pathSegmentComplaints },
  "rbac.authorization.k8s.io/ClusterRoleBinding": { name: pathSegmentComplaints },
  "certificates.k8s.io/CertificateSigningRequest": {
    // Only its status ever changes.
    prepare: (object, old) => {
      if (old !== undefined) object.spec = old.spec
    },
  },
  "policy/PodDisruptionBudget": { checkStatus: statusCheck() },
}
