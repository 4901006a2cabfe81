/** The network policy of a controller host. */
import { type Manifest, manifest } from "../manifest.ts"
import { selectorOf } from "../settings.ts"
import { type HostSettings, hostLabels, hostPort } from "./host-settings.ts"

/**
 * In: Prometheus, if there is one, since /metrics shows names of modules and numbers to anyone; probes come from the node, which no policy blocks. Out: the API
 * server, which is all that WebAssembly modules can reach; scripts may be given further ports.
 */
export const hostNetworkPolicy = (settings: HostSettings): Manifest => {
  const { name, namespace, apiServerPorts, egressPorts, monitoring, monitoringNamespace } = settings
  const tcp = (port: number) => ({ protocol: "TCP", port })
  const reachable = [...new Set([...apiServerPorts, ...egressPorts])].map(tcp)
  const prometheus = {
    from: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": monitoringNamespace } } }],
    ports: [tcp(hostPort)],
  }
  const dns = { ports: ["UDP", "TCP"].map((protocol) => ({ protocol, port: 53 })) }
  return manifest(
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name, namespace, labels: hostLabels(settings) },
      spec: {
        podSelector: { matchLabels: selectorOf(settings) },
        policyTypes: ["Ingress", "Egress"],
        ingress: monitoring ? [prometheus] : [],
        egress: [{ ports: reachable }, ...(egressPorts.length > 0 ? [dns] : [])],
      },
    },
    {
      path: ["spec", "egress"],
      text:
        egressPorts.length === 0
          ? "The API server, which no selector can match. Its address is in the environment, so DNS is not needed."
          : "The API server, what scripts need, and DNS: no selector can match their addresses.",
    },
  )
}
