/** All manifests of a recorder in a cluster, in an order in which they can be applied. */
import { configMap, deployment, volumeClaim } from "./deployment.ts"
import { type Manifest, manifest } from "./manifest/manifest.ts"
import { namespaceManifest } from "./manifest/namespace.ts"
import { type Authentication, labelsOf, type ManifestSettings, metricsKey, selectorOf } from "./manifest/settings.ts"
import { alerts } from "./monitoring/alerts.ts"
import { dashboard } from "./monitoring/dashboard.ts"
import { prometheusRule } from "./monitoring/prometheus-rule.ts"
import { disruptionBudget, leaseService, networkPolicy, service } from "./network.ts"
import { exporters, leaseHolding, ownEvents, roles, serviceAccount } from "./rbac.ts"

// Objects for the Prometheus operator, and the dashboard in a ConfigMap that Grafana's sidecar finds.

const credentials = (authentication: Authentication) => {
  switch (authentication.tag) {
    case "none":
      return {}
    case "kubernetes":
      // Prometheus' own token, which usually has permission to get /metrics.
      return { bearerTokenFile: "/var/run/secrets/kubernetes.io/serviceaccount/token" }
    case "token":
      // A separate key, because a file with several tokens cannot be used as a header.
      return { authorization: { credentials: { name: authentication.secret.name, key: metricsKey } } }
  }
}

const monitoringManifests = (settings: ManifestSettings): ReadonlyArray<Manifest> => {
  const { name, namespace } = settings
  const labels = labelsOf(settings)
  return [
    manifest({
      apiVersion: "monitoring.coreos.com/v1",
      kind: "ServiceMonitor",
      metadata: { name, namespace, labels },
      spec: {
        selector: { matchLabels: selectorOf(settings) },
        endpoints: [
          {
            port: "http",
            path: "/metrics",
            interval: "15s",
            ...credentials(settings.authentication),
          },
        ],
      },
    }),
    prometheusRule({ name, namespace, labels }, "kubereel", alerts),
    manifest({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: `${name}-dashboard`, namespace, labels: { ...labels, grafana_dashboard: "1" } },
      data: { "kubereel.json": `${JSON.stringify(dashboard(), undefined, 2)}\n` },
    }),
  ]
}

/** Pure. */
export const manifestsFor = (settings: ManifestSettings): ReadonlyArray<Manifest> => [
  namespaceManifest(settings.namespace, labelsOf(settings)),
  serviceAccount(settings),
  ...roles(settings),
  ...ownEvents(settings),
  ...(settings.lease === undefined ? [] : leaseHolding(settings, settings.lease)),
  ...(settings.authentication.tag === "kubernetes" ? [exporters(settings)] : []),
  configMap(settings),
  ...(settings.volume.isClaim ? [volumeClaim(settings)] : []),
  service(settings),
  ...(settings.lease === undefined ? [] : [leaseService(settings, settings.lease)]),
  deployment(settings),
  disruptionBudget(settings),
  networkPolicy(settings),
  ...(settings.monitoring ? monitoringManifests(settings) : []),
]
