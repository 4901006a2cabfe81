/** One run for one object: the finalizer, the controller's function in each of its forms, its time limit. */

import * as Effect from "effect/Effect"
import type { Clock } from "../../../clock.ts"
import type { ApiObject } from "../../../kube/index.ts"
import type { ControllerCluster } from "../access/controller-cluster.ts"
import type {
  DefinedController,
  FinalizerDefinition,
  Reconcile,
  ReconcileResult,
  Reconciliation,
} from "../define-controller.ts"

interface Run {
  readonly controller: DefinedController
  readonly key: string
  readonly object: ApiObject | undefined
  readonly clock: Clock
  /** Aborted when the controller has to stop. */
  readonly signal: AbortSignal
  readonly clusterOf: (signal: AbortSignal) => ControllerCluster
  /** The time limit has passed; the run continues until it ends by itself. */
  readonly onTimeout: () => void
}

/** Resolves with ms until the next run, `undefined` without one. Rejects with what the controller's function threw, returned or failed with. */
export const reconcileOnce = async (run: Run): Promise<number | undefined> => {
  const { controller, clock, signal, onTimeout } = run
  const { reconcileTimeoutMs } = controller
  if (reconcileTimeoutMs === undefined) return withFinalizer(run, signal)
  const limit = new AbortController()
  const timer = clock.after(reconcileTimeoutMs, () => {
    limit.abort(new Error(`the run took longer than ${reconcileTimeoutMs} ms`))
    onTimeout()
  })
  try {
    return await withFinalizer(run, AbortSignal.any([signal, limit.signal]))
  } finally {
    timer.cancel()
  }
}

const withFinalizer = async (run: Run, signal: AbortSignal): Promise<number | undefined> => {
  const { controller, key, object } = run
  const { finalizer, reconcile } = controller
  const cluster = run.clusterOf(signal)
  const slash = key.indexOf("/")
  const about = {
    key,
    namespace: slash < 0 ? undefined : key.slice(0, slash),
    name: key.slice(slash + 1),
    cluster,
    signal,
  }
  if (reconcile === undefined) return undefined
  if (finalizer === undefined || object === undefined) return outcomeOf(reconcile, { ...about, object })
  if (object.metadata.deletionTimestamp !== undefined) return cleanUp(controller, finalizer, { ...about, object })
  // Before anything that would have to be cleaned up.
  return outcomeOf(reconcile, { ...about, object: await cluster.addFinalizer(object, finalizer.name) })
}

const cleanUp = async (
  controller: DefinedController,
  { name, cleanUp }: FinalizerDefinition,
  reconciliation: Reconciliation & { readonly object: ApiObject },
): Promise<number | undefined> => {
  const { object, cluster } = reconciliation
  // Cleaned up already; finalizers of others still hold it.
  if (object.metadata.finalizers?.includes(name) !== true) return undefined
  const againMs = await outcomeOf(cleanUp, reconciliation)
  if (againMs !== undefined) return againMs
  // A later state: the clean-up may have changed the object, and removing only our finalizer from an older list would conflict.
  const latest = cluster.cached(controller.for.kind).get(object.metadata)
  if (latest === undefined || latest.metadata.uid !== object.metadata.uid) return undefined
  await cluster.removeFinalizer(latest, name)
  return undefined
}

const outcomeOf = async <R extends Reconciliation>(
  reconcile: (reconciliation: R) => ReturnType<Reconcile>,
  reconciliation: R,
): Promise<number | undefined> => {
  const started = reconcile(reconciliation)
  const { signal } = reconciliation
  const outcome = await (Effect.isEffect(started) ? Effect.runPromise(started, { signal }) : started)
  if (outcome instanceof Error) throw outcome
  return requeueOf(outcome ?? {})
}

const requeueOf = ({ requeueAfterMs }: ReconcileResult): number | undefined => {
  if (requeueAfterMs === undefined || requeueAfterMs >= 0) return requeueAfterMs
  throw new RangeError(`requeueAfterMs is ${requeueAfterMs}: it must be a number of ms from 0 on`)
}
