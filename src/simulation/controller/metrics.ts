/** The Prometheus of a simulation. A cluster without the Prometheus operator runs the simulation without metrics, and says so. */
import type { ControllerCluster } from "../../host/index.ts"
import { type ApiObject, unlessNotFound } from "../../kube/index.ts"
import { derivedNames, nameOfKind } from "../api/derived-names.ts"
import type { Simulation, SimulationMetrics } from "../api/simulation.ts"
import { belonging, labelsOf } from "./driver-job.ts"
import { createOwn, NotDone } from "./problems.ts"

// The Prometheus of a simulation, for the Prometheus operator: it scrapes what the monitors select, and sends it on (docs/facts/simkube.md).

/** As far as the controller reads it. */
interface Prometheus extends ApiObject {
  readonly status?: { readonly availableReplicas?: number }
}

/** SimKube's, whose dashboards were made with it. */
const version = "2.44.0"

/** With SimKube's default. */
const metricsNamespace = ({ namespace }: SimulationMetrics): string => namespace ?? "monitoring"

/** `root`: the simulation's SimulationRoot. */
const prometheus = (simulation: string, root: ApiObject, metrics: SimulationMetrics): ApiObject => {
  const { prometheus: name } = derivedNames(simulation)
  return {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "Prometheus",
    metadata: belonging(simulation, root, name, metricsNamespace(metrics)),
    spec: {
      image: `quay.io/prometheus/prometheus:v${version}`,
      version,
      podMetadata: { labels: { ...labelsOf(simulation, name), "app.kubernetes.io/component": "prometheus" } },
      externalLabels: { prom2parquet_prefix: simulation },
      shards: metrics.prometheusShards ?? 1,
      serviceAccountName: metrics.serviceAccount ?? "prometheus-k8s",
      podMonitorSelector: selecting("app.kubernetes.io/name", metrics.podMonitorNames),
      podMonitorNamespaceSelector: selecting("kubernetes.io/metadata.name", metrics.podMonitorNamespaces),
      serviceMonitorSelector: selecting("app.kubernetes.io/name", metrics.serviceMonitorNames),
      serviceMonitorNamespaceSelector: selecting("kubernetes.io/metadata.name", metrics.serviceMonitorNamespaces),
      remoteWrite: metrics.remoteWriteConfigs.map((write) => remoteWrite(simulation, write)),
    },
  }
}

/** All if there are none. */
const selecting = (key: string, values: ReadonlyArray<string> | null | undefined): object =>
  values === null || values === undefined ? {} : { matchExpressions: [{ key, operator: "In", values }] }

type RemoteWrite = SimulationMetrics["remoteWriteConfigs"][number]

const remoteWrite = (simulation: string, given: RemoteWrite): object => ({
  ...given,
  sendExemplars: given.sendExemplars ?? false,
  sendNativeHistograms: given.sendNativeHistograms ?? false,
  remoteTimeout: given.remoteTimeout ?? "30s",
  writeRelabelConfigs: [
    ...(given.writeRelabelConfigs ?? []),
    { sourceLabels: ["__name__"], targetLabel: "simkube_meta", replacement: simulation },
  ],
})

/** Whether the metrics that a Simulation asks for will be there. */
export interface MetricsVerdict {
  readonly isAvailable: boolean
  /** One word for programs. */
  readonly reason: string
  readonly message: string
}

/** ms that a Prometheus may take to become available; afterwards the simulation runs without it. */
const availableWithinMs = 5 * 60_000

/**
 * `undefined` if the Simulation asks for no metrics: not even their namespace has to exist then (W-54). Rejects with {@link NotDone} or an ApiError.
 */
export const prepareMetrics = async (
  cluster: ControllerCluster,
  simulation: Simulation,
  root: ApiObject,
): Promise<MetricsVerdict | undefined> => {
  const { metrics } = simulation.spec
  if (metrics === null || metrics === undefined) return undefined
  const without = (reason: string, why: string): MetricsVerdict => ({
    isAvailable: false,
    reason,
    message: `${why}; the simulation runs without metrics`,
  })
  const namespace = metricsNamespace(metrics)
  const wanted = prometheus(simulation.metadata.name, root, metrics)
  const place = `${namespace}/${wanted.metadata.name}`
  if ((await unlessNotFound(cluster.kind(nameOfKind.prometheus))) === undefined)
    return without("OperatorMissing", "the Prometheus operator is not installed")
  if ((await unlessNotFound(cluster.getLive(nameOfKind.namespace, { name: namespace }))) === undefined)
    throw new NotDone(
      "permanent",
      "MetricsNamespaceMissing",
      `the namespace ${namespace} of spec.metrics does not exist; create it, or remove spec.metrics`,
    )
  const { status, metadata } = await createOwn<Prometheus>(cluster, root, wanted)
  if ((status?.availableReplicas ?? 0) > 0)
    return { isAvailable: true, reason: "PrometheusAvailable", message: `the Prometheus is ${place}` }
  const waitedMs = Date.parse(cluster.now()) - Date.parse(metadata.creationTimestamp ?? "")
  if (waitedMs < availableWithinMs)
    throw new NotDone("awaited", "WaitingForMetrics", `the Prometheus ${place} is not available yet`)
  return without(
    "PrometheusNotAvailable",
    `the Prometheus ${place} is not available after ${availableWithinMs / 60_000} minutes`,
  )
}
