/** The network policy of pods that run controllers: a controller host, and the controller of Simulations. */
import { type Manifest, manifest } from "./manifest.ts"
import { selectorOf } from "./settings.ts"

interface ControllersNetwork {
  /** Name of the Deployment. */
  readonly name: string
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
  /** Of /metrics. */
  readonly port: number
  /** TCP ports that the API server listens on, behind its Service. */
  readonly apiServerPorts: ReadonlyArray<number>
  /** Further TCP ports that programs of users may reach, anywhere; with any, DNS too. */
  readonly egressPorts: ReadonlyArray<number>
  /** Those programs, in the plural. */
  readonly programs: string
  readonly monitoring: boolean
  /** Namespace of the Prometheus that scrapes the pods. */
  readonly monitoringNamespace: string
}

/**
 * In: Prometheus, if there is one, since /metrics shows names and numbers to anyone; probes come from the node, which no policy blocks. Out: the API
 * server, which is all that controllers need; programs of users may be given further ports.
 */
export const controllersNetworkPolicy = (network: ControllersNetwork): Manifest => {
  const { name, namespace, labels, apiServerPorts, egressPorts, programs, monitoring, monitoringNamespace } = network
  const tcp = (port: number) => ({ protocol: "TCP", port })
  const reachable = [...new Set([...apiServerPorts, ...egressPorts])].map(tcp)
  const prometheus = {
    from: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": monitoringNamespace } } }],
    ports: [tcp(network.port)],
  }
  const dns = { ports: ["UDP", "TCP"].map((protocol) => ({ protocol, port: 53 })) }
  return manifest(
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name, namespace, labels },
      spec: {
        podSelector: { matchLabels: selectorOf({ name }) },
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
          : `The API server, what ${programs} need, and DNS: no selector can match their addresses.`,
    },
  )
}
