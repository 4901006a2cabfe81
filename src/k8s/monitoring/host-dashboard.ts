/** Grafana's dashboard of `reel host`: what an operator of controllers looks at, by controller and by module. */

const datasource = { type: "prometheus", uid: "$datasource" }
const selection = '{namespace="$namespace",pod=~"$pod"}'

const perSecond = (counter: string): string => `rate(kubereel_host_${counter}${selection}[$__rate_interval])`
/** Of each run; nothing while there are none. */
const eachRun = (seconds: string): string => `${perSecond(seconds)} / (${perSecond("controller_reconciles_total")} > 0)`

/** Title, what it tells, unit, and an expression for each name of a line. */
const panels: ReadonlyArray<readonly [string, string, string, Readonly<Record<string, string>>]> = [
  ["Reconciles", "Runs per second.", "ops", { "{{module}} {{controller}}": perSecond("controller_reconciles_total") }],
  [
    "Failures and retries",
    "Runs per second that failed, and those that repeat one.",
    "ops",
    {
      "{{controller}} failed": perSecond("controller_errors_total"),
      "{{controller}} again": perSecond("controller_retries_total"),
    },
  ],
  ["Duration of a run", "Mean.", "s", { "{{controller}}": eachRun("controller_reconcile_seconds_total") }],
  [
    "Latency of the queue",
    "Mean wait of an object for its run.",
    "s",
    { "{{controller}}": eachRun("controller_queue_seconds_total") },
  ],
  [
    "Waiting objects",
    "For their run, and for a later one.",
    "short",
    {
      "{{controller}} waiting": `kubereel_host_controller_queued${selection}`,
      "{{controller}} later": `kubereel_host_controller_delayed${selection}`,
    },
  ],
  [
    "Restarts of modules",
    "After a trap, an endless loop or the end of a thread.",
    "short",
    { "{{module}}": `increase(kubereel_host_module_restarts_total${selection}[$__rate_interval])` },
  ],
  ["Requests of modules", "Per second.", "ops", { "{{module}}": perSecond("module_requests_total") }],
  [
    "Memory of WebAssembly modules",
    "Linear memory.",
    "bytes",
    { "{{module}}": `kubereel_host_module_memory_bytes${selection}` },
  ],
]

const variable = (name: string, label: string, query: string) => ({
  ...{ name, label, type: "query", datasource, query, refresh: 2, sort: 1 },
})

/** For the schema version 39 of Grafana. */
export const hostDashboard = {
  ...{ uid: "kubereel-host", title: "kubereel host", tags: ["kubereel"], schemaVersion: 39, editable: true },
  refresh: "30s",
  time: { from: "now-1h", to: "now" },
  templating: {
    list: [
      { name: "datasource", label: "Data source", type: "datasource", query: "prometheus" },
      variable("namespace", "Namespace", "label_values(kubereel_host_watches, namespace)"),
      {
        ...variable("pod", "Pod", 'label_values(kubereel_host_watches{namespace="$namespace"}, pod)'),
        ...{ includeAll: true, allValue: ".*" },
      },
    ],
  },
  panels: panels.map(([title, description, unit, lines], index) => ({
    ...{ id: index + 1, type: "timeseries", title, description, datasource },
    gridPos: { x: (index % 2) * 12, y: Math.floor(index / 2) * 8, w: 12, h: 8 },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: Object.entries(lines).map(([legendFormat, expr], line) => ({
      ...{ refId: "AB"[line], datasource, expr, legendFormat },
    })),
  })),
}
