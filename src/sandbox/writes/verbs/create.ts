/** Creations, in the order of the real server: decode, admit, fill in, prepare, validate, store. */
import { badRequest, fail, keyOf, type Resource } from "../../../apiserver/index.ts"
import type { Caller } from "../../access/access.ts"
import { ensured, isEmptyMap } from "../../rules/fields.ts"
import type { MutableObject } from "../../rules/kind-rules.ts"
import { encodeObject, withoutVersion } from "../../store/object-encoding.ts"
import { refuse } from "../../store/refusal.ts"
import { timestamp } from "../../store/stamps.ts"
import { admitNamespace, settleNamespace } from "../admission.ts"
import { trackCreation } from "../field-owners.ts"
import { applyLimitDefaults, confirmLimits } from "../limit-ranger.ts"
import { unevaluatedRules } from "../not-implemented.ts"
import { checkFields, decodeBody } from "../request/request-body.ts"
import { alreadyExists, invalidObject } from "../request/write-failures.ts"
import type { WriteOptions } from "../request/write-options.ts"
import type { WriteRequest, Written } from "../request/write-request.ts"
import type { WritableKind, WriteSurroundings } from "../surroundings.ts"
import { mutateNew, validateNew } from "../webhook-points.ts"
import { answerOf } from "./answer.ts"
import { callerOf } from "./reviews.ts"

// Who asks for a certificate is written into the request by the server, whatever the client says.

/** Sets the requester in a new CertificateSigningRequest; other objects stay as they are. */
const nameRequester = (around: WriteSurroundings, { gvk }: Resource, object: MutableObject): void => {
  if (gvk.kind !== "CertificateSigningRequest" || gvk.group !== "certificates.k8s.io") return
  const { username, uid, groups, extra } = callerOf(around)
  const spec = ensured(object, "spec")
  Object.assign(spec, { username, uid, groups, extra })
  if (!uid) delete spec.uid
  if (isEmptyMap(extra)) delete spec.extra
}

/** POST to a collection. Throws Refusal. */
export const create = (around: WriteSurroundings, request: WriteRequest, options: WriteOptions): Written => {
  const { resource, namespace } = request
  const kind = around.kindOf(resource)
  const { object, text } = decodeBody(request.body, request.contentType, resource)
  checkFields(kind, object, text, options)
  kind.rules.setDefaults(object)
  settleNamespace(resource, object, namespace)
  return createObject(around, kind, object, options, (created) => {
    created.metadata.managedFields = trackCreation(around, kind, created, options.manager)
  })
}

/** Creates an object that has its defaults; replacements and applies of absent objects end here too. */
export const createObject = (
  around: WriteSurroundings,
  kind: WritableKind,
  object: MutableObject,
  options: WriteOptions,
  track: (object: MutableObject) => void,
): Written => {
  const { resource, collection, rules } = kind
  const { warnings } = options
  const namespace = resource.namespaced ? String(object.metadata.namespace) : ""
  clearSystemFields(object)
  track(object)
  admitNamespace(around, resource, namespace, String(object.metadata.name ?? ""))
  around.admission.admit(resource, object, around.random)
  nameRequester(around, resource, object)
  applyLimitDefaults(around, resource, object)
  const hasWebhooks = around.webhooks.areAny
  if (hasWebhooks) mutateNew(around, kind, object, options)
  if (around.caller !== undefined) confirmRights(around, around.caller, kind, object, namespace)
  const { metadata } = object
  const version = metadata.resourceVersion ?? ""
  metadata.uid = around.random.uid()
  metadata.creationTimestamp = timestamp(around.clock)
  const isNamed = nameOf(around, kind, object, namespace)
  rules.prepareForCreate(object)
  const errors = rules.validate(object)
  if (errors.length > 0) refuse(invalidObject(resource, isNamed ? String(metadata.name) : "", errors))
  kind.checkSchema(object, undefined, warnings)
  if (hasWebhooks) validateNew(around, kind, object, options)
  confirmLimits(around, resource, object)
  around.quotas?.confirm(resource, object, undefined)
  const name = String(metadata.name)
  const existing = collection.live.get(keyOf(namespace, name))
  if (existing !== undefined) refuse(alreadyExists(resource, name, existing.change.terminating === true))
  if (version !== "") refuse(fail(500, "resourceVersion should not be set on objects to be created"))
  const unevaluated = unevaluatedRules(resource, object)
  if (unevaluated !== undefined) warnings.push(unevaluated)
  around.admission.allocate(resource, object, undefined, options.dryRun)
  const readBack = rules.readBack(object)
  const stored = kind.toStored(object)
  if (options.dryRun) {
    return { type: "written", status: 201, json: withoutVersion(encodeObject(resource, object)), warnings }
  }
  const change = around.store.write(collection, stored, undefined, undefined, readBack)
  return answerOf(kind, change, 201, warnings)
}

const confirmRights = (
  { access }: WriteSurroundings,
  caller: Caller,
  { resource }: WritableKind,
  object: MutableObject,
  namespace: string,
): void => {
  access?.confirmGrant(caller, resource, namespace, object)
  access?.confirmCreation(caller, resource, namespace)
}

/** Removes metadata that a client may not set on creation. */
const clearSystemFields = ({ metadata }: MutableObject): void => {
  metadata.deletionTimestamp = undefined
  metadata.deletionGracePeriodSeconds = undefined
  metadata.selfLink = undefined
}

/** Attempts at a generated name that is not taken. The real server's number. */
const drawings = 8

/** Sets the name; returns whether there is one. */
const nameOf = (
  { random }: WriteSurroundings,
  { collection }: WritableKind,
  object: MutableObject,
  namespace: string,
): boolean => {
  const { metadata } = object
  if ((metadata.name ?? "") !== "") return true
  const prefix = metadata.generateName ?? ""
  if (typeof prefix !== "string" || prefix === "") return false
  for (let drawn = 0; drawn < drawings; drawn++) {
    metadata.name = `${prefix.slice(0, longestPrefix)}${random.suffix(suffixLength)}`
    if (!collection.live.has(keyOf(namespace, String(metadata.name)))) break
  }
  return true
}

const suffixLength = 5
/** A generated name is at most as long as a DNS label. */
const longestPrefix = 63 - suffixLength

/** Throws Refusal if the body names another object than the path. */
export const settleName = (object: MutableObject, name: string): void => {
  const given = object.metadata.name ?? ""
  if (given === "") {
    refuse(badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`))
  }
  if (given !== name) {
    refuse(badRequest(`the name of the object (${String(given)}) does not match the name on the URL (${name})`))
  }
}
