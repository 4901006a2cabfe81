/** The facts about a type that strategic merge patches need. */

import type { KubernetesType } from "../../schema/kubernetes-type.ts"
import { schemaNameOf } from "../../schema/make-type.ts"
import { UnclassifiedPatchError } from "../patch-failure.ts"

/** Ignores `retainKeys`, which only permits the directive of that name. */
export const strategyOf = (field: KubernetesType): "merge" | "replace" | undefined => {
  if (field.patchStrategies.has("merge")) return "merge"
  return field.patchStrategies.has("replace") ? "replace" : undefined
}

/** The type of a member that both sides have; the server has none inside maps and unstructured values. */
export const fieldForPatch = (type: KubernetesType, name: string): KubernetesType => {
  const field = type.fields.get(name)
  if (field !== undefined) return field
  throw new UnclassifiedPatchError({
    problem: `no field ${JSON.stringify(name)} in ${schemaNameOf(type) ?? type.kind}`,
  })
}
