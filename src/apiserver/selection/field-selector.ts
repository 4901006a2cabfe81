/** Field selectors over the fields that the kind allows. */

import { type FieldRequirement, matchesFields, parseFieldSelector } from "../../kube/field-selector.ts"
import type { Resource } from "../kinds/resources.ts"
import type { Change } from "../watch/change.ts"
import { fieldOf, type SelectableFields, selectableFieldsOf } from "./selectable-fields.ts"

interface FieldCondition extends FieldRequirement {
  /** Where the kind's own fields are read from; not needed for name and namespace. */
  readonly fields: SelectableFields
}

/** All conditions must hold; an empty selector matches everything. */
export type FieldSelector = ReadonlyArray<FieldCondition>

/** Whether a selector selects the object of a change. */
export const selectsFields = (selector: FieldSelector, change: Change): boolean =>
  matchesFields(selector, ({ field, fields }) => {
    if (field === "metadata.name") return change.name
    return field === "metadata.namespace" ? change.namespace : fieldOf(change, fields, field)
  })

/** Whether an object can start or stop matching when it changes: names never change, other fields may. */
export const canChange = (selector: FieldSelector): boolean =>
  selector.some(({ field }) => field !== "metadata.name" && field !== "metadata.namespace")

/** A selector of a kind; the problem is the message of a 400. */
export const fieldSelectorOf = (text: string, resource: Resource): FieldSelector | { readonly problem: string } => {
  const selector = parseFieldSelector(text)
  if ("problem" in selector) return { problem: selector.serverText }
  const fields = selectableFieldsOf(resource)
  const unknown = selector.find(({ field }) => {
    if (field === "metadata.namespace") return !fields.hasNamespace
    return field !== "metadata.name" && !fields.readers.has(field)
  })
  if (unknown !== undefined) return { problem: `${JSON.stringify(unknown.field)} cannot be selected by` }
  return selector.map((requirement) => ({ ...requirement, fields }))
}
