/** Who controls an object, and what a controller does with objects that match its selector but are not its own. */

import type { ApiObject, OwnerReference } from "./objects.ts"

export const controllerOf = ({ metadata }: ApiObject): OwnerReference | undefined =>
  metadata.ownerReferences?.find(({ controller }) => controller === true)

export const isControlledBy = (object: ApiObject, owner: ApiObject): boolean =>
  controllerOf(object)?.uid === owner.metadata.uid

/** The reference that makes `owner` the controller, as `NewControllerRef` writes it. */
export const controllerReference = ({ apiVersion, kind, metadata }: ApiObject): OwnerReference => ({
  apiVersion,
  kind,
  name: metadata.name,
  uid: metadata.uid ?? "",
  controller: true,
  blockOwnerDeletion: true,
})

export type Claim = "own" | "adopt" | "release" | "leave"

/**
 * What becomes of an object in the owner's namespace: `own` it already is; `adopt` an orphan that the selector matches;
 * `release` an own one that it matches no more; `leave` everything else. Nothing is adopted by or from what is being
 * deleted, and nothing is released by it (ControllerRefManager.ClaimObject).
 */
export const claimOf = (object: ApiObject, owner: ApiObject, matches: boolean): Claim => {
  const controller = controllerOf(object)
  if (controller !== undefined) {
    if (controller.uid !== owner.metadata.uid) return "leave"
    if (matches) return "own"
    return owner.metadata.deletionTimestamp === undefined ? "release" : "leave"
  }
  const mayAdopt = owner.metadata.deletionTimestamp === undefined && object.metadata.deletionTimestamp === undefined
  return matches && mayAdopt ? "adopt" : "leave"
}

/** Strategic merge patch that adopts. The UID guards against an object deleted and created anew. */
export const adoptionPatch = (object: ApiObject, owner: ApiObject): unknown => ({
  metadata: { ownerReferences: [controllerReference(owner)], uid: object.metadata.uid },
})

/** Strategic merge patch that releases. */
export const releasePatch = (object: ApiObject, owner: ApiObject): unknown => ({
  metadata: { uid: object.metadata.uid, ownerReferences: [{ $patch: "delete", uid: owner.metadata.uid }] },
})
