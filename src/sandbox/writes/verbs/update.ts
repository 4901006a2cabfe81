/** Replacements, and the second half of patches: optimistic locking, preparation, validation, storing. */
import { type Change, fail, keyOf, objectNotFound } from "../../../apiserver/index.ts"
import { allowsUnconditionalUpdate } from "../../rules/index.ts"
import type { MutableObject, Subresource } from "../../rules/kind-rules.ts"
import type { LiveObject } from "../../store/collection.ts"
import { encodeObject, withVersion } from "../../store/object-encoding.ts"
import { refuse } from "../../store/refusal.ts"
import { admitUpdate, settleNamespace } from "../admission.ts"
import { trackCreation, trackReplacement } from "../field-owners.ts"
import { checkFields, decodeBody } from "../request/request-body.ts"
import { invalidObject, modified, preconditionUnmet, versionRequired } from "../request/write-failures.ts"
import type { WriteOptions } from "../request/write-options.ts"
import { type WriteRequest, type Written, writtenPart } from "../request/write-request.ts"
import type { WritableKind, WriteSurroundings } from "../surroundings.ts"
import { mutateReplacement, validateReplacement } from "../webhook-points.ts"
import { isCreatedByUpdate } from "../write-policy.ts"
import { answerOf } from "./answer.ts"
import { createObject, settleName } from "./create.ts"
import { isFinalizedBySpec } from "./delete.ts"

/** PUT of an object or of its status. Throws Refusal. */
export const update = (around: WriteSurroundings, request: WriteRequest, options: WriteOptions): Written => {
  const { resource, namespace, name } = request
  const kind = around.kindOf(resource)
  const { object, text } = decodeBody(request.body, request.contentType, resource)
  checkFields(kind, object, text, options)
  kind.rules.setDefaults(object)
  settleNamespace(resource, object, namespace)
  settleName(object, name)
  const existing = kind.collection.live.get(keyOf(namespace, name))
  if (existing === undefined) {
    if (request.subresource !== "" || !isCreatedByUpdate(resource)) return refuse(objectNotFound(resource, name))
    object.metadata.resourceVersion = undefined
    return createObject(around, kind, object, options, (created) => {
      created.metadata.managedFields = trackCreation(around, kind, created, options.manager)
    })
  }
  const asked = object.metadata.uid ?? ""
  const { uid } = existing.change
  if (asked !== "" && asked !== uid) refuse(preconditionUnmet(resource, name, "UID", String(asked), uid))
  return replaceObject(around, kind, {
    existing,
    before: kind.fromStored(around.store.takeParsed(existing.change)),
    after: object,
    subresource: writtenPart(request),
    options,
    track: (after, before, subresource) => trackReplacement(around, kind, before, after, options.manager, subresource),
  })
}

interface Replacement {
  readonly existing: LiveObject
  /** The stored state, as the requested kind. Not changed. */
  readonly before: MutableObject
  /** The replacement; changed in place. */
  readonly after: MutableObject
  readonly subresource: Subresource
  readonly options: WriteOptions
  /** Returns the managed fields of the prepared result. */
  readonly track: (after: MutableObject, before: MutableObject, subresource: Subresource) => unknown
}

/** Replaces an object by one that has its defaults. Throws Refusal. */
export const replaceObject = (around: WriteSurroundings, kind: WritableKind, replacement: Replacement): Written => {
  const { existing, after, options } = replacement
  const { warnings } = options
  const { resource, collection } = kind
  prepareReplacement(around, kind, replacement)
  around.admission.allocate(resource, after, replacement.before, options.dryRun)
  const readBack = kind.rules.readBack(after)
  if (options.dryRun) {
    const json = withVersion(encodeObject(resource, after), existing.change.revision)
    return { type: "written", status: 200, json, warnings }
  }
  const stored = kind.toStored(after)
  if (isReadyToGo(existing.change, after) && !isFinalizedBySpec(resource, after)) {
    // Watchers see the stored state with its finalizers; the client sees the requested state, which was never stored.
    around.store.remove(collection, existing)
    const json = withVersion(encodeObject(resource, after), existing.change.revision)
    return { type: "written", status: 200, json, warnings }
  }
  const before = resource.storedAs === undefined ? replacement.before : around.store.takeParsed(existing.change)
  const change = around.store.write(collection, stored, existing, before, readBack)
  return answerOf(kind, change, 200, warnings)
}

/** All steps before storing: afterwards `after` is what would be stored. Throws Refusal. */
const prepareReplacement = (around: WriteSurroundings, kind: WritableKind, replacement: Replacement): void => {
  const { existing, before, after, subresource } = replacement
  // Webhooks have been asked about the Scale itself.
  const hasWebhooks = subresource !== "scale" && around.webhooks.areAny
  const { resource, rules } = kind
  settleVersion(resource, existing.change, after)
  admitUpdate(resource, after, subresource)
  const owners = hasWebhooks ? mutateReplacement(around, kind, replacement) : undefined
  if (around.caller !== undefined)
    around.access?.confirmGrant(around.caller, resource, existing.change.namespace, after, before)
  rules.prepareForUpdate(after, before, subresource)
  after.metadata.managedFields = owners ?? replacement.track(after, before, subresource)
  rules.settleUpdate(after, before, subresource)
  const errors = rules.validateUpdate(after, before, subresource)
  if (errors.length > 0) refuse(invalidObject(resource, existing.change.name, errors))
  kind.checkSchema(after, before, replacement.options.warnings)
  if (hasWebhooks) validateReplacement(around, kind, replacement)
  if (subresource === "") around.quotas?.confirm(resource, after, before)
}

/** Optimistic locking: a given version must be the current one, and some kinds require one. */
const settleVersion = (resource: WritableKind["resource"], current: Change, { metadata }: MutableObject): void => {
  const { name, revision } = current
  const given = metadata.resourceVersion ?? ""
  if (given === "" || given === "0") {
    if (!allowsUnconditionalUpdate(resource)) refuse(versionRequired(resource, name))
    metadata.resourceVersion = String(revision)
    return
  }
  const text = String(given)
  if (!/^\d+$/.test(text)) {
    refuse(fail(500, `strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`))
  }
  if (BigInt(text) !== revision) refuse(modified(resource, name))
}

/** Whether an object that waits for its finalizers can be removed: the last one is gone. */
const isReadyToGo = (current: Change, { metadata }: MutableObject): boolean => {
  if (current.terminating !== true) return false
  const { finalizers, deletionGracePeriodSeconds: grace } = metadata
  return (
    (!Array.isArray(finalizers) || finalizers.length === 0) && (grace === undefined || grace === null || grace === 0)
  )
}
