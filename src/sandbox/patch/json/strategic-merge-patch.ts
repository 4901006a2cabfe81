/** Strategic merge patches of objects of built-in kinds (trace/strategic-merge), refused with the codes of the API server. */

import { type MergeRules, StrategicMergeError } from "../../../trace/strategic-merge/merge-rules.ts"
import { strategicMerge } from "../../../trace/strategic-merge/strategic-merge.ts"
import type { KubernetesType } from "../../schema/kubernetes-type.ts"
import { schemaNameOf } from "../../schema/make-type.ts"
import { itemType } from "../managed-fields/type-walk.ts"
import { InapplicablePatchError, MalformedPatchError, UnclassifiedPatchError } from "../patch-failure.ts"
import { isJsonObject, type JsonValue } from "./json-value.ts"
import { notAnObject } from "./merge-patch.ts"

/**
 * The document with what the patch says; parts that it does not name are shared.
 *
 * @throws MalformedPatchError for a patch that is no object, and for directives of the wrong form
 * @throws UnclassifiedPatchError for everything the server answers with a 500: a missing merge key, an unknown directive…
 * @throws InapplicablePatchError for lists of lists
 */
export const applyStrategicMergePatch = (document: JsonValue, patch: JsonValue, type: KubernetesType): JsonValue => {
  if (patch === null) return document
  if (!isJsonObject(patch)) throw notAnObject(patch)
  try {
    // It holds nothing but values of the two.
    return strategicMerge(isJsonObject(document) ? document : {}, patch, mergeRulesOf(type)) as JsonValue
  } catch (error) {
    throw error instanceof StrategicMergeError ? new refusals[error.reason]({ problem: error.problem }) : error
  }
}

const refusals = {
  malformed: MalformedPatchError,
  "list-of-lists": InapplicablePatchError,
  unclassified: UnclassifiedPatchError,
}

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
