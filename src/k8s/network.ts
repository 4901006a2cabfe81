/** The recorder's Service, network policy and disruption budget. */
import { type Json, type Manifest, manifest } from "./manifest/manifest.ts"
import { httpPort, labelsOf, leaseLabel, type ManifestSettings, selectorOf } from "./manifest/settings.ts"

/** Pods with this label in the recorder's namespace may reach it. */
const clientLabel = { "kubereel.dev/export": "allowed" } as const

export const service = (settings: ManifestSettings): Manifest => serviceOf(settings, selectorOf(settings))

/** The same for all recorders with the Lease: it leads to the one that records, because the others are not ready. */
export const leaseService = (settings: ManifestSettings, lease: string): Manifest =>
  serviceOf({ ...settings, name: lease }, { [leaseLabel]: lease })

const serviceOf = (
  settings: Pick<ManifestSettings, "name" | "namespace" | "version">,
  selector: Readonly<Record<string, string>>,
): Manifest =>
  manifest({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: settings.name, namespace: settings.namespace, labels: labelsOf(settings) },
    spec: {
      selector,
      ports: [{ name: "http", port: httpPort, targetPort: "http", protocol: "TCP", appProtocol: "http" }],
    },
  })

/**
 * Without authentication, anyone who can reach the port can export, so few clients are allowed. With authentication, the API server or
 * a token decides who exports, and any client may connect, including the API server's service proxy, whose source address is unknown.
 * Probes and "kubectl port-forward" come from the node, which no policy blocks.
 */
export const networkPolicy = (settings: ManifestSettings): Manifest =>
  manifest(
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name: settings.name, namespace: settings.namespace, labels: labelsOf(settings) },
      spec: {
        podSelector: { matchLabels: selectorOf(settings) },
        policyTypes: ["Ingress", "Egress"],
        ingress: ingress(settings),
        egress: egress(settings),
      },
    },
    {
      path: ["spec", "ingress"],
      text:
        settings.authentication.tag === "none"
          ? "Anyone admitted here can export. Probes and port-forwards come from the node, which no policy blocks."
          : settings.authentication.tag === "kubernetes"
            ? "Open to all: the recorder has the API server authorise each request."
            : "Open to all: each request needs a token.",
    },
    {
      path: ["spec", "egress"],
      text:
        settings.allowedTargets.length === 0
          ? "The API server, which no selector can match. Its address is in the environment, so DNS is not needed."
          : "The API server, the object stores and DNS: no selector can match their addresses.",
    },
  )

const egress = ({ apiServerPorts, allowedTargets, targetPorts }: ManifestSettings) => {
  const stores = allowedTargets.length === 0 ? [] : targetPorts
  const ports = [...new Set([...apiServerPorts, ...stores])].map((port) => ({ protocol: "TCP", port }))
  if (allowedTargets.length === 0) return [{ ports }]
  return [{ ports }, { ports: ["UDP", "TCP"].map((protocol) => ({ protocol, port: 53 })) }]
}

const ingress = (settings: ManifestSettings): ReadonlyArray<{ readonly [key: string]: Json }> => {
  const ports = [{ protocol: "TCP", port: httpPort }]
  if (settings.authentication.tag !== "none") return [{ ports }]
  const blocks = settings.allowedBlocks.map((cidr) => ({ ipBlock: { cidr } }))
  const clients = { from: [{ podSelector: { matchLabels: clientLabel } }, ...blocks], ports }
  const prometheus = {
    from: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": settings.monitoringNamespace } } }],
    ports,
  }
  return settings.monitoring ? [clients, prometheus] : [clients]
}

/**
 * A recording in an emptyDir is lost with its pod, so a drain must not evict the pod; a recording on a claim is continued on another
 * node. An unhealthy recorder never blocks a drain.
 */
export const disruptionBudget = (settings: ManifestSettings): Manifest =>
  manifest(
    {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: settings.name, namespace: settings.namespace, labels: labelsOf(settings) },
      spec: {
        maxUnavailable: settings.volume.isClaim ? 1 : 0,
        unhealthyPodEvictionPolicy: "AlwaysAllow",
        selector: { matchLabels: selectorOf(settings) },
      },
    },
    {
      path: ["spec", "maxUnavailable"],
      text: settings.volume.isClaim
        ? "The recording is on a claim: it continues wherever the pod is started again."
        : "The recording is lost with the pod: a drain waits until someone has exported it and deleted the pod.",
    },
  )
