/**
 * Which objects a list or a watch wants, and what a watch must say when an object enters or leaves that set.
 */

import { type Change, type ChangeRecord, restamped, retyped } from "./change.ts"
import { type FieldSelector, matchesFields } from "./field-selector.ts"
import type { JsonFormat } from "./json-spacing.ts"
import { type LabelSelector, matchesLabels } from "./label-selector.ts"

export interface Selection {
  /** Absent means all namespaces. */
  readonly namespace?: string
  readonly labels: LabelSelector
  readonly fields: FieldSelector
}

/** Whether labels or fields narrow it, besides the namespace. */
export const hasSelectors = (selection: Selection): boolean =>
  selection.labels.length > 0 || selection.fields.length > 0

export const selects = (selection: Selection, change: Change): boolean =>
  (selection.namespace === undefined || selection.namespace === change.namespace) &&
  matchesFields(selection.fields, change) &&
  matchesLabels(selection.labels, change.labels)

/**
 * The line a watcher with this selection gets for a change, or `undefined` for none. An object whose labels begin to
 * match is ADDED; one whose labels cease to match is DELETED, with its last matching state under the new version.
 */
export const lineFor = (record: ChangeRecord, selection: Selection, format: JsonFormat): Buffer | undefined => {
  const { change, previous } = record
  // Namespace and name never change, so only labels can move an object in or out.
  if (selection.labels.length === 0 || change.type !== "MODIFIED" || previous === undefined) {
    return selects(selection, change) ? change.line : undefined
  }
  const matched = selects(selection, previous)
  const matches = selects(selection, change)
  if (matched && matches) return change.line
  if (matches) return retyped(change, "ADDED", format)
  return matched ? restamped(previous, "DELETED", change.revision, format).line : undefined
}
