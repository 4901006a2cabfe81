/**
 * Owner references that a controller sets on the objects it makes, with controller-runtime's checks. With a reference the garbage collector deletes the
 * object after its owner, and changes of the object wake the controller of the owner (`owns`).
 */

import { controllerReference, type ObjectBase, type OwnerReference } from "../../../kube/index.ts"
import { parseGvk } from "../../../kube/offline.ts"
import type { NewObject } from "../access/controller-cluster.ts"
import { OwnershipError } from "../errors.ts"

/**
 * The object with `owner` as its controller. Throws {@link OwnershipError} if another object controls it, if the owner is in another namespace, or if the
 * owner has no UID yet, that is, was not read from the server.
 */
export const setControllerReference = <T extends NewObject>(owner: ObjectBase, object: T): T => {
  const reference = controllerReference(owner)
  const present = (object.metadata.ownerReferences ?? []).find(({ controller }) => controller === true)
  if (present !== undefined && !isSameOwner(present, reference))
    throw wrong(owner, object, `${present.kind} ${present.name} is its controller`)
  return withReference(owner, object, reference)
}

/** The object with `owner` among its owners, without control over it. Throws as {@link setControllerReference}. */
export const setOwnerReference = <T extends NewObject>(owner: ObjectBase, object: T): T => {
  const { apiVersion, kind, metadata } = owner
  return withReference(owner, object, { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? "" })
}

const withReference = <T extends NewObject>(owner: ObjectBase, object: T, reference: OwnerReference): T => {
  const { namespace } = owner.metadata
  if (reference.uid === "") throw wrong(owner, object, "it has no UID: it was not read from the server")
  // An owner without a namespace may own anything; the other way round the garbage collector deletes the object at once.
  if (namespace !== undefined && namespace !== "" && object.metadata.namespace !== namespace)
    throw wrong(owner, object, "owners of namespaced kinds own objects of their own namespace only")
  const others = (object.metadata.ownerReferences ?? []).filter((known) => !isSameOwner(known, reference))
  return { ...object, metadata: { ...object.metadata, ownerReferences: [...others, reference] } }
}

/** As controller-runtime's upsertOwnerRef: by group, kind and name, because a new owner of that name replaces the old one. */
const isSameOwner = (left: OwnerReference, right: OwnerReference): boolean =>
  left.kind === right.kind && left.name === right.name && groupOf(left.apiVersion) === groupOf(right.apiVersion)

/** The group of an `apiVersion`: empty for the core group. */
export const groupOf = (apiVersion: string): string => parseGvk(`${apiVersion}.Kind`)?.group ?? ""

const wrong = (owner: ObjectBase, object: NewObject, problem: string): OwnershipError =>
  new OwnershipError({ owner: described(owner), object: described(object), problem })

const described = ({ apiVersion, kind, metadata }: NewObject | ObjectBase): string =>
  `${apiVersion}.${kind} ${[metadata.namespace, metadata.name ?? metadata.generateName].filter(Boolean).join("/")}`
