/** Pods, pod templates and the volumes in them. */

import { canonicalQuantity, quantityOf } from "../../kube/offline.ts"
import { between, labels, needed, repeated, sortedEntries } from "./checks.ts"
import { changedKeys, child, ensured, isAbsent, isFields, isSame, isZero, items, list, number, text } from "./fields.ts"
import type { Fields, Kind, MutableObject } from "./kind-rules.ts"
import { annotations } from "./metadata.ts"
import type { Check, Place, RulesByType } from "./type-rules.ts"

/** An image with the tag `latest`, explicit or implied by an omitted tag, is always pulled. */
const pullPolicyOf = (image: string): string => {
  const digest = image.indexOf("@")
  const name = digest === -1 ? image : image.slice(0, digest)
  const tag = name.slice(name.lastIndexOf("/") + 1).split(":")[1]
  return tag === "latest" || (tag === undefined && digest === -1) ? "Always" : "IfNotPresent"
}

/** Exactly one member besides the name. */
const oneSource: Check = (_value, at, volume) => {
  const sources = Object.keys(volume).filter((key) => key !== "name" && isFields(volume[key]))
  if (sources.length === 0) at.required("must specify a volume type")
  for (const key of sources.slice(1)) at.at(key).forbidden("may not specify more than 1 volume type")
}

/** A volume that is only a name is an empty directory. */
const emptyIfBare = (volume: Fields): void => {
  if (!Object.keys(volume).some((key) => key !== "name" && !isAbsent(volume[key]))) volume.emptyDir = {}
}

/** Mounts refer to volumes of the pod, each at a path of its own. */
const checkMounts: Check = (_value, at, spec) => {
  const volumes = new Set(items(spec, "volumes").map((volume) => text(volume, "name")))
  for (const key of ["containers", "initContainers"])
    for (const [index, container] of items(spec, key).entries()) {
      const paths = new Set<unknown>()
      for (const [position, { name = "", mountPath }] of items(container, "volumeMounts").entries()) {
        const place = at.at(key, index, "volumeMounts", position)
        if (!volumes.has(String(name))) place.at("name").notFound(name)
        if (paths.has(mountPath)) place.at("mountPath").invalid(mountPath, "must be unique")
        paths.add(mountPath)
      }
    }
}

const derivePodSpec = (spec: Fields): void => {
  // Two names of one field; the server keeps them equal.
  const account = text(spec, "serviceAccountName") || text(spec, "serviceAccount")
  if (account !== "") Object.assign(spec, { serviceAccountName: account, serviceAccount: account })
  if ((number(spec, "terminationGracePeriodSeconds") ?? 0) < 0) spec.terminationGracePeriodSeconds = 1
}

const containersOf = (spec: Fields | undefined): ReadonlyArray<Fields> => [
  ...items(spec, "containers"),
  ...items(spec, "initContainers"),
]

/** Limits become the default of requests; only in a Pod, never in a template. */
const requestLimits = (resources: Fields | undefined): void => {
  const limits = child(resources, "limits")
  if (resources === undefined || limits === undefined) return
  const requests = ensured(resources, "requests")
  for (const key in limits) if (!Object.hasOwn(requests, key)) requests[key] = limits[key]
}

/** The defaults that a Pod has and a template has not. */
const derivePod = (pod: Fields): void => {
  const spec = ensured(pod, "spec")
  spec.enableServiceLinks ??= true
  for (const container of containersOf(spec)) {
    requestLimits(child(container, "resources"))
    // With host networking a container's ports are the host's.
    if (spec.hostNetwork === true)
      for (const port of items(container, "ports")) if (isZero(port.hostPort)) port.hostPort = port.containerPort
  }
  requestLimits(child(spec, "resources"))
}

/** The address is the first item in the list of addresses, which is created if there is only the address. */
const listAddresses = (status: Fields): void => {
  for (const key of ["podIP", "hostIP"])
    if (text(status, key) !== "" && items(status, `${key}s`)[0]?.ip !== status[key])
      status[`${key}s`] = [{ ip: status[key] }]
}

const handlers = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"]

/** Exactly one of these members is set. */
const oneHandler: Check = (_value, at, holder) => {
  const found = handlers.filter((key) => child(holder, key) !== undefined)
  if (found.length === 0) at.required("must specify a handler type")
  for (const key of found.slice(1)) at.at(key).forbidden("may not specify more than 1 handler type")
}

/** Other probes than the one for readiness succeed at once. */
const once: Check = (probe, at) => {
  if (isFields(probe) && probe.successThreshold !== 1)
    at.at("successThreshold").invalid(probe.successThreshold, "must be 1")
}

const valueSources = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"]

const checkValueSource: Check = (source, at, variable) => {
  if (!isFields(source)) return
  const given = valueSources.filter((key) => child(source, key) !== undefined)
  if (given.length === 0)
    at.invalid("", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`")
  else if (text(variable, "value") !== "") at.invalid("", "may not be specified when `value` is not empty")
  else if (given.length > 1) at.invalid("", "may not have more than one field specified at a time")
}

const fieldPaths = new Set(
  (
    "metadata.name metadata.namespace metadata.uid spec.nodeName spec.serviceAccountName status.hostIP status.hostIPs " +
    "status.podIP status.podIPs"
  ).split(" "),
)

const checkFieldPath: Check = (path, at) => {
  if (typeof path !== "string" || path === "" || fieldPaths.has(path)) return
  if (!/^metadata\.(annotations|labels)\['[^']+'\]$/.test(path))
    at.invalid(path, `error converting fieldPath: field label not supported: ${path}`)
}

/** Quantities are printed in canonical form. */
const checkResources: Check = (_value, at, { requests, limits }) => {
  for (const [name, wanted] of sortedEntries(requests)) {
    const limit = isFields(limits) ? limits[name] : undefined
    const most = quantityOf(limit)
    if (most !== undefined && (quantityOf(wanted) ?? 0) > most)
      at.at("requests").invalid(
        canonicalQuantity(wanted),
        `must be less than or equal to ${name} limit of ${String(canonicalQuantity(limit))}`,
      )
  }
}

const probes = ["livenessProbe", "readinessProbe", "startupProbe"]

/** What distinguishes containers from init containers, and names, which both share. */
const checkContainers: Check = (_value, at, spec) => {
  const containers = items(spec, "containers")
  for (const [index, container] of items(spec, "initContainers").entries()) {
    const { restartPolicy } = container
    const place = at.at("initContainers", index)
    if (!isAbsent(restartPolicy) && restartPolicy !== "Always")
      place.at("restartPolicy").notSupported(restartPolicy, ["Always"])
    for (const key of restartPolicy === "Always" ? [] : ["lifecycle", ...probes])
      if (!isAbsent(container[key]))
        place.at(key).forbidden("may not be set for init containers without restartPolicy=Always")
  }
  const both = containersOf(spec)
  const placeOf = (index: number): Place =>
    index < containers.length ? at.at("containers", index) : at.at("initContainers", index - containers.length)
  repeated(
    both,
    (container) => text(container, "name"),
    (container, index) => placeOf(index).at("name").duplicate(text(container, "name")),
  )
}

const checkToleration: Check = (_value, at, { key = "", operator = "", effect = "", tolerationSeconds }) => {
  if (key === "" && operator !== "Exists")
    at.at("operator").invalid(
      operator,
      'operator must be Exists when `key` is empty, which means "match all values and all keys"',
    )
  if (!isAbsent(tolerationSeconds) && effect !== "NoExecute")
    at.at("effect").invalid(effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
}

/** The server writes the paths of a template's metadata without `metadata`. */
const checkTemplateMetadata: Check = (_value, at, template) => {
  const metadata = child(template, "metadata") ?? {}
  labels(metadata.labels, at.at("labels"), metadata)
  annotations(metadata.annotations, at.at("annotations"), metadata)
}

const checkDnsConfig: Check = (config, at, spec) => {
  if (spec.dnsPolicy === "None" && isAbsent(config)) at.required("must provide `dnsConfig` when `dnsPolicy` is None")
}

const derivePullPolicy = (container: Fields): void => {
  if (isZero(container.imagePullPolicy)) container.imagePullPolicy = pullPolicyOf(text(container, "image"))
}

export const types: RulesByType = {
  "core/v1.Pod": { derive: derivePod },
  "core/v1.PodTemplateSpec": { checks: { self: checkTemplateMetadata } },
  "core/v1.PodStatus": { derive: listAddresses },
  "core/v1.PodSpec": {
    derive: derivePodSpec,
    checks: {
      self: [checkContainers, checkMounts],
      dnsConfig: checkDnsConfig,
      activeDeadlineSeconds: between(1, 2_147_483_647, "must be between 1 and 2147483647, inclusive"),
    },
  },
  "core/v1.Container": { derive: derivePullPolicy, checks: { livenessProbe: once, startupProbe: once } },
  "core/v1.EphemeralContainer": { derive: derivePullPolicy },
  "core/v1.EnvVar": { checks: { valueFrom: checkValueSource } },
  "core/v1.ObjectFieldSelector": { checks: { fieldPath: checkFieldPath } },
  "core/v1.ResourceRequirements": { checks: { self: checkResources } },
  "core/v1.LifecycleHandler": { checks: { self: oneHandler } },
  "core/v1.Probe": { checks: { self: oneHandler } },
  "core/v1.Toleration": { checks: { self: checkToleration } },
  "core/v1.Volume": { derive: emptyIfBare, checks: { self: oneSource } },
  "core/v1.ImageVolumeSource": {
    derive: (image) => {
      if (isZero(image.pullPolicy)) image.pullPolicy = pullPolicyOf(text(image, "reference"))
    },
  },
  "core/v1.TopologySpreadConstraint": { checks: { topologyKey: needed("can not be empty") } },
}

const computed = ["cpu", "memory"] as const

/** `Guaranteed` if every container limits CPU and memory and requests as much, `BestEffort` if none requests anything. */
const qualityOfService = (pod: MutableObject): "Guaranteed" | "Burstable" | "BestEffort" => {
  const spec = child(pod, "spec")
  const own = child(spec, "resources")
  const holders = own === undefined ? containersOf(spec).map((container) => child(container, "resources")) : [own]
  const amountOf = (resources: Fields | undefined, key: string, name: string): number =>
    quantityOf(child(resources, key)?.[name]) ?? 0
  let guaranteed = true
  let asked = false
  for (const resources of holders)
    for (const name of computed) {
      const [limit, request] = [amountOf(resources, "limits", name), amountOf(resources, "requests", name)]
      if (limit > 0 || request > 0) asked = true
      if (limit <= 0 || (request > 0 && request !== limit)) guaranteed = false
    }
  if (!asked) return "BestEffort"
  return guaranteed ? "Guaranteed" : "Burstable"
}

const newStatus = (pod: MutableObject): Fields => {
  const status: Fields = { phase: "Pending", qosClass: qualityOfService(pod) }
  if (list(child(pod, "spec"), "schedulingGates").length > 0)
    status.conditions = [
      {
        type: "PodScheduled",
        status: "False",
        lastProbeTime: null,
        lastTransitionTime: pod.metadata.creationTimestamp ?? null,
        reason: "SchedulingGated",
        message: "Scheduling is blocked due to non-empty scheduling gates",
      },
    ]
  return status
}

/** Members that a write which omits them does not change. */
const keepOmitted = (
  object: MutableObject,
  old: MutableObject | undefined,
  member: string,
  keys: ReadonlyArray<string>,
): void => {
  const [given, before] = [ensured(object, member), child(old, member)]
  for (const key of keys) if (isAbsent(given[key]) && !isAbsent(before?.[key])) given[key] = before?.[key]
}

const changeable =
  "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only " +
  "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was " +
  "previously negative)"

const withoutImages = (containers: ReadonlyArray<Fields>): ReadonlyArray<Fields> =>
  containers.map((container) => ({ ...container, image: undefined }))

/** The spec without what may change. A gated pod is not scheduled yet: its node selector and affinity may be narrowed. */
const unchangeable = (spec: Fields, isGated: boolean): Fields => ({
  ...spec,
  containers: withoutImages(items(spec, "containers")),
  initContainers: withoutImages(items(spec, "initContainers")),
  activeDeadlineSeconds: undefined,
  tolerations: undefined,
  schedulingGates: undefined,
  ...(isGated ? { nodeSelector: undefined, affinity: undefined } : {}),
})

/** Checks what a Pod's update may change. */
const checkPodChange = (pod: MutableObject, old: MutableObject, root: Place): void => {
  const at = root.at("spec")
  const [spec, before] = [child(pod, "spec") ?? {}, child(old, "spec") ?? {}]
  for (const key of ["containers", "initContainers"])
    if (items(spec, key).length !== items(before, key).length)
      return at.at(key).forbidden("pod updates may not add or remove containers")
  const withoutSeconds = (toleration: Fields): Fields => ({ ...toleration, tolerationSeconds: undefined })
  const wantedTolerations = items(spec, "tolerations").map(withoutSeconds)
  const isKept = (toleration: Fields): boolean =>
    wantedTolerations.some((wanted) => isSame(wanted, withoutSeconds(toleration)))
  if (!items(before, "tolerations").every(isKept))
    at.at("tolerations").forbidden("existing toleration can not be modified except its tolerationSeconds")
  const isGated = list(before, "schedulingGates").length > 0
  const [wanted, stored] = [unchangeable(spec, isGated), unchangeable(before, isGated)]
  if (isSame(wanted, stored)) return
  const changed = changedKeys(wanted, stored).map((key) => `spec.${key}`)
  at.forbidden(`pod updates may not change fields other than ${changeable}; changed: ${changed.join(", ")}`)
}

export const kinds: Readonly<Record<string, Kind>> = {
  "/Pod": {
    newStatus,
    // Fields that admission filled in at creation are not removed by clients that do not know them.
    prepare: (pod, old) => keepOmitted(pod, old, "spec", ["priority", "preemptionPolicy"]),
    prepareStatus: (pod, old) => keepOmitted(pod, old, "status", ["qosClass", "observedGeneration"]),
    checkChange: checkPodChange,
    checkStatus: (pod, old, root) => {
      const [now, before] = [child(pod, "status")?.qosClass, child(old, "status")?.qosClass]
      if (now !== before) root.at("status", "qosClass").immutable(now)
    },
  },
}

/** Labels of a template, for selectors. */
export const templateLabels = (template: Fields | undefined): Fields | undefined =>
  child(child(template, "metadata"), "labels")
