/** Objects for the Prometheus operator, and the dashboard in a ConfigMap that Grafana's sidecar finds. */

import { type Manifest, manifest } from "../manifest.ts"
import { type Authentication, labelsOf, type ManifestSettings, metricsKey, selectorOf } from "../settings.ts"
import { alerts } from "./alerts.ts"
import { dashboard } from "./dashboard.ts"
import { prometheusRule } from "./prometheus-rule.ts"

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
