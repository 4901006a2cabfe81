/**
 * The objects that a list or a watch selects, and the events of a watch when an object enters or leaves that set.
 */

import { type LabelSelector, matchesLabels } from "../../kube/label-selector.ts"
import type { JsonFormat } from "../answers/json-spacing.ts"
import type { Form } from "../forms/form.ts"
import { type Change, type ChangeRecord, type ChangeType, encodeLine, restamped, retyped } from "../watch/change.ts"
import { canChange, type FieldSelector, selectsFields } from "./field-selector.ts"

export interface Selection {
  /** Absent means all namespaces. */
  readonly namespace?: string
  readonly labels: LabelSelector
  readonly fields: FieldSelector
}

/** Whether labels or fields narrow it in addition to the namespace. */
export const hasSelectors = (selection: Selection): boolean =>
  selection.labels.length > 0 || selection.fields.length > 0

export const selects = (selection: Selection, change: Change): boolean =>
  (selection.namespace === undefined || selection.namespace === change.namespace) &&
  selectsFields(selection.fields, change) &&
  matchesLabels(selection.labels, change.labels)

/**
 * The line that a watcher with this selection gets for a change, or `undefined` for none. An object whose labels or fields
 * begin to match is ADDED; one that stops matching is DELETED, with its last matching state under the new version. `form`
 * is the form in which the client wants the object; absent means as it is stored.
 */
export const lineFor = (
  record: ChangeRecord,
  selection: Selection,
  format: JsonFormat,
  form?: Form,
): Buffer | undefined => {
  const type = eventFor(record, selection)
  if (type === undefined) return undefined
  const { change, previous = change } = record
  const left = type === "DELETED" && change.type !== "DELETED"
  const state = left ? restamped(previous, "DELETED", change.revision, format) : change
  if (form !== undefined) return encodeLine(type, form.object(state), format).line
  return state.type === type ? state.line : retyped(state, type, format)
}

/** The type of a change for a client that sees only the selected objects. */
const eventFor = ({ change, previous }: ChangeRecord, selection: Selection): ChangeType | undefined => {
  const matches = selects(selection, change)
  // Namespace and name never change, so only labels and other fields can make an object start or stop matching.
  const isFixed = selection.labels.length === 0 && !canChange(selection.fields)
  if (isFixed || previous === undefined || change.type === "ADDED") return matches ? change.type : undefined
  const matched = selects(selection, previous)
  if (change.type === "DELETED") return matched ? "DELETED" : undefined
  if (matched) return matches ? "MODIFIED" : "DELETED"
  return matches ? "ADDED" : undefined
}
