/** LabelSelectors: validation and matching. */

import { type Errors, forbidden, invalid, invalidEach, required } from "../../../apiserver/answers/field-error.ts"
import { type LabelSelectorObject, selectorMatches } from "../../../kube/label-selector.ts"
import { labelValueComplaints, qualifiedNameComplaints } from "../../../kube/names.ts"
import { child, isEmptyMap, items, list, text } from "../fields.ts"
import type { Fields } from "../kind-rules.ts"
import { checkLabels } from "./object-metadata.ts"

export const checkSelector = (selector: Fields | undefined, field: string, errors: Errors): void => {
  checkLabels(child(selector, "matchLabels"), `${field}.matchLabels`, errors)
  for (const [index, term] of items(selector, "matchExpressions").entries())
    checkRequirement(term, `${field}.matchExpressions[${index}]`, errors)
}

const checkRequirement = (term: Fields, field: string, errors: Errors): void => {
  const operator = text(term, "operator")
  const values = list(term, "values")
  if (operator === "In" || operator === "NotIn") {
    if (values.length === 0)
      errors.push(required(`${field}.values`, "must be specified when `operator` is 'In' or 'NotIn'"))
  } else if (operator === "Exists" || operator === "DoesNotExist") {
    if (values.length > 0)
      errors.push(forbidden(`${field}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
  } else errors.push(invalid(`${field}.operator`, operator, "not a valid selector operator"))
  const key = text(term, "key")
  errors.push(...invalidEach(`${field}.key`, key, qualifiedNameComplaints(key)))
  for (const [index, value] of values.entries())
    if (typeof value === "string")
      errors.push(...invalidEach(`${field}.values[${index}]`, value, labelValueComplaints(value)))
}

/** Whether a selector has no requirements. */
export const isEmptySelector = (selector: Fields): boolean =>
  isEmptyMap(selector.matchLabels) && list(selector, "matchExpressions").length === 0

/** Whether the server could build a matcher from it. */
export const isUsable = (selector: Fields | undefined): boolean => {
  const errors: Errors = []
  checkSelector(selector, "", errors)
  return errors.length === 0
}

/** An absent selector matches nothing, an empty one everything. */
export const matches = (selector: Fields | undefined, labels: Fields | undefined): boolean =>
  // The decoder has checked that it has the types of a selector.
  selectorMatches(selector as LabelSelectorObject | undefined, labels)
