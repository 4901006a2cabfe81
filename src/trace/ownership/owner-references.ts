/**
 * `metadata.ownerReferences` as parsed data. Total: an element that is not an owner reference (the API server accepts none) is left out,
 * and a text that is not an array means no owners.
 */

import { isRecord } from "../../is-record.ts"

/** One owner of an object. */
export interface OwnerReference {
  /** `apps/v1`, or `v1` for the core group. */
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  /** Whether this owner manages the object; at most one of an object's owners does. */
  readonly controller: boolean
}

/** Parses the JSON array as the server sent it; the empty string and the empty array mean no owners. */
export const parseOwnerReferences = (json: string): ReadonlyArray<OwnerReference> => {
  if (json === "") return []
  let parsed: unknown
  try {
    parsed = JSON.parse(json)
  } catch {
    return []
  }
  return readOwnerReferences(parsed)
}

/** The same for a value that is already parsed. */
export const readOwnerReferences = (value: unknown): ReadonlyArray<OwnerReference> =>
  Array.isArray(value) ? value.flatMap(ownerReference) : []

const ownerReference = (value: unknown): ReadonlyArray<OwnerReference> => {
  if (!isRecord(value)) return []
  const { apiVersion, kind, name, uid, controller } = value
  if (typeof apiVersion !== "string" || typeof kind !== "string" || typeof name !== "string") return []
  return typeof uid !== "string" || uid === "" ? [] : [{ apiVersion, kind, name, uid, controller: controller === true }]
}
