/** Gathers what the next step of a Simulation depends on. */
import * as Result from "effect/Result"
import type { ControllerCluster } from "../../host/controller/access/controller-cluster.ts"
import type { ApiObject } from "../../kube/client/objects.ts"
import { readSimulation, type Simulation } from "../api/simulation.ts"
import type { SimulationStatus } from "../api/status.ts"
import { findJob, observeDriver } from "./actions/driver.ts"
import { findRemains } from "./actions/remains.ts"
import { readLease } from "./actions/turn-lease.ts"
import type { HookRuns } from "./hook-runs.ts"
import { nameOfKind } from "./kinds.ts"
import type { Job } from "./objects/driver-job.ts"
import { phaseState } from "./state/hook-phase.ts"
import { conditionOf, lifeOf } from "./state/life.ts"
import type { Observation, Problem } from "./state/observation.ts"
import { type TurnLease, turnOf } from "./state/turn.ts"

/** What was observed, and the objects that the step itself needs. */
export interface Observed {
  readonly observation: Observation
  /** Absent if it cannot be read. */
  readonly simulation: Simulation | undefined
  readonly job: Job | undefined
  readonly lease: TurnLease | undefined
}

/** `object`: as it is in the cache. `namespace`: that of the Lease. Rejects with an ApiError. */
export const observe = async (
  cluster: ControllerCluster,
  object: ApiObject,
  namespace: string,
  hooks: HookRuns,
  problem: Problem | undefined,
): Promise<Observed> => {
  const read = readSimulation(object)
  const simulation = Result.isSuccess(read) ? read.success : undefined
  const status = object.status as SimulationStatus | undefined
  const isDeleted = object.metadata.deletionTimestamp !== undefined
  const life = lifeOf(status, isDeleted)
  const isSure = life === "ending" || status?.state === "Running" || status?.state === "Paused"
  const job = life === "settled" ? undefined : await findJob(cluster, object, simulation?.spec.driver.namespace, isSure)
  const lease = life === "settled" ? undefined : await readLease(cluster, namespace)
  const runs = status?.hooks ?? []
  const { preStartHooks, postStopHooks } = simulation?.spec.hooks ?? {}
  const degraded = conditionOf(status, "Degraded")
  return {
    observation: {
      status,
      isDeleted,
      isPaused: (simulation?.spec.pausedTime ?? undefined) !== undefined,
      unusable: Result.isFailure(read) ? read.failure.message : undefined,
      job: await observeDriver(cluster, object, job),
      turn: turnOf(object, lease, cluster.cached(nameOfKind.simulation).list()),
      preStart: phaseState("preStart", preStartHooks ?? [], runs),
      postStop: phaseState("postStop", postStopHooks ?? [], runs),
      runningHooks: hooks.phaseOf(object.metadata.uid ?? ""),
      remains: life === "ending" ? await findRemains(cluster, object) : [],
      problem,
      degradedMs: degraded?.status === "True" ? Date.parse(cluster.now()) - Date.parse(degraded.lastTransitionTime) : 0,
    },
    simulation,
    job,
    lease,
  }
}
