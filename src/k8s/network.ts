/** How the recorder is reached, by whom, and whom it reaches. */
import { type Json, type Manifest, manifest } from "./manifest.ts"
import { httpPort, labelsOf, type ManifestSettings, selectorOf } from "./settings.ts"

/** Pods with this label, in the recorder's namespace, may reach it. */
export const clientLabel = { "kubereel.dev/export": "allowed" } as const

export const service = (settings: ManifestSettings): Manifest =>
  manifest({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: settings.name, namespace: settings.namespace, labels: labelsOf(settings) },
    spec: {
      selector: selectorOf(settings),
      ports: [{ name: "http", port: httpPort, targetPort: "http", protocol: "TCP", appProtocol: "http" }],
    },
  })

/**
 * Without authentication whoever reaches the port can export, so few may. With it the API server, or a token, decides who exports, and any may
 * ask: the API server's service proxy too, which comes from where nobody knows. Probes and "kubectl port-forward" come from
 * the node, which no policy stops.
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
          ? "Who gets here can export. Probes and port-forwards come from the node, which no policy stops."
          : settings.authentication.tag === "kubernetes"
            ? "Anybody may ask: the recorder asks the API server who may have."
            : "Anybody may ask: who has a token may have.",
    },
    {
      path: ["spec", "egress"],
      text:
        settings.allowedTargets.length === 0
          ? "The API server, which no selector can name. Its address is in the environment: no DNS is needed."
          : "The API server, the object stores and their names: no selector can say where they are.",
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
 * A recording in an emptyDir is gone with its pod, so no drain may take it along unasked; one on a claim is gone on with
 * elsewhere. A recorder that is not healthy never keeps a node from being drained.
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
        ? "The recording is on a claim: it goes on wherever the pod is started again."
        : "The recording is gone with the pod: a drain waits until somebody has exported it and deletes the pod.",
    },
  )
