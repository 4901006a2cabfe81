/**
 * Creates what the driver needs, and at last its Job. Every object is created if it is not there, in an order in which a controller that dies between any two
 * of them can go on: the Job is the last, so its existence means that the rest is complete.
 */
import type { ControllerCluster } from "../../../host/controller/access/controller-cluster.ts"
import type { ApiObject } from "../../../kube/client/objects.ts"
import { derivedNames, simulationRootKind } from "../../api/derived-names.ts"
import type { Simulation } from "../../api/simulation.ts"
import { nameOfKind } from "../kinds.ts"
import { belonging } from "../objects/belonging.ts"
import { driverAccountObjects } from "../objects/driver-account.ts"
import { driverJob } from "../objects/driver-job.ts"
import { driverService, issuerOf } from "../objects/webhook.ts"
import { isFinal } from "../state/life.ts"
import { prepareIssuedCertificate, prepareOwnCertificate } from "./certificates.ts"
import { createOwn, createShared } from "./creation.ts"
import { type MetricsVerdict, prepareMetrics } from "./metrics.ts"
import { Obstacle } from "./problems.ts"

/**
 * Returns whether the Job exists; if not, the Simulation has ended meanwhile. `namespace`: that of the controller. `metricsKnown` is told before. Rejects with an ApiError or one of the errors of problems.ts; called
 * again, it goes on.
 */
export const prepare = async (
  cluster: ControllerCluster,
  simulation: Simulation,
  namespace: string,
  metricsKnown: (verdict: MetricsVerdict) => Promise<void>,
): Promise<boolean> => {
  const root = await createOwn(cluster, simulation, rootOf(simulation))
  if (root.metadata.deletionTimestamp !== undefined)
    throw new Obstacle("RootTerminating", `the SimulationRoot ${root.metadata.name} is being deleted`)
  for (const object of driverAccountObjects(simulation.spec.driver.namespace)) await createShared(cluster, object)
  const verdict = await prepareMetrics(cluster, simulation, root)
  if (verdict !== undefined) await metricsKnown(verdict)
  await createOwn(cluster, root, driverService(simulation, root))
  const issuer = issuerOf(simulation)
  if (issuer === undefined) await prepareOwnCertificate(cluster, simulation, root)
  else await prepareIssuedCertificate(cluster, simulation, root, issuer)
  return createJob(cluster, simulation, namespace)
}

const rootOf = (simulation: Simulation): ApiObject => {
  const { name } = simulation.metadata
  const { group, version, kind } = simulationRootKind.gvk
  const metadata = belonging(name, simulation, derivedNames(name).root)
  return { apiVersion: `${group}/${version}`, kind, metadata, spec: {} }
}

/** A cache that lags behind must not lead to a Job for a Simulation that has ended or is gone. */
const createJob = async (cluster: ControllerCluster, simulation: Simulation, namespace: string): Promise<boolean> => {
  const latest = await cluster.getLive<Simulation>(nameOfKind.simulation, simulation.metadata)
  const { uid, deletionTimestamp } = latest.metadata
  if (uid !== simulation.metadata.uid || deletionTimestamp !== undefined || isFinal(latest.status)) return false
  await createOwn(cluster, simulation, driverJob(simulation, namespace))
  return true
}
