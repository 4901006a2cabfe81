/**
 * Puts one run of a hook into `status.hooks`, which the driver writes too: the latest list is read, changed, and written back only if nothing has changed
 * meanwhile.
 */
import { isDeepStrictEqual } from "node:util"
import type { Clock } from "../../../clock.ts"
import type { ControllerCluster } from "../../../host/controller/access/controller-cluster.ts"
import { ConflictError, ForbiddenError, InvalidError, NotFoundError } from "../../../kube/client/api-errors.ts"
import type { Simulation } from "../../api/simulation.ts"
import { type HookRun, longestHistory } from "../../api/status.ts"
import { isRunOf } from "../../hooks/run-phase.ts"
import { nameOfKind } from "./kinds.ts"

interface HookRecord {
  readonly cluster: ControllerCluster
  readonly clock: Clock
  readonly simulation: Simulation
  readonly run: HookRun
  /** Ends further attempts; one is made in any case. */
  readonly signal: AbortSignal
}

/** ms for which a server that is away is waited for. A hook whose end is not recorded counts as interrupted. */
const patienceMs = 120_000
const firstPauseMs = 200
const longestPauseMs = 5000

/** Rejects with the last error: if the Simulation is gone or refuses, if the server is away for too long, if the controller has to stop. */
export const recordHookRun = async ({ cluster, clock, simulation, run, signal }: HookRecord): Promise<void> => {
  const deadline = clock.monotonicMs() + patienceMs
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    try {
      return await recordOnce(cluster, simulation, run)
    } catch (error) {
      const isHopeless =
        error instanceof NotFoundError || error instanceof ForbiddenError || error instanceof InvalidError
      if (isHopeless || error instanceof HookTaken || error instanceof HookUnrecordable) throw error
      if (signal.aborted || clock.monotonicMs() > deadline) throw error
      if (!(error instanceof ConflictError)) await pause(clock, pauseMs, signal)
    }
  }
}

const pause = (clock: Clock, ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      timer.cancel()
      signal.removeEventListener("abort", done)
      resolve()
    }
    const timer = clock.after(ms, done)
    signal.addEventListener("abort", done)
  })

/** The API server accepts the status and drops the run. */
class HookUnrecordable extends Error {}

/** Another process has run the hook, which must not run twice. */
class HookTaken extends Error {}

const recordOnce = async (cluster: ControllerCluster, { metadata }: Simulation, run: HookRun): Promise<void> => {
  const latest = await cluster.getLive<Simulation>(nameOfKind.simulation, metadata)
  const known = latest.status?.hooks ?? []
  const before = known.find((each) => isRunOf(each, { ...run, repetition: run.repetition }))
  // Recorded by an attempt whose response was lost.
  if (isDeepStrictEqual(before, run)) return
  const isOfOther = before !== undefined && (before.endTime !== undefined || before.startTime !== run.startTime)
  if (isOfOther) throw new HookTaken(`the ${run.phase} hook ${run.index + 1} was run by another controller`)
  const hooks = before === undefined ? [...known, run] : known.map((each) => (each === before ? run : each))
  const { uid } = metadata
  const { resourceVersion } = latest.metadata
  const status = { hooks: hooks.slice(-longestHistory) }
  const written = await cluster.patch<Simulation>(
    latest,
    "merge",
    { metadata: { uid, resourceVersion }, status },
    "status",
  )
  if (written.status?.hooks?.some((each) => isRunOf(each, { ...run, repetition: run.repetition })) !== true)
    throw new HookUnrecordable(
      "the definition of Simulations has no status.hooks, without which a hook could run twice; install kubereel's with: reel crd | kubectl apply -f -",
    )
}
