/** Where in its life a Simulation is, as far as its status says. The status is all that a controller remembers: it may be another process every time. */

import type { ApiObject } from "../../../kube/index.ts"
import type { SimulationCondition, SimulationStatus } from "../../api/status.ts"
import type { Turn } from "./decide.ts"

/**
 * `waiting`: nothing has been done for it. `begun`: it has its turn. `ending`: it is decided how it went, or it is deleted; what belongs to it is being
 * removed. `settled`: there is nothing left to do.
 */
type Life = "waiting" | "begun" | "ending" | "settled"

/** Reason of a Simulation that was never begun because it cannot be read. The only failure that a correction of the manifest ends. */
export const invalidReason = "InvalidSimulation"

/** `isDeleted`: its deletion has been requested. */
export const lifeOf = (status: SimulationStatus | undefined, isDeleted: boolean): Life => {
  if (isDeleted) return "ending"
  if (!hasBegun(status)) return "waiting"
  if (!isFinal(status)) return "begun"
  return isSettled(status) ? "settled" : "ending"
}

/** Finished or Failed: nothing leads out of it. */
export const isFinal = (status: SimulationStatus | undefined): boolean =>
  status?.state === "Finished" || status?.state === "Failed"

/** Whether its turn has come: something may exist that has to be removed, and hooks may have run. */
export const hasBegun = (status: SimulationStatus | undefined): boolean =>
  status?.state !== undefined &&
  status.state !== "Blocked" &&
  !(status.state === "Failed" && conditionOf(status, "Ready")?.reason === invalidReason)

/** A final state without conditions is that of another controller, which has cleaned up after itself. */
export const isSettled = (status: SimulationStatus | undefined): boolean =>
  isFinal(status) && conditionOf(status, "Progressing")?.status !== "True"

/** `type`: Ready, Progressing, Degraded or another one. */
export const conditionOf = (status: SimulationStatus | undefined, type: string): SimulationCondition | undefined =>
  status?.conditions?.find((condition) => condition.type === type)

// Whose turn it is: one Simulation at a time, the oldest first. Pure.

/** The Lease that says which Simulation runs. SimKube's driver and tools know the name. */
export interface TurnLease extends ApiObject {
  readonly spec?: {
    /** The name of the Simulation. */
    readonly holderIdentity?: string | null
    readonly renewTime?: string | null
    readonly [member: string]: unknown
  }
}

/** Its name does not tell a Simulation from an earlier one. */
export const holderAnnotation = "kubereel.dev/simulation-uid"

/** `all`: every Simulation of the cluster, not parsed: one that cannot be parsed must not delay the turn of others. */
export const turnOf = (self: ApiObject, lease: TurnLease | undefined, all: ReadonlyArray<ApiObject>): Turn => {
  const holder = holderOf(lease, all)
  if (holder?.metadata.uid === self.metadata.uid) return { tag: "own" }
  if (holder !== undefined && needsTurn(holder)) return { tag: "waiting", holder: holder.metadata.name }
  const others = all.filter(({ metadata }) => metadata.uid !== self.metadata.uid)
  // The Lease may have been deleted by hand.
  const active = others.find((other) => hasBegun(statusOf(other)) && needsTurn(other))
  if (active !== undefined) return { tag: "waiting", holder: active.metadata.name }
  if (hasBegun(statusOf(self))) return { tag: "next" }
  const earlier = others.filter((other) => mayBegin(other) && isEarlier(other, self)).sort(byAge)[0]
  return earlier === undefined ? { tag: "next" } : { tag: "waiting", holder: earlier.metadata.name }
}

/** The Simulation that holds the Lease; `undefined` if none does, or it is gone. */
const holderOf = (lease: TurnLease | undefined, all: ReadonlyArray<ApiObject>): ApiObject | undefined => {
  const name = lease?.spec?.holderIdentity
  const uid = lease?.metadata.annotations?.[holderAnnotation]
  return all.find(({ metadata }) => metadata.name === name && (uid === undefined || metadata.uid === uid))
}

/** Of an object that has not been parsed: another controller may have written something else there. */
export const statusOf = ({ status }: ApiObject): SimulationStatus | undefined => status as SimulationStatus | undefined

/** One that is being deleted needs it until it is gone. */
const needsTurn = (simulation: ApiObject): boolean =>
  simulation.metadata.deletionTimestamp !== undefined
    ? hasBegun(statusOf(simulation))
    : !isSettled(statusOf(simulation))

const mayBegin = (simulation: ApiObject): boolean =>
  simulation.metadata.deletionTimestamp === undefined && !isFinal(statusOf(simulation))

const isEarlier = (one: ApiObject, other: ApiObject): boolean => byAge(one, other) < 0

const byAge = ({ metadata: one }: ApiObject, { metadata: other }: ApiObject): number => {
  const [left, right] = [one, other].map(({ creationTimestamp = "", name }) => `${creationTimestamp} ${name}`)
  return (left ?? "") < (right ?? "") ? -1 : 1
}
