/**
 * The cells of the built-in kinds' rows, by kind and in the order of `columns.json`
 * (kubernetes/pkg/printers/internalversion, 1.34.4).
 */

import { entries, list, member, number as numberIn, scalar as scalarIn, text as textIn } from "../kinds/json-member.ts"
import {
  age,
  type Column,
  containers,
  count,
  firstOf,
  isTrue,
  labels,
  name,
  number,
  scalar,
  selector,
  since,
  text,
  texts,
} from "./columns.ts"
import {
  bindingParameters,
  certificateDuration,
  certificateState,
  claimState,
  isDangling,
  policyParameters,
  roleBinding,
} from "./policy-cells.ts"
import {
  jobCompletions,
  jobDuration,
  jobStatus,
  lastSchedule,
  metrics,
  revisionOwner,
  scaleTarget,
  suspended,
} from "./workload-cells.ts"

const readyOf: Column = (object) =>
  `${numberIn(object, "status", "readyReplicas")}/${numberIn(object, "spec", "replicas")}`

/** `or` for an absent value. */
const numberOr =
  (path: string, or: string): Column =>
  (object) => {
    const value = member(object, ...path.split("."))
    return typeof value === "number" ? value : or
  }

const replicas = [
  name,
  number("spec.replicas"),
  number("status.replicas"),
  number("status.readyReplicas"),
  age,
  ...containers("spec.template.spec"),
]

// Nodes and Services.

const nodeStatus: Column = (node) => {
  const ready = list(node, "status", "conditions").findLast((condition) => textIn(condition, "type") === "Ready")
  const status = ready === undefined ? "Unknown" : textIn(ready, "status") === "True" ? "Ready" : "NotReady"
  return member(node, "spec", "unschedulable") === true ? `${status},SchedulingDisabled` : status
}

const rolePrefix = "node-role.kubernetes.io/"

const nodeRoles: Column = (node) => {
  const roles = new Set<string>()
  for (const [key, value] of entries(node, "metadata", "labels")) {
    if (key.startsWith(rolePrefix)) roles.add(key.slice(rolePrefix.length))
    else if (key === "kubernetes.io/role") roles.add(String(value))
  }
  roles.delete("")
  return [...roles].sort().join(",") || "<none>"
}

const nodeAddress =
  (type: string): Column =>
  (node) => {
    const address = list(node, "status", "addresses").find((candidate) => textIn(candidate, "type") === type)
    return address === undefined ? "<none>" : textIn(address, "address")
  }

const clusterAddress: Column = (service) => {
  const address = list(service, "spec", "clusterIPs")[0] ?? member(service, "spec", "clusterIP")
  return typeof address === "string" && address !== "" ? address : "<none>"
}

const balancedAddresses = (object: unknown): ReadonlyArray<string> => {
  const ingress = list(object, "status", "loadBalancer", "ingress")
  const addresses = new Set(ingress.map((entry) => textIn(entry, "ip") || textIn(entry, "hostname")))
  return [...addresses].filter((address) => address !== "").sort()
}

const externalAddress: Column = (service) => {
  const given = list(service, "spec", "externalIPs").map(String)
  switch (textIn(service, "spec", "type")) {
    case "ClusterIP":
    case "NodePort":
      return given.join(",") || "<none>"
    case "LoadBalancer":
      return [...balancedAddresses(service), ...given].join(",") || "<pending>"
    case "ExternalName":
      return textIn(service, "spec", "externalName")
    default:
      return "<unknown>"
  }
}

const servicePorts: Column = (service) => {
  const ports = list(service, "spec", "ports").map((port) => {
    const nodePort = numberIn(port, "nodePort")
    return `${numberIn(port, "port")}${nodePort > 0 ? `:${nodePort}` : ""}/${textIn(port, "protocol")}`
  })
  return ports.join(",") || "<none>"
}

const endpointsText: Column = (object) => {
  const subsets = list(object, "subsets")
  if (subsets.length === 0) return "<none>"
  const addresses = subsets.flatMap((subset) => {
    const hosts = texts(list(subset, "addresses"), "ip")
    const ports = list(subset, "ports")
    // Headless services may have no ports.
    if (ports.length === 0) return hosts
    return ports.flatMap((port) => hosts.map((host) => hostAndPort(host, numberIn(port, "port"))))
  })
  return firstOf(addresses)
}

const hostAndPort = (host: string, port: number): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`

const slicePorts: Column = (slice) =>
  firstOf(list(slice, "ports").map((port) => scalarIn(port, "port") ?? textIn(port, "name"))) || "<unset>"

const sliceAddresses: Column = (slice) =>
  firstOf(list(slice, "endpoints").flatMap((endpoint) => list(endpoint, "addresses").map(String))) || "<unset>"

/** The server counts rules beyond the third, with a host or without. */
const ingressHosts: Column = (ingress) => {
  const rules = list(ingress, "spec", "rules")
  const hosts = texts(rules, "host").filter((host) => host !== "")
  return firstOf(hosts, rules.length) || "*"
}

const classParameters: Column = (ingressClass) => {
  const parameters = member(ingressClass, "spec", "parameters")
  const group = textIn(parameters, "apiGroup")
  const kind = `${textIn(parameters, "kind")}${group === "" ? "" : `.${group}`}`
  return parameters === undefined ? "<none>" : `${kind}/${textIn(parameters, "name")}`
}

const addressParent: Column = (address) => {
  const parent = member(address, "spec", "parentRef")
  if (parent === undefined) return "<none>"
  const group = textIn(parent, "group")
  const resource = `${textIn(parent, "resource")}${group === "" ? "" : `.${group}`}`
  return [resource, textIn(parent, "namespace"), textIn(parent, "name")].filter((part) => part !== "").join("/")
}

// Events and quotas.

const firstSeen: Column = (event, now) => since(member(event, "firstTimestamp") ?? member(event, "eventTime"), now)

const lastSeen: Column = (event, now) => {
  const series = member(event, "series")
  if (series !== undefined) return since(member(series, "lastObservedTime"), now)
  const last = member(event, "lastTimestamp")
  return last === undefined ? firstSeen(event, now) : since(last, now)
}

const eventObject: Column = (event) => {
  const kind = textIn(event, "involvedObject", "kind").toLowerCase()
  const involved = textIn(event, "involvedObject", "name")
  return involved === "" ? kind : `${kind}/${involved}`
}

const eventSource: Column = (event) => {
  const component = textIn(event, "source", "component") || textIn(event, "reportingComponent")
  const instance = textIn(event, "source", "host") || textIn(event, "reportingInstance")
  return instance === "" ? component : `${component}, ${instance}`
}

const eventCount: Column = (event) =>
  member(event, "series") === undefined ? numberIn(event, "count") || 1 : numberIn(event, "series", "count")

/** Limits, or everything else. */
const quotaUsage =
  (limits: boolean): Column =>
  (quota) =>
    entries(quota, "status", "hard")
      .map(([resource]) => resource)
      .filter((resource) => resource.startsWith("limits.") === limits)
      .sort()
      .map((resource) => {
        const [used, hard] = ["used", "hard"].map((side) => scalarIn(quota, "status", side, resource) ?? "0")
        return `${resource}: ${used}/${hard}`
      })
      .join(", ")

// Storage.

const shortModes = { ReadWriteOnce: "RWO", ReadOnlyMany: "ROX", ReadWriteMany: "RWX", ReadWriteOncePod: "RWOP" }

/** In this order, whatever the input's order. */
const modesText = (modes: ReadonlyArray<unknown>): string =>
  Object.entries(shortModes)
    .filter(([mode]) => modes.includes(mode))
    .map(([, short]) => short)
    .join(",")

/** The annotation that predates the field still counts and takes precedence. */
const storageClass: Column = (object) =>
  scalarIn(object, "metadata", "annotations", "volume.beta.kubernetes.io/storage-class") ??
  textIn(object, "spec", "storageClassName")

const volumePhase: Column = (object) =>
  member(object, "metadata", "deletionTimestamp") === undefined ? textIn(object, "status", "phase") : "Terminating"

const volumeClaim: Column = (volume) => {
  const claim = member(volume, "spec", "claimRef")
  return claim === undefined ? "" : `${textIn(claim, "namespace")}/${textIn(claim, "name")}`
}

/** Of a claim that has a volume. */
const ifBound =
  (shown: (claim: unknown) => string): Column =>
  (claim) =>
    textIn(claim, "spec", "volumeName") === "" ? "" : shown(claim)

const defaultClass = ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"]

const className: Column = (object) => {
  const isDefault = defaultClass.some((key) => textIn(object, "metadata", "annotations", key) === "true")
  return `${textIn(object, "metadata", "name")}${isDefault ? " (default)" : ""}`
}

const tokenAudiences: Column = (driver) =>
  member(driver, "spec", "tokenRequests") === undefined
    ? "<unset>"
    : texts(list(driver, "spec", "tokenRequests"), "audience").join(",")

const webhooks = [name, count("webhooks"), age]
const queuing = "spec.limited.limitResponse.queuing"

/** By kind. */
export const builtinColumns: Readonly<Record<string, ReadonlyArray<Column>>> = {
  "v1.ConfigMap": [name, (object) => entries(object, "data").length + entries(object, "binaryData").length, age],
  "v1.Endpoints": [name, endpointsText, age],
  "v1.Event": [
    lastSeen,
    text("type"),
    text("reason"),
    eventObject,
    text("involvedObject.fieldPath"),
    eventSource,
    (event) => textIn(event, "message").trim(),
    firstSeen,
    eventCount,
    name,
  ],
  "v1.Namespace": [name, text("status.phase"), age],
  "v1.Node": [
    name,
    nodeStatus,
    nodeRoles,
    age,
    text("status.nodeInfo.kubeletVersion"),
    nodeAddress("InternalIP"),
    nodeAddress("ExternalIP"),
    text("status.nodeInfo.osImage", "<unknown>"),
    text("status.nodeInfo.kernelVersion", "<unknown>"),
    text("status.nodeInfo.containerRuntimeVersion", "<unknown>"),
  ],
  "v1.PersistentVolume": [
    name,
    scalar("spec.capacity.storage", "0"),
    (volume) => modesText(list(volume, "spec", "accessModes")),
    text("spec.persistentVolumeReclaimPolicy"),
    volumePhase,
    volumeClaim,
    storageClass,
    scalar("spec.volumeAttributesClassName", "<unset>"),
    text("status.reason"),
    age,
    scalar("spec.volumeMode", "<unset>"),
  ],
  "v1.PersistentVolumeClaim": [
    name,
    volumePhase,
    text("spec.volumeName"),
    ifBound((claim) => scalarIn(claim, "status", "capacity", "storage") ?? "0"),
    ifBound((claim) => modesText(list(claim, "status", "accessModes"))),
    storageClass,
    scalar("spec.volumeAttributesClassName", "<unset>"),
    age,
    scalar("spec.volumeMode", "<unset>"),
  ],
  "v1.PodTemplate": [name, ...containers("template.spec"), labels("template.metadata.labels")],
  // Its selector is a plain set of labels.
  "v1.ReplicationController": [...replicas, labels("spec.selector")],
  "v1.ResourceQuota": [name, quotaUsage(false), quotaUsage(true), age],
  "v1.Secret": [name, text("type"), (secret) => entries(secret, "data").length, age],
  "v1.Service": [name, text("spec.type"), clusterAddress, externalAddress, servicePorts, age, labels("spec.selector")],
  "v1.ServiceAccount": [name, count("secrets"), age],
  "admissionregistration.k8s.io/v1.MutatingWebhookConfiguration": webhooks,
  "admissionregistration.k8s.io/v1.ValidatingWebhookConfiguration": webhooks,
  "admissionregistration.k8s.io/v1.ValidatingAdmissionPolicy": [name, count("spec.validations"), policyParameters, age],
  "admissionregistration.k8s.io/v1.ValidatingAdmissionPolicyBinding": [
    name,
    text("spec.policyName"),
    bindingParameters,
    age,
  ],
  "apps/v1.ControllerRevision": [name, revisionOwner, number("revision"), age],
  "apps/v1.DaemonSet": [
    name,
    number("status.desiredNumberScheduled"),
    number("status.currentNumberScheduled"),
    number("status.numberReady"),
    number("status.updatedNumberScheduled"),
    number("status.numberAvailable"),
    labels("spec.template.spec.nodeSelector"),
    age,
    ...containers("spec.template.spec"),
    selector("spec.selector"),
  ],
  "apps/v1.Deployment": [
    name,
    readyOf,
    number("status.updatedReplicas"),
    number("status.availableReplicas"),
    age,
    ...containers("spec.template.spec"),
    selector("spec.selector", "", "<invalid>"),
  ],
  "apps/v1.ReplicaSet": [...replicas, selector("spec.selector")],
  "apps/v1.StatefulSet": [name, readyOf, age, ...containers("spec.template.spec")],
  "autoscaling/v1.Scale": [name, number("spec.replicas"), number("status.replicas"), age],
  "autoscaling/v2.HorizontalPodAutoscaler": [
    name,
    scaleTarget,
    metrics,
    scalar("spec.minReplicas", "<unset>"),
    number("spec.maxReplicas"),
    number("status.currentReplicas"),
    age,
  ],
  "batch/v1.CronJob": [
    name,
    text("spec.schedule"),
    scalar("spec.timeZone", "<none>"),
    suspended,
    count("status.active"),
    lastSchedule,
    age,
    ...containers("spec.jobTemplate.spec.template.spec"),
    selector("spec.jobTemplate.spec.selector"),
  ],
  "batch/v1.Job": [
    name,
    jobStatus,
    jobCompletions,
    jobDuration,
    age,
    ...containers("spec.template.spec"),
    selector("spec.selector"),
  ],
  "certificates.k8s.io/v1.CertificateSigningRequest": [
    name,
    age,
    text("spec.signerName", "<none>"),
    text("spec.username"),
    certificateDuration,
    certificateState,
  ],
  "coordination.k8s.io/v1.Lease": [name, text("spec.holderIdentity"), age],
  "discovery.k8s.io/v1.EndpointSlice": [name, text("addressType"), slicePorts, sliceAddresses, age],
  "flowcontrol.apiserver.k8s.io/v1.FlowSchema": [
    name,
    text("spec.priorityLevelConfiguration.name"),
    number("spec.matchingPrecedence"),
    text("spec.distinguisherMethod.type", "<none>"),
    age,
    isDangling,
  ],
  "flowcontrol.apiserver.k8s.io/v1.PriorityLevelConfiguration": [
    name,
    text("spec.type"),
    numberOr("spec.limited.nominalConcurrencyShares", "<none>"),
    numberOr(`${queuing}.queues`, "<none>"),
    numberOr(`${queuing}.handSize`, "<none>"),
    numberOr(`${queuing}.queueLengthLimit`, "<none>"),
    age,
  ],
  "networking.k8s.io/v1.Ingress": [
    name,
    text("spec.ingressClassName", "<none>"),
    ingressHosts,
    (ingress) => balancedAddresses(ingress).join(","),
    (ingress) => (list(ingress, "spec", "tls").length === 0 ? "80" : "80, 443"),
    age,
  ],
  "networking.k8s.io/v1.IngressClass": [name, text("spec.controller"), classParameters, age],
  "networking.k8s.io/v1.NetworkPolicy": [name, selector("spec.podSelector", "<none>", "<none>"), age],
  // One cell more than there are columns, as the real server sends it.
  "networking.k8s.io/v1.IPAddress": [name, addressParent, age],
  "networking.k8s.io/v1.ServiceCIDR": [name, (object) => list(object, "spec", "cidrs").join(","), age],
  "node.k8s.io/v1.RuntimeClass": [name, text("handler"), age],
  "policy/v1.PodDisruptionBudget": [
    name,
    scalar("spec.minAvailable", "N/A"),
    scalar("spec.maxUnavailable", "N/A"),
    number("status.disruptionsAllowed"),
    age,
  ],
  "rbac.authorization.k8s.io/v1.ClusterRoleBinding": roleBinding,
  "rbac.authorization.k8s.io/v1.RoleBinding": roleBinding,
  "resource.k8s.io/v1.DeviceClass": [name, age],
  "resource.k8s.io/v1.ResourceClaim": [name, claimState, age],
  "resource.k8s.io/v1.ResourceClaimTemplate": [name, age],
  "resource.k8s.io/v1.ResourceSlice": [name, text("spec.nodeName"), text("spec.driver"), text("spec.pool.name"), age],
  "scheduling.k8s.io/v1.PriorityClass": [name, number("value"), isTrue("globalDefault"), age, text("preemptionPolicy")],
  "storage.k8s.io/v1.CSIDriver": [
    name,
    (driver) => member(driver, "spec", "attachRequired") !== false,
    isTrue("spec.podInfoOnMount"),
    isTrue("spec.storageCapacity"),
    tokenAudiences,
    isTrue("spec.requiresRepublish"),
    (driver) => list(driver, "spec", "volumeLifecycleModes").map(String).join(",") || "<none>",
    age,
  ],
  "storage.k8s.io/v1.CSINode": [name, count("spec.drivers"), age],
  "storage.k8s.io/v1.StorageClass": [
    className,
    text("provisioner"),
    scalar("reclaimPolicy", "Delete"),
    scalar("volumeBindingMode", "Immediate"),
    isTrue("allowVolumeExpansion"),
    age,
  ],
  "storage.k8s.io/v1.VolumeAttachment": [
    name,
    text("spec.attacher"),
    text("spec.source.persistentVolumeName"),
    text("spec.nodeName"),
    isTrue("status.attached"),
    age,
  ],
  "storage.k8s.io/v1.VolumeAttributesClass": [name, text("driverName"), age],
}
