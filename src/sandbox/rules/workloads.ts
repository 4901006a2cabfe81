/** The apps kinds and ReplicationControllers. */

import { labelComplaints } from "../../kube/offline.ts"
import { natural, needed } from "./checks.ts"
import { child, ensured, isAbsent, isEmptyMap, isFields, isSame, items, number, text } from "./fields.ts"
import type { CheckChange, Fields, Kind, MutableObject } from "./kind-rules.ts"
import { isEmptySelector, isUsable, matches } from "./metadata.ts"
import { templateLabels } from "./pods.ts"
import type { Check, Place, RulesByType } from "./type-rules.ts"

/** Fills `rollingUpdate` of a strategy of that type. */
const rollingUpdate =
  (values: Fields) =>
  (strategy: Fields): void => {
    if (strategy.type !== "RollingUpdate") return
    const rolling = ensured(strategy, "rollingUpdate")
    for (const key in values) rolling[key] ??= values[key]
  }

/** A strategy with a type keeps its lack of parameters, one without gets both. */
const deriveStatefulStrategy = (strategy: Fields): void => {
  if (text(strategy, "type") === "") {
    strategy.type = "RollingUpdate"
    ensured(strategy, "rollingUpdate")
  }
  const rolling = child(strategy, "rollingUpdate")
  if (strategy.type === "RollingUpdate" && rolling !== undefined) rolling.partition ??= 0
}

/**
 * An object without labels gets those of its pods: the same map, as in the server, so that the labels that a Job adds
 * to its template become its own too.
 */
export const borrowLabels = (object: Fields): void => {
  const labels = templateLabels(child(child(object, "spec"), "template"))
  const metadata = ensured(object, "metadata")
  if (labels !== undefined && isEmptyMap(metadata.labels)) metadata.labels = labels
}

/** An object that was stored without labels is read with those of its template. */
export const fillTemplateLabels = (object: MutableObject): boolean => {
  const labels = templateLabels(child(child(object, "spec"), "template"))
  if (labels === undefined || isEmptyMap(labels) || !isEmptyMap(object.metadata.labels)) return false
  object.metadata.labels = { ...labels }
  return true
}

const deriveController = (object: Fields): void => {
  borrowLabels(object)
  const spec = child(object, "spec")
  const labels = templateLabels(child(spec, "template"))
  if (spec !== undefined && labels !== undefined && isEmptyMap(spec.selector)) spec.selector = { ...labels }
}

const templateGeneration = "deprecated.daemonset.template.generation"

/** The generation of the template, which old controllers read from an annotation. Old annotations stay unchanged. */
const countTemplates = ({ metadata }: MutableObject, count: number): void => {
  metadata.annotations = { ...child(metadata, "annotations"), [templateGeneration]: String(count) }
}

const templatesOf = (metadata: Fields | undefined): unknown => child(metadata, "annotations")?.[templateGeneration]

/**
 * The server keeps the generation in a field and shows it as an annotation, as 0 if a client omitted it. So a client that
 * creates a DaemonSet, or omits the annotation in a replacement, owns it, and one that changes the template does not.
 */
const showTemplates = (object: Fields): void => {
  const metadata = ensured(object, "metadata")
  if (templatesOf(metadata) === undefined) countTemplates({ metadata }, 0)
}

const settleTemplates = (object: MutableObject, old: MutableObject): void => {
  const same = isSame(child(object, "spec")?.template, child(old, "spec")?.template)
  countTemplates(object, Number(templatesOf(old.metadata) ?? 0) + (same ? 0 : 1))
}

/** The selector matches the labels of the template. */
export const matching = (selector: Fields | undefined, spec: Fields, at: Place): void => {
  const labels = templateLabels(child(spec, "template"))
  if (isUsable(selector) && !matches(selector, labels))
    at.at("template", "metadata", "labels").invalid(labels ?? null, "`selector` does not match template `labels`")
}

/** The names of the kind in the messages. `unusable` is what is said of a selector that is none. */
const workload =
  (selectorName: string, kindName: string, unusable?: string): Check =>
  (_value, at, spec) => {
    const selector = child(spec, "selector")
    const place = at.at("selector")
    if (selector !== undefined && isEmptySelector(selector))
      place.invalid(selector, `empty selector is invalid for ${selectorName}`)
    if (unusable !== undefined && !isUsable(selector)) place.invalid(selector, unusable)
    matching(selector, spec, at)
    checkEndless(spec, kindName, at)
  }

/** Pods of a workload never end. */
const checkEndless = (spec: Fields, kindName: string, at: Place): void => {
  const pod = child(child(spec, "template"), "spec")
  const place = at.at("template", "spec")
  if (text(pod, "restartPolicy") !== "Always")
    place.at("restartPolicy").notSupported(text(pod, "restartPolicy"), ["Always"])
  if (!isAbsent(pod?.activeDeadlineSeconds))
    place.at("activeDeadlineSeconds").forbidden(`activeDeadlineSeconds in ${kindName} is not Supported`)
}

const checkController: Check = (_value, at, spec) => {
  const selector = child(spec, "selector")
  if (child(spec, "template") === undefined) return
  if (selector !== undefined) matching({ matchLabels: selector }, spec, at)
  checkEndless(spec, "ReplicationController", at)
}

const isNone = (value: unknown): boolean => isAbsent(value) || Number.parseInt(String(value), 10) === 0

const checkDeploymentStrategy: Check = (strategy, at) => {
  if (!isFields(strategy)) return
  const rolling = child(strategy, "rollingUpdate")
  if (strategy.type === "Recreate") {
    if (rolling !== undefined)
      at.at("rollingUpdate").forbidden("may not be specified when strategy `type` is 'Recreate'")
  } else if (strategy.type !== "RollingUpdate") at.notSupported(strategy, ["Recreate", "RollingUpdate"])
  else if (isNone(rolling?.maxUnavailable) && isNone(rolling?.maxSurge))
    at.at("rollingUpdate", "maxUnavailable").invalid(rolling?.maxUnavailable, "may not be 0 when `maxSurge` is 0")
}

const checkDaemonStrategy: Check = (strategy, at) => {
  if (!isFields(strategy) || strategy.type === "OnDelete") return
  if (strategy.type !== "RollingUpdate") return at.notSupported(strategy, ["RollingUpdate", "OnDelete"])
  const { maxUnavailable, maxSurge } = child(strategy, "rollingUpdate") ?? {}
  const place = at.at("rollingUpdate")
  if (!isNone(maxUnavailable) && !isNone(maxSurge))
    place.at("maxSurge").invalid(maxSurge, "may not be set when maxUnavailable is non-zero")
  if (isNone(maxUnavailable) && isNone(maxSurge)) place.at("maxUnavailable").required("cannot be 0 when maxSurge is 0")
}

/** Claims count as volumes of their names; their templates are not checked. */
const withClaims = ({ volumeClaimTemplates, ...spec }: Fields): Fields => {
  const template = child(spec, "template")
  const claims = items({ volumeClaimTemplates }, "volumeClaimTemplates").map((claim) =>
    text(child(claim, "metadata"), "name"),
  )
  const pod = child(template, "spec")
  if (pod === undefined || claims.length === 0) return spec
  const volumes = claims.map((name) => ({ name, persistentVolumeClaim: { claimName: name } }))
  const others = items(pod, "volumes").filter((volume) => !claims.includes(text(volume, "name")))
  return { ...spec, template: { ...template, spec: { ...pod, volumes: [...volumes, ...others] } } }
}

export const types: RulesByType = {
  "apps/v1.DeploymentSpec": {
    checks: {
      self: workload("deployment", "ReplicaSet", "invalid label selector"),
      strategy: checkDeploymentStrategy,
    },
  },
  "apps/v1.DeploymentStrategy": { derive: rollingUpdate({ maxUnavailable: "25%", maxSurge: "25%" }) },
  // Its messages say "deployment" too, as in the server, by mistake.
  "apps/v1.ReplicaSetSpec": { checks: { self: workload("deployment", "ReplicaSet", "invalid label selector") } },
  "apps/v1.DaemonSet": { derive: showTemplates },
  "apps/v1.DaemonSetSpec": {
    checks: { self: workload("daemonset", "DaemonSet"), updateStrategy: checkDaemonStrategy },
  },
  "apps/v1.DaemonSetUpdateStrategy": { derive: rollingUpdate({ maxUnavailable: 1, maxSurge: 0 }) },
  "apps/v1.StatefulSetSpec": {
    derive: (spec) => {
      for (const claim of items(spec, "volumeClaimTemplates"))
        Object.assign(claim, { apiVersion: "v1", kind: "PersistentVolumeClaim" })
    },
    checkedAs: withClaims,
    checks: { self: workload("statefulset", "StatefulSet", "") },
  },
  "apps/v1.StatefulSetUpdateStrategy": { derive: deriveStatefulStrategy },
  "apps/v1.ControllerRevision": { checks: { data: needed("data is mandatory") } },
  "core/v1.ReplicationController": { derive: deriveController },
  "core/v1.ReplicationControllerSpec": { checks: { self: checkController } },
}

/** Counters of a status: none below zero, and none of `parts` above `replicas`. */
export const statusCheck =
  (parts: ReadonlyArray<string> = [], ready = "readyReplicas"): CheckChange =>
  (object, _old, root) => {
    const status = child(object, "status") ?? {}
    const at = root.at("status")
    for (const [key, value] of Object.entries(status)) natural(value, at.at(key), status)
    const [replicas, available] = [number(status, "replicas") ?? 0, number(status, "availableReplicas") ?? 0]
    for (const key of parts) {
      const value = number(status, key) ?? 0
      if (value > replicas) at.at(key).invalid(value, "cannot be greater than status.replicas")
    }
    if (parts.length > 0 && available > (number(status, "readyReplicas") ?? 0))
      at.at("availableReplicas").invalid(available, `cannot be greater than ${ready}`)
  }

/** The feature DeploymentReplicaSetTerminatingReplicas is off by default in 1.34. */
const dropTerminating = (object: MutableObject): void => {
  delete child(object, "status")?.terminatingReplicas
}

const changeable =
  "replicas template updateStrategy minReadySeconds ordinals revisionHistoryLimit persistentVolumeClaimRetentionPolicy".split(
    " ",
  )

const withoutChangeable = (object: MutableObject): Fields =>
  Object.fromEntries(Object.entries(child(object, "spec") ?? {}).filter(([key]) => !changeable.includes(key)))

const checkStatefulChange: CheckChange = (object, old, root) => {
  if (!isSame(withoutChangeable(object), withoutChangeable(old)))
    root
      .at("spec")
      .forbidden(
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', " +
          "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
      )
}

export const kinds: Readonly<Record<string, Kind>> = {
  "apps/Deployment": {
    prepareStatus: dropTerminating,
    checkStatus: statusCheck(["updatedReplicas", "readyReplicas", "availableReplicas"]),
  },
  "apps/ReplicaSet": {
    prepareStatus: dropTerminating,
    checkStatus: statusCheck(["fullyLabeledReplicas", "readyReplicas", "availableReplicas"]),
  },
  "apps/StatefulSet": {
    name: labelComplaints,
    checkChange: checkStatefulChange,
    checkStatus: statusCheck(
      ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"],
      "status.readyReplicas",
    ),
  },
  "apps/DaemonSet": {
    prepare: (object, old) => (old === undefined ? countTemplates(object, 1) : undefined),
    settle: settleTemplates,
    checkStatus: statusCheck(),
  },
  "/ReplicationController": { readBack: fillTemplateLabels },
}
