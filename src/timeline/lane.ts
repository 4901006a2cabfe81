/** Rows of a time line: namespaces, the objects in them by owner, and of an object its conditions and containers. */

/** An object's identity in a recording. */
export interface LaneObject {
  /** `apps/v1.Deployment`. */
  readonly gvk: string
  /** Empty: the object is in no namespace. */
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

/** A heading, or an object. */
export interface Lane {
  /**
   * Opaque, the same as long as the recording is: of an object `KIND.NUMBER`, of a namespace `namespace/NAME`, of an owner of which only the name is recorded
   * `owner/NAMESPACE/UID`.
   */
  readonly id: string
  readonly type: "namespace" | "object" | "owner"
  /** Of a namespace: its name is `name`, and the other texts are empty. The namespace with the empty name holds what is in none. */
  readonly object: LaneObject
  /** Lanes directly below it: objects of the namespace that have no owner, or what the object owns. */
  readonly children: number
  /** Objects below it, at any depth. */
  readonly objects: number
}

/** A row below an object: one condition, or one container. */
export interface Part {
  /** `condition/Ready`, `container/main`, `init container/setup`: unique in its object. */
  readonly id: string
  readonly label: string
}

/** Kinds that have no lanes unless they are asked for: Events are shown with what they are about, and would bury everything else. */
export const kindsWithoutLanes: ReadonlyArray<string> = ["v1.Event", "events.k8s.io/v1.Event"]
