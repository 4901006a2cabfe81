/** Executes adoption and release (ControllerRefManager). */

import type { Cluster } from "../../host/cluster.ts"
import { NotFoundError } from "../../kube/client/api-errors.ts"
import type { ApiObject, ObjectBase, SelectorObject } from "../../kube/client/objects.ts"
import { adoptionPatch, claimOf, releasePatch } from "../../kube/client/owner-references.ts"
import type { Kind } from "../../kube/kind.ts"
import { selectorMatches } from "../../kube/label-selector.ts"

/**
 * The objects in the owner's namespace that belong to it after adopting and releasing. `mayAdopt` narrows what can be
 * adopted (a ReplicaSet adopts no finished Pods). Before the first adoption the owner is read from the server: one that
 * is being deleted adopts nothing, and the cache may be behind.
 */
export const claimObjects = async <T extends ObjectBase = ApiObject>(
  cluster: Cluster,
  kind: Kind,
  owner: ObjectBase,
  ownerKind: Kind,
  selector: SelectorObject | undefined,
  mayAdopt: (object: T) => boolean = () => true,
): Promise<ReadonlyArray<T>> => {
  const claimed: T[] = []
  let ownerLives: boolean | undefined
  for (const object of cluster.cache<T>(kind).inNamespace(owner.metadata.namespace)) {
    const claim = claimOf(object, owner, selectorMatches(selector, object.metadata.labels))
    if (claim === "own") claimed.push(object)
    else if (claim === "release")
      await ignoringGone(() => cluster.patch(kind, object, "strategic-merge", releasePatch(object, owner)))
    else if (claim === "adopt" && mayAdopt(object)) {
      ownerLives ??= await stillLives(cluster, owner, ownerKind)
      if (!ownerLives) continue
      const adopted = await ignoringGone(() =>
        cluster.patch<T>(kind, object, "strategic-merge", adoptionPatch(object, owner)),
      )
      if (adopted !== undefined) claimed.push(adopted)
    }
  }
  return claimed
}

const stillLives = async (cluster: Cluster, owner: ObjectBase, ownerKind: Kind): Promise<boolean> => {
  const fresh = await ignoringGone(() => cluster.api.get(ownerKind, owner.metadata))
  return fresh?.metadata.uid === owner.metadata.uid && fresh?.metadata.deletionTimestamp === undefined
}

const ignoringGone = async <T>(action: () => Promise<T>): Promise<T | undefined> => {
  try {
    return await action()
  } catch (error) {
    if (error instanceof NotFoundError) return undefined
    throw error
  }
}
