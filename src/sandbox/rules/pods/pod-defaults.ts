/** Defaults of a PodSpec: those of Pods and templates, and those of Pods only. */

import type { DefaultTable } from "../default-table.ts"
import { child, ensured, isAbsent, isFields, isZero, items, number, spellAmounts, text } from "../fields.ts"
import type { Fields } from "../kind-rules.ts"

/** Octal 0644: rw-r--r--. */
const readableByAll = 0o644

const httpGet: DefaultTable = { set: { path: "/", scheme: "HTTP" } }
/** Zero counts as absent: a probe of period 0 makes no sense. */
const probe: DefaultTable = {
  within: { httpGet, grpc: { set: { service: "" } } },
  derive: (object) => {
    for (const [key, value] of probeNumbers) if (isZero(object[key])) object[key] = value
  },
}
const probeNumbers = [
  ["timeoutSeconds", 1],
  ["periodSeconds", 10],
  ["successThreshold", 1],
  ["failureThreshold", 3],
] as const

const fieldReference: DefaultTable = { set: { apiVersion: "v1" } }
const resourceReference: DefaultTable = { set: { divisor: "0" } }
const environment: DefaultTable = {
  within: {
    valueFrom: {
      within: {
        fieldRef: fieldReference,
        resourceFieldRef: resourceReference,
        fileKeyRef: { set: { optional: false } },
      },
    },
  },
  derive: (object) => {
    if (object.value === "") delete object.value
  },
}

/** An image with the tag `latest`, explicit or implied by an omitted tag, is always pulled. */
const pullPolicyOf = (image: string): string => {
  const digest = image.indexOf("@")
  const name = digest === -1 ? image : image.slice(0, digest)
  const tag = name.slice(name.lastIndexOf("/") + 1).split(":")[1]
  return tag === "latest" || (tag === undefined && digest === -1) ? "Always" : "IfNotPresent"
}

/** Limits and requests. */
const spellResources = (resources: Fields): void => {
  spellAmounts(child(resources, "limits"))
  spellAmounts(child(resources, "requests"))
}

export const container: DefaultTable = {
  set: { resources: {}, terminationMessagePath: "/dev/termination-log", terminationMessagePolicy: "File" },
  within: {
    resources: { derive: spellResources },
    livenessProbe: probe,
    readinessProbe: probe,
    startupProbe: probe,
    lifecycle: { within: { postStart: { within: { httpGet } }, preStop: { within: { httpGet } } } },
  },
  each: { env: environment, ports: { set: { protocol: "TCP" } } },
  derive: (object) => {
    if (isZero(object.imagePullPolicy)) object.imagePullPolicy = pullPolicyOf(text(object, "image"))
  },
}

const downwardItems: Readonly<Record<string, DefaultTable>> = {
  items: { within: { fieldRef: fieldReference, resourceFieldRef: resourceReference } },
}
/** As in an ephemeral volume and in a StatefulSet's templates. */
export const claimSpec: DefaultTable = {
  within: { resources: { derive: spellResources } },
  set: { resources: {}, volumeMode: "Filesystem" },
}

export const volumeSources: Readonly<Record<string, DefaultTable>> = {
  secret: { set: { defaultMode: readableByAll } },
  configMap: { set: { defaultMode: readableByAll } },
  downwardAPI: { set: { defaultMode: readableByAll }, each: downwardItems },
  projected: {
    set: { defaultMode: readableByAll },
    each: {
      sources: {
        within: { serviceAccountToken: { set: { expirationSeconds: 3600 } }, downwardAPI: { each: downwardItems } },
      },
    },
  },
  iscsi: { set: { iscsiInterface: "default" } },
  rbd: { set: { pool: "rbd", user: "admin", keyring: "/etc/ceph/keyring" } },
  azureDisk: { set: { cachingMode: "ReadWrite", fsType: "ext4", readOnly: false, kind: "Shared" } },
  scaleIO: { set: { storageMode: "ThinProvisioned", fsType: "xfs" } },
  hostPath: {
    derive: (object) => {
      if (isAbsent(object.type)) object.type = ""
    },
  },
  ephemeral: { within: { volumeClaimTemplate: { make: { metadata: {}, spec: claimSpec } } } },
  image: {
    derive: (object) => {
      if (isZero(object.pullPolicy)) object.pullPolicy = pullPolicyOf(text(object, "reference"))
    },
  },
}

const volume: DefaultTable = {
  within: volumeSources,
  derive: (object) => {
    const isBare = !Object.keys(object).some((key) => key !== "name" && !isAbsent(object[key]))
    if (isBare) object.emptyDir = {}
  },
}

/** The members that Go's `omitempty` omits from a PodSpec: absence means false. */
const omittedWhenFalse = ["hostNetwork", "hostPID", "hostIPC"]

/** With host networking a container's ports are the host's. */
const openHostPorts = (spec: Fields): void => {
  for (const list of ["containers", "initContainers"])
    for (const item of items(spec, list))
      for (const port of items(item, "ports"))
        if (isZero(port.hostPort) && number(port, "containerPort") !== undefined) port.hostPort = port.containerPort
}

export const podSpec: DefaultTable = {
  set: {
    dnsPolicy: "ClusterFirst",
    restartPolicy: "Always",
    securityContext: {},
    terminationGracePeriodSeconds: 30,
    schedulerName: "default-scheduler",
  },
  each: { containers: container, initContainers: container, ephemeralContainers: container, volumes: volume },
  derive: (spec) => {
    // Two names of one field; the server keeps them equal.
    const account = text(spec, "serviceAccountName") || text(spec, "serviceAccount")
    if (account !== "") {
      spec.serviceAccountName = account
      spec.serviceAccount = account
    }
    if ((number(spec, "terminationGracePeriodSeconds") ?? 0) < 0) spec.terminationGracePeriodSeconds = 1
    for (const key of omittedWhenFalse) if (spec[key] === false) delete spec[key]
  },
}

/** Limits become the default of requests; only in a Pod, never in a template. */
const requestLimits = (resources: Fields | undefined): void => {
  const limits = child(resources, "limits")
  if (resources === undefined || limits === undefined) return
  const requests = ensured(resources, "requests")
  for (const key in limits) if (!Object.hasOwn(requests, key)) requests[key] = limits[key]
}

/** Run after {@link podSpec}. */
export const podOnly: DefaultTable = {
  set: { enableServiceLinks: true },
  derive: (spec) => {
    if (spec.hostNetwork === true) openHostPorts(spec)
    for (const list of ["containers", "initContainers"])
      for (const item of items(spec, list)) requestLimits(child(item, "resources"))
    const own = child(spec, "resources")
    if (own !== undefined) requestLimits(own)
  },
}

/** A PodTemplateSpec. */
export const podTemplate: DefaultTable = {
  set: { metadata: {} },
  make: { spec: podSpec },
  derive: (template) => {
    const metadata = child(template, "metadata")
    if (isFields(metadata) && isAbsent(metadata.creationTimestamp)) delete metadata.creationTimestamp
  },
}
