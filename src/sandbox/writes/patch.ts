/** PATCH of an object or of its status: four content types, one way to store what comes out. */

import { apiVersionOf } from "../../kube/gvk.ts"
import { keyOf } from "../change.ts"
import { objectNotFound } from "../failure.ts"
import { goText } from "../patch/go-text.ts"
import type { JsonValue } from "../patch/json-value.ts"
import type { MutableObject, Subresource } from "../rules/kind-rules.ts"
import { decodeFailure, pruneUnknownFields, strictFieldProblems, unknownFields } from "../schema/field-check.ts"
import { settleNamespace } from "./admitted-names.ts"
import { stateOf } from "./answer.ts"
import { apply } from "./apply.ts"
import { settleName } from "./create.ts"
import { trackReplacement } from "./field-owners.ts"
import { jsonPatch, mergePatch, patched, strategicPatch } from "./patched-document.ts"
import { refuse } from "./refusal.ts"
import type { WritableKind, WriteSurroundings } from "./surroundings.ts"
import { replaceObject } from "./update.ts"
import { invalidPatch, unknownPatchType, unsupportedMediaType } from "./write-failures.ts"
import { applyPatch, type WriteOptions } from "./write-options.ts"
import type { WriteRequest, Written } from "./write-request.ts"

/** Throws Refusal: 415 for a type that the kind does not take. */
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
  const existing = kind.collection.live.get(keyOf(namespace, name))
  if (existing === undefined) return refuse(objectNotFound(resource, name))
  const before = kind.fromStored(stateOf(existing.change))
  const after = patched(contentType, before, request.body.toString("utf8"), kind.type)
  checkPatched(kind, after, request, options)
  kind.rules.setDefaults(after)
  settleNamespace(resource, after, namespace)
  settleName(after, name)
  return replaceObject(around, kind, {
    existing,
    before,
    after,
    subresource: request.subresource as Subresource,
    options,
    track: (object, old, subresource) => trackReplacement(around, kind, old, object, options.manager, subresource),
  })
}

/** The patched object is decoded like any other, but what is wrong with it is the patch's fault: 422. Throws Refusal. */
const checkPatched = (
  kind: WritableKind,
  after: MutableObject,
  { contentType, body }: WriteRequest,
  { fieldValidation, warnings }: WriteOptions,
): void => {
  const { gvk } = kind.resource
  const refuseDocument = (problem: string): never => {
    if (contentType === strategicPatch) {
      return refuse(invalidPatch(goText(JSON.parse(body.toString("utf8")) as JsonValue), restoreProblem(problem)))
    }
    return refuse(invalidPatch(documentText(after), problem))
  }
  if (after.kind !== gvk.kind || after.apiVersion !== apiVersionOf(gvk)) {
    refuseDocument(`the patched object is a ${String(after.kind)} of ${String(after.apiVersion)}: unknown conversion`)
  }
  const misfit = decodeFailure(gvk, kind.type, after)
  if (misfit !== undefined) refuseDocument(withoutHead(misfit))
  // Unknown fields can only have come with the patch: nothing stored has any.
  if (unknownFields(kind.type, after).length === 0) return
  const problems = fieldValidation === "Ignore" ? [] : strictFieldProblems(kind.type, JSON.stringify(after), after)
  if (fieldValidation === "Strict" && problems.length > 0) {
    refuse(invalidPatch(documentText(after), `strict decoding error: ${problems.join(", ")}`))
  }
  pruneUnknownFields(kind.type, after)
  warnings.push(...problems)
}

/** The problem alone: the 422 names the document in another way than the 400. */
const withoutHead = (misfit: string): string => misfit.replace(/^.*? cannot be handled as a .*?: /, "")

/** Go writes a map's keys in order. */
const documentText = (object: MutableObject): string =>
  JSON.stringify(Object.fromEntries(Object.entries(object).sort(([left], [right]) => (left < right ? -1 : 1))))

/** A strategic patch is put into Go values field by field, and says so in words of its own. */
const restoreProblem = (misfit: string): string => {
  const [, found = "", wanted = ""] = /cannot unmarshal (\w+).* of type (.*)$/.exec(misfit) ?? []
  if (wanted.startsWith("map[")) return `cannot restore map from ${found}`
  if (wanted.startsWith("[]")) return `cannot restore slice from ${found}`
  return wanted.includes(".") ? `cannot restore struct from: ${found}` : `cannot convert ${found} to ${wanted}`
}
