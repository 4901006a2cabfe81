/** `LabelSelector` objects, matched with the same rules as the selectors in URLs. */

import { type LabelOperator, type LabelSelector, matchesLabels } from "../../apiserver/selection/label-selector.ts"
import type { SelectorObject, StringMap } from "../../kube/client/objects.ts"

const operators: Readonly<Record<string, LabelOperator>> = {
  In: "in",
  NotIn: "notin",
  Exists: "exists",
  DoesNotExist: "absent",
}

/** An absent selector matches nothing, an empty one everything (metav1.LabelSelectorAsSelector). */
export const selectorMatches = (selector: SelectorObject | undefined, labels: StringMap | undefined): boolean =>
  selector !== undefined && matchesLabels(requirementsOf(selector), labels)

export const isEmptySelector = (selector: SelectorObject | undefined): boolean =>
  selector === undefined || requirementsOf(selector).length === 0

const requirementsOf = ({ matchLabels = {}, matchExpressions = [] }: SelectorObject): LabelSelector => [
  ...Object.entries(matchLabels).map(([key, value]) => ({ key, operator: "in" as const, values: new Set([value]) })),
  ...matchExpressions.map(({ key, operator, values = [] }) => ({
    key,
    // The server has validated it; an operator of a later version matches nothing rather than everything.
    operator: operators[operator] ?? ("in" as const),
    values: new Set(values),
  })),
]
