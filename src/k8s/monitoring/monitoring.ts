/** Objects for the Prometheus operator, and the dashboard in a ConfigMap that Grafana's sidecar finds. */

import { type Manifest, manifest } from "../manifest.ts"
import { type Authentication, labelsOf, type ManifestSettings, metricsKey, selectorOf } from "../settings.ts"
import { alerts } from "./alerts.ts"
import { dashboard } from "./dashboard.ts"

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

export const monitoringManifests = (settings: ManifestSettings): ReadonlyArray<Manifest> => {
  const { name, namespace } = settings
  const labels = labelsOf(settings)
  const apiVersion = "monitoring.coreos.com/v1"
  return [
    manifest({
      apiVersion,
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
    manifest({
      apiVersion,
      kind: "PrometheusRule",
      metadata: { name, namespace, labels },
      spec: {
        groups: [
          {
            name: "kubereel",
            rules: alerts.map((alert) => ({
              alert: alert.name,
              expr: alert.expression,
              ...(alert.for !== undefined && { for: alert.for }),
              labels: { severity: alert.severity },
              annotations: { summary: alert.summary, description: alert.description },
            })),
          },
        ],
      },
    }),
    manifest({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: `${name}-dashboard`, namespace, labels: { ...labels, grafana_dashboard: "1" } },
      data: { "kubereel.json": `${JSON.stringify(dashboard(), undefined, 2)}\n` },
    }),
  ]
}
