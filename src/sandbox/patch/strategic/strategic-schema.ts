/** What strategic merge patches ask a type. */

import type { KubernetesType } from "../../schema/kubernetes-type.ts"
import { schemaNameOf } from "../../schema/make-type.ts"
import { UnclassifiedPatchError } from "../patch-failure.ts"

/** Other than `retainKeys`, which only says that the directive of that name makes sense. */
export const strategyOf = (field: KubernetesType): "merge" | "replace" | undefined => {
  if (field.patchStrategies.has("merge")) return "merge"
  return field.patchStrategies.has("replace") ? "replace" : undefined
}

/** The type of a member that both sides have; the server knows none inside maps and unstructured values. */
export const fieldForPatch = (type: KubernetesType, name: string): KubernetesType => {
  const field = type.fields.get(name)
  if (field !== undefined) return field
  throw new UnclassifiedPatchError({
    problem: `no field ${JSON.stringify(name)} in ${schemaNameOf(type) ?? type.kind}`,
  })
}
