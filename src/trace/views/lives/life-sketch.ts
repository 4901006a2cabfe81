/**
 * What a view makes of one object's life. {@link Lives} reads the trace and says what happened, in the order in which it was seen; the
 * sketch of each object draws it, as slices, spans or bars.
 *
 * All times are µs since the Unix epoch, none before the start of the trace. The states of containers have the clock of the pod's node, so
 * two of them may be out of order.
 */
import type { EventStatement } from "../../../timeline/index.ts"
import type { FieldDifference } from "../../json/difference.ts"
import type { JsonObject } from "../../json/exact-json.ts"
import { memberIn, objectsIn } from "../../json/members.ts"
import { groupKindOf, gvkOfReference } from "../../ownership/ownership.ts"
import type { OwnedLifecycles } from "../../trace-item.ts"
import type { ToldCondition } from "./conditions.ts"
import type { ContainerState, ObservedContainer } from "./pod-states.ts"
import { givenText } from "./trace-object.ts"

/** An object by its name: an owner as an object names it, or the object itself. */
export interface OwnerName {
  /** `apps/v1.ReplicaSet`. */
  readonly gvk: string
  readonly name: string
  /** The empty string in traces without UIDs. */
  readonly uid: string
}

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

/** The object at the top of an owner chain. */
export interface Root {
  /** The same for all that it owns. */
  readonly identity: string
  /** `Deployment/web`. */
  readonly label: string
  readonly gvk: string
  readonly name: string
  /** The empty string if the trace does not have it. */
  readonly uid: string
}

/** Where an object belongs. */
export interface LifePlace<Sketch> {
  readonly root: Root
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
export interface LifeSketch {
  /** Its place is known. Called once: before `begin` for objects without an owner, and after `end` if the owner comes that late. */
  place(place: LifePlace<this>): void
  begin(time: number): void
  /** What is wanted of the object changed. There is at least one difference; `isCut`: there are more than are listed. */
  changed(time: number, differences: ReadonlyArray<FieldDifference>, isCut: boolean): void
  /** Its deletion was requested, and it still exists. `requested`: since when, as Kubernetes writes it. */
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

/** The controller of an object, else its first owner; `undefined` if it has none but itself. Unlike a replay, a drawing needs no UID. */
export const controllingOwner = (object: JsonObject, ownUid: string): OwnerName | undefined => {
  const references = objectsIn(memberIn(object, "metadata"), "ownerReferences")
  const owners = references.flatMap((reference) => {
    const [apiVersion, kind, name] = ["apiVersion", "kind", "name"].map((member) => givenText(reference, member))
    if (apiVersion === undefined || kind === undefined || name === undefined) return []
    const uid = givenText(reference, "uid") ?? ""
    if (uid !== "" && uid === ownUid) return []
    return [
      {
        owner: { gvk: gvkOfReference({ apiVersion, kind }), name, uid },
        isController: memberIn(reference, "controller") === true,
      },
    ]
  })
  return (owners.find(({ isController }) => isController) ?? owners[0])?.owner
}

/** `Deployment/web`. */
export const labelOf = ({ gvk, name }: Pick<OwnerName, "gvk" | "name">): string => {
  const groupKind = groupKindOf(gvk)
  return `${groupKind.slice(groupKind.indexOf("/") + 1)}/${name}`
}

/** One of the lives that SimKube's traces list instead of pods: the pod has no name. Times are µs since the Unix epoch. */
interface ListedLife {
  /** `Pod with spec 5f0e…`; several lives may have the same. */
  readonly name: string
  readonly begin: number
  readonly end: number
}

/** Who owns the pods of listed lifecycles, and in which namespace. */
export const listedOwner = ({
  gvk,
  owner,
}: OwnedLifecycles): { readonly owner: OwnerName; readonly namespace: string } => {
  const slash = owner.indexOf("/")
  return { owner: { gvk, name: owner.slice(slash + 1), uid: "" }, namespace: slash === -1 ? "" : owner.slice(0, slash) }
}

/** The lives, from the start of the trace on; one that runs ends with it. */
export function* listedLives({ pods }: OwnedLifecycles, start: number, end: number): Generator<ListedLife, void> {
  for (const [hash, lives] of pods) {
    const name = `Pod with spec ${hash.toString(16).padStart(16, "0")}`
    for (const life of lives) {
      if (life.state === "empty") continue
      const begin = Math.max(start, life.start * 1_000_000)
      yield { name, begin, end: life.state === "finished" ? life.end * 1_000_000 : end }
    }
  }
}
