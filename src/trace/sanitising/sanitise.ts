/**
 * An object as in SimKube's format: removes only what belongs to the recorded cluster. The input is never changed; remaining parts are
 * shared with it.
 *
 * | removed or changed                                                         | why                                        |
 * | -------------------------------------------------------------------------- | ------------------------------------------ |
 * | `apiVersion`, `kind`                                                       | set from the GVK: old traces may lack them  |
 * | `status`                                                                   | the other cluster determines it itself     |
 * | every `metadata` field but the six of {@link KEPT_METADATA}; nulls there   | server-set fields, and finalizers, whose   |
 * |                                                                            | controllers the other cluster may not have |
 * | owner references to objects outside the trace, and the `uid` of the others | those objects have other UIDs there        |
 * | annotations `last-applied-configuration` and `deployment…/revision`        | copies of what is recorded anyway          |
 * | what generated-fields.ts names                                             | the server and controllers there write it  |
 * | `metadata.annotations` becomes `{}` if absent                              | SimKube does so, and its readers see it    |
 *
 * SimKube's own tracer (docs/facts/simkube.md#sanitising) keeps `status`, finalizers, `selfLink`, all owner references and, but for the
 * node of a pod, what the server and controllers generate: a Job stops its driver. Everything else is the same. Nulls outside metadata
 * stay: they count in H, which is that of the spec as it is written.
 */

import { apiVersionOf, parseGvk } from "../../kube/offline.ts"
import { isJsonList, isJsonObject, type JsonObject, type JsonValue, withProperty } from "../json/exact-json.ts"
import { sortedKeys } from "../json/key-order.ts"
import { withoutGenerated } from "./generated-fields.ts"

/** An object in the order in which SimKube's format writes its fields. */
export interface SimkubeObject {
  readonly apiVersion: string
  readonly kind: string
  /** Only known fields, in alphabetical order. */
  readonly metadata: JsonObject
  /** All other fields of the top level in the order of their UTF-8 bytes. */
  readonly rest: ReadonlyArray<readonly [key: string, value: JsonValue]>
}

/** `apiVersion` and `kind` of a GVK string, as {@link simkubeType} splits them. */
export interface SimkubeType {
  readonly apiVersion: string
  readonly kind: string
}

/** Fields of ObjectMeta that survive, in alphabetical order. */
const KEPT_METADATA = ["annotations", "generateName", "labels", "name", "namespace", "ownerReferences"] as const

const DROPPED_ANNOTATIONS = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  "deployment.kubernetes.io/revision",
])

/** Whether the object that an owner reference names is in the trace. */
export type IsOwnerInTrace = (reference: JsonObject) => boolean

/** For a trace that leaves out what its objects own. */
export const noOwnerInTrace: IsOwnerInTrace = () => false

/** `apps/v1.Deployment` → `apps/v1`, `Deployment`. Call it once per kind. `undefined` if the text is not a GVK. */
export const simkubeType = (gvk: string): SimkubeType | undefined => {
  const parsed = parseGvk(gvk)
  return parsed === undefined ? undefined : { apiVersion: apiVersionOf(parsed), kind: parsed.kind }
}

/** The sanitised object. Total: parts of an unexpected type are treated as absent or left unchanged. */
export const sanitise = (
  type: SimkubeType,
  object: JsonObject,
  isOwnerInTrace: IsOwnerInTrace = noOwnerInTrace,
): SimkubeObject => {
  const portable = withoutGenerated(gvkOf(type), object)
  const rest: Array<readonly [string, JsonValue]> = []
  for (const key of sortedKeys(portable)) {
    if (key === "apiVersion" || key === "kind" || key === "metadata" || key === "status") continue
    rest.push([key, portable[key] as JsonValue])
  }
  return { ...type, metadata: sanitiseMetadata(portable.metadata, isOwnerInTrace), rest }
}

/** `v1.Pod`. */
export const gvkOf = ({ apiVersion, kind }: SimkubeType): string => `${apiVersion}.${kind}`

/** The `spec` of a sanitised object: what SimKube hashes. `undefined` if there is none. */
export const specOf = (object: SimkubeObject): JsonValue | undefined => object.rest.find(([key]) => key === "spec")?.[1]

/**
 * The stub that represents a deleted object. SimKube writes `namespace: ""` for cluster-scoped objects, which its own look-ups then miss
 * (W-12); here such a stub has no namespace.
 */
export const deletionStub = (type: SimkubeType, namespace: string, name: string): SimkubeObject => ({
  ...type,
  metadata: namespace === "" ? { name } : { name, namespace },
  rest: [],
})

const sanitiseMetadata = (metadata: JsonValue | undefined, isOwnerInTrace: IsOwnerInTrace): JsonObject => {
  const kept: Record<string, JsonValue> = { annotations: {} }
  if (!isJsonObject(metadata)) return kept
  for (const field of KEPT_METADATA) {
    const value = Object.hasOwn(metadata, field) ? metadata[field] : null
    if (value === null || value === undefined) continue
    if (field === "annotations" && isJsonObject(value)) {
      kept[field] = without(value, (key) => DROPPED_ANNOTATIONS.has(key))
    } else if (field === "ownerReferences") {
      const references = ownersInTrace(value, isOwnerInTrace)
      if (references.length > 0) kept[field] = references
    } else kept[field] = value
  }
  return kept
}

const ownersInTrace = (references: JsonValue, isOwnerInTrace: IsOwnerInTrace): ReadonlyArray<JsonValue> =>
  !isJsonList(references)
    ? []
    : references
        .filter(isJsonObject)
        .filter(isOwnerInTrace)
        .map((reference) => without(reference, (key) => key === "uid"))

/** The object without some keys; the same object if it has none of them. */
const without = (object: JsonObject, isDropped: (key: string) => boolean): JsonObject => {
  const keys = Object.keys(object)
  if (!keys.some(isDropped)) return object
  let kept: Record<string, JsonValue> = {}
  for (const key of keys) if (!isDropped(key)) kept = withProperty(kept, key, object[key] ?? null)
  return kept
}
