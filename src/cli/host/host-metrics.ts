/** Metrics of `reel host`: each module, the watches that they share, and what was refused. */
import type { ControllerStatistics } from "../../host/controller/run/controller-statistics.ts"
import type { ModuleStatus, WorkerStatus } from "../../host/dispatcher/dispatcher.ts"
import type { HubStatistics } from "../../host/hub/hub-change.ts"
import type { ScriptStatus } from "../../host/scripts/script-host.ts"
import type { Metric } from "../../recorder/metrics/metrics-text.ts"

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
  /** Of WebAssembly modules and scripts. */
  const ofAny = (
    name: string,
    type: Metric["type"],
    help: string,
    measure: (module: Pick<ModuleStatus, "phase" | "restarts" | "isAlone" | "missed">) => number,
  ): Metric => ({
    name: `kubereel_host_module_${name}`,
    type,
    help,
    samples: [...modules, ...scripts].map((module) => ({ labels: { module: module.name }, value: measure(module) })),
  })
  const ofModule = (
    name: string,
    type: Metric["type"],
    help: string,
    measure: (module: ModuleStatus) => number | undefined,
  ): Metric => ({
    name: `kubereel_host_module_${name}`,
    type,
    help,
    samples: modules.flatMap((module) => {
      const value = measure(module)
      return value === undefined ? [] : [{ labels: { module: module.name }, value }]
    }),
  })
  const ofRequests = (
    name: string,
    type: Metric["type"],
    help: string,
    measure: (counts: RequestCounts) => number,
  ) => ({
    name: `kubereel_host_module_${name}`,
    type,
    help,
    samples: requests.map((counts) => ({ labels: { module: counts.module }, value: measure(counts) })),
  })
  const ofScript = (
    name: string,
    type: Metric["type"],
    help: string,
    measure: (controller: ControllerStatistics) => number,
  ): Metric => ({
    name: `kubereel_host_controller_${name}`,
    type,
    help,
    // Two scripts may have controllers of one name.
    samples: scripts.flatMap(({ name: module, controllers }) =>
      controllers.map((controller) => ({
        labels: { module, controller: controller.name },
        value: measure(controller),
      })),
    ),
  })
  return [
    ofAny("running", "gauge", "1 while an instance of the module runs.", ({ phase }) => Number(phase === "running")),
    ofAny("restarts_total", "counter", "Instances that have replaced others.", ({ restarts }) => restarts),
    ofAny(
      "alone",
      "gauge",
      "1 for a module with a thread of its own, because it may have held up others.",
      ({ isAlone }) => Number(isAlone),
    ),
    ofModule("wake_ups_total", "counter", "Calls into the present instance.", ({ instance }) => instance?.wakeUps),
    ofModule("run_seconds_total", "counter", "Time within the present instance.", ({ instance }) =>
      instance === undefined ? undefined : instance.runMs / 1000,
    ),
    ofModule("longest_run_seconds", "gauge", "The longest call into the present instance.", ({ instance }) =>
      instance === undefined ? undefined : instance.longestMs / 1000,
    ),
    ofModule("memory_bytes", "gauge", "Linear memory of the instance.", ({ instance }) => instance?.memoryBytes),
    ofModule("queued", "gauge", "Results that wait for the module.", ({ instance }) => instance?.queued),
    ofModule("dropped_total", "counter", "Results for operations that had ended.", ({ instance }) => instance?.dropped),
    ofAny(
      "missed_total",
      "counter",
      "Changes that did not arrive: always 0, or there is a bug.",
      ({ missed }) => missed,
    ),
    {
      name: "kubereel_host_module_checkpoint_waiting",
      type: "gauge",
      help: "1 while the module waits because its checkpoint cannot be written, such as on a full disk.",
      samples: [
        ...modules.map(({ name, instance }) => ({ name, isWaiting: instance?.isWaitingForCheckpoint === true })),
        ...scripts.map(({ name, controllers }) => ({
          name,
          isWaiting: controllers.some(({ isWaitingForCheckpoint }) => isWaitingForCheckpoint),
        })),
      ].map(({ name, isWaiting }) => ({ labels: { module: name }, value: Number(isWaiting) })),
    },
    ofRequests("requests_total", "counter", "Requests that the module has made.", (counts) => counts.requests),
    ofRequests(
      "requests_not_answered_total",
      "counter",
      "Requests that got no answer of the API server: refused, too many, too late or failed.",
      (counts) => counts.refused + counts.overflowed + counts.timedOut + counts.failed,
    ),
    ofRequests("requests_queued", "gauge", "Requests that wait for their turn.", (counts) => counts.queued),
    ofScript("reconciles_total", "counter", "Runs of the controller.", ({ runs }) => runs),
    ofScript("errors_total", "counter", "Runs of the controller that failed.", ({ failures }) => failures),
    ofScript("queued", "gauge", "Objects that wait for the controller.", ({ depth }) => depth),
    {
      name: "kubereel_host_worker_modules",
      type: "gauge",
      help: "Modules that run on the worker.",
      samples: workers.map(({ name, modules: count }) => ({ labels: { worker: name }, value: count })),
    },
    {
      name: "kubereel_host_watches",
      type: "gauge",
      help: "Watches at the API server that the modules share.",
      samples: hub === undefined ? [] : [{ value: hub.upstreams.length }],
    },
    {
      name: "kubereel_host_subscriptions",
      type: "gauge",
      help: "Watches of modules.",
      samples: hub === undefined ? [] : [{ value: hub.subscriptions.length }],
    },
    {
      name: "kubereel_host_refused",
      type: "gauge",
      help: "Files of the directory that are no modules, and modules that could not be started.",
      samples: [{ value: refused }],
    },
  ]
}
