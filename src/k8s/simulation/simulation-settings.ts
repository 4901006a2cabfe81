/** All settings of the manifests of the controller of Simulations. The command line provides them; nothing is read from elsewhere. */
import type { ScopedRules } from "../../host/controller/rule-set.ts"
import type { Manifest } from "../manifest/manifest.ts"
import { labelsOf } from "../manifest/settings.ts"

export interface SimulationSettings {
  /** The namespace that the controller runs in, and of its Leases. */
  readonly namespace: string
  readonly image: string
  /** Version of kubereel, for the label. */
  readonly version: string
  /** The CustomResourceDefinitions of Simulations. */
  readonly definitions: ReadonlyArray<Manifest["object"]>
  /** What the controller watches and writes. */
  readonly rights: ReadonlyArray<ScopedRules>
  /** The ClusterRole of drivers, to which the controller binds their accounts. */
  readonly driverRole: string
  /** Pods of the controller. One of them works, the others stand by. */
  readonly replicas: number
  /** Address to listen on within the pod: `0.0.0.0`, or `::` where pods have no IPv4 address. */
  readonly bind: string
  /** TCP ports that the API server listens on, behind its Service. */
  readonly apiServerPorts: ReadonlyArray<number>
  /** Further TCP ports that hooks may reach, anywhere; with any, DNS too. */
  readonly egressPorts: ReadonlyArray<number>
  /** Whether to add a PodMonitor of the Prometheus operator. */
  readonly monitoring: boolean
  /** Namespace of the Prometheus that scrapes the controller. */
  readonly monitoringNamespace: string
}

/** Name of the Deployment, its ServiceAccount and its roles. It is fixed: a cluster has one queue of Simulations. */
export const controllerName = "kubereel-simulation-controller"

/** Port of `/healthz`, `/readyz` and `/metrics`, as for `reel controller`. */
export const controllerPort = 7791

/** Labels of all objects. */
export const simulationLabels = ({ version }: Pick<SimulationSettings, "version">) =>
  labelsOf({ name: controllerName, version, component: "simulation-controller" })
