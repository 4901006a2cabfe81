/**
 * What an object says about its end. A deletion marks an object that has finalizers or a grace period, and removes it only with a later
 * request: the one that removes the last finalizer, which is an update, or the kubelet's deletion without a grace period.
 */
import {
  type JsonObject,
  type JsonValue,
  listIn,
  memberIn,
  objectIn,
  textIn,
  withMember,
  withoutMember,
} from "../../trace/index.ts"
import { type AuditedWrite, isWholeObject } from "../shapes/audited-write.ts"
import type { LossReason } from "./losses.ts"

/** Members of an object's metadata; empty where it has none. */
interface ObjectFacts {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
}

export const factsOf = (object: JsonObject): ObjectFacts => {
  const metadata = objectIn(object, "metadata")
  return {
    apiVersion: textIn(object, "apiVersion"),
    kind: textIn(object, "kind"),
    namespace: textIn(metadata, "namespace"),
    name: textIn(metadata, "name"),
    uid: textIn(metadata, "uid"),
    resourceVersion: textIn(metadata, "resourceVersion"),
  }
}

const isOf = (object: JsonObject, kind: string): boolean =>
  memberIn(object, "kind") === kind && memberIn(object, "apiVersion") === "v1"

/** Namespaces have finalizers of their own in their spec. */
const hasFinalizers = (object: JsonObject): boolean =>
  listIn(objectIn(object, "metadata"), "finalizers").length > 0 ||
  (isOf(object, "Namespace") && listIn(objectIn(object, "spec"), "finalizers").length > 0)

/** Whether it was asked to be deleted. */
export const isMarked = (object: JsonObject): boolean =>
  memberIn(objectIn(object, "metadata"), "deletionTimestamp") !== undefined

const graceLeft = (object: JsonObject): boolean => {
  const grace = memberIn(objectIn(object, "metadata"), "deletionGracePeriodSeconds")
  return typeof grace === "number" && grace > 0
}

/** Whether the write that led to this object was its last one: it is marked as deleted, and nothing holds it. */
export const isFinished = (object: JsonObject): boolean =>
  isMarked(object) && !hasFinalizers(object) && !graceLeft(object)

/** Whether an object that is the response to its deletion exists on. Some kinds are returned without a mark when they are gone. */
export const outlivesDeletion = (object: JsonObject): boolean =>
  hasFinalizers(object) || (isMarked(object) && graceLeft(object))

/** Seconds that a deletion leaves a pod by its own rules; 0 for every other kind, and for pods that run on no node or have ended. */
export const graceSeconds = (object: JsonObject): number => {
  const spec = objectIn(object, "spec")
  const phase = textIn(objectIn(object, "status"), "phase")
  if (!isOf(object, "Pod") || textIn(spec, "nodeName") === "" || phase === "Succeeded" || phase === "Failed") return 0
  const period = memberIn(spec, "terminationGracePeriodSeconds")
  return typeof period === "number" ? period : 30
}

/**
 * Whether an object exists on after its deletion, judged by its state before, because the response does not say it. `request`: the
 * DeleteOptions; `undefined`: not in the log. Then `isLast` says whether a deletion of an object that is marked is its last one, as that of
 * the kubelet is, or repeats the first.
 */
export const wouldOutliveDeletion = (before: JsonObject, request: JsonObject | undefined, isLast: boolean): boolean => {
  const policy = memberIn(request, "propagationPolicy")
  // The server gives every namespace a finalizer.
  if (hasFinalizers(before) || isOf(before, "Namespace") || policy === "Foreground" || policy === "Orphan") return true
  if (graceSeconds(before) === 0) return false
  const asked = memberIn(request, "gracePeriodSeconds")
  if (typeof asked === "number") return asked > 0
  return request !== undefined || !isLast
}

const withInner = (object: JsonObject, outer: string, name: string, value: JsonValue): JsonObject =>
  withMember(object, outer, withMember(objectIn(object, outer) ?? {}, name, value))

// States that follow from a request which does not return them. What else the server changes with it (`generation`, `managedFields`,
// conditions, mostly `resourceVersion`) stays as it was, until the log has the whole object again.

/** After a `Scale` was written, which has the version of the object; `undefined` if the object has no `spec.replicas`, or the Scale none. */
export const scaled = (object: JsonObject, scale: JsonObject): JsonObject | undefined => {
  const replicas = memberIn(objectIn(scale, "spec"), "replicas") ?? 0
  if (typeof replicas !== "number" || typeof memberIn(objectIn(object, "spec"), "replicas") !== "number")
    return undefined
  const version = textIn(objectIn(scale, "metadata"), "resourceVersion")
  const changed = withInner(object, "spec", "replicas", replicas)
  return version === "" ? changed : withInner(changed, "metadata", "resourceVersion", version)
}

/** After a pod was bound to a node; `undefined` if the binding names none. */
export const bound = (pod: JsonObject, binding: JsonObject | undefined): JsonObject | undefined => {
  const node = textIn(objectIn(binding, "target"), "name")
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
  withMember(object, "metadata", objectIn(partial, "metadata") ?? {})

/** With the status of an object that was sent to its subresource `status`, of which the server takes nothing else. */
export const withStatusOf = (object: JsonObject, sent: JsonObject): JsonObject => {
  const status = objectIn(sent, "status")
  return status === undefined ? object : withMember(object, "status", status)
}

/** An object as it was sent, with the place from the request's address, and without the version of the state before it. */
export const asSent = (sent: JsonObject, namespace: string, name: string): JsonObject => {
  const metadata = withMember(withoutMember(objectIn(sent, "metadata") ?? {}, "resourceVersion"), "name", name)
  return withMember(sent, "metadata", namespace === "" ? metadata : withMember(metadata, "namespace", namespace))
}

/** The object after a create, update or patch. */
type WrittenBody =
  /** As the server has it. */
  | { readonly tag: "object"; readonly object: JsonObject }
  /** As the client sent it: without what the server filled in. */
  | { readonly tag: "sent"; readonly object: JsonObject; readonly name: string }
  /** As it was, with this metadata. */
  | { readonly tag: "metadata"; readonly partial: JsonObject }
  /** As it was, with the status of this object. */
  | { readonly tag: "sent-status"; readonly sent: JsonObject }
  /** Nothing was stored: a question to the server, or a dry run whose address is not in the log. */
  | { readonly tag: "nothing" }
  | { readonly tag: "unknown"; readonly reason: LossReason }

const unknown = (reason: LossReason): WrittenBody => ({ tag: "unknown", reason })

/** Why a write without usable bodies has none. */
export const whyWithoutBody = ({ isTruncated, level, verb }: AuditedWrite): LossReason => {
  if (isTruncated) return "truncated"
  if (level === "Metadata") return "metadata-level"
  return level === "Request" && verb === "patch" ? "patch-at-request-level" : "no-object"
}

/** Of a write to an object or to a subresource that is written as the whole object. */
export const bodyOf = (write: AuditedWrite): WrittenBody =>
  write.response === undefined ? sentBody(write) : returnedBody(write, write.response)

const returnedBody = (write: AuditedWrite, response: JsonObject): WrittenBody => {
  const { apiVersion, kind, name, resourceVersion } = factsOf(response)
  if (kind === "PartialObjectMetadata")
    return changesOnlyMetadata(write.request) ? { tag: "metadata", partial: response } : unknown("no-object")
  // A Status, or a Table, which clients may ask for instead of the object.
  if (kind === "" || kind === "Status" || apiVersion.startsWith("meta.k8s.io/")) return unknown("no-object")
  // What is stored has a name and a version.
  if (name === "" || resourceVersion === "") return { tag: "nothing" }
  return { tag: "object", object: response }
}

const changesOnlyMetadata = (request: JsonObject | undefined): boolean =>
  request === undefined || Object.keys(request).every((name) => ["apiVersion", "kind", "metadata"].includes(name))

const sentBody = (write: AuditedWrite): WrittenBody => {
  const { verb, subresource, request } = write
  const isWhole = (verb === "create" || verb === "update") && isWholeObject(subresource)
  if (request === undefined || !isWhole || memberIn(request, "kind") === undefined)
    return unknown(whyWithoutBody(write))
  if (subresource === "status") return { tag: "sent-status", sent: request }
  if (subresource !== "" || objectIn(request, "metadata") === undefined) return unknown("no-object")
  const name = textIn(objectIn(request, "metadata"), "name") || write.name
  return name === "" ? unknown("generated-name") : { tag: "sent", object: request, name }
}
