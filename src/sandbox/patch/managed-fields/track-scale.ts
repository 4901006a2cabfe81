/**
 * The managedFields of an object after a write to its `scale` subresource. The server tracks the Scale separately and
 * copies the result back, which has effects that clients see (each checked with a real server):
 *
 * - The entries that own the replicas become owners of the Scale's, under autoscaling/v1. Copied back, an updater counts as
 *   a different one: the old entry loses the replicas, a new one without a time gets them.
 * - Two entries of one manager (the old and the new one of the item above) become one, the last; so the replicas may end up
 *   without an owner.
 * - Once the replicas have no owner, updates through the scale are no longer tracked.
 */

import type { JsonObject } from "../json/json-value.ts"
import { difference, type FieldSet, hasPath, isEmptySet, leaf } from "./field-set.ts"
import {
  inServerOrder,
  type ManagedFields,
  type ManagedFieldsEntry,
  makeEntry,
  managerIdentifier,
  storedEntries,
  withFields,
} from "./managed-fields-entry.ts"
import { fieldElement } from "./path-element.ts"

export interface TrackedScale {
  /** The scaled object, as stored. */
  readonly before: JsonObject
  readonly manager: string
  /** Of the scaled object. */
  readonly apiVersion: string
  /** Default `spec.replicas`; custom kinds set it in `specReplicasPath`. */
  readonly replicasPath?: ReadonlyArray<string> | undefined
  /** The write's effect on the replicas; `removed` for an update to 0, which a Scale does not write. Default `changed`. */
  readonly change?: "changed" | "unchanged" | "removed" | undefined
  /** Default `Update`. An apply takes the replicas from other managers: check {@link scaleOwners} first. */
  readonly operation?: "Apply" | "Update" | undefined
}

/** The owners of the replicas, as entries of the Scale. */
export const scaleOwners = (
  before: JsonObject,
  replicasPath: ReadonlyArray<string> | undefined,
): ReadonlyArray<ManagedFieldsEntry> => {
  const path = (replicasPath ?? defaultPath).map(fieldElement)
  return merged(storedEntries(before)).filter((entry) => hasPath(entry.fieldsV1, path))
}

export const trackScale = (scale: TrackedScale): ManagedFields => {
  const { before, manager, apiVersion, replicasPath, change = "changed", operation = "Update" } = scale
  const replicas = setOf(replicasPath)
  const owners = scaleOwners(before, replicasPath)
  const isTracked = owners.length > 0 || operation === "Apply"
  const writer = makeEntry({ manager, operation, apiVersion, subresource: "scale" }, undefined, replicas)
  const remaining = isTracked && change === "unchanged" ? owners : []
  const isTaken = isTracked && (operation === "Apply" || change === "changed")
  // An applier is the same in every version, an updater is not.
  const stays = new Set([...remaining, ...(isTaken ? [writer] : [])].filter(isApplier).map(managerIdentifier))
  const kept: ManagedFieldsEntry[] = []
  for (const entry of merged(storedEntries(before))) {
    if (!owners.includes(entry)) kept.push(entry)
    else if (stays.has(managerIdentifier(entry))) kept.push(entry)
    else {
      const rest = difference(entry.fieldsV1, replicas)
      if (!isEmptySet(rest)) kept.push(withFields(entry, rest))
    }
  }
  const known = new Set(kept.filter(isApplier).map(managerIdentifier))
  for (const owner of remaining) {
    if (isApplier(owner)) continue
    const { time: _, ...timeless } = withFields(owner, replicas)
    kept.push(timeless)
  }
  if (isTaken && !known.has(managerIdentifier(writer))) kept.push(writer)
  return inServerOrder(kept)
}

const defaultPath: ReadonlyArray<string> = ["spec", "replicas"]

const setOf = (path: ReadonlyArray<string> = defaultPath): FieldSet =>
  path.reduceRight<FieldSet>((below, name) => ({ [fieldElement(name)]: below }), leaf)

const isApplier = ({ operation }: ManagedFieldsEntry): boolean => operation === "Apply"

/** One entry for each manager: the last. */
const merged = (entries: ManagedFields): ManagedFields => {
  const last = new Map(entries.map((entry) => [managerIdentifier(entry), entry] as const))
  return last.size === entries.length ? entries : [...last.values()]
}
