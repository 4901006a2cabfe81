/** Whose turn it is: one Simulation at a time, the oldest first. Pure. */
import type { ApiObject } from "../../../kube/client/objects.ts"
import type { SimulationStatus } from "../../api/status.ts"
import { hasBegun, isFinal, isSettled } from "./life.ts"
import type { Turn } from "./observation.ts"

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

/** `all`: every Simulation of the cluster, unread: one that nobody can read must not keep the others from their turn. */
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

const statusOf = (simulation: ApiObject): SimulationStatus | undefined =>
  simulation.status as SimulationStatus | undefined

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
