/** Metrics of `reel controller`. */
import type { RunningControllers } from "../../host/controller/running-controllers.ts"
import type { Metric } from "../../recorder/metrics/metrics-text.ts"

export const controllerMetrics = (controller: RunningControllers): ReadonlyArray<Metric> => {
  const statistics = controller.statistics()
  const sum = (measure: (one: (typeof statistics)[number]) => number): ReadonlyArray<{ readonly value: number }> => [
    { value: statistics.reduce((total, one) => total + measure(one), 0) },
  ]
  const metric = (name: string, type: Metric["type"], help: string, samples: Metric["samples"]): Metric => ({
    name: `kubereel_simulation_controller_${name}`,
    type,
    help,
    samples,
  })
  return [
    metric("leader", "gauge", "1 if this controller works, 0 if it stands by.", [
      { value: Number(controller.isLeader) },
    ]),
    metric(
      "reconciles_total",
      "counter",
      "Looks at Simulations.",
      sum(({ runs }) => runs),
    ),
    metric(
      "errors_total",
      "counter",
      "Looks that failed and were repeated.",
      sum(({ failures }) => failures),
    ),
    metric(
      "queued",
      "gauge",
      "Simulations that wait to be looked at.",
      sum(({ depth }) => depth),
    ),
    metric(
      "worked_seconds_total",
      "counter",
      "Time of all looks.",
      sum(({ workedMs }) => workedMs / 1000),
    ),
  ]
}
