/**
 * Brings one Simulation on: observes, decides, writes down what was decided, does it, and looks again, until there is something to wait for.
 *
 * Nothing is remembered between two runs, and every action can be repeated, so it does not matter at which request a controller dies.
 */
import type { ControllerCluster } from "../../host/controller/access/controller-cluster.ts"
import type { ReconcileResult, Reconciliation } from "../../host/controller/define-controller.ts"
import { setCondition } from "../../host/controller/objects/status-conditions.ts"
import type { ApiObject } from "../../kube/client/objects.ts"
import type { SimulationStatus } from "../api/status.ts"
import type { MetricsVerdict } from "./actions/metrics.ts"
import { prepare } from "./actions/preparation.ts"
import { problemOf } from "./actions/problems.ts"
import { removeRemain } from "./actions/remains.ts"
import { releaseLease, renewLease, renewMs, takeLease } from "./actions/turn-lease.ts"
import type { HookRuns } from "./hook-runs.ts"
import { nameOfKind } from "./kinds.ts"
import { type Observed, observe } from "./observe.ts"
import { decide } from "./state/decide.ts"
import type { Action, Announcement, Decision } from "./state/decision.ts"
import { conditionOf } from "./state/life.ts"
import type { Problem } from "./state/observation.ts"
import { statusPatch } from "./state/status-patch.ts"

/** Where the Leases are, and what runs hooks. */
export interface ReconcileSurroundings {
  readonly namespace: string
  readonly hooks: HookRuns
}

/** SimKube's source of Events; its tools and dashboards look for it. */
const eventComponent = "sk-ctrl"
/** ms between two looks at something that is awaited and not watched. */
const awaitedMs = 2000

/** `undefined`: there is nothing left to do. Rejects with what kept a step from being done, once that is in the status. */
export const advance = async (
  { cluster, object }: Reconciliation & { readonly object: ApiObject },
  { namespace, hooks }: ReconcileSurroundings,
): Promise<ReconcileResult | undefined> => {
  let problem: Problem | undefined
  let cause: unknown
  // The cache may not have the object yet that the finalizer was just added to.
  for (let latest: ApiObject | undefined = object; latest !== undefined; latest = latestOf(cluster, object)) {
    const observed = await observe(cluster, latest, namespace, hooks, problem)
    const decision = decide(observed.observation)
    const reported = await report(cluster, latest, decision)
    const { action } = decision
    if (problem !== undefined && action.tag === "wait") {
      // The host gives up runs that fail because a namespace ends. But this Simulation has its turn: it has to go on, or to be failed in time.
      if (problem.kind === "awaited" || problem.reason === "NamespaceTerminating") return { requeueAfterMs: awaitedMs }
      throw cause
    }
    problem = undefined
    if (action.tag === "done") return undefined
    try {
      if (observed.observation.turn.tag === "own") await renewLease(cluster, observed.lease)
      if (!(await carryOut(action, { cluster, object: reported, observed, namespace, hooks })))
        return { requeueAfterMs: renewMs }
    } catch (error) {
      problem = problemOf(error)
      cause = error
      if (problem === undefined) throw error
    }
  }
  return undefined
}

/** `undefined`: it is gone, or another one has its name. */
const latestOf = (cluster: ControllerCluster, object: ApiObject): ApiObject | undefined => {
  const latest = cluster.cached(nameOfKind.simulation).get(object.metadata)
  return latest?.metadata.uid === object.metadata.uid ? latest : undefined
}

/** Writes what has changed, and announces it. */
const report = async (cluster: ControllerCluster, object: ApiObject, decision: Decision): Promise<ApiObject> => {
  if (Object.keys(decision.report).length === 0) return object
  const before = object.status as SimulationStatus | undefined
  const patch = statusPatch(before, decision.report, object.metadata.generation, cluster.now())
  const written = await cluster.patchStatus(object, patch)
  if (decision.announce === undefined) return written
  const [was, is] = [before, written.status as SimulationStatus | undefined].map((status) => {
    const words = ["Ready", "Degraded"].map((type) => conditionOf(status, type))
    return JSON.stringify([status?.state, ...words.map((condition) => [condition?.reason, condition?.message])])
  })
  if (was !== is) announce(cluster, written, decision.announce)
  return written
}

const announce = (cluster: ControllerCluster, object: ApiObject, { type, reason, action, message }: Announcement) =>
  cluster.event(object, type, reason, message, { action, component: eventComponent })

interface Step extends ReconcileSurroundings {
  readonly cluster: ControllerCluster
  readonly object: ApiObject
  readonly observed: Observed
}

/** Returns whether to look again at once; otherwise what was begun is waited for. */
const carryOut = async (action: Action, { cluster, object, observed, namespace, hooks }: Step): Promise<boolean> => {
  const { simulation, job, lease } = observed
  const uid = object.metadata.uid ?? ""
  switch (action.tag) {
    case "wait":
    case "done":
      return false
    case "again":
      return true
    case "take turn":
      await takeLease(cluster, namespace, object, lease)
      return true
    case "run hooks": {
      if (simulation === undefined) return false
      const { preStartHooks, postStopHooks } = simulation.spec.hooks ?? {}
      hooks.start({
        simulation: { ...simulation, ...object, spec: simulation.spec },
        phase: action.phase,
        hooks: (action.phase === "preStart" ? preStartHooks : postStopHooks) ?? [],
        cluster,
        announce: (announcement) => announce(cluster, object, announcement),
      })
      return false
    }
    case "stop hooks":
      hooks.stop(uid)
      return false
    case "prepare":
      if (simulation === undefined) return false
      return prepare(cluster, simulation, namespace, (verdict) => noteMetrics(cluster, object, verdict))
    case "delete job":
      // Its pods are told to end, and remove what they have created.
      if (job !== undefined) await cluster.delete(job, { propagationPolicy: "Foreground" })
      return true
    case "remove":
      for (const remain of action.objects) await removeRemain(cluster, remain)
      return true
    case "release":
      await releaseLease(cluster, lease)
      return true
  }
}

const noteMetrics = async (
  cluster: ControllerCluster,
  object: ApiObject,
  { isAvailable, reason, message }: MetricsVerdict,
): Promise<void> => {
  const latest = latestOf(cluster, object) ?? object
  const { conditions } = (latest.status ?? {}) as { readonly conditions?: Parameters<typeof setCondition>[0] }
  const condition = { type: "MetricsAvailable", status: isAvailable ? "True" : "False", reason, message } as const
  await cluster.patchStatus(latest, { conditions: setCondition(conditions, condition, cluster.now()) })
}
