/**
 * What a checkpoint keeps of an object that a controller knows: as much as a deletion needs to be mapped to what it concerns.
 *
 * Guaranteed: nothing but names, labels and owners. No data, spec or status, so nothing of a Secret; no annotations either, because
 * `kubectl apply` keeps whole objects in one.
 */
import type { ApiObject, Metadata, ObjectBase } from "../../kube/client/objects.ts"

/** `metadata` has name, namespace, uid, labels and ownerReferences, as far as the object has them. */
export interface KnownObject extends ApiObject {
  readonly metadata: Metadata & { readonly uid: string }
}

/** The text of a {@link KnownObject}, equal for equal ones. */
export const knownText = ({ apiVersion, kind, metadata }: ObjectBase): string => {
  const { name, namespace, uid, labels, ownerReferences } = metadata
  return JSON.stringify({ apiVersion, kind, metadata: { name, namespace, uid, labels, ownerReferences } })
}

/** Reads what {@link knownText} wrote. Throws if it is something else. */
export const readKnown = (text: string): KnownObject => {
  const { apiVersion, kind, metadata } = JSON.parse(text) as Partial<KnownObject>
  if (typeof apiVersion !== "string" || typeof kind !== "string" || typeof metadata?.uid !== "string")
    throw new SyntaxError("a row is not an object")
  return { apiVersion, kind, metadata }
}
