/** Subresources other than `/status`, which is a plain update with its own rules. */
import {
  badRequest,
  type Change,
  keyOf,
  member,
  methodNotAllowed,
  type Resource,
  scaleOf,
  scalePath,
  scaleResource,
  unknownResource,
} from "../../../apiserver/index.ts"
import { apiVersionOf } from "../../../kube/offline.ts"
import { applyConflict } from "../../patch/apply/apply-conflict.ts"
import { asJson } from "../../patch/json/json-value.ts"
import { scaleOwners, trackScale } from "../../patch/managed-fields/track-scale.ts"
import { child, fieldsOf, isFields, texts } from "../../rules/fields.ts"
import type { Fields, MutableObject } from "../../rules/kind-rules.ts"
import { encodeObject, stateOf, withVersion } from "../../store/object-encoding.ts"
import { refuse } from "../../store/refusal.ts"
import { trackReplacement } from "../field-owners.ts"
import { notImplementedSubresources } from "../not-implemented.ts"
import { patched } from "../request/patched-document.ts"
import { decodeBody } from "../request/request-body.ts"
import { invalidObject, modified, notImplemented } from "../request/write-failures.ts"
import { applyPatch, parseWriteOptions, type WriteOptions } from "../request/write-options.ts"
import type { WriteRequest, WriteVerb, Written } from "../request/write-request.ts"
import { existingOf, type WritableKind, type WriteSurroundings } from "../surroundings.ts"
import { admitAction } from "../webhook-points.ts"
import { answerOf } from "./answer.ts"
import { settleName } from "./create.ts"
import { appliedTo, checkPatchType, decodeApplied } from "./patch.ts"
import { bindPod, evictPod } from "./pod-subresources.ts"
import { requestToken } from "./token-request.ts"
import { replaceObject } from "./update.ts"

// `namespaces/x/finalize`: the only way to remove what blocks the deletion of a Namespace.

/** PUT: changes only `spec.finalizers`; without any, a Namespace that is being deleted is removed. Throws Refusal. */
const finalizeNamespace = (around: WriteSurroundings, request: WriteRequest, options: WriteOptions): Written => {
  const { resource, name } = request
  const { object } = decodeBody(request.body, request.contentType, resource)
  settleName(object, name)
  const { kind, existing } = existingOf(around, { resource, namespace: "", name })
  const { change } = existing
  const version = object.metadata.resourceVersion ?? ""
  if (version !== "" && version !== String(change.revision)) refuse(modified(resource, name))
  const before = stateOf(change)
  admitAction(around, request, resource.gvk, object, options, before)
  const finalizers = texts(child(object, "spec"), "finalizers")
  const after: MutableObject = {
    ...before,
    metadata: { ...before.metadata },
    spec: finalizers.length === 0 ? {} : { finalizers },
  }
  after.metadata.managedFields = trackReplacement(around, kind, before, after, options.manager, "finalize")
  const isOver =
    change.terminating === true && finalizers.length === 0 && texts(after.metadata, "finalizers").length === 0
  if (options.dryRun || isOver) {
    if (!options.dryRun) around.store.remove(kind.collection, existing)
    const json = withVersion(encodeObject(resource, after), change.revision)
    return { type: "written", status: 200, json, warnings: [] }
  }
  const next = around.store.write(kind.collection, after, existing, before)
  return answerOf(kind, next, 200, [])
}

/** Not in discovery, because the only response is a 501. */
export const unlistedSubresources: ReadonlySet<string> = new Set(Object.keys(notImplementedSubresources))

/** Which writes the real server knows, where not all; others get its 405 and not our 501. */
const verbsOfUnimplemented: Readonly<Record<string, ReadonlyArray<WriteVerb>>> = {
  "pods/attach": ["create"],
  "pods/exec": ["create"],
  "pods/log": [],
  "pods/portforward": ["create"],
  "pods/ephemeralcontainers": ["update", "patch"],
  "pods/resize": ["update", "patch"],
}

/** Throws Refusal: 405 for a wrong method, 501 for what is not implemented. */
export const writeSubresource = (around: WriteSurroundings, request: WriteRequest, warnings: string[]): Written => {
  const { resource, subresource, verb } = request
  const path = `${resource.plural}/${subresource}`
  if (verbsOfUnimplemented[path]?.includes(verb) === false) notAllowed()
  refuseUnimplemented(around, request, path)
  switch (path) {
    case "namespaces/finalize":
      return verb === "update" ? finalizeNamespace(around, request, parseWriteOptions(request, warnings)) : notAllowed()
    case "pods/binding":
      return verb === "create" ? bindPod(around, request, parseWriteOptions(request, warnings)) : notAllowed()
    case "pods/eviction":
      return verb === "create" ? evictPod(around, request, parseWriteOptions(request, warnings)) : notAllowed()
    case "serviceaccounts/token":
      return verb === "create" ? requestToken(around, request, parseWriteOptions(request, warnings)) : notAllowed()
    default:
  }
  if (subresource !== "scale") return refuse(unknownResource)
  if (verb === "patch") checkPatchType({ resource }, request.contentType)
  else if (verb !== "update") return notAllowed()
  return writeScale(around, request, parseWriteOptions(request, warnings))
}

/** `undefined` if the subresource has no GET. Throws Refusal. */
export const readSubresource = (
  around: WriteSurroundings,
  resource: Resource,
  namespace: string,
  name: string,
  subresource: string,
): Written | undefined => {
  refuseUnimplemented(around, { resource, namespace, name }, `${resource.plural}/${subresource}`)
  if (subresource !== "scale") return notAllowed()
  const { change } = existingOf(around, { resource, namespace, name }).existing
  return scaleAnswer(scaleOf(resource, stateOf(change)), change)
}

const notAllowed = (): never => refuse(methodNotAllowed)

/** An object that does not exist gets a 404, even if its subresource is not implemented. */
const refuseUnimplemented = (
  around: WriteSurroundings,
  object: Pick<WriteRequest, "resource" | "namespace" | "name">,
  path: string,
): void => {
  const reason = notImplementedSubresources[path]
  if (reason === undefined) return
  existingOf(around, object)
  refuse(notImplemented(reason))
}

// `/scale`: an autoscaling/v1 Scale made from an object's replicas, and written back to them.

const { gvk } = scaleResource

/** PUT or PATCH. Throws Refusal. */
const writeScale = (around: WriteSurroundings, request: WriteRequest, options: WriteOptions): Written => {
  const { resource, namespace, name } = request
  const { kind, existing } = existingOf(around, request)
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
  return scaleAnswer(
    scaleOf(resource, options.dryRun ? next : stateOf(stored)),
    options.dryRun ? existing.change : stored,
  )
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
    before: asJson(live),
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
  const known = scaleOwners(asJson(live), scalePath(resource, "specReplicas"))
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
  return trackScale({ before: asJson(before), manager, apiVersion, replicasPath: path, change })
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

const scaleAnswer = (scale: MutableObject, change: Change): Written => ({
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
