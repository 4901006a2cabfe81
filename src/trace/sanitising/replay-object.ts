/**
 * An object in a form that another cluster accepts: without what only the recorded cluster could know or decide (listed in
 * `REMOVED_FOR_REPLAY` in trace-item.ts). The input is never changed; remaining parts are shared with it.
 *
 * Idempotent. In objects of built-in kinds, nulls in maps are removed too: a server drops them, and a merge patch cannot express them. In a
 * custom kind's they may mean something.
 */

import { apiVersionOf, parseGvk } from "../../kube/offline.ts"
import { isJsonObject, type JsonObject, type JsonValue, withProperty } from "../json/exact-json.ts"
import { memberIn, textIn, withoutMember, withoutNulls } from "../json/members.ts"
import { isBuiltInKind } from "./built-in-kinds.ts"
import { withoutGenerated } from "./generated-fields.ts"

/**
 * Whether the trace contains an object of that kind and name; the namespace is empty for cluster-scoped ones. `reference` is the owner
 * reference that names it, for callers that compare UIDs.
 */
export type IsInTrace = (gvk: string, namespace: string, name: string, reference: JsonObject) => boolean

const DROPPED_METADATA = new Set([
  "uid",
  "resourceVersion",
  "generation",
  "selfLink",
  "managedFields",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "finalizers",
])
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

/**
 * The object for replay, with `apiVersion` and `kind` of its GVK, which objects in older recordings may lack.
 * @param isInTrace decides which owner references are kept
 */
export const replayObject = (gvk: string, object: JsonObject, isInTrace: IsInTrace): JsonObject =>
  withoutGenerated(gvk, withoutStatus(gvk, object, isInTrace))

/** {@link replayObject} with what the server and controllers have written into its spec and labels (generated-fields.ts). */
export const withoutStatus = (gvk: string, object: JsonObject, isInTrace: IsInTrace): JsonObject => {
  const type = parseGvk(gvk)
  const metadata = memberIn(object, "metadata")
  const kept = isJsonObject(metadata) ? replayMetadata(metadata, isInTrace) : metadata
  const withoutAbsent = isBuiltInKind(gvk) ? withoutNulls : (value: JsonValue): JsonValue => value
  let replayed: Record<string, JsonValue> = {}
  if (type !== undefined) replayed = { apiVersion: apiVersionOf(type), kind: type.kind }
  for (const [key, value] of Object.entries(object)) {
    if (key === "status" || (type !== undefined && (key === "apiVersion" || key === "kind"))) continue
    if (value === null) continue
    replayed = withProperty(replayed, key, key === "metadata" && isJsonObject(kept) ? kept : withoutAbsent(value))
  }
  return replayed
}

const replayMetadata = (metadata: JsonObject, isInTrace: IsInTrace): JsonObject => {
  let kept: Record<string, JsonValue> = {}
  const namespace = textIn(metadata, "namespace")
  for (const [key, value] of Object.entries(metadata)) {
    if (DROPPED_METADATA.has(key) || value === null) continue
    if (key === "annotations" && isJsonObject(value)) {
      const annotations = withoutMember(value, LAST_APPLIED)
      if (Object.keys(annotations).length > 0) kept.annotations = withoutNulls(annotations)
    } else if (key === "ownerReferences" && isList(value)) {
      const references = value.filter((reference) => isKnownOwner(reference, namespace, isInTrace))
      if (references.length > 0)
        kept.ownerReferences = references.map((reference) =>
          isJsonObject(reference) ? withoutNulls(withoutMember(reference, "uid")) : reference,
        )
    } else kept = withProperty(kept, key, withoutNulls(value))
  }
  return kept
}

const isKnownOwner = (reference: JsonValue, namespace: string, isInTrace: IsInTrace): boolean => {
  if (!isJsonObject(reference)) return false
  const gvk = `${textIn(reference, "apiVersion")}.${textIn(reference, "kind")}`
  const name = textIn(reference, "name")
  return isInTrace(gvk, namespace, name, reference) || (namespace !== "" && isInTrace(gvk, "", name, reference))
}

const isList = (value: JsonValue | undefined): value is ReadonlyArray<JsonValue> => Array.isArray(value)
