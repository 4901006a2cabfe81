/** `/scale`: an autoscaling/v1 Scale made from an object's replicas, and written back to them. */

import { badRequest, objectNotFound } from "../../../apiserver/answers/failure.ts"
import { member } from "../../../apiserver/kinds/json-member.ts"
import type { Resource } from "../../../apiserver/kinds/resources.ts"
import { scaleOf, scalePath, scaleResource } from "../../../apiserver/scale-form.ts"
import { type Change, keyOf } from "../../../apiserver/watch/change.ts"
import { apiVersionOf } from "../../../kube/gvk.ts"
import { applyConflict } from "../../patch/apply/apply-conflict.ts"
import type { JsonObject } from "../../patch/json/json-value.ts"
import { scaleOwners, trackScale } from "../../patch/managed-fields/track-scale.ts"
import { child, fieldsOf, isFields } from "../../rules/fields.ts"
import type { Fields, MutableObject } from "../../rules/kind-rules.ts"
import { encodeObject, withVersion } from "../../store/object-encoding.ts"
import { stateOf } from "../answer.ts"
import { decodeBody } from "../body/body.ts"
import { patched } from "../body/patched-document.ts"
import { refuse } from "../refusal.ts"
import type { WritableKind, WriteSurroundings } from "../surroundings.ts"
import { appliedTo, decodeApplied } from "../verbs/apply.ts"
import { settleName } from "../verbs/create.ts"
import { replaceObject } from "../verbs/update.ts"
import { admitAction } from "../webhooks/admission-points.ts"
import { invalidObject } from "../write-failures.ts"
import { applyPatch, type WriteOptions } from "../write-options.ts"
import type { WriteRequest, Written } from "../write-request.ts"

const { gvk } = scaleResource

/** GET. Throws Refusal. */
export const readScale = (around: WriteSurroundings, resource: Resource, namespace: string, name: string): Written => {
  const kind = around.kindOf(resource)
  const existing = kind.collection.live.get(keyOf(namespace, name))
  if (existing === undefined) return refuse(objectNotFound(resource, name))
  return answerOf(scaleOf(resource, stateOf(existing.change)), existing.change)
}

/** PUT or PATCH. Throws Refusal. */
export const writeScale = (around: WriteSurroundings, request: WriteRequest, options: WriteOptions): Written => {
  const { resource, namespace, name } = request
  const kind = around.kindOf(resource)
  const existing = kind.collection.live.get(keyOf(namespace, name))
  if (existing === undefined) return refuse(objectNotFound(resource, name))
  const before = stateOf(existing.change)
  const current = scaleOf(resource, before)
  const after = request.contentType === applyPatch ? applied(around, kind, before, request, options) : undefined
  const wanted = after === undefined ? requested(around, current, request) : current
  settleName(wanted, name)
  const shown = after === undefined ? wanted : scaleOf(resource, after)
  // What webhooks change belongs to no one.
  const sent = child(shown, "spec")?.replicas ?? 0
  admitAction(around, request, gvk, shown, options, current)
  if (after !== undefined) setAt(after, scalePath(resource, "specReplicas"), child(shown, "spec")?.replicas ?? 0)
  const next = after ?? scaled(resource, before, shown)
  refuseNegative(resource, next, name)
  replaceObject(around, kind, {
    existing,
    before,
    after: next,
    subresource: "scale",
    options,
    track: (object, old) => (after === undefined ? owners(kind, old, sent, options) : object.metadata.managedFields),
  })
  const stored = kind.collection.live.get(keyOf(namespace, name))?.change ?? existing.change
  return answerOf(scaleOf(resource, options.dryRun ? next : stateOf(stored)), options.dryRun ? existing.change : stored)
}

const requested = (around: WriteSurroundings, current: MutableObject, request: WriteRequest): MutableObject => {
  if (request.verb === "update") {
    return decodeBody(request.body, request.contentType, scaleResource).object
  }
  const type = around.kindOf(request.resource).type
  const document = patched(request.contentType, current, request.body.toString("utf8"), type)
  if (!isFields(document.metadata))
    refuse(badRequest("the name of the object was undeterminable: name must be provided"))
  return document
}

const applied = (
  around: WriteSurroundings,
  kind: WritableKind,
  live: MutableObject,
  request: WriteRequest,
  options: WriteOptions,
): MutableObject => {
  const document = decodeApplied(request.body)
  const { resource } = kind
  const { group, version } = resource.gvk
  if (document.kind !== "Scale" || document.apiVersion !== apiVersionOf(gvk)) {
    refuse(
      badRequest(`invalid object type: ${String(document.apiVersion ?? "/")}, Kind=${String(document.kind ?? "")}`),
    )
  }
  const replicas = child(document, "spec")?.replicas ?? 0
  const wanted: Fields = {
    apiVersion: apiVersionOf({ group, version, kind: "" }),
    kind: resource.gvk.kind,
    metadata: { name: live.metadata.name },
  }
  setAt(wanted, scalePath(resource, "specReplicas"), replicas)
  const replicasPath = scalePath(resource, "specReplicas")
  const isChanged = member(live, ...replicasPath) !== replicas
  if (isChanged && !options.force) refuseTaking(resource, live, options.manager)
  const after = appliedTo(around, kind, {
    applied: wanted,
    live,
    options: { ...options, force: true },
    subresource: "scale",
  })
  after.metadata.managedFields = trackScale({
    before: live as unknown as JsonObject,
    manager: options.manager,
    apiVersion: apiVersionOf(resource.gvk),
    replicasPath,
    change: isChanged ? "changed" : "unchanged",
    operation: "Apply",
  })
  return after
}

/** Replicas without an owner count as set before the first apply. Throws ApplyConflict. */
const refuseTaking = (resource: Resource, live: MutableObject, manager: string): void => {
  const apiVersion = apiVersionOf(gvk)
  const unowned = { operation: "Update", apiVersion, fieldsType: "FieldsV1", fieldsV1: scaleReplicas } as const
  const known = scaleOwners(live as unknown as JsonObject, scalePath(resource, "specReplicas"))
  const owners = known.length > 0 ? known : [{ ...unowned, manager: "before-first-apply", subresource: "scale" }]
  const others = owners.filter(
    (owner) => owner.operation !== "Apply" || owner.manager !== manager || owner.subresource !== "scale",
  )
  if (others.length === 0) return
  throw applyConflict(others.map((owner) => ({ entry: { ...owner, apiVersion }, fields: scaleReplicas })))
}

const scaleReplicas = { "f:spec": { "f:replicas": {} } }

const owners = (kind: WritableKind, before: MutableObject, wanted: unknown, { manager }: WriteOptions): unknown => {
  const path = scalePath(kind.resource, "specReplicas")
  const change = (member(before, ...path) ?? 0) === wanted ? "unchanged" : wanted === 0 ? "removed" : "changed"
  const apiVersion = apiVersionOf(kind.resource.gvk)
  return trackScale({ before: before as unknown as JsonObject, manager, apiVersion, replicasPath: path, change })
}

/** The object with the replicas and the version of the scale. */
const scaled = (resource: Resource, object: MutableObject, scale: MutableObject): MutableObject => {
  const after: MutableObject = { ...object, metadata: { ...object.metadata } }
  const { resourceVersion } = scale.metadata
  after.metadata.resourceVersion = (resourceVersion ?? "") === "" ? object.metadata.resourceVersion : resourceVersion
  after.spec = { ...child(object, "spec") }
  setAt(after, scalePath(resource, "specReplicas"), child(scale, "spec")?.replicas ?? 0)
  return after
}

const refuseNegative = (resource: Resource, object: MutableObject, name: string): void => {
  const value = member(object, ...scalePath(resource, "specReplicas"))
  if (typeof value !== "number" || value >= 0) return
  const detail = "must be greater than or equal to 0"
  refuse(invalidObject(scaleResource, name, [{ type: "Invalid", field: "spec.replicas", value, detail }]))
}

const answerOf = (scale: MutableObject, change: Change): Written => ({
  type: "written",
  status: 200,
  json: withVersion(encodeObject(scaleResource, scale), change.revision),
  warnings: [],
})

/** Copies what it changes below the first level. */
const setAt = (object: Fields, path: ReadonlyArray<string>, value: unknown): void => {
  const [first = "", ...rest] = path
  if (rest.length === 0) {
    object[first] = value
    return
  }
  const below = { ...fieldsOf(object[first]) }
  setAt(below, rest, value)
  object[first] = below
}
