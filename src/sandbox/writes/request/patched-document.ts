/** Applies the three kinds of patches other than server-side apply to a document. */
import { badRequest } from "../../../apiserver/index.ts"
import { memberOf, setMember } from "../../../own-member.ts"
import { type MergeRules, StrategicMergeError, strategicMerge, withoutNulls } from "../../../trace/index.ts"
import { applyJsonPatch } from "../../patch/json/json-patch.ts"
import {
  asJson,
  isJsonObject,
  type JsonObject,
  type JsonObjectDraft,
  type JsonValue,
  jsonTypeOf,
} from "../../patch/json/json-value.ts"
import { itemType } from "../../patch/managed-fields/type-walk.ts"
import { PatchError } from "../../patch/patch-failure.ts"
import { fieldsOf } from "../../rules/fields.ts"
import type { MutableObject } from "../../rules/kind-rules.ts"
import { isTooDeep, maximumDepth } from "../../schema/duplicate-fields.ts"
import { type KubernetesType, schemaNameOf } from "../../schema/kubernetes-type.ts"
import { refuse } from "../../store/refusal.ts"
import { invalidPatch } from "./write-failures.ts"

// JSON merge patch (RFC 7386), with two deviations of the API server: null members of objects inside lists are
// dropped, which the RFC would keep; but a list that replaces an object is taken as it is.

/**
 * The patched document; parts that the patch does not name are shared.
 *
 * @throws PatchError 400 for a patch that is not an object
 */
export const applyMergePatch = (document: JsonValue, patch: JsonValue): JsonValue => {
  if (patch === null) throw notAnObject(patch)
  if (!isJsonObject(patch)) throw notAnObject(patch)
  return isJsonObject(document) ? mergeObjects(document, patch) : (withoutNulls(patch) as JsonValue)
}

/** The refusal of a patch that should be an object. */
const notAnObject = (patch: JsonValue): PatchError =>
  new PatchError({ code: 400, problem: `the patch must be an object, not ${jsonTypeOf(patch)}` })

const mergeObjects = (document: JsonObject, patch: JsonObject): JsonObject => {
  let merged: JsonObjectDraft | undefined
  for (const key of Object.keys(patch)) {
    const value = patch[key] as JsonValue
    const old = memberOf(document, key)
    if (value === null) {
      if (!Object.hasOwn(document, key)) continue
      merged ??= { ...document }
      delete merged[key]
      continue
    }
    const next = mergeValues(old, value)
    if (next === old) continue
    merged ??= { ...document }
    setMember(merged, key, next)
  }
  return merged ?? document
}

const mergeValues = (old: JsonValue | undefined, value: JsonValue): JsonValue => {
  if (!isJsonObject(old)) return withoutNulls(value) as JsonValue
  return isJsonObject(value) ? mergeObjects(old, value) : value
}

// Strategic merge patches of objects of built-in kinds (trace/strategic-merge), refused with the codes of the API
// server.

/**
 * The document with what the patch says; parts that it does not name are shared.
 *
 * @throws PatchError 400 for a patch that is no object and for directives of the wrong form, 422 for lists of lists, 500 for everything
 * that the server has not classified: a missing merge key, an unknown directive…
 */
export const applyStrategicMergePatch = (document: JsonValue, patch: JsonValue, type: KubernetesType): JsonValue => {
  if (patch === null) return document
  if (!isJsonObject(patch)) throw notAnObject(patch)
  try {
    // It holds nothing but values of the two.
    return strategicMerge(isJsonObject(document) ? document : {}, patch, mergeRulesOf(type)) as JsonValue
  } catch (error) {
    throw error instanceof StrategicMergeError
      ? new PatchError({ code: codes[error.reason], problem: error.problem })
      : error
  }
}

const codes = { malformed: 400, "list-of-lists": 422, unclassified: 500 } as const

/** The server knows no members inside maps and unstructured values. */
const mergeRulesOf = (type: KubernetesType): MergeRules => ({
  of: (member) => {
    const field = type.fields.get(member)
    if (field === undefined) {
      const problem = `no field ${JSON.stringify(member)} in ${schemaNameOf(type) ?? type.kind}`
      throw new StrategicMergeError({ reason: "unclassified", problem })
    }
    return {
      // `retainKeys` only says that the directive of that name makes sense.
      strategy: (["merge", "replace"] as const).find((strategy) => field.patchStrategies.has(strategy)),
      mergeKey: field.patchMergeKey ?? "",
      inside: () => mergeRulesOf(field.kind === "list" ? itemType(field) : field),
    }
  },
})

/** The content types. */
export const jsonPatch = "application/json-patch+json"
export const mergePatch = "application/merge-patch+json"
export const strategicPatch = "application/strategic-merge-patch+json"

/**
 * The patched document. Shares unchanged parts with `before`, which is not changed; the caller owns the first two
 * levels. Throws Refusal and the errors of the patch functions.
 */
export const patched = (
  contentType: string,
  before: MutableObject,
  body: string,
  type: KubernetesType,
): MutableObject => {
  if (isTooDeep(body)) refuse(tooDeep)
  const after = withinStack(() => outcomeOf(contentType, asJson(before), body, type))
  if (!isJsonObject(after)) return refuse(invalidPatch("the patched document is no object"))
  return { ...after, metadata: { ...fieldsOf(after.metadata) } }
}

const tooDeep = badRequest(`the patch cannot be read: more than ${maximumDepth} levels`)

/**
 * Merging recurses, and a patch below the limit of the real server can need more stack than this thread has. The
 * functions have no side effects, so an overflow leaves nothing half done, and the client gets a 400.
 */
const withinStack = (merge: () => JsonValue): JsonValue => {
  try {
    return merge()
  } catch (error) {
    if (error instanceof RangeError) return refuse(badRequest("the patch is nested too deeply to be merged"))
    throw error
  }
}

const outcomeOf = (contentType: string, before: JsonObject, body: string, type: KubernetesType): JsonValue => {
  switch (contentType) {
    case jsonPatch:
      return applyJsonPatch(before, decoded(body))
    case strategicPatch:
      return applyStrategicMergePatch(before, decoded(body), type)
    default:
      return applyMergePatch(before, decoded(body))
  }
}

const decoded = (body: string): JsonValue => {
  try {
    return JSON.parse(body)
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause
    return refuse(badRequest(`the patch is not JSON: ${cause.message}`))
  }
}
