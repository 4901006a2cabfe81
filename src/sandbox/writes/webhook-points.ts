/**
 * The points at which a write asks webhooks, in the real server's order: mutating ones after built-in admission,
 * validating ones after the kind's own rules. What webhooks change gets its defaults and is validated like the rest,
 * but belongs to no field manager. Everything here may throw Refusal and Suspension.
 */
import { internalError, type Resource } from "../../apiserver/index.ts"
import { apiVersionOf, formatGvk, type GroupVersionKind } from "../../kube/offline.ts"
import { everybody } from "../access/users.ts"
import { isJsonObject, type JsonValue } from "../patch/json/json-value.ts"
import { copied, fieldsOf } from "../rules/fields.ts"
import type { Fields, MutableObject, Subresource } from "../rules/kind-rules.ts"
import { pruneUnknownFields, undecodable } from "../schema/field-check.ts"
import { asGoWrites } from "../schema/go-written.ts"
import { refuse } from "../store/refusal.ts"
import { admitUpdate, settleNamespace } from "./admission.ts"
import type { DeleteOptions, WriteOptions } from "./request/write-options.ts"
import type { WriteRequest } from "./request/write-request.ts"
import type { WritableKind, WriteSurroundings } from "./surroundings.ts"
import type { AdmissionAttributes } from "./webhooks/webhook.ts"
import type { Reshaping } from "./webhooks/webhook-questions.ts"

/** Changes a new object that has its defaults. */
export const mutateNew = (
  around: WriteSurroundings,
  kind: WritableKind,
  object: MutableObject,
  options: WriteOptions,
): void => {
  const attributes = attributesOf(around, kind.resource, { after: object, options })
  const reshaping = reshapingOf(kind, (changed) => around.admission.admit(kind.resource, changed, around.random))
  const changed = around.webhooks.mutate(attributes, reshaping, options.warnings)
  if (changed === undefined) return
  become(object, changed)
  settleNamespace(kind.resource, object, attributes.namespace)
}

export const validateNew = (
  around: WriteSurroundings,
  { resource }: WritableKind,
  object: MutableObject,
  options: WriteOptions,
): void => around.webhooks.validate(attributesOf(around, resource, { after: object, options }), options.warnings)

/** What is written, and the state that it replaces; without one, it is new. */
interface Writing {
  readonly before?: MutableObject | undefined
  readonly after: MutableObject
  /** Default: the object itself. */
  readonly subresource?: string
  readonly options: WriteOptions
}

interface Replacing extends Writing {
  readonly before: MutableObject
  readonly subresource: Subresource
  readonly track: (after: MutableObject, before: MutableObject, subresource: Subresource) => unknown
}

/** Changes a replacement that is not prepared yet. Returns its managed fields if a webhook has been asked. */
export const mutateReplacement = (around: WriteSurroundings, kind: WritableKind, replaced: Replacing): unknown => {
  const { before, after, subresource, options } = replaced
  const attributes = attributesOf(around, kind.resource, replaced)
  if (!around.webhooks.isCalled("mutating", attributes)) return undefined
  const tracked = copied(after)
  kind.rules.prepareForUpdate(tracked, before, subresource)
  after.metadata.managedFields = replaced.track(tracked, before, subresource)
  const reshaping = reshapingOf(kind, (changed) => admitUpdate(kind.resource, changed, subresource))
  const changed = around.webhooks.mutate(attributes, reshaping, options.warnings)
  if (changed !== undefined) become(after, changed)
  return after.metadata.managedFields ?? []
}

export const validateReplacement = (around: WriteSurroundings, { resource }: WritableKind, replaced: Replacing): void =>
  around.webhooks.validate(attributesOf(around, resource, replaced), replaced.options.warnings)

/**
 * `name` is empty for the objects of a deleted collection. Mutating webhooks may refuse, but have nothing to change.
 */
export const admitDeletion = (
  around: WriteSurroundings,
  { resource, fromStored }: WritableKind,
  stored: MutableObject,
  name: string,
  options: DeleteOptions,
  warnings: string[],
): void => {
  if (!around.webhooks.areAny) return
  const oldObject = fromStored(stored)
  const attributes: AdmissionAttributes = {
    ...subjectOf(around, resource, oldObject),
    operation: "DELETE",
    subresource: "",
    name,
    object: undefined,
    oldObject,
    options: deleteOptions(options),
    dryRun: options.dryRun,
  }
  around.webhooks.mutate(attributes, unchanged, warnings)
  around.webhooks.validate(attributes, warnings)
}

/**
 * The body of a subresource that is not the object itself, such as a Scale or a Binding; `before` if it replaces one.
 * Changes it in place.
 */
export const admitAction = (
  around: WriteSurroundings,
  { resource, subresource, namespace, name }: WriteRequest,
  kind: GroupVersionKind,
  object: MutableObject,
  options: WriteOptions,
  before?: MutableObject,
): void => {
  if (!around.webhooks.areAny) return
  const attributes = {
    ...attributesOf(around, resource, { before, after: object, subresource, options }),
    kind,
    namespace: isNamespace(resource) ? name : namespace,
    ...(name !== "" && { name }),
  }
  const changed = around.webhooks.mutate(attributes, unchanged, options.warnings)
  if (changed !== undefined) become(object, changed)
  around.webhooks.validate(attributes, options.warnings)
}

const attributesOf = (
  around: WriteSurroundings,
  resource: Resource,
  { before, after, subresource = "", options }: Writing,
): AdmissionAttributes => ({
  ...subjectOf(around, resource, before ?? after),
  operation: before === undefined ? "CREATE" : "UPDATE",
  subresource,
  object: after,
  oldObject: before,
  options: queryOptions(before === undefined ? "CreateOptions" : "UpdateOptions", options),
  dryRun: options.dryRun,
})

/** What all requests say about the object that they are about, and about themselves. */
const subjectOf = (around: WriteSurroundings, resource: Resource, object: MutableObject) => ({
  resource,
  kind: resource.gvk,
  namespace: namespaceOf(resource, object),
  name: String(object.metadata.name ?? ""),
  user: around.caller?.user ?? everybody,
})

const isNamespace = ({ gvk }: Resource): boolean => formatGvk(gvk) === "v1.Namespace"

/** A Namespace counts as being in itself. */
const namespaceOf = (resource: Resource, { metadata }: MutableObject): string =>
  String((resource.namespaced ? metadata.namespace : isNamespace(resource) ? metadata.name : "") ?? "")

const inMeta = (kind: string): Fields => ({ kind, apiVersion: "meta.k8s.io/v1" })

/** A patch is shown as a create or an update, and `force` is not. */
const queryOptions = (kind: string, { dryRun, query }: WriteOptions): Fields => ({
  ...inMeta(kind),
  ...(dryRun && { dryRun: ["All"] }),
  ...given("fieldManager", query),
  ...given("fieldValidation", query),
})

const given = (key: string, query: URLSearchParams): Fields => {
  const value = query.get(key) ?? ""
  return value === "" ? {} : { [key]: value }
}

const deleteOptions = ({ dryRun, gracePeriodSeconds, propagation, uid, resourceVersion }: DeleteOptions): Fields => ({
  ...inMeta("DeleteOptions"),
  gracePeriodSeconds,
  ...((uid !== "" || resourceVersion !== "") && {
    preconditions: { ...(uid !== "" && { uid }), ...(resourceVersion !== "" && { resourceVersion }) },
  }),
  propagationPolicy: propagation,
  ...(dryRun && { dryRun: ["All"] }),
})

const withMetadata = (document: JsonValue): MutableObject =>
  isJsonObject(document)
    ? { ...document, metadata: { ...fieldsOf(document.metadata) } }
    : refuse(internalError("a webhook's patch leaves no object"))

/** For objects that have no rules of their own. */
const unchanged = { settle: withMetadata, readmit: (): undefined => undefined }

const reshapingOf = (kind: WritableKind, readmit: Reshaping["readmit"]): Reshaping => ({
  settle: (document) => settled(kind, document),
  readmit,
})

/** What a webhook left, as if a client had sent it. */
const settled = ({ resource, type, rules }: WritableKind, document: JsonValue): MutableObject => {
  const object = withMetadata(document)
  if (object.kind !== resource.gvk.kind || object.apiVersion !== apiVersionOf(resource.gvk))
    refuse(internalError(`a webhook's patch leaves a ${String(object.kind)} of ${String(object.apiVersion)}`))
  const misfit = undecodable(type, object)
  if (misfit !== undefined) refuse(internalError(misfit))
  pruneUnknownFields(type, object)
  const written = asGoWrites(type, object)
  rules.setDefaults(written)
  return written
}

/** Keeps the identity of the object, which belongs to the write. */
const become = (object: MutableObject, next: MutableObject): void => {
  for (const key of Object.keys(object)) if (!Object.hasOwn(next, key)) delete object[key]
  Object.assign(object, next)
}
