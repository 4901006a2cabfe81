/** Strategic merge patches of objects of built-in kinds (trace/strategic-merge), refused with the codes of the API server. */

import { type MergeRules, StrategicMergeError } from "../../../trace/strategic-merge/merge-rules.ts"
import { strategicMerge } from "../../../trace/strategic-merge/strategic-merge.ts"
import type { KubernetesType } from "../../schema/kubernetes-type.ts"
import { schemaNameOf } from "../../schema/make-type.ts"
import { itemType } from "../managed-fields/type-walk.ts"
import { PatchError } from "../patch-failure.ts"
import { isJsonObject, type JsonValue } from "./json-value.ts"
import { notAnObject } from "./merge-patch.ts"

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
