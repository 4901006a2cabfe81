/** Objects for the Prometheus operator: where the host's metrics are, and when to alert. */
import { type Manifest, manifest } from "../manifest/manifest.ts"
import { selectorOf } from "../manifest/settings.ts"
import type { Alert } from "../monitoring/alerts.ts"
import { prometheusRule } from "../monitoring/prometheus-rule.ts"
import { type HostSettings, hostLabels } from "./host-settings.ts"

/** The alerts. docs/guides/controllers-in-cluster.md explains each of them by name. */
export const hostAlerts: ReadonlyArray<Alert> = [
  {
    name: "KubereelHostDown",
    expression: "absent(kubereel_host_refused)",
    for: "5m",
    severity: "critical",
    summary: "No controller host is running.",
    description: "Nothing is reconciled. Controllers look at every object again when the host is back.",
  },
  {
    name: "KubereelHostModuleNotRunning",
    expression: "kubereel_host_module_running == 0",
    for: "5m",
    severity: "critical",
    summary: "Module {{ $labels.module }} does not run.",
    description: "It was refused, or waits for its next start after it has ended. The log says why.",
  },
  {
    name: "KubereelHostModuleRestarting",
    expression: "increase(kubereel_host_module_restarts_total[15m]) > 3",
    for: undefined,
    severity: "warning",
    summary: "Module {{ $labels.module }} keeps ending.",
    description: "It traps, takes too much memory or does not return. The log says which; the other modules go on.",
  },
  {
    name: "KubereelHostControllerFailing",
    expression: "increase(kubereel_host_controller_errors_total[15m]) > 10",
    for: "15m",
    severity: "warning",
    summary: "Controller {{ $labels.controller }} keeps failing.",
    description: "Its runs are repeated with a back-off. The log has the errors.",
  },
  {
    name: "KubereelHostCheckpointWaiting",
    expression: "kubereel_host_module_checkpoint_waiting == 1",
    for: "5m",
    severity: "critical",
    summary: "Module {{ $labels.module }} waits for its checkpoint.",
    description: "It cannot be written, usually because the disk is full. The module goes on by itself once it can.",
  },
  {
    name: "KubereelHostRefused",
    expression: "kubereel_host_refused > 0",
    for: "5m",
    severity: "warning",
    summary: "Files of the modules' directory are not run.",
    description: "The log names file, line and reason. A module that ran before keeps running as it was.",
  },
  {
    name: "KubereelHostMissed",
    expression: "kubereel_host_module_missed_total > 0",
    for: undefined,
    severity: "warning",
    summary: "A change did not reach module {{ $labels.module }}.",
    description: "Its watch was ended, so it has listed again and misses nothing now. This is a bug: report the log.",
  },
]

/** A PodMonitor, because nothing but Prometheus calls the host, so that there is no Service; and a PrometheusRule. */
export const hostMonitoring = (settings: HostSettings): ReadonlyArray<Manifest> => {
  const { name, namespace } = settings
  const metadata = { name, namespace, labels: hostLabels(settings) }
  return [
    manifest({
      apiVersion: "monitoring.coreos.com/v1",
      kind: "PodMonitor",
      metadata,
      spec: {
        selector: { matchLabels: selectorOf(settings) },
        podMetricsEndpoints: [{ port: "http", path: "/metrics", interval: "15s" }],
      },
    }),
    prometheusRule(metadata, "kubereel-host", hostAlerts),
  ]
}
