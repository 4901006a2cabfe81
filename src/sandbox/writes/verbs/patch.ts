/** PATCH of an object or of its status: four content types, and one way to store the result. */

import { isUtf8 } from "node:buffer"
import { badRequest, keyOf, objectNotFound } from "../../../apiserver/index.ts"
import { apiVersionOf } from "../../../kube/offline.ts"
import { applyServerSide } from "../../patch/apply/apply-server-side.ts"
import { asJson } from "../../patch/json/json-value.ts"
import { fieldsOf, isFields, own } from "../../rules/fields.ts"
import type { Fields, MutableObject, Subresource } from "../../rules/kind-rules.ts"
import { duplicateFields } from "../../schema/duplicate-fields.ts"
import { pruneUnknownFields, strictFieldProblems, undecodable, unknownFields } from "../../schema/field-check.ts"
import { asGoWrites } from "../../schema/go-written.ts"
import { stateOf } from "../../store/object-encoding.ts"
import { refuse } from "../../store/refusal.ts"
import { timestamp } from "../../store/stamps.ts"
import { settleNamespace } from "../admission.ts"
import { resetFieldsOf, trackReplacement } from "../field-owners.ts"
import { jsonPatch, mergePatch, patched, strategicPatch } from "../request/patched-document.ts"
import { mayRepeat, readYaml, strictly, yamlProblem } from "../request/request-body.ts"
import { conflict, invalidPatch, unknownPatchType, unsupportedMediaType } from "../request/write-failures.ts"
import { applyPatch, type WriteOptions } from "../request/write-options.ts"
import { type WriteRequest, type Written, writtenPart } from "../request/write-request.ts"
import { existingOf, type WritableKind, type WriteSurroundings } from "../surroundings.ts"
import { createObject, settleName } from "./create.ts"
import { replaceObject } from "./update.ts"

/** Throws Refusal: 415 for a type that the kind does not accept. */
export const checkPatchType = (kind: Pick<WritableKind, "resource">, contentType: string): void => {
  const custom = kind.resource.custom === true
  const accepted = custom ? [jsonPatch, mergePatch, applyPatch] : [jsonPatch, mergePatch, strategicPatch, applyPatch]
  if (accepted.includes(contentType)) return
  refuse(contentType === strategicPatch ? unsupportedMediaType(accepted) : unknownPatchType)
}

/** Throws Refusal. */
export const patch = (around: WriteSurroundings, request: WriteRequest, options: WriteOptions): Written => {
  const { resource, namespace, name, contentType } = request
  const kind = around.kindOf(resource)
  checkPatchType(kind, contentType)
  if (contentType === applyPatch) return apply(around, request, options)
  const { existing } = existingOf(around, request)
  const before = kind.fromStored(around.store.takeParsed(existing.change))
  const document = patched(contentType, before, request.body.toString("utf8"), kind.type)
  checkPatched(kind, before, document, request, options)
  const after = asGoWrites(kind.type, document, before)
  kind.rules.setDefaults(after)
  settleNamespace(resource, after, namespace)
  settleName(after, name)
  return replaceObject(around, kind, {
    existing,
    before,
    after,
    subresource: writtenPart(request),
    options,
    track: (object, old, subresource) => trackReplacement(around, kind, old, object, options.manager, subresource),
  })
}

/** The patched object is decoded like any other, but its errors are the patch's fault: 422. Throws Refusal. */
const checkPatched = (
  kind: WritableKind,
  before: MutableObject,
  after: MutableObject,
  request: WriteRequest,
  { fieldValidation, warnings }: WriteOptions,
): void => {
  const { gvk } = kind.resource
  const { contentType, body, name } = request
  const settleProblems = (problems: ReadonlyArray<string>): void => {
    if (fieldValidation === "Ignore" || problems.length === 0) return
    if (fieldValidation === "Warn") warnings.push(...problems)
    else refuse(invalidPatch(strictly(problems)))
  }
  const ofPatch = fieldValidation === "Ignore" ? [] : patchProblems(contentType, body)
  if (kind.resource.custom !== true) {
    if (isMissing(after.apiVersion)) {
      settleProblems([...ofPatch, ...unknownWithoutVersion(after)])
      refuse(badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`))
    }
    if (isMissing(after.kind)) after.kind = gvk.kind
  }
  if (after.kind !== gvk.kind || after.apiVersion !== apiVersionOf(gvk))
    refuse(invalidPatch(`the patched object is a ${String(after.kind)} of ${String(after.apiVersion)}`))
  // A custom kind's schema may have changed since the object was stored; built-in ones need no second check.
  const looked = kind.resource.custom === true ? after : newParts(before, after)
  const misfit = undecodable(kind.type, looked)
  if (misfit !== undefined) refuse(invalidPatch(misfit))
  // Unknown fields can only be from the patch: stored objects have none.
  if (unknownFields(kind.type, looked).length === 0) return settleProblems(ofPatch)
  settleProblems([...ofPatch, ...strictFieldProblems(kind.type, JSON.stringify(after), after)])
  pruneUnknownFields(kind.type, after)
}

const isMissing = (value: unknown): boolean => value === undefined || value === null || value === ""

/** Without an apiVersion the server decodes into its own structs, whose fields JSON cannot name. */
const unknownWithoutVersion = (after: MutableObject): ReadonlyArray<string> =>
  Object.keys(after)
    .filter((key) => key !== "kind" && key !== "apiVersion")
    .filter((key) => key !== "metadata" || Object.keys(after.metadata).length > 0)
    .sort()
    .map((key) => `unknown field "${key}"`)

/** The members that a patch has changed, with their parents; lists are included whole. */
const newParts = (before: Fields, after: Fields): Fields => {
  const parts: Fields = {}
  for (const key of Object.keys(after)) {
    const value = after[key]
    const old = own(before, key)
    if (value === old) continue
    const part = isFields(value) && isFields(old) ? newParts(old, value) : value
    Object.defineProperty(parts, key, { value: part, enumerable: true, configurable: true, writable: true })
  }
  return parts
}

/** The errors of strict decoding of the patch itself. */
const patchProblems = (contentType: string, body: Buffer): ReadonlyArray<string> => {
  const text = body.toString("utf8")
  const patch: unknown = JSON.parse(text)
  const repeated = mayRepeat(text, patch) ? duplicateFields(text) : []
  if (contentType !== jsonPatch) return repeated
  const unknown = (Array.isArray(patch) ? patch : []).flatMap((operation: unknown, index) =>
    Object.keys(fieldsOf(operation) ?? {})
      .filter((key) => !operationMembers.includes(key))
      .map((key) => `unknown field ${JSON.stringify(`[${index}].${key}`)}`),
  )
  return [...repeated, ...unknown].map((problem) => `json patch ${problem}`)
}

const operationMembers = ["op", "path", "from", "value"]

// Server-side apply: the merge itself is patch/apply/apply-server-side.ts; this is what comes before and after it.

/** Throws Refusal and the errors of applyServerSide. */
const apply = (around: WriteSurroundings, request: WriteRequest, options: WriteOptions): Written => {
  const { resource, namespace, name } = request
  const kind = around.kindOf(resource)
  const applied = decodeApplied(request.body)
  const existing = kind.collection.live.get(keyOf(namespace, name))
  const subresource = writtenPart(request)
  if (existing === undefined) {
    if (subresource !== "") return refuse(objectNotFound(resource, name))
    const object = appliedTo(around, kind, { applied, live: undefined, options, subresource })
    checkRepeated(request.body, options)
    settle(kind, object, namespace, name)
    // The server ignores the version for an object that does not exist yet.
    object.metadata.resourceVersion = undefined
    refuseForeignUid(kind, object, name)
    const { managedFields } = object.metadata
    return createObject(around, kind, object, options, (created) => {
      created.metadata.managedFields = managedFields
    })
  }
  const live = stateOf(existing.change)
  const before = kind.fromStored(live)
  const after = appliedTo(around, kind, { applied, live: before, options, subresource })
  checkRepeated(request.body, options)
  settle(kind, after, namespace, name)
  return replaceObject(around, kind, {
    existing,
    before,
    after,
    subresource,
    options,
    track: (object) => object.metadata.managedFields,
  })
}

interface Application {
  readonly applied: Fields
  readonly live: MutableObject | undefined
  readonly options: WriteOptions
  readonly subresource: Subresource
}

/** The merged object; the caller may change its first two levels. Throws ApplyConflict. */
export const appliedTo = (
  around: WriteSurroundings,
  kind: WritableKind,
  { applied, live, options, subresource }: Application,
): MutableObject => {
  const resetFields = subresource === "" ? resetFieldsOf(kind) : [["spec"]]
  const answer = applyServerSide({
    type: kind.type,
    live: live && asJson(live),
    applied: asJson(applied),
    manager: options.manager,
    force: options.force,
    apiVersion: apiVersionOf(kind.resource.gvk),
    kind: kind.resource.gvk.kind,
    time: timestamp(around.clock),
    subresource,
    ...(subresource === "scale" ? {} : { resetFields }),
  })
  if (!("object" in answer)) throw answer
  const written: Fields = asGoWrites(kind.type, answer.object, live)
  return { ...written, metadata: { ...fieldsOf(written.metadata) } }
}

const settle = (kind: WritableKind, object: MutableObject, namespace: string, name: string): void => {
  kind.rules.setDefaults(object)
  settleNamespace(kind.resource, object, namespace)
  settleName(object, name)
}

const refuseForeignUid = ({ resource }: WritableKind, { metadata }: MutableObject, name: string): void => {
  const uid = metadata.uid ?? ""
  if (uid === "") return
  const problem = `uid mismatch: the provided object specified uid ${String(uid)}, and no existing object was found`
  refuse(conflict(resource, name, problem))
}

/** JSON is YAML, but is read many times faster as JSON. Throws Refusal. */
export const decodeApplied = (body: Buffer): Fields => {
  if (!isUtf8(body)) refuse(badRequest("the configuration is not YAML: it is not UTF-8"))
  const text = body.toString("utf8")
  const value = jsonOr(text, () => {
    try {
      return readYaml(text).value
    } catch (error) {
      return refuse(badRequest(`the configuration is not YAML: ${yamlProblem(error)}`))
    }
  })
  const fields = value === null ? {} : fieldsOf(value)
  return fields ?? refuse(badRequest("the configuration is not an object"))
}

/** The server reports duplicate keys only after a successful merge. Throws Refusal. */
const checkRepeated = (body: Buffer, { fieldValidation, warnings }: WriteOptions): void => {
  const repeated = fieldValidation === "Ignore" ? [] : repeatedKeys(body.toString("utf8"))
  if (repeated.length === 0) return
  if (fieldValidation === "Warn") warnings.push(...repeated)
  else refuse(badRequest(strictly(repeated)))
}

/** Line numbers are those of the text as YAML, even for JSON, which is parsed a second time only if necessary. */
const repeatedKeys = (text: string): ReadonlyArray<string> => {
  const value = jsonOr(text, () => undefined)
  if (value !== undefined && !(mayRepeat(text, value) && duplicateFields(text).length > 0)) return []
  return readYaml(text).repeated
}

const jsonOr = (text: string, other: () => unknown): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // Not JSON: YAML, or neither.
    return other()
  }
}
