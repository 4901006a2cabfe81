/** Metrics of `reel host`: each module, the watches that they share, and what was refused. */
import type { ControllerStatistics, HubStatistics, ModuleStatus, ScriptStatus, WorkerStatus } from "../../host/index.ts"
import type { Metric } from "../../recorder/index.ts"

/** Of the executor, per module. */
interface RequestCounts {
  readonly module: string
  readonly requests: number
  readonly refused: number
  readonly overflowed: number
  readonly timedOut: number
  readonly failed: number
  readonly queued: number
}

export interface HostState {
  readonly modules: ReadonlyArray<ModuleStatus>
  readonly workers: ReadonlyArray<WorkerStatus>
  readonly requests: ReadonlyArray<RequestCounts>
  readonly scripts: ReadonlyArray<ScriptStatus>
  /** `undefined` while the hub does not respond. */
  readonly hub: HubStatistics | undefined
  /** Files of the directory that are not run. */
  readonly refused: number
}

export const hostMetrics = ({
  modules,
  workers,
  requests,
  scripts,
  hub,
  refused,
}: HostState): ReadonlyArray<Metric> => {
  const metric = <Source>(
    name: string,
    type: Metric["type"],
    help: string,
    sources: ReadonlyArray<Source>,
    measure: (source: Source) => number | undefined,
    labelsOf: (source: Source) => NonNullable<Metric["samples"][number]["labels"]>,
  ): Metric => ({
    name: `kubereel_host_${name}`,
    type,
    help,
    samples: sources.flatMap((source) => {
      const value = measure(source)
      return value === undefined ? [] : [{ labels: labelsOf(source), value }]
    }),
  })
  type Row<Source> = readonly [
    name: string,
    type: Metric["type"],
    help: string,
    measure: (source: Source) => number | undefined,
  ]
  const ofModules = <Source extends { readonly name: string }>(
    sources: ReadonlyArray<Source>,
    rows: ReadonlyArray<Row<Source>>,
  ): ReadonlyArray<Metric> =>
    rows.map(([name, type, help, measure]) =>
      metric(`module_${name}`, type, help, sources, measure, (source) => ({ module: source.name })),
    )
  // Two scripts may have controllers of one name.
  const controllers = scripts.flatMap(({ name: module, controllers: own }) =>
    own.map((controller) => ({ module, controller })),
  )
  const single = (name: string, help: string, value: number | undefined): Metric => ({
    name: `kubereel_host_${name}`,
    type: "gauge",
    help,
    samples: value === undefined ? [] : [{ value }],
  })
  const waiting = [
    ...modules.map(({ name, instance }) => ({ name, isWaiting: instance?.isWaitingForCheckpoint === true })),
    ...scripts.map(({ name, controllers: own }) => ({
      name,
      isWaiting: own.some(({ isWaitingForCheckpoint }) => isWaitingForCheckpoint),
    })),
  ]
  const seconds = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / 1000)
  return [
    ...ofModules<Pick<ModuleStatus, "name" | "phase" | "restarts" | "isAlone" | "missed">>(
      [...modules, ...scripts],
      [
        ["running", "gauge", "1 while an instance of the module runs.", ({ phase }) => Number(phase === "running")],
        ["restarts_total", "counter", "Instances that have replaced others.", ({ restarts }) => restarts],
        [
          "alone",
          "gauge",
          "1 for a module with a thread of its own, because it may have held up others.",
          ({ isAlone }) => Number(isAlone),
        ],
        [
          "missed_total",
          "counter",
          "Changes that did not arrive: always 0, or there is a bug.",
          ({ missed }) => missed,
        ],
      ],
    ),
    ...ofModules(modules, [
      ["wake_ups_total", "counter", "Calls into the present instance.", ({ instance }) => instance?.wakeUps],
      ["run_seconds_total", "counter", "Time within the present instance.", ({ instance }) => seconds(instance?.runMs)],
      [
        "longest_run_seconds",
        "gauge",
        "The longest call into the present instance.",
        ({ instance }) => seconds(instance?.longestMs),
      ],
      ["memory_bytes", "gauge", "Linear memory of the instance.", ({ instance }) => instance?.memoryBytes],
      ["queued", "gauge", "Results that wait for the module.", ({ instance }) => instance?.queued],
      ["dropped_total", "counter", "Results for operations that had ended.", ({ instance }) => instance?.dropped],
    ]),
    ...ofModules(waiting, [
      [
        "checkpoint_waiting",
        "gauge",
        "1 while the module waits because its checkpoint cannot be written, such as on a full disk.",
        ({ isWaiting }) => Number(isWaiting),
      ],
    ]),
    ...ofModules(
      requests.map(({ module: name, ...counts }) => ({ name, ...counts })),
      [
        ["requests_total", "counter", "Requests that the module has made.", (counts) => counts.requests],
        [
          "requests_not_answered_total",
          "counter",
          "Requests that got no answer of the API server: refused, too many, too late or failed.",
          (counts) => counts.refused + counts.overflowed + counts.timedOut + counts.failed,
        ],
        ["requests_queued", "gauge", "Requests that wait for their turn.", (counts) => counts.queued],
      ],
    ),
    ...(
      [
        ["reconciles_total", "counter", "Runs of the controller.", ({ runs }) => runs],
        ["errors_total", "counter", "Runs of the controller that failed.", ({ failures }) => failures],
        ["retries_total", "counter", "Runs that were repeated because one had failed.", ({ retries }) => retries],
        [
          "reconcile_seconds_total",
          "counter",
          "Time that runs took: by reconciles_total, a run's mean.",
          ({ workedMs }) => workedMs / 1000,
        ],
        ["longest_reconcile_seconds", "gauge", "The longest run.", ({ longestRunMs }) => longestRunMs / 1000],
        [
          "queue_seconds_total",
          "counter",
          "Time that objects waited before their runs: by reconciles_total, the mean latency of the queue.",
          ({ waitedMs }) => waitedMs / 1000,
        ],
        [
          "longest_queue_seconds",
          "gauge",
          "The longest that an object waited.",
          ({ longestWaitMs }) => longestWaitMs / 1000,
        ],
        [
          "running_seconds",
          "gauge",
          "Time since the oldest present run began; 0 without one.",
          ({ longestRunningMs }) => longestRunningMs / 1000,
        ],
        [
          "delayed",
          "gauge",
          "Objects that wait for a later run: a retry, or requeueAfterMs.",
          ({ delayed }) => delayed,
        ],
        ["queued", "gauge", "Objects that wait for the controller.", ({ depth }) => depth],
      ] as ReadonlyArray<Row<ControllerStatistics>>
    ).map(([name, type, help, measure]) =>
      metric(
        `controller_${name}`,
        type,
        help,
        controllers,
        ({ controller }) => measure(controller),
        ({ module, controller }) => ({ module, controller: controller.name }),
      ),
    ),
    metric(
      "worker_modules",
      "gauge",
      "Modules that run on the worker.",
      workers,
      ({ modules: count }) => count,
      ({ name }) => ({ worker: name }),
    ),
    single("watches", "Watches at the API server that the modules share.", hub?.upstreams.length),
    single("subscriptions", "Watches of modules.", hub?.subscriptions.length),
    single("refused", "Files of the directory that are no modules, and modules that could not be started.", refused),
  ]
}
