/** Whether a Pod may run on a node by its selector, affinity and tolerations; used by scheduler and DaemonSets alike. */

import type {
  Node,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodSpec,
  StringMap,
  Taint,
  Toleration,
} from "../../../kube/client/objects.ts"

/** `spec.nodeSelector` and the required node affinity. */
export const matchesNode = (spec: PodSpec, node: Node): boolean => {
  const labels = node.metadata.labels ?? {}
  const isSelected = Object.entries(spec.nodeSelector ?? {}).every(([name, value]) => labels[name] === value)
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  return isSelected && (required === undefined || required.nodeSelectorTerms.some((term) => matchesTerm(term, node)))
}

/** The first taint of these effects that keeps the Pod away. */
export const untoleratedTaint = (
  tolerations: ReadonlyArray<Toleration>,
  node: Node,
  effects: ReadonlyArray<string>,
): Taint | undefined =>
  node.spec?.taints?.find(
    (taint) => effects.includes(taint.effect) && !tolerations.some((toleration) => tolerates(toleration, taint)),
  )

const tolerates = ({ key = "", operator = "Equal", value = "", effect = "" }: Toleration, taint: Taint): boolean => {
  if (effect !== "" && effect !== taint.effect) return false
  if (key !== "" && key !== taint.key) return false
  if (operator === "Exists") return true
  return key !== "" && value === (taint.value ?? "")
}

/** An empty term matches nothing. */
const matchesTerm = ({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, node: Node): boolean =>
  matchExpressions.length + matchFields.length > 0 &&
  matchExpressions.every((requirement) => meets(requirement, node.metadata.labels ?? {})) &&
  matchFields.every((requirement) => meets(requirement, { "metadata.name": node.metadata.name }))

const meets = ({ key, operator, values = [] }: NodeSelectorRequirement, labels: StringMap): boolean => {
  const value = labels[key]
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value)
    case "NotIn":
      return value === undefined || !values.includes(value)
    case "Exists":
      return value !== undefined
    case "DoesNotExist":
      return value === undefined
    case "Gt":
      return isInteger(value) && isInteger(values[0]) && BigInt(value) > BigInt(values[0])
    case "Lt":
      return isInteger(value) && isInteger(values[0]) && BigInt(value) < BigInt(values[0])
    default:
      return false
  }
}

const isInteger = (text: string | undefined): text is string => text !== undefined && /^-?\d+$/.test(text)
