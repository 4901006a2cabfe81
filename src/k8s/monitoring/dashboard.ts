/** The dashboard for Grafana 11 and later, as the JSON that it imports. */
import type { Json } from "../manifest/manifest.ts"

interface Graph {
  readonly title: string
  /** What the graph shows. */
  readonly description: string
  /** Grafana's name for the unit. */
  readonly unit: string
  readonly queries: ReadonlyArray<{ readonly expression: string; readonly legend: string }>
}

/** Selects a single recorder. */
const chosen = 'namespace="$namespace",pod=~"$pod"'
const each = (metric: string): string => `${metric}{${chosen}}`
const rate = (metric: string): string => `rate(${each(metric)}[$__rate_interval])`

const sections: ReadonlyArray<{ readonly title: string; readonly graphs: ReadonlyArray<Graph> }> = [
  {
    title: "Recording",
    graphs: [
      {
        title: "States of kinds",
        description: "Kinds in any state other than watching are not being recorded.",
        unit: "short",
        queries: [{ expression: `sum by (state) (${each("kubereel_kind_state")})`, legend: "{{state}}" }],
      },
      {
        title: "Events recorded",
        description: "Recorded changes per second.",
        unit: "ops",
        queries: [{ expression: rate("kubereel_kind_recorded_total"), legend: "{{kind}}" }],
      },
      {
        title: "Received objects, by outcome",
        description: "Unchanged: a new version without a relevant change. Repeated: received twice and dropped.",
        unit: "ops",
        queries: ["received", "unchanged", "repeated"].map((name) => ({
          expression: `sum(${rate(`kubereel_kind_${name}_total`)})`,
          legend: name,
        })),
      },
      {
        title: "Objects",
        description: "Objects that exist according to the recording, by kind.",
        unit: "short",
        queries: [{ expression: each("kubereel_kind_objects"), legend: "{{kind}}" }],
      },
      {
        title: "Gaps",
        description: "Ranges of versions that the API server no longer had when they were requested.",
        unit: "short",
        queries: [
          { expression: `increase(${each("kubereel_kind_gaps_total")}[$__rate_interval])`, legend: "{{kind}}" },
        ],
      },
      {
        title: "Late changes",
        description:
          "Changes received later than they happened, so that their times are estimates: after an outage of the recorder, the connection or the stream.",
        unit: "short",
        queries: [
          { expression: `increase(${each("kubereel_kind_late_total")}[$__rate_interval])`, legend: "{{kind}}" },
        ],
      },
      {
        title: "Lists and watches started",
        description: "Watches are renewed every 5 to 10 minutes. A list after the first means that history was lost.",
        unit: "short",
        queries: [
          { expression: `increase(${each("kubereel_kind_relists_total")}[$__rate_interval])`, legend: "list {{kind}}" },
          {
            expression: `increase(${each("kubereel_kind_watches_total")}[$__rate_interval])`,
            legend: "watch {{kind}}",
          },
        ],
      },
    ],
  },
  {
    title: "Disk and mailboxes",
    graphs: [
      {
        title: "Lag",
        description: "How long the oldest uncommitted frame has waited, and the longest commit.",
        unit: "s",
        queries: [
          { expression: each("kubereel_store_lag_seconds"), legend: "lag" },
          { expression: each("kubereel_store_longest_commit_seconds"), legend: "longest commit" },
        ],
      },
      {
        title: "Cannot write",
        description: "1 while the volume is full or missing.",
        unit: "short",
        queries: [{ expression: each("kubereel_store_failing"), legend: "failing" }],
      },
      {
        title: "Disk",
        description: "Size of the recording, and how much it can still grow, taking an emptyDir's limit into account.",
        unit: "bytes",
        queries: [
          { expression: each("kubereel_store_recording_bytes"), legend: "recording" },
          { expression: each("kubereel_store_disk_free_bytes"), legend: "free" },
          { expression: each("kubereel_store_disk_size_bytes"), legend: "volume" },
        ],
      },
      {
        title: "Kept",
        description: "How far back the recording goes, if retention has removed something.",
        unit: "s",
        queries: [
          {
            expression: `time() - (${each("kubereel_store_retained_since_timestamp_seconds")} > 0)`,
            legend: "kept",
          },
        ],
      },
      {
        title: "Removed by retention",
        description: "Events removed, and events written anew because their objects live on.",
        unit: "ops",
        queries: [
          { expression: rate("kubereel_store_removed_events_total"), legend: "removed" },
          { expression: rate("kubereel_store_carried_events_total"), legend: "written anew" },
        ],
      },
      {
        title: "Waiting in mailboxes",
        description: "Bytes sent but not committed, and bytes not yet sent for lack of credit.",
        unit: "bytes",
        queries: [
          { expression: each("kubereel_mailbox_unacknowledged_bytes"), legend: "sent {{actor}}" },
          { expression: each("kubereel_mailbox_waiting_bytes"), legend: "waiting {{actor}}" },
        ],
      },
      {
        title: "Stalled",
        description: "Share of the time during which a sender waited for credit.",
        unit: "percentunit",
        queries: [{ expression: rate("kubereel_mailbox_stalled_seconds_total"), legend: "{{actor}} → {{mailbox}}" }],
      },
    ],
  },
  {
    title: "Process",
    graphs: [
      {
        title: "Memory",
        description: "Resident memory of the process, and the heap of each actor's thread.",
        unit: "bytes",
        queries: [
          { expression: each("process_resident_memory_bytes"), legend: "resident" },
          { expression: each("kubereel_actor_heap_bytes"), legend: "{{actor}}" },
        ],
      },
      {
        title: "CPU",
        description: "CPUs in use.",
        unit: "short",
        queries: [{ expression: rate("process_cpu_seconds_total"), legend: "process" }],
      },
      {
        title: "Restarts of actors",
        description: "An actor that crashed resumes where it stopped.",
        unit: "short",
        queries: [
          { expression: `increase(${each("kubereel_actor_restarts_total")}[$__rate_interval])`, legend: "{{actor}}" },
        ],
      },
      {
        title: "Owner look-ups",
        description: "Pending look-ups, and requests that failed and are retried.",
        unit: "short",
        queries: [
          { expression: each("kubereel_owners_pending"), legend: "pending" },
          { expression: `increase(${each("kubereel_owner_failures_total")}[$__rate_interval])`, legend: "failed" },
        ],
      },
    ],
  },
]

/** Two graphs side by side in Grafana's 24 columns. */
const width = 12
const height = 8

const dataSource = { type: "prometheus", uid: "$datasource" } as const

const variable = (name: string, label: string, query: string): Json => ({
  name,
  label,
  type: "query",
  datasource: dataSource,
  query,
  refresh: 2,
  sort: 1,
})

const panels = (): ReadonlyArray<Json> => {
  const placed: Json[] = []
  let y = 0
  for (const { title, graphs } of sections) {
    placed.push({ id: placed.length + 1, type: "row", title, gridPos: { x: 0, y, w: 24, h: 1 }, panels: [] })
    y += 1
    for (const [index, graph] of graphs.entries()) {
      const gridPos = { x: (index % 2) * width, y: y + Math.floor(index / 2) * height, w: width, h: height }
      placed.push({
        id: placed.length + 1,
        type: "timeseries",
        title: graph.title,
        description: graph.description,
        datasource: dataSource,
        gridPos,
        fieldConfig: { defaults: { unit: graph.unit, min: 0 }, overrides: [] },
        targets: graph.queries.map(({ expression, legend }, number) => ({
          refId: String.fromCharCode(65 + number),
          datasource: dataSource,
          expr: expression,
          legendFormat: legend,
        })),
      })
    }
    y += Math.ceil(graphs.length / 2) * height
  }
  return placed
}

export const dashboard = (): Json => ({
  uid: "kubereel",
  title: "kubereel",
  tags: ["kubereel"],
  schemaVersion: 39,
  editable: true,
  refresh: "30s",
  time: { from: "now-1h", to: "now" },
  templating: {
    list: [
      { name: "datasource", label: "Data source", type: "datasource", query: "prometheus" },
      variable("namespace", "Namespace", "label_values(kubereel_ready, namespace)"),
      variable("pod", "Pod", 'label_values(kubereel_ready{namespace="$namespace"}, pod)'),
    ],
  },
  panels: panels(),
})

/** All PromQL expressions of the dashboard. */
export const dashboardExpressions: ReadonlyArray<string> = sections.flatMap(({ graphs }) =>
  graphs.flatMap(({ queries }) => queries.map(({ expression }) => expression)),
)
