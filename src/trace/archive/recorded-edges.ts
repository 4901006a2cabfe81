/** Edges of the ownership graph that wait for a commit. Bounded by the frames that wait with them. */

import type { NewObject, PodLife } from "../observations.ts"
import { podKind } from "../pod-lives-kind.ts"
import type { StoredOwnerEdge } from "./owner-edges.ts"

/** Gathers edges as frames are taken. */
export class PendingEdges {
  #recorded: Array<StoredOwnerEdge> = []
  #answered: Array<StoredOwnerEdge> = []

  /**
   * An object was named, for the first time or with new owners. One without owners gets a row too: by it an export knows that an
   * owner is an object of the recording. `time`: µs since the Unix epoch.
   */
  object(gvk: string, { uid, namespace, name, ownerReferences }: NewObject, time: number): void {
    this.#recorded.push(edge(gvk, uid, namespace, name, ownerReferences, time))
  }

  /** A pod was seen to run for the first time. Those of a recorded kind may be named twice; the second time changes nothing. */
  pod({ identity, ownerReferences, time }: PodLife): void {
    if (identity === undefined || ownerReferences === undefined || ownerReferences.length === 0) return
    const { uid, namespace, name } = identity
    this.#recorded.push(edge(podKind, uid, namespace, name, ownerReferences, time))
  }

  /** The API server was asked. */
  answered(edge: StoredOwnerEdge): void {
    this.#answered.push(edge)
  }

  /** Inside the commit's transaction. */
  save(write: (edge: StoredOwnerEdge) => void): void {
    for (const each of this.#recorded) write(each)
    for (const each of this.#answered) write(each)
  }

  /** After the commit: what of it was read in the objects themselves. */
  takeRecorded(): ReadonlyArray<StoredOwnerEdge> {
    const recorded = this.#recorded
    this.#recorded = []
    this.#answered = []
    return recorded
  }
}

const edge = (
  gvk: string,
  uid: string,
  namespace: string,
  name: string,
  ownerReferences: Uint8Array | undefined,
  time: number,
): StoredOwnerEdge => ({
  uid,
  gvk,
  namespace,
  name,
  ownerReferences: ownerReferences === undefined ? "" : Buffer.from(ownerReferences).toString("utf8"),
  source: "recorded",
  time,
})
