/** What strategic merge patches ask a type. */

import type { KubernetesType } from "../../schema/kubernetes-type.ts"
import { goTypeOf } from "../../schema/make-type.ts"
import { UnclassifiedPatchError } from "../patch-failure.ts"

/** Other than `retainKeys`, which only says that the directive of that name makes sense. */
export const strategyOf = (field: KubernetesType): "merge" | "replace" | undefined => {
  if (field.patchStrategies.has("merge")) return "merge"
  return field.patchStrategies.has("replace") ? "replace" : undefined
}

/**
 * The type of a member that both sides have; the server knows none inside maps and unstructured values, and says so.
 */
export const fieldForPatch = (type: KubernetesType, name: string): KubernetesType => {
  const field = type.fields.get(name)
  if (field !== undefined) return field
  if (type.kind !== "object" && type.kind !== "any") {
    throw new UnclassifiedPatchError({
      problem: `merging an object in json but data type is not struct, instead is: ${type.kind === "list" ? "slice" : type.kind}`,
    })
  }
  throw new UnclassifiedPatchError({
    problem: `unable to find api field in struct ${structName(type)} for the json field ${JSON.stringify(name)}`,
  })
}

/** Types of built-in kinds know their Go name (`v1.PodSpec`), of which the server tells the last part. */
const structName = (type: KubernetesType): string => {
  const name = goTypeOf(type) ?? ""
  return name.slice(name.lastIndexOf(".") + 1)
}
