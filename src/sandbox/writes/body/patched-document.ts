/** Applies the three kinds of patches other than server-side apply to a document. */

import { badRequest } from "../../../apiserver/answers/failure.ts"
import { applyJsonPatch } from "../../patch/json/json-patch.ts"
import { isJsonObject, type JsonObject, type JsonValue } from "../../patch/json/json-value.ts"
import { applyMergePatch } from "../../patch/json/merge-patch.ts"
import { applyStrategicMergePatch } from "../../patch/json/strategic-merge-patch.ts"
import { fieldsOf } from "../../rules/fields.ts"
import type { MutableObject } from "../../rules/kind-rules.ts"
import { isTooDeep, maximumDepth } from "../../schema/duplicate-fields.ts"
import type { KubernetesType } from "../../schema/kubernetes-type.ts"
import { refuse } from "../refusal.ts"
import { invalidPatch } from "../write-failures.ts"

/** The content types. */
export const jsonPatch = "application/json-patch+json"
export const mergePatch = "application/merge-patch+json"
export const strategicPatch = "application/strategic-merge-patch+json"

/**
 * The patched document. Shares unchanged parts with `before`, which is not changed; the caller owns the first two levels.
 * Throws Refusal and the errors of the patch functions.
 */
export const patched = (
  contentType: string,
  before: MutableObject,
  body: string,
  type: KubernetesType,
): MutableObject => {
  if (isTooDeep(body)) refuse(tooDeep)
  const after = withinStack(() => outcomeOf(contentType, before as unknown as JsonObject, body, type))
  if (!isJsonObject(after)) return refuse(invalidPatch("the patched document is no object"))
  return { ...after, metadata: { ...fieldsOf(after.metadata) } }
}

const tooDeep = badRequest(`the patch cannot be read: more than ${maximumDepth} levels`)

/**
 * Merging recurses, and a patch below the limit of the real server can need more stack than this thread has. The functions have no side effects,
 * so an overflow leaves nothing half done, and the client gets a 400.
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
    return JSON.parse(body) as JsonValue
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause
    return refuse(badRequest(`the patch is not JSON: ${cause.message}`))
  }
}
