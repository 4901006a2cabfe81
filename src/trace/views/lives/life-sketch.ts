/**
 * What a view makes of one object's life. {@link Lives} reads the trace and says what happened, in the order in which it was seen; the
 * sketch of each object draws it, as slices, spans or lines of text.
 *
 * All times are µs since the Unix epoch. None is before the start of the trace, but the states of containers have the clock of the pod's node, so two
 * of them may be out of order.
 */
import type { EventStatement } from "../../event-statement.ts"
import type { FieldDifference } from "../../json/difference.ts"
import type { ToldCondition } from "./conditions.ts"
import type { ContainerState, ObservedContainer } from "./container-states.ts"
import type { OwnerName } from "./owner-names.ts"

/** What stays the same for the whole life of an object. */
export interface LifeSubject {
  /** Unique in the trace, from 0 on. */
  readonly number: number
  /** `apps/v1.Deployment`. */
  readonly gvk: string
  /** The empty string for objects without a namespace. */
  readonly namespace: string
  readonly name: string
  /** The empty string in traces without UIDs. */
  readonly uid: string
  /** `Deployment/web`. */
  readonly label: string
  /** `undefined`: it has none. */
  readonly owner: OwnerName | undefined
  /** When the object says that it was created, as Kubernetes writes it. */
  readonly created: string | undefined
  /** Of a Kubernetes Event: what it says. */
  readonly said: EventStatement | undefined
  /** Whether the object existed when the trace began. */
  readonly existed: boolean
}

/** The object at the top of an owner chain, and what a view keeps for all that it owns. */
export interface Root<Lane> {
  /** The same for all that it owns. */
  readonly identity: string
  /** `Deployment/web`. */
  readonly label: string
  readonly gvk: string
  readonly name: string
  /** The empty string if the trace does not have it. */
  readonly uid: string
  /** The view's lane for it in the namespace of the object that has this root. */
  readonly lane: Lane
}

/** Where an object belongs. */
export interface LifePlace<Lane, Sketch> {
  readonly root: Root<Lane>
  /** Whether the object is the root itself. */
  readonly isTop: boolean
  /** The sketch of its direct owner. `undefined`: it is the root, or its owner was not seen in time. */
  readonly owner: Sketch | undefined
}

/** A phase of a pod. */
export interface PodPhase {
  readonly name: string
  readonly node: string | undefined
  readonly ip: string | undefined
  /** Of a pod that waits for a node that there is not, `Unschedulable`. */
  readonly reason: string | undefined
  readonly message: string | undefined
}

/** How a life ended. */
export interface LifeEnd {
  /** For people: `deleted`, `exists at the end of the trace`, … */
  readonly how: string
  /** The node of a pod, if it got one. */
  readonly node: string | undefined
}

/** Draws one life. Every method but `place` is called after `begin`, and none after `end`; only `place` may come at any time. */
export interface LifeSketch<Lane> {
  /** Its place is known. Called once: before `begin` for objects without an owner, and after `end` if the owner comes that late. */
  place(place: LifePlace<Lane, this>): void
  begin(time: number): void
  /** What is wanted of the object changed. There is at least one difference; `isCut`: there are more than are listed. */
  changed(time: number, differences: ReadonlyArray<FieldDifference>, isCut: boolean): void
  /** Somebody asked for the object's deletion and it goes on existing. `requested`: since when, as Kubernetes writes it. */
  deletionRequested(time: number, requested: string): void
  /** The pod entered a phase, which ends the phase before it. `Pending` may come twice: before and after the scheduler found no node. */
  phase(time: number, phase: PodPhase): void
  /** A container of the pod entered a state, which ends its state before it. */
  containerState(time: number, container: ObservedContainer, state: ContainerState): void
  /** A condition of the object became wrong, or is wrong no longer. */
  condition(time: number, condition: ToldCondition): void
  /** The life ended, and with it everything that is open in it. */
  end(time: number, end: LifeEnd): void
}

/** The lanes of a view: one for each root in each namespace in which it owns something. */
export interface RootLanes<Lane> {
  /** The lane of a root, which exists until it has been released as often as it was taken. */
  takeRoot(root: Omit<Root<Lane>, "lane">, namespace: string): Lane
  release(lane: Lane): void
}
