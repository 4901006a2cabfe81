/** Bodies of Alertmanager's webhook, with every field that its documentation names (https://prometheus.io/docs/alerting/latest/configuration/#webhook_config). */

interface NotifiedAlert {
  readonly startsAt: string
  /** Absent: it fires. */
  readonly endsAt?: string
  readonly instance?: string
}

/** A notification about one group, in version 4. */
export const notification = (alerts: ReadonlyArray<NotifiedAlert>, group = "shop") => {
  const common = { alertname: "HighLatency", namespace: group, severity: "page" }
  return {
    version: "4",
    groupKey: `{}/{severity="page"}:{alertname="HighLatency", namespace="${group}"}`,
    truncatedAlerts: 0,
    status: alerts.every(({ endsAt }) => endsAt !== undefined) ? "resolved" : "firing",
    receiver: "kubereel",
    groupLabels: { alertname: "HighLatency", namespace: group },
    commonLabels: common,
    commonAnnotations: { summary: "The shop answers slowly" },
    externalURL: "http://alertmanager.example.com:9093",
    alerts: alerts.map(({ startsAt, endsAt, instance = "web-0" }) => ({
      status: endsAt === undefined ? "firing" : "resolved",
      labels: { ...common, instance },
      annotations: { summary: "The shop answers slowly", runbook_url: "https://runbooks.example.com/latency" },
      ...{ startsAt, endsAt: endsAt ?? "0001-01-01T00:00:00Z", fingerprint: "c0ffee0123456789" },
      generatorURL: "http://prometheus.example.com/graph?g0.expr=x&g0.tab=1",
    })),
  }
}
