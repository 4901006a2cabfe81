/**
 * Deletions: at once, or as a deletionTimestamp that says until when the kubelet or the finalizers have time. Pods bound to
 * a node get their grace period; whoever has finalizers stays until they are gone (update.ts removes it then).
 */

import { formatGvk } from "../../kube/gvk.ts"
import { type Change, keyOf } from "../change.ts"
import type { LiveObject } from "../collection.ts"
import { objectNotFound } from "../failure.ts"
import { encodeObject, withVersion } from "../object-encoding.ts"
import { child, number, text } from "../rules/fields.ts"
import type { Fields, MutableObject } from "../rules/kind-rules.ts"
import { timestamp } from "../timestamp.ts"
import { answerOf, deletedStatus, stateOf } from "./answer.ts"
import { type DeleteOptions, parseDeleteOptions } from "./delete-options.ts"
import { refuse } from "./refusal.ts"
import type { WritableKind, WriteSurroundings } from "./surroundings.ts"
import { isDefinition, isFinalizedBySpec, isNamespace, markStatus, ownFinalizers } from "./terminating-marks.ts"
import { namespaceProtected, preconditionFailed } from "./write-failures.ts"
import { isReturnedWhenDeleted } from "./write-policy.ts"
import type { WriteRequest, Written } from "./write-request.ts"

/** DELETE of one object. Throws Refusal. */
export const deleteOne = (around: WriteSurroundings, request: WriteRequest): Written => {
  const { resource, namespace, name } = request
  const kind = around.kindOf(resource)
  const options = parseDeleteOptions(request)
  const existing = kind.collection.live.get(keyOf(namespace, name))
  if (existing === undefined) return refuse(objectNotFound(resource, name))
  const { left, last } = deleteObject(around, kind, existing, options)
  if (left !== undefined) {
    if (!options.dryRun) return answerOf(kind, left, 200, [])
    return {
      type: "written",
      status: 200,
      json: withVersion(encodeObject(resource, last), left.revision),
      warnings: [],
    }
  }
  const json = isReturnedWhenDeleted(resource)
    ? JSON.stringify(kind.fromStored(last))
    : deletedStatus(resource, name, existing.change.uid)
  return { type: "written", status: 200, json, warnings: [] }
}

/** What a deletion came to. */
export interface Deletion {
  /** The state that stays for now; `undefined` when the object is gone. */
  readonly left: Change | undefined
  /** The last state, as it is stored. */
  readonly last: MutableObject
}

/** Deletes, or marks for deletion, one stored object. Throws Refusal when preconditions do not hold. */
export const deleteObject = (
  around: WriteSurroundings,
  kind: WritableKind,
  existing: LiveObject,
  options: DeleteOptions,
): Deletion => {
  const { collection } = kind
  const { resource } = collection
  const before = stateOf(existing.change)
  checkPreconditions(resource, existing.change, options)
  checkProtection(resource, existing.change.name)
  const last: MutableObject = { ...before, metadata: { ...before.metadata } }
  const grace = gracePeriod(resource, last, options)
  const finalizers = finalizersAfter(resource, last, options, existing.change.terminating === true)
  const isLast = finalizers.length === 0 && grace === 0 && !isFinalizedBySpec(resource, last)
  if (isLast) {
    if (isGraceful(resource)) mark(around, resource, last, 0)
    if (options.dryRun) return { left: undefined, last }
    const gone = around.store.remove(collection, existing, last)
    last.metadata.resourceVersion = String(gone.revision)
    return { left: undefined, last }
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

/** Whole seconds that a Pod on a node is given to end; 0 for everything else. */
const gracePeriod = (resource: WritableKind["resource"], object: MutableObject, options: DeleteOptions): number => {
  if (!isGraceful(resource)) return 0
  const spec = child(object, "spec")
  const phase = text(child(object, "status"), "phase")
  if (text(spec, "nodeName") === "" || phase === "Succeeded" || phase === "Failed") return 0
  const wanted = options.gracePeriodSeconds ?? number(spec, "terminationGracePeriodSeconds") ?? 30
  const running = number(object.metadata, "deletionGracePeriodSeconds")
  const seconds = wanted < 0 ? 1 : wanted
  // A second deletion may only hurry the first one.
  return running === undefined ? seconds : Math.min(seconds, running)
}

const foreground = "foregroundDeletion"
const orphan = "orphan"

/** The garbage collector's own finalizers say how it shall treat the dependents. */
const finalizersAfter = (
  resource: WritableKind["resource"],
  object: MutableObject,
  { propagation }: DeleteOptions,
  terminating: boolean,
): string[] => {
  const present = ownFinalizers(resource, object)
  if (propagation === undefined) return [...present]
  const others = present.filter((name) => name !== foreground && name !== orphan)
  if (propagation === "Background") return others
  const wanted = propagation === "Foreground" ? foreground : orphan
  if (present.includes(wanted) || (terminating && present.length === 0)) return [...present]
  return [...others, wanted]
}

/** Sets the deletionTimestamp, or moves it forward; the first time that counts as a change of the desired state. */
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
  // Namespaces and definitions are marked by code of their own, which does not know of seconds and generations.
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
