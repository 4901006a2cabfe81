/**
 * JSON merge patch (RFC 7386), with two deviations of the API server: null members of objects inside lists are
 * dropped, which the RFC would keep; but a list that replaces an object is taken as it is.
 */

import { memberOf, setMember } from "../../../own-member.ts"
import { withoutNulls } from "../../../trace/json/without-nulls.ts"
import { PatchError } from "../patch-failure.ts"
import { isJsonObject, type JsonObject, type JsonObjectDraft, type JsonValue, jsonTypeOf } from "./json-value.ts"

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
export const notAnObject = (patch: JsonValue): PatchError =>
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
