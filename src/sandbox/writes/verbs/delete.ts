/**
 * Deletions: at once, or by a deletionTimestamp as the deadline of the kubelet or the finalizers. Pods bound to a node
 * get their grace period; an object with finalizers stays until they are gone (update.ts removes it then).
 */
import { type Change, keyOf, type Resource } from "../../../apiserver/index.ts"
import { formatGvk } from "../../../kube/offline.ts"
import { child, items, number, text, texts } from "../../rules/fields.ts"
import type { Fields, MutableObject } from "../../rules/kind-rules.ts"
import type { LiveObject } from "../../store/collection.ts"
import { encodeObject, stateOf, withVersion } from "../../store/object-encoding.ts"
import { refuse } from "../../store/refusal.ts"
import { timestamp } from "../../store/stamps.ts"
import { namespaceProtected, preconditionFailed } from "../request/write-failures.ts"
import { type DeleteOptions, parseDeleteOptions } from "../request/write-options.ts"
import type { WriteRequest, Written } from "../request/write-request.ts"
import { existingOf, type WritableKind, type WriteSurroundings } from "../surroundings.ts"
import { admitDeletion } from "../webhook-points.ts"
import { isOrphaningByDefault, isReturnedWhenDeleted } from "../write-policy.ts"
import { answerOf, deletedStatus } from "./answer.ts"

/** DELETE of one object. Throws Refusal. */
export const deleteOne = (around: WriteSurroundings, request: WriteRequest, warnings: string[]): Written => {
  const { resource, name } = request
  const options = parseDeleteOptions(request, around.registry)
  warnings.push(...deletionWarnings(resource, options))
  const { kind, existing } = existingOf(around, request)
  const { left, last } = deleteObject(around, kind, existing, options, (stored) =>
    admitDeletion(around, kind, stored, name, options, warnings),
  )
  if (left !== undefined) {
    if (!options.dryRun) return answerOf(kind, left, 200, warnings)
    return {
      type: "written",
      status: 200,
      json: withVersion(encodeObject(resource, last), left.revision),
      warnings,
    }
  }
  const json = isReturnedWhenDeleted(resource)
    ? JSON.stringify(kind.fromStored(last))
    : deletedStatus(resource, name, existing.change.uid)
  return { type: "written", status: 200, json, warnings }
}

/** Of the kinds that orphan by default only Jobs warn about it. */
export const deletionWarnings = (resource: WritableKind["resource"], { propagation }: DeleteOptions): string[] =>
  propagation === undefined && formatGvk(resource.gvk) === "batch/v1.Job"
    ? [
        "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set " +
          "propagationPolicy=Orphan to suppress this warning",
      ]
    : []

/** The outcome of a deletion. */
interface Deletion {
  /** The state that remains for now; `undefined` when the object is gone. */
  readonly left: Change | undefined
  /** The last state, as it is stored. */
  readonly last: MutableObject
}

/** Deletes, or marks for deletion, one stored object. Throws Refusal if preconditions do not hold or `admit` does. */
export const deleteObject = (
  around: WriteSurroundings,
  kind: WritableKind,
  existing: LiveObject,
  options: DeleteOptions,
  admit: (stored: MutableObject) => void,
): Deletion => {
  const { collection } = kind
  const { resource } = collection
  const before = stateOf(existing.change)
  checkPreconditions(resource, existing.change, options)
  checkProtection(resource, existing.change.name)
  const last: MutableObject = { ...before, metadata: { ...before.metadata } }
  // A graceful deletion in progress changes only if it is shortened; its finalizers stay unchanged, too.
  if (isPending(resource, last, options)) return { left: existing.change, last: before }
  admit(before)
  const grace = gracePeriod(resource, last, options)
  const finalizers = finalizersAfter(resource, last, options, existing.change.terminating === true)
  const isLast = finalizers.length === 0 && grace === 0 && !isFinalizedBySpec(resource, last)
  if (isLast) {
    if (isGraceful(resource)) mark(around, resource, last, 0)
    if (options.dryRun) return { left: undefined, last }
    // Two writes, two versions: the real server stores the mark before it finds that there is nothing to wait for.
    if (isGraceful(resource)) around.store.write(collection, last, existing, before)
    const { namespace, name } = existing.change
    const gone = around.store.remove(collection, collection.live.get(keyOf(namespace, name)) ?? existing)
    return { left: undefined, last: stateOf(gone) }
  }
  last.metadata.finalizers = finalizers
  mark(around, resource, last, grace)
  if (options.dryRun) return { left: existing.change, last }
  const left = around.store.write(collection, last, existing, before)
  return { left, last }
}

const checkPreconditions = (resource: WritableKind["resource"], change: Change, options: DeleteOptions): void => {
  const { uid, name } = change
  if (options.uid !== "" && options.uid !== uid) {
    const problem =
      `the UID in the precondition (${options.uid}) does not match the UID in record (${uid}). The object might have ` +
      "been deleted and then recreated"
    refuse(preconditionFailed(resource, name, problem))
  }
  const version = String(change.revision)
  if (options.resourceVersion !== "" && options.resourceVersion !== version) {
    const problem =
      `the ResourceVersion in the precondition (${options.resourceVersion}) does not match the ResourceVersion in record ` +
      `(${version}). The object might have been modified`
    refuse(preconditionFailed(resource, name, problem))
  }
}

const protectedNamespaces: ReadonlySet<string> = new Set(["default", "kube-system", "kube-public"])

const checkProtection = (resource: WritableKind["resource"], name: string): void => {
  if (isNamespace(resource) && protectedNamespaces.has(name)) refuse(namespaceProtected(resource, name))
}

const isGraceful = (resource: WritableKind["resource"]): boolean => formatGvk(resource.gvk) === "v1.Pod"

/** Only a shorter grace period than the current one counts; an absent one means the current one. */
const isPending = (
  resource: WritableKind["resource"],
  { metadata }: MutableObject,
  options: DeleteOptions,
): boolean => {
  if (!isGraceful(resource) || metadata.deletionTimestamp === undefined) return false
  const running = number(metadata, "deletionGracePeriodSeconds")
  return running !== undefined && (options.gracePeriodSeconds ?? running) >= running
}

/** Grace period in whole seconds of a Pod on a node; 0 for everything else. */
const gracePeriod = (resource: WritableKind["resource"], object: MutableObject, options: DeleteOptions): number => {
  if (!isGraceful(resource)) return 0
  const spec = child(object, "spec")
  const phase = text(child(object, "status"), "phase")
  // Marked without a grace period: nothing to wait for.
  const { deletionTimestamp, deletionGracePeriodSeconds } = object.metadata
  if (deletionTimestamp !== undefined && deletionGracePeriodSeconds === undefined) return 0
  if (deletionTimestamp !== undefined) return Math.max(0, options.gracePeriodSeconds ?? 0)
  if (text(spec, "nodeName") === "" || phase === "Succeeded" || phase === "Failed") return 0
  const wanted = options.gracePeriodSeconds ?? number(spec, "terminationGracePeriodSeconds") ?? 30
  return wanted < 0 ? 1 : wanted
}

const foreground = "foregroundDeletion"
const orphan = "orphan"

/** The garbage collector's own finalizers determine how it treats the dependents. */
const finalizersAfter = (
  resource: WritableKind["resource"],
  object: MutableObject,
  options: DeleteOptions,
  terminating: boolean,
): string[] => {
  const present = ownFinalizers(resource, object)
  const isDecided = terminating || present.includes(foreground) || !isOrphaningByDefault(resource)
  const propagation = options.propagation ?? (isDecided ? undefined : "Orphan")
  if (propagation === undefined) return [...present]
  const others = present.filter((name) => name !== foreground && name !== orphan)
  if (propagation === "Background") return others
  const wanted = propagation === "Foreground" ? foreground : orphan
  if (present.includes(wanted) || (terminating && present.length === 0)) return [...present]
  return [...others, wanted]
}

/** Sets the deletionTimestamp, or moves it forward; the first time counts as a change of the desired state. */
const mark = (
  around: WriteSurroundings,
  resource: WritableKind["resource"],
  object: MutableObject,
  grace: number,
): void => {
  const { metadata } = object
  if (metadata.deletionTimestamp !== undefined) return hurry(metadata, grace)
  metadata.deletionTimestamp = timestamp(around.clock, grace)
  markStatus(resource, object, timestamp(around.clock))
  // Namespaces and definitions are marked by their own code, which sets neither grace period nor generation.
  if (isNamespace(resource) || isDefinition(resource)) return
  metadata.deletionGracePeriodSeconds = grace
  const generation = number(metadata, "generation") ?? 0
  if (generation > 0) metadata.generation = generation + 1
}

const hurry = (metadata: Fields, grace: number): void => {
  const running = number(metadata, "deletionGracePeriodSeconds")
  if (running === undefined || running <= grace) return
  const begun = Date.parse(text(metadata, "deletionTimestamp")) - running * 1000
  metadata.deletionTimestamp = `${new Date(begun + grace * 1000).toISOString().slice(0, 19)}Z`
  metadata.deletionGracePeriodSeconds = grace
}

// Further marks of a deletion, for the two kinds whose deletion includes other objects.

const isNamespace = (resource: Resource): boolean => formatGvk(resource.gvk) === "v1.Namespace"

export const isDefinition = (resource: Resource): boolean =>
  formatGvk(resource.gvk) === "apiextensions.k8s.io/v1.CustomResourceDefinition"

/** Keeps a CustomResourceDefinition until the objects of its kind are gone. */
export const definitionFinalizer = "customresourcecleanup.apiextensions.k8s.io"

/** Finalizers that the server itself adds at the start of the deletion. */
const ownFinalizers = (resource: Resource, object: MutableObject): ReadonlyArray<string> => {
  const present = texts(object.metadata, "finalizers")
  const needed = isDefinition(resource) && object.metadata.deletionTimestamp === undefined
  return needed && !present.includes(definitionFinalizer) ? [...present, definitionFinalizer] : present
}

/** Namespaces wait for `spec.finalizers` too. */
export const isFinalizedBySpec = (resource: Resource, object: MutableObject): boolean =>
  isNamespace(resource) && texts(child(object, "spec"), "finalizers").length > 0

/** Records in `status` that the deletion has begun. `time` is RFC 3339. */
const markStatus = (resource: Resource, object: MutableObject, time: string): void => {
  if (isNamespace(resource)) object.status = { ...child(object, "status"), phase: "Terminating" }
  if (!isDefinition(resource)) return
  const status = child(object, "status")
  const others = items(status, "conditions").filter((condition) => text(condition, "type") !== "Terminating")
  const condition = {
    type: "Terminating",
    status: "True",
    lastTransitionTime: time,
    reason: "InstanceDeletionPending",
    message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
  }
  object.status = { ...status, conditions: [...others, condition] }
}
