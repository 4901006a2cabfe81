/** Alerts as an object of the Prometheus operator. */
import { type Manifest, manifest } from "../manifest/manifest.ts"
import type { Alert } from "./alerts.ts"

/** @param metadata of the object. */
export const prometheusRule = (
  metadata: {
    readonly name: string
    readonly namespace: string
    readonly labels: Readonly<Record<string, string>>
  },
  group: string,
  alerts: ReadonlyArray<Alert>,
): Manifest =>
  manifest({
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata,
    spec: {
      groups: [
        {
          name: group,
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
  })
