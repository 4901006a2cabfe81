/**
 * States of objects that follow from a request which does not return them. What else the server changes with it (`generation`,
 * `managedFields`, conditions, mostly `resourceVersion`) stays as it was, until the log has the whole object again.
 */
import type { JsonObject, JsonValue } from "../../trace/json/exact-json.ts"
import { withMember, withoutMember } from "../../trace/json/members.ts"
import { member, objectMember, textMember } from "../shapes/json-fields.ts"

const withInner = (object: JsonObject, outer: string, name: string, value: JsonValue): JsonObject =>
  withMember(object, outer, withMember(objectMember(object, outer) ?? {}, name, value))

/** After a `Scale` was written, which has the version of the object; `undefined` if the object has no `spec.replicas`, or the Scale none. */
export const scaled = (object: JsonObject, scale: JsonObject): JsonObject | undefined => {
  const replicas = member(objectMember(scale, "spec"), "replicas") ?? 0
  if (typeof replicas !== "number" || typeof member(objectMember(object, "spec"), "replicas") !== "number")
    return undefined
  const version = textMember(objectMember(scale, "metadata"), "resourceVersion")
  const changed = withInner(object, "spec", "replicas", replicas)
  return version === "" ? changed : withInner(changed, "metadata", "resourceVersion", version)
}

/** After a pod was bound to a node; `undefined` if the binding names none. */
export const bound = (pod: JsonObject, binding: JsonObject | undefined): JsonObject | undefined => {
  const node = textMember(objectMember(binding, "target"), "name")
  return node === "" ? undefined : withInner(pod, "spec", "nodeName", node)
}

/** The server accepts any integer; a date has an end. */
const longestGrace = 2 ** 31

/** After it was marked as deleted. `time`: µs since the Unix epoch. */
export const markedAsDeleted = (object: JsonObject, time: number, grace: number): JsonObject => {
  const graceSeconds = Math.min(Math.max(Math.trunc(grace), 0), longestGrace)
  const end = new Date(Math.floor(time / 1_000_000) * 1000 + graceSeconds * 1000)
  const marked = withInner(object, "metadata", "deletionTimestamp", end.toISOString().replace(".000Z", "Z"))
  return withInner(marked, "metadata", "deletionGracePeriodSeconds", graceSeconds)
}

/** With the metadata of a `PartialObjectMetadata`, in which clients get the metadata alone. */
export const withMetadataOf = (object: JsonObject, partial: JsonObject): JsonObject =>
  withMember(object, "metadata", objectMember(partial, "metadata") ?? {})

/** With the status of an object that was sent to its subresource `status`, of which the server takes nothing else. */
export const withStatusOf = (object: JsonObject, sent: JsonObject): JsonObject => {
  const status = objectMember(sent, "status")
  return status === undefined ? object : withMember(object, "status", status)
}

/** An object as it was sent, with the place from the request's address, and without the version of the state before it. */
export const asSent = (sent: JsonObject, namespace: string, name: string): JsonObject => {
  const metadata = withMember(withoutMember(objectMember(sent, "metadata") ?? {}, "resourceVersion"), "name", name)
  return withMember(sent, "metadata", namespace === "" ? metadata : withMember(metadata, "namespace", namespace))
}
