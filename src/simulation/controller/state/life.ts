/** Where in its life a Simulation is, as far as its status says. The status is all that a controller remembers: it may be another process every time. */
import type { SimulationCondition, SimulationStatus } from "../../api/status.ts"

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
