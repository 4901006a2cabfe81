/**
 * Brings one Simulation on: observes, decides, writes down what was decided, and does it, until there is something to
 * wait for. Nothing is remembered between two runs, and every action can be repeated, so a controller may die at any
 * request.
 */

import * as Result from "effect/Result"
import { type ControllerCluster, type ReconcileResult, type Reconciliation, setCondition } from "../../host/index.ts"
import { type ApiObject, unlessNotFound } from "../../kube/index.ts"
import { derivedNames, nameOfKind, simulationRootKind } from "../api/derived-names.ts"
import { type Hook, readSimulation, type Simulation } from "../api/simulation.ts"
import type { HookRun, SimulationStatus } from "../api/status.ts"
import { describeHookFailure, isRunOf } from "../hooks/run-phase.ts"
import { findJob, observeDriver, readLease, releaseLease, renewLease, renewMs, takeLease } from "./driver.ts"
import { belonging, driverAccountObjects, driverJob, isOwnedBy, type Job } from "./driver-job.ts"
import type { HookRuns } from "./hook-runs.ts"
import { type MetricsVerdict, prepareMetrics } from "./metrics.ts"
import { createOwn, createShared, NotDone, problemOf } from "./problems.ts"
import {
  type Action,
  type Announcement,
  type Decision,
  decide,
  type Observation,
  type PhaseState,
  type Problem,
  type Remain,
  type Report,
} from "./state/decide.ts"
import { conditionOf, isFinal, lifeOf, statusOf, type TurnLease, turnOf } from "./state/life.ts"
import { driverService, prepareCertificate } from "./webhook.ts"

// What is left of a Simulation in the cluster besides its Job, asked of the server: what a cache does not know yet would stay behind for ever.

/**
 * In the order of their removal. The webhook first: without its driver it would refuse every pod of the replay, also while the driver's roots take their objects with
 * them.
 */
const findRemains = async (cluster: ControllerCluster, simulation: ApiObject): Promise<ReadonlyArray<Remain>> => {
  const names = derivedNames(simulation.metadata.name)
  const roots = (await cluster.listLive(nameOfKind.root)).filter((root) => isOwnedBy(root, simulation))
  const own = roots.find(({ metadata }) => metadata.name === names.root)
  const configuration = await unlessNotFound(cluster.getLive(nameOfKind.webhooks, { name: names.webhook }))
  const belongs = configuration !== undefined && own !== undefined && isOwnedBy(configuration, own)
  return [
    ...(belongs ? [remain("webhook", configuration)] : []),
    ...roots.filter((root) => root !== own).map((root) => remain("driver's root", root)),
    ...(own === undefined ? [] : [remain("root", own)]),
  ]
}

/** Deletes one of them. What depends on a root is gone before the root is. */
const removeRemain = (cluster: ControllerCluster, { stage, name, uid }: Remain): Promise<void> => {
  const kind = stage === "webhook" ? nameOfKind.webhooks : nameOfKind.root
  const slash = kind.lastIndexOf(".")
  const object = { apiVersion: kind.slice(0, slash), kind: kind.slice(slash + 1), metadata: { name, uid } }
  return cluster.delete(object, { propagationPolicy: stage === "webhook" ? "Background" : "Foreground" })
}

const remain = (stage: Remain["stage"], { metadata }: ApiObject): Remain => ({
  stage,
  name: metadata.name,
  uid: metadata.uid,
  isDeleting: metadata.deletionTimestamp !== undefined,
})

// How far the hooks of a phase are, by what the status says.

/** For phases that are run once. */
const phaseState = (
  phase: "preStart" | "postStop",
  hooks: ReadonlyArray<Hook>,
  runs: ReadonlyArray<HookRun>,
): PhaseState => {
  for (const [index, hook] of hooks.entries()) {
    const run = runs.find((each) => isRunOf(each, { phase, repetition: undefined, index }))
    if (run?.endTime === undefined) return { tag: "open" }
    if (run.exitCode !== 0 && hook.ignoreFailure !== true)
      return { tag: "failed", message: describeHookFailure({ hook, run }) }
  }
  return { tag: "done" }
}

// Gathers what the next step of a Simulation depends on.

/** What was observed, and the objects that the step itself needs. */
interface Observed {
  readonly observation: Observation
  /** Absent if it cannot be read. */
  readonly simulation: Simulation | undefined
  readonly job: Job | undefined
  readonly lease: TurnLease | undefined
}

/** `object`: as it is in the cache. `namespace`: that of the Lease. Rejects with an ApiError. */
const observe = async (
  cluster: ControllerCluster,
  object: ApiObject,
  namespace: string,
  hooks: HookRuns,
  problem: Problem | undefined,
): Promise<Observed> => {
  const read = readSimulation(object)
  const simulation = Result.isSuccess(read) ? read.success : undefined
  const status = statusOf(object)
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

// Creates what the driver needs, and at last its Job. Every object is created if it is not there, in an order in which
// a controller that dies between any two of them can continue: the Job is the last, so its existence means that the
// rest is complete.

/**
 * Returns whether the Job exists; if not, the Simulation has ended meanwhile. `namespace`: that of the controller.
 * Calls `metricsKnown` before it creates the Job. Rejects with an ApiError or NotDone; a later
 * call continues.
 */
const prepare = async (
  cluster: ControllerCluster,
  simulation: Simulation,
  namespace: string,
  metricsKnown: (verdict: MetricsVerdict) => Promise<void>,
): Promise<boolean> => {
  const root = await createOwn(cluster, simulation, rootOf(simulation))
  if (root.metadata.deletionTimestamp !== undefined)
    throw new NotDone("transient", "RootTerminating", `the SimulationRoot ${root.metadata.name} is being deleted`)
  for (const object of driverAccountObjects(simulation.spec.driver.namespace)) await createShared(cluster, object)
  const verdict = await prepareMetrics(cluster, simulation, root)
  if (verdict !== undefined) await metricsKnown(verdict)
  await createOwn(cluster, root, driverService(simulation, root))
  await prepareCertificate(cluster, simulation, root)
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

// A report as members of the status.

/** Characters of a condition's message; longer ones are cut. */
const longestMessage = 32_000

/** `now`: RFC 3339. Conditions of other types stay. */
export const statusPatch = (
  status: SimulationStatus | undefined,
  { Ready, Progressing, Degraded, ...fields }: Report,
  generation: number | undefined,
  now: string,
): Partial<SimulationStatus> => {
  const verdicts = Object.entries({ Ready, Progressing, Degraded })
  const conditions = verdicts.reduce(
    (list, [type, verdict]) =>
      verdict === undefined
        ? list
        : setCondition(
            list,
            {
              ...verdict,
              type,
              message: verdict.message.slice(0, longestMessage),
              ...(generation !== undefined && { observedGeneration: generation }),
            },
            now,
          ),
    status?.conditions as Parameters<typeof setCondition>[0],
  )
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
  return {
    ...given,
    observedGeneration: generation ?? status?.observedGeneration ?? 0,
    ...(conditions !== undefined && { conditions: conditions as NonNullable<SimulationStatus["conditions"]> }),
  }
}

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
      // The host gives up runs that fail because a namespace ends. But this Simulation has its turn: it has to
      // continue, or to be failed in time.
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
  const before = statusOf(object)
  const patch = statusPatch(before, decision.report, object.metadata.generation, cluster.now())
  const written = await cluster.patchStatus(object, patch)
  if (decision.announce === undefined) return written
  const [was, is] = [before, statusOf(written)].map((status) => {
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
      // Its pods get a signal to end, and remove what they have created.
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
