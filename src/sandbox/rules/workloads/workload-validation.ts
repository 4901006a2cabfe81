/** Specs and statuses of the apps kinds and of ReplicationControllers. */

import {
  type Errors,
  forbidden,
  immutable,
  invalid,
  invalidEach,
  notSupported,
  required,
} from "../../../apiserver/answers/field-error.ts"
import { labelComplaints } from "../../../kube/names.ts"
import { at, child, isAbsent, isEmptyMap, isSame, items, number, text } from "../fields.ts"
import type { Check, CheckChange } from "../kind.ts"
import type { Fields } from "../kind-rules.ts"
import { checkPodTemplate, templateLabels } from "../pods/pod-validation.ts"
import { amountOf, checkAmount, checkAtMostAll, checkNotNegative, notNegative } from "../values/number-validation.ts"
import { checkSelector, isEmptySelector, isUsable, matches } from "../values/selector-validation.ts"

const unmatched = "`selector` does not match template `labels`"

/** `kindName` is the kind's name in the message about the deadline. */
const checkEndless = (template: Fields | undefined, kindName: string, errors: Errors): void => {
  const spec = child(template, "spec")
  const restart = text(spec, "restartPolicy")
  if (restart !== "Always") errors.push(notSupported("spec.template.spec.restartPolicy", restart, ["Always"]))
  if (!isAbsent(spec?.activeDeadlineSeconds))
    errors.push(
      forbidden("spec.template.spec.activeDeadlineSeconds", `activeDeadlineSeconds in ${kindName} is not Supported`),
    )
}

const checkMatch = (selector: Fields | undefined, template: Fields | undefined, errors: Errors): void => {
  const labels = templateLabels(template)
  if (!matches(selector, labels)) errors.push(invalid("spec.template.metadata.labels", labels ?? null, unmatched))
}

const checkOwnSelector = (spec: Fields, kindName: string, errors: Errors): Fields | undefined => {
  const selector = child(spec, "selector")
  if (selector === undefined) errors.push(required("spec.selector"))
  else {
    checkSelector(selector, "spec.selector", errors)
    if (isEmptySelector(selector))
      errors.push(invalid("spec.selector", selector, `empty selector is invalid for ${kindName}`))
  }
  return selector
}

/** Selector and template of Deployments and ReplicaSets. */
const checkSelectedTemplate = (spec: Fields, errors: Errors): void => {
  // Messages about ReplicaSets say "deployment" too, as in the server, by mistake.
  const selector = checkOwnSelector(spec, "deployment", errors)
  if (selector !== undefined && !isUsable(selector)) {
    errors.push(invalid("spec.selector", selector, "invalid label selector"))
    return
  }
  const template = child(spec, "template")
  checkMatch(selector, template, errors)
  checkPodTemplate(template, "spec.template", errors)
  checkEndless(template, "ReplicaSet", errors)
}

export const checkDeployment: Check = (object, errors) => {
  const spec = child(object, "spec") ?? {}
  checkNotNegative(spec, ["replicas"], "spec", errors)
  checkSelectedTemplate(spec, errors)
  checkDeploymentStrategy(child(spec, "strategy") ?? {}, errors)
  checkNotNegative(spec, ["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"], "spec", errors)
  const deadline = number(spec, "progressDeadlineSeconds")
  if (deadline !== undefined && deadline <= (number(spec, "minReadySeconds") ?? 0))
    errors.push(invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))
}

const checkDeploymentStrategy = (strategy: Fields, errors: Errors): void => {
  const field = "spec.strategy.rollingUpdate"
  const rolling = child(strategy, "rollingUpdate")
  switch (text(strategy, "type")) {
    case "Recreate":
      if (rolling !== undefined)
        errors.push(forbidden(field, "may not be specified when strategy `type` is 'Recreate'"))
      return
    case "RollingUpdate": {
      const { maxUnavailable, maxSurge } = rolling ?? {}
      checkAmount(maxUnavailable, `${field}.maxUnavailable`, errors)
      checkAmount(maxSurge, `${field}.maxSurge`, errors)
      if (amountOf(maxUnavailable) === 0 && amountOf(maxSurge) === 0)
        errors.push(invalid(`${field}.maxUnavailable`, maxUnavailable, "may not be 0 when `maxSurge` is 0"))
      checkAtMostAll(maxUnavailable, `${field}.maxUnavailable`, errors)
      return
    }
    default:
      errors.push(notSupported("spec.strategy", strategy, ["Recreate", "RollingUpdate"]))
  }
}

export const checkReplicaSet: Check = (object, errors) => {
  const spec = child(object, "spec") ?? {}
  checkNotNegative(spec, ["replicas", "minReadySeconds"], "spec", errors)
  checkSelectedTemplate(spec, errors)
}

export const checkDaemonSet: Check = (object, errors) => {
  const spec = child(object, "spec") ?? {}
  const selector = child(spec, "selector")
  const template = child(spec, "template")
  checkSelector(selector, "spec.selector", errors)
  if (selector === undefined || isUsable(selector)) checkMatch(selector, template, errors)
  if (selector !== undefined && isEmptySelector(selector))
    errors.push(invalid("spec.selector", selector, "empty selector is invalid for daemonset"))
  checkPodTemplate(template, "spec.template", errors)
  checkEndless(template, "DaemonSet", errors)
  checkNotNegative(spec, ["minReadySeconds"], "spec", errors)
  const strategy = child(spec, "updateStrategy") ?? {}
  if (text(strategy, "type") === "RollingUpdate") checkDaemonRolling(child(strategy, "rollingUpdate") ?? {}, errors)
  else if (text(strategy, "type") !== "OnDelete")
    errors.push(notSupported("spec.updateStrategy", strategy, ["RollingUpdate", "OnDelete"]))
  checkNotNegative(spec, ["revisionHistoryLimit"], "spec", errors)
}

const checkDaemonRolling = ({ maxUnavailable, maxSurge }: Fields, errors: Errors): void => {
  const field = "spec.updateStrategy.rollingUpdate"
  checkAmount(maxUnavailable, `${field}.maxUnavailable`, errors)
  checkAmount(maxSurge, `${field}.maxSurge`, errors)
  checkAtMostAll(maxUnavailable, `${field}.maxUnavailable`, errors)
  checkAtMostAll(maxSurge, `${field}.maxSurge`, errors)
  const [some, more] = [amountOf(maxUnavailable) !== 0, amountOf(maxSurge) !== 0]
  if (some && more)
    errors.push(invalid(`${field}.maxSurge`, maxSurge, "may not be set when maxUnavailable is non-zero"))
  if (!some && !more) errors.push(required(`${field}.maxUnavailable`, "cannot be 0 when maxSurge is 0"))
}

const retention = ["Retain", "Delete"]

const checkStatefulChoices = (spec: Fields, errors: Errors): void => {
  const management = text(spec, "podManagementPolicy")
  if (management !== "OrderedReady" && management !== "Parallel")
    errors.push(invalid("spec.podManagementPolicy", management, "must be 'OrderedReady' or 'Parallel'"))
  const strategy = child(spec, "updateStrategy") ?? {}
  const type = text(strategy, "type")
  const rolling = child(strategy, "rollingUpdate")
  if (type === "RollingUpdate") checkNotNegative(rolling, ["partition"], "spec.updateStrategy.rollingUpdate", errors)
  else if (type !== "OnDelete")
    errors.push(invalid("spec.updateStrategy", strategy, "must be 'RollingUpdate' or 'OnDelete'"))
  else if (rolling !== undefined)
    errors.push(
      invalid("spec.updateStrategy.rollingUpdate", rolling, "only allowed for updateStrategy 'RollingUpdate'"),
    )
  const policy = child(spec, "persistentVolumeClaimRetentionPolicy")
  for (const key of ["whenDeleted", "whenScaled"]) {
    const value = text(policy, key)
    if (!retention.includes(value))
      errors.push(notSupported(`spec.persistentVolumeClaimRetentionPolicy.${key}`, value, retention))
  }
}

/** Claims count as volumes of their names. */
const withClaims = (spec: Fields): Fields | undefined => {
  const template = child(spec, "template")
  const claims = items(spec, "volumeClaimTemplates").map((claim) => text(child(claim, "metadata"), "name"))
  const pod = child(template, "spec")
  if (template === undefined || pod === undefined || claims.length === 0) return template
  const volumes = claims.map((name) => ({ name, persistentVolumeClaim: { claimName: name } }))
  const others = items(pod, "volumes").filter((volume) => !claims.includes(text(volume, "name")))
  return { ...template, spec: { ...pod, hostname: "", subdomain: "", volumes: [...volumes, ...others] } }
}

export const checkStatefulSet: Check = (object, errors) => {
  const spec = child(object, "spec") ?? {}
  checkStatefulChoices(spec, errors)
  checkNotNegative(spec, ["replicas", "minReadySeconds"], "spec", errors)
  const start = number(child(spec, "ordinals"), "start")
  if (start !== undefined && start < 0) errors.push(invalid("spec.ordinals.start", start, notNegative))
  const service = text(spec, "serviceName")
  if (service !== "") errors.push(...invalidEach("spec.serviceName", service, labelComplaints(service)))
  const selector = checkOwnSelector(spec, "statefulset", errors)
  const template = withClaims(spec)
  if (selector !== undefined && !isUsable(selector)) errors.push(invalid("spec.selector", selector, ""))
  else {
    checkMatch(selector, template, errors)
    checkPodTemplate(template, "spec.template", errors)
  }
  checkEndless(template, "StatefulSet", errors)
}

const changeable = [
  "replicas",
  "template",
  "updateStrategy",
  "minReadySeconds",
  "ordinals",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
]

const without = (spec: Fields, keys: ReadonlyArray<string>): Fields => {
  const rest = { ...spec }
  for (const key of keys) delete rest[key]
  return rest
}

export const checkStatefulSetChange: CheckChange = (object, old, errors) => {
  const [spec, before] = [child(object, "spec") ?? {}, child(old, "spec") ?? {}]
  if (!isSame(without(spec, changeable), without(before, changeable)))
    errors.push(
      forbidden(
        "spec",
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', " +
          "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
      ),
    )
}

export const checkSelectorKept: CheckChange = (object, old, errors) => {
  const selector = at(object, "spec", "selector")
  if (!isSame(selector, at(old, "spec", "selector"))) errors.push(immutable("spec.selector", selector ?? null))
}

export const checkReplicationController: Check = (object, errors) => {
  const spec = child(object, "spec") ?? {}
  // This kind is also validated by its schema, whose errors come first.
  checkNotNegative(spec, ["replicas", "minReadySeconds"], "spec", errors)
  const selector = child(spec, "selector")
  if (isEmptyMap(selector)) errors.push(required("spec.selector"))
  const template = child(spec, "template")
  if (template === undefined) {
    errors.push(required("spec.template"))
    return
  }
  if (selector !== undefined) checkMatch({ matchLabels: selector }, template, errors)
  checkPodTemplate(template, "spec.template", errors)
  checkEndless(template, "ReplicationController", errors)
}
