/**
 * The managedFields of an object after a write to its `scale` subresource changed its replicas. The server tracks the
 * Scale on its own and carries the result over, which has two effects that clients see: the new owner's entry has no
 * time, and every other owner of the replicas loses them.
 */

import { difference, type FieldSet, isEmptySet, leaf } from "./field-set.ts"
import type { JsonObject } from "./json-value.ts"
import { inServerOrder, type ManagedFields, makeEntry, storedEntries, withFields } from "./managed-fields-entry.ts"
import { fieldElement } from "./path-element.ts"

export interface TrackedScale {
  /** The scaled object, as stored. */
  readonly before: JsonObject
  readonly manager: string
  /** Of the scaled object. */
  readonly apiVersion: string
  /** Default `spec.replicas`; custom kinds name theirs in `specReplicasPath`. */
  readonly replicasPath?: ReadonlyArray<string> | undefined
}

/** For a write that did change the replicas; one that did not leaves managedFields alone. */
export const trackScale = ({ before, manager, apiVersion, replicasPath }: TrackedScale): ManagedFields => {
  const entries = storedEntries(before)
  if (entries.length === 0) return entries
  const path = replicasPath ?? ["spec", "replicas"]
  const replicas = path.reduceRight<FieldSet>((below, name) => ({ [fieldElement(name)]: below }), leaf)
  const kept = []
  for (const entry of entries) {
    const rest = difference(entry.fieldsV1, replicas)
    if (!isEmptySet(rest)) kept.push(withFields(entry, rest))
  }
  kept.push(makeEntry({ manager, operation: "Update", apiVersion, subresource: "scale" }, undefined, replicas))
  return inServerOrder(kept)
}
