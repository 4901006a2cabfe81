/**
 * What an object says about its end. A deletion marks an object that has finalizers or a grace period, and removes it only with a later
 * request: the one that removes the last finalizer, which is an update, or the kubelet's deletion without a grace period.
 */
import type { JsonObject } from "../../trace/json/exact-json.ts"
import { arrayMember, member, objectMember, textMember } from "../shapes/json-fields.ts"

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
  const metadata = objectMember(object, "metadata")
  return {
    apiVersion: textMember(object, "apiVersion"),
    kind: textMember(object, "kind"),
    namespace: textMember(metadata, "namespace"),
    name: textMember(metadata, "name"),
    uid: textMember(metadata, "uid"),
    resourceVersion: textMember(metadata, "resourceVersion"),
  }
}

const isOf = (object: JsonObject, kind: string): boolean =>
  member(object, "kind") === kind && member(object, "apiVersion") === "v1"

/** Namespaces have finalizers of their own in their spec. */
const hasFinalizers = (object: JsonObject): boolean =>
  arrayMember(objectMember(object, "metadata"), "finalizers").length > 0 ||
  (isOf(object, "Namespace") && arrayMember(objectMember(object, "spec"), "finalizers").length > 0)

/** Whether it was asked to be deleted. */
export const isMarked = (object: JsonObject): boolean =>
  member(objectMember(object, "metadata"), "deletionTimestamp") !== undefined

const graceLeft = (object: JsonObject): boolean => {
  const grace = member(objectMember(object, "metadata"), "deletionGracePeriodSeconds")
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
  const spec = objectMember(object, "spec")
  const phase = textMember(objectMember(object, "status"), "phase")
  if (!isOf(object, "Pod") || textMember(spec, "nodeName") === "" || phase === "Succeeded" || phase === "Failed")
    return 0
  const period = member(spec, "terminationGracePeriodSeconds")
  return typeof period === "number" ? period : 30
}

/**
 * Whether an object exists on after its deletion, judged by its state before, because the response does not say it. `request`: the
 * DeleteOptions; `undefined`: not in the log. Then `isLast` says whether a deletion of an object that is marked is its last one, as that of
 * the kubelet is, or repeats the first.
 */
export const wouldOutliveDeletion = (before: JsonObject, request: JsonObject | undefined, isLast: boolean): boolean => {
  const policy = member(request, "propagationPolicy")
  // The server gives every namespace a finalizer.
  if (hasFinalizers(before) || isOf(before, "Namespace") || policy === "Foreground" || policy === "Orphan") return true
  if (graceSeconds(before) === 0) return false
  const asked = member(request, "gracePeriodSeconds")
  if (typeof asked === "number") return asked > 0
  return request !== undefined || !isLast
}
