/**
 * Names of what belongs to a Simulation: the API's own, SimKube's names of what its controller creates, and ours beside them. Tools that look for SimKube's
 * objects find ours.
 */
import type { Kind } from "../../kube/index.ts"

const group = "simkube.io"
const version = "v1"

/** Simulations: cluster-scoped, with a status subresource. */
export const simulationKind: Kind = {
  gvk: { group, version, kind: "Simulation" },
  plural: "simulations",
  namespaced: false,
}

/** The empty objects that own what a simulation creates, so that their deletion removes it. */
export const simulationRootKind: Kind = {
  gvk: { group, version, kind: "SimulationRoot" },
  plural: "simulationroots",
  namespaced: false,
}

/** The label that names the simulation on everything that belongs to it. */
export const simulationLabel = `${group}/simulation`

/** The names of what the controller creates for one simulation. */
interface DerivedNames {
  /** SimulationRoot. */
  readonly root: string
  /** Job, in the driver's namespace. */
  readonly driver: string
  /** Service of the driver's webhook, in the driver's namespace. */
  readonly service: string
  /** MutatingWebhookConfiguration. */
  readonly webhook: string
  /** Prometheus, in the namespace of `spec.metrics`. */
  readonly prometheus: string
  /** ConfigMap with the summaries of the fidelity reports, in the driver's namespace. */
  readonly report: string
}

/** Pure. */
export const derivedNames = (simulation: string): DerivedNames => ({
  root: `sk-${simulation}-metaroot`,
  driver: `sk-${simulation}-driver`,
  service: `sk-${simulation}-driver-svc`,
  webhook: `sk-${simulation}-mutatepods`,
  prometheus: `sk-${simulation}-prom`,
  report: `sk-${simulation}-report`,
})

/** Characters that the name of a Service or the value of a label may have. */
const longestLabel = 63

/**
 * The longest name of a simulation, in characters: with it the longest derived name is still the name of a Service and the value of a label. SimKube
 * accepts longer ones, and then fails to create the Service.
 */
export const longestSimulationName =
  longestLabel - Math.max(...Object.values(derivedNames("")).map((name) => name.length))

/** The kinds that the controller watches and writes, as definitions of controllers name them. */
export const nameOfKind = {
  simulation: "simkube.io/v1.Simulation",
  root: "simkube.io/v1.SimulationRoot",
  job: "batch/v1.Job",
  pod: "v1.Pod",
  namespace: "v1.Namespace",
  service: "v1.Service",
  secret: "v1.Secret",
  serviceAccount: "v1.ServiceAccount",
  binding: "rbac.authorization.k8s.io/v1.ClusterRoleBinding",
  lease: "coordination.k8s.io/v1.Lease",
  webhooks: "admissionregistration.k8s.io/v1.MutatingWebhookConfiguration",
  prometheus: "monitoring.coreos.com/v1.Prometheus",
} as const
