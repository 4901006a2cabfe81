/** What marks an object as belonging to a Simulation: SimKube's labels and ours, and an owner whose deletion removes it. */
import type { ApiObject, Metadata, ObjectBase, OwnerReference } from "../../../kube/client/objects.ts"
import { simulationLabel } from "../../api/derived-names.ts"

/** On everything that the controller creates. */
export const managedBy = { "app.kubernetes.io/managed-by": "kubereel" } as const

const longestLabel = 63

/** SimKube's form of a value that is too long for a label. */
const labelValue = (value: string): string => (value.length <= longestLabel ? value : `${value.slice(0, 59)}XXXX`)

/** `name`: of the labelled object. */
export const labelsOf = (simulation: string, name: string): Readonly<Record<string, string>> => ({
  [simulationLabel]: labelValue(simulation),
  "app.kubernetes.io/name": labelValue(name),
  ...managedBy,
})

/** The deletion of the owner in the foreground waits for what refers to it so. It is no controller, as in SimKube: its tools look for that. */
export const ownedBy = ({ apiVersion, kind, metadata: { name, uid = "" } }: ApiObject): OwnerReference => ({
  apiVersion,
  kind,
  name,
  uid,
  blockOwnerDeletion: true,
})

/** By UID: a new owner of the same name does not own it. */
export const isOwnedBy = (object: ObjectBase, owner: ObjectBase): boolean =>
  object.metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) === true

/** The metadata of an object that belongs to the simulation and is deleted with `owner`. */
export const belonging = (simulation: string, owner: ApiObject, name: string, namespace?: string): Metadata => ({
  name,
  ...(namespace !== undefined && { namespace }),
  labels: labelsOf(simulation, name),
  ownerReferences: [ownedBy(owner)],
})
