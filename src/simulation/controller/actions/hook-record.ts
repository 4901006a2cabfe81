/**
 * Puts one run of a hook into `status.hooks`, which the driver writes too: the latest list is read, changed, and written back only if nothing has changed
 * meanwhile.
 */
import type { Clock } from "../../../clock.ts"
import type { ControllerCluster } from "../../../host/controller/access/controller-cluster.ts"
import { ConflictError, ForbiddenError, InvalidError, NotFoundError } from "../../../kube/client/api-errors.ts"
import type { Simulation } from "../../api/simulation.ts"
import { type HookRun, longestHistory } from "../../api/status.ts"
import { isRunOf } from "../../hooks/run-phase.ts"
import { nameOfKind } from "../kinds.ts"

interface HookRecord {
  readonly cluster: ControllerCluster
  readonly clock: Clock
  readonly simulation: Simulation
  readonly run: HookRun
}

/** ms for which a server that is away is waited for. A hook whose end is not recorded counts as interrupted. */
const patienceMs = 120_000
const firstPauseMs = 200
const longestPauseMs = 5000

/** Rejects with the last error: if the Simulation is gone or refuses, if the server is away for too long, if the controller has to stop. */
export const recordHookRun = async ({ cluster, clock, simulation, run }: HookRecord): Promise<void> => {
  const deadline = clock.monotonicMs() + patienceMs
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    try {
      return await recordOnce(cluster, simulation, run)
    } catch (error) {
      const isHopeless =
        error instanceof NotFoundError || error instanceof ForbiddenError || error instanceof InvalidError
      if (isHopeless || error instanceof HookStarted) throw error
      if (cluster.signal.aborted || clock.monotonicMs() > deadline) throw error
      if (!(error instanceof ConflictError)) await new Promise<void>((resolve) => clock.after(pauseMs, resolve))
    }
  }
}

/** Another process has begun the hook, which must not run twice. */
class HookStarted extends Error {}

const recordOnce = async (cluster: ControllerCluster, { metadata }: Simulation, run: HookRun): Promise<void> => {
  const latest = await cluster.getLive<Simulation>(nameOfKind.simulation, metadata)
  const known = latest.status?.hooks ?? []
  const before = known.find((each) => isRunOf(each, { ...run, repetition: run.repetition }))
  if (before !== undefined && run.endTime === undefined && before.startTime !== run.startTime)
    throw new HookStarted(`the ${run.phase} hook ${run.index + 1} has been started by another controller`)
  const hooks = before === undefined ? [...known, run] : known.map((each) => (each === before ? run : each))
  const { uid } = metadata
  const { resourceVersion } = latest.metadata
  const status = { hooks: hooks.slice(-longestHistory) }
  await cluster.patch(latest, "merge", { metadata: { uid, resourceVersion }, status }, "status")
}
