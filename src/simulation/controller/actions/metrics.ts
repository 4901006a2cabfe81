/** The Prometheus of a simulation. A cluster without the Prometheus operator runs the simulation without metrics, and says so. */
import type { ControllerCluster } from "../../../host/controller/access/controller-cluster.ts"
import { NotFoundError } from "../../../kube/client/api-errors.ts"
import type { ApiObject } from "../../../kube/client/objects.ts"
import type { Simulation } from "../../api/simulation.ts"
import { nameOfKind } from "../kinds.ts"
import { metricsNamespace, type Prometheus, prometheus } from "../objects/prometheus.ts"
import { createOwn } from "./creation.ts"
import { Awaited, Mistake } from "./problems.ts"

/** Whether the metrics that a Simulation asks for will be there. */
export interface MetricsVerdict {
  readonly isAvailable: boolean
  /** One word for programs. */
  readonly reason: string
  readonly message: string
}

/** ms that a Prometheus may take to become available; afterwards the simulation runs without it. */
const availableWithinMs = 5 * 60_000

/**
 * `undefined` if the Simulation asks for no metrics: not even their namespace has to exist then (W-54). Rejects with {@link Awaited}, {@link Mistake} or an ApiError.
 */
export const prepareMetrics = async (
  cluster: ControllerCluster,
  simulation: Simulation,
  root: ApiObject,
): Promise<MetricsVerdict | undefined> => {
  const { metrics } = simulation.spec
  if (metrics === null || metrics === undefined) return undefined
  const without = (reason: string, why: string): MetricsVerdict => ({
    isAvailable: false,
    reason,
    message: `${why}; the simulation runs without metrics`,
  })
  const namespace = metricsNamespace(metrics)
  const wanted = prometheus(simulation.metadata.name, root, metrics)
  const place = `${namespace}/${wanted.metadata.name}`
  if ((await orAbsent(cluster.kind(nameOfKind.prometheus))) === undefined)
    return without("OperatorMissing", "the Prometheus operator is not installed")
  if ((await orAbsent(cluster.getLive(nameOfKind.namespace, { name: namespace }))) === undefined)
    throw new Mistake(
      "MetricsNamespaceMissing",
      `the namespace ${namespace} of spec.metrics does not exist; create it, or remove spec.metrics`,
    )
  const { status, metadata } = await createOwn<Prometheus>(cluster, root, wanted)
  if ((status?.availableReplicas ?? 0) > 0)
    return { isAvailable: true, reason: "PrometheusAvailable", message: `the Prometheus is ${place}` }
  const waitedMs = Date.parse(cluster.now()) - Date.parse(metadata.creationTimestamp ?? "")
  if (waitedMs < availableWithinMs)
    throw new Awaited("WaitingForMetrics", `the Prometheus ${place} is not available yet`)
  return without(
    "PrometheusNotAvailable",
    `the Prometheus ${place} is not available after ${availableWithinMs / 60_000} minutes`,
  )
}

const orAbsent = async <T>(found: Promise<T>): Promise<T | undefined> => {
  try {
    return await found
  } catch (error) {
    if (error instanceof NotFoundError) return undefined
    throw error
  }
}
