/** The controller of an object, and how a controller treats objects that match its selector but are not its own. */

import type { ObjectBase, OwnerReference } from "./objects.ts"

export const controllerOf = ({ metadata }: ObjectBase): OwnerReference | undefined =>
  metadata.ownerReferences?.find(({ controller }) => controller === true)

export const isControlledBy = (object: ObjectBase, owner: ObjectBase): boolean =>
  controllerOf(object)?.uid === owner.metadata.uid

/** The reference that makes `owner` the controller, as `NewControllerRef` writes it. */
export const controllerReference = ({ apiVersion, kind, metadata }: ObjectBase): OwnerReference => ({
  apiVersion,
  kind,
  name: metadata.name,
  uid: metadata.uid ?? "",
  controller: true,
  blockOwnerDeletion: true,
})

type Claim = "own" | "adopt" | "release" | "leave"

/**
 * How the owner treats an object in its namespace: `own`: it is already the owner's; `adopt`: an orphan that the selector matches;
 * `release`: the owner's, but no longer matched; `leave`: everything else. An owner being deleted adopts and releases nothing, and an
 * object being deleted is not adopted (ControllerRefManager.ClaimObject).
 */
export const claimOf = (object: ObjectBase, owner: ObjectBase, matches: boolean): Claim => {
  const controller = controllerOf(object)
  if (controller !== undefined) {
    if (controller.uid !== owner.metadata.uid) return "leave"
    if (matches) return "own"
    return owner.metadata.deletionTimestamp === undefined ? "release" : "leave"
  }
  const mayAdopt = owner.metadata.deletionTimestamp === undefined && object.metadata.deletionTimestamp === undefined
  return matches && mayAdopt ? "adopt" : "leave"
}

/** Strategic merge patch that adopts. The UID guards against an object that was deleted and created again. */
export const adoptionPatch = (object: ObjectBase, owner: ObjectBase): unknown => ({
  metadata: { ownerReferences: [controllerReference(owner)], uid: object.metadata.uid },
})

/** Strategic merge patch that releases. */
export const releasePatch = (object: ObjectBase, owner: ObjectBase): unknown => ({
  metadata: { uid: object.metadata.uid, ownerReferences: [{ $patch: "delete", uid: owner.metadata.uid }] },
})
