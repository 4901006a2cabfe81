/** PodSpecs, Pods and pod templates. */

import {
  type Errors,
  forbidden,
  invalid,
  invalidEach,
  notSupported,
  required,
} from "../../../apiserver/answers/field-error.ts"
import {
  labelComplaints,
  labelValueComplaints,
  qualifiedNameComplaints,
  subdomainComplaints,
} from "../../../kube/names.ts"
import { at, changedKeys, child, isAbsent, isSame, items, list, number, text } from "../fields.ts"
import type { Fields, MutableObject } from "../kind-rules.ts"
import { checkAnnotations, checkLabels } from "../values/object-metadata.ts"
import { checkContainers } from "./container-validation.ts"
import { checkVolumes } from "./volume-validation.ts"

const restartPolicies = ["Always", "OnFailure", "Never"]
const dnsPolicies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]
const taintEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"]
const spreading = ["DoNotSchedule", "ScheduleAnyway"]

const checkPodSpec = (spec: Fields, field: string, errors: Errors): void => {
  const volumes = checkVolumes(spec, `${field}.volumes`, errors)
  checkContainers(spec, volumes, field, errors)
  checkPolicies(spec, field, errors)
  checkLabels(child(spec, "nodeSelector"), `${field}.nodeSelector`, errors)
  if (spec.dnsPolicy === "None" && child(spec, "dnsConfig") === undefined)
    errors.push(required(`${field}.dnsConfig`, "must provide `dnsConfig` when `dnsPolicy` is None"))
  checkSpreading(spec, `${field}.topologySpreadConstraints`, errors)
  checkNames(spec, field, errors)
  checkTolerations(spec, `${field}.tolerations`, errors)
  const priorityClass = text(spec, "priorityClassName")
  if (priorityClass !== "")
    errors.push(...invalidEach(`${field}.priorityClassName`, priorityClass, subdomainComplaints(priorityClass)))
  const preemption = spec.preemptionPolicy
  if (!isAbsent(preemption) && preemption !== "PreemptLowerPriority" && preemption !== "Never")
    errors.push(notSupported(`${field}.preemptionPolicy`, preemption, ["PreemptLowerPriority", "Never"]))
}

const checkPolicies = (spec: Fields, field: string, errors: Errors): void => {
  const restart = text(spec, "restartPolicy")
  if (restart === "") errors.push(required(`${field}.restartPolicy`))
  else if (!restartPolicies.includes(restart))
    errors.push(notSupported(`${field}.restartPolicy`, restart, restartPolicies))
  const dns = text(spec, "dnsPolicy")
  if (dns === "") errors.push(required(`${field}.dnsPolicy`))
  else if (!dnsPolicies.includes(dns)) errors.push(notSupported(`${field}.dnsPolicy`, dns, dnsPolicies))
}

const checkSpreading = (spec: Fields, field: string, errors: Errors): void => {
  for (const [index, constraint] of items(spec, "topologySpreadConstraints").entries()) {
    const place = `${field}[${index}]`
    const skew = number(constraint, "maxSkew") ?? 0
    if (skew <= 0) errors.push(invalid(`${place}.maxSkew`, skew, "must be greater than zero"))
    if (text(constraint, "topologyKey") === "") errors.push(required(`${place}.topologyKey`, "can not be empty"))
    const action = text(constraint, "whenUnsatisfiable")
    if (!spreading.includes(action)) errors.push(notSupported(`${place}.whenUnsatisfiable`, action, spreading))
  }
}

const checkNames = (spec: Fields, field: string, errors: Errors): void => {
  const check = (key: string, complaints: (name: string) => ReadonlyArray<string>): void => {
    const name = text(spec, key)
    if (name !== "") errors.push(...invalidEach(`${field}.${key}`, name, complaints(name)))
  }
  check("serviceAccountName", subdomainComplaints)
  check("nodeName", subdomainComplaints)
  const deadline = number(spec, "activeDeadlineSeconds")
  if (deadline !== undefined && (deadline < 1 || deadline > 2_147_483_647))
    errors.push(invalid(`${field}.activeDeadlineSeconds`, deadline, "must be between 1 and 2147483647, inclusive"))
  check("hostname", labelComplaints)
  check("subdomain", labelComplaints)
}

const checkTolerations = (spec: Fields, field: string, errors: Errors): void => {
  for (const [index, toleration] of items(spec, "tolerations").entries()) {
    const place = `${field}[${index}]`
    const key = text(toleration, "key")
    const operator = text(toleration, "operator")
    const value = text(toleration, "value")
    const effect = text(toleration, "effect")
    if (key !== "") errors.push(...invalidEach(`${place}.key`, key, qualifiedNameComplaints(key)))
    else if (operator !== "Exists")
      errors.push(
        invalid(
          `${place}.operator`,
          operator,
          'operator must be Exists when `key` is empty, which means "match all values and all keys"',
        ),
      )
    if (!isAbsent(toleration.tolerationSeconds) && effect !== "NoExecute")
      errors.push(invalid(`${place}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))
    if (operator === "" || operator === "Equal") {
      const complaints = labelValueComplaints(value)
      if (complaints.length > 0) errors.push(invalid(`${place}.operator`, value, complaints.join(";")))
    } else if (operator !== "Exists") errors.push(notSupported(`${place}.operator`, operator, ["Equal", "Exists"]))
    else if (value !== "")
      errors.push(invalid(`${place}.operator`, value, "value must be empty when `operator` is 'Exists'"))
    if (effect !== "" && !taintEffects.includes(effect))
      errors.push(notSupported(`${place}.effect`, effect, taintEffects))
  }
}

/** A PodTemplateSpec; the server writes the paths of its metadata without `metadata`. */
export const checkPodTemplate = (template: Fields | undefined, field: string, errors: Errors): void => {
  const metadata = child(template, "metadata")
  checkLabels(child(metadata, "labels"), `${field}.labels`, errors)
  checkAnnotations(child(metadata, "annotations"), `${field}.annotations`, errors)
  checkPodSpec(child(template, "spec") ?? {}, `${field}.spec`, errors)
}

/** The checks of every write to a Pod, except for its metadata. */
export const checkPod = (pod: MutableObject, errors: Errors): void => {
  const spec = child(pod, "spec") ?? {}
  checkPodSpec(spec, "spec", errors)
  for (const key of ["containers", "initContainers"])
    for (const [index, container] of items(spec, key).entries()) {
      const image = text(container, "image")
      if (image !== image.trim())
        errors.push(invalid(`spec.${key}[${index}].image`, image, "must not have leading or trailing whitespace"))
    }
}

/** The checks of a new Pod besides {@link checkPod}. */
export const checkNewPod = (pod: MutableObject, errors: Errors): void => {
  const spec = child(pod, "spec")
  if (list(spec, "ephemeralContainers").length > 0)
    errors.push(forbidden("spec.ephemeralContainers", "cannot be set on create"))
  if (text(spec, "nodeName") !== "" && list(spec, "schedulingGates").length > 0)
    errors.push(forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
}

const changeable =
  "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only " +
  "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was " +
  "previously negative)"

const withoutImages = (containers: ReadonlyArray<Fields>): ReadonlyArray<Fields> =>
  containers.map((container) => ({ ...container, image: undefined }))

const unchangeable = (spec: Fields): Fields => ({
  ...spec,
  containers: withoutImages(items(spec, "containers")),
  initContainers: withoutImages(items(spec, "initContainers")),
  activeDeadlineSeconds: undefined,
  tolerations: undefined,
  schedulingGates: undefined,
})

/** Checks what a Pod's update may change. */
export const checkPodChange = (pod: MutableObject, old: MutableObject, errors: Errors): void => {
  const [spec, before] = [child(pod, "spec") ?? {}, child(old, "spec") ?? {}]
  for (const key of ["containers", "initContainers"]) if (!checkImages(spec, before, key, errors)) return
  const [deadline, earlier] = [number(spec, "activeDeadlineSeconds"), number(before, "activeDeadlineSeconds")]
  if (deadline === undefined && earlier !== undefined)
    errors.push(invalid("spec.activeDeadlineSeconds", null, "must not update from a positive integer to nil value"))
  if (deadline !== undefined && earlier !== undefined && earlier < deadline) {
    errors.push(invalid("spec.activeDeadlineSeconds", deadline, "must be less than or equal to previous value"))
    return
  }
  checkOnlyAdded(spec, before, errors)
  const gates = new Set(items(before, "schedulingGates").map((gate) => text(gate, "name")))
  for (const [index, gate] of items(spec, "schedulingGates").entries())
    if (!gates.has(text(gate, "name")))
      errors.push(
        forbidden(
          `spec.schedulingGates[${index}].name`,
          `only deletion is allowed, but found new scheduling gate '${text(gate, "name")}'`,
        ),
      )
  const [wanted, present] = [unchangeable(spec), unchangeable(before)]
  if ((number(before, "terminationGracePeriodSeconds") ?? 0) < 0 && wanted.terminationGracePeriodSeconds === 1)
    wanted.terminationGracePeriodSeconds = present.terminationGracePeriodSeconds
  // A gated pod is not scheduled yet: its node selector and affinity may still be narrowed.
  if (gates.size > 0)
    for (const key of ["nodeSelector", "affinity"]) {
      wanted[key] = undefined
      present[key] = undefined
    }
  if (!isSame(wanted, present)) {
    const changed = changedKeys(wanted, present).map((key) => `spec.${key}`)
    const found = `; changed: ${changed.join(", ")}`
    errors.push(forbidden("spec", `pod updates may not change fields other than ${changeable}${found}`))
  }
}

/** Returns whether the check may continue. */
const checkImages = (spec: Fields, before: Fields, key: string, errors: Errors): boolean => {
  const containers = items(spec, key)
  if (containers.length !== items(before, key).length) {
    errors.push(forbidden(`spec.${key}`, "pod updates may not add or remove containers"))
    return false
  }
  for (const [index, container] of containers.entries()) {
    const image = text(container, "image")
    if (image === "") errors.push(required(`spec.${key}[${index}].image`))
    if (image !== image.trim())
      errors.push(invalid(`spec.${key}[${index}].image`, image, "must not have leading or trailing whitespace"))
  }
  return true
}

const withoutSeconds = (toleration: Fields): Fields => ({ ...toleration, tolerationSeconds: undefined })

const checkOnlyAdded = (spec: Fields, before: Fields, errors: Errors): void => {
  const wanted = items(spec, "tolerations")
  const kept = items(before, "tolerations").every((old) =>
    wanted.some((toleration) => isSame(withoutSeconds(toleration), withoutSeconds(old))),
  )
  if (kept) checkTolerations(spec, "spec.tolerations", errors)
  else
    errors.push(forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"))
}

/** Labels of a template, for selectors. */
export const templateLabels = (template: Fields | undefined): Fields | undefined => at(template, "metadata", "labels")
