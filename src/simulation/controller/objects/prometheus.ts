/** The Prometheus of a simulation, for the Prometheus operator: it scrapes what the monitors select, and sends it on (docs/facts/simkube.md). */
import type { ApiObject } from "../../../kube/client/objects.ts"
import { derivedNames } from "../../api/derived-names.ts"
import type { SimulationMetrics } from "../../api/metrics.ts"
import { belonging, labelsOf } from "./belonging.ts"

/** As far as the controller reads it. */
export interface Prometheus extends ApiObject {
  readonly status?: { readonly availableReplicas?: number }
}

/** SimKube's, whose dashboards were made with it. */
const version = "2.44.0"

/** With SimKube's default. */
export const metricsNamespace = ({ namespace }: SimulationMetrics): string => namespace ?? "monitoring"

/** `root`: the simulation's SimulationRoot. */
export const prometheus = (simulation: string, root: ApiObject, metrics: SimulationMetrics): ApiObject => {
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
