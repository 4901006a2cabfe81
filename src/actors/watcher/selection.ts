/**
 * The selection of objects that a watcher requests, as comparable text.
 *
 * A recording that resumed with another selection would be silently wrong: objects that are selected now and existed before would never
 * appear, and those that no longer are would stay alive for ever. The same is true of redaction: a value that a new rule finds would stay in
 * the state that is kept, and with another key each hash would look like another value.
 */

import { shardText } from "../../kube/index.ts"
import { redactionIdentity } from "./objects/redacted-objects.ts"
import type { WatcherConfig } from "./watcher-interface.ts"

/** The same text for the same selection, for any order of namespaces; never empty. Also shown to people. */
export const selectionOf = ({
  namespaces,
  labelSelector,
  fieldSelector,
  shard,
  skipOwned,
  redaction,
}: Pick<
  WatcherConfig,
  "namespaces" | "labelSelector" | "fieldSelector" | "shard" | "skipOwned" | "redaction"
>): string => {
  const parts = [
    namespaces === undefined ? "all namespaces" : `namespaces ${namespaces.toSorted().join(",")}`,
    ...(labelSelector === undefined ? [] : [`labels ${labelSelector}`]),
    ...(fieldSelector === undefined ? [] : [`fields ${fieldSelector}`]),
    ...(shard === undefined ? [] : [shardText(shard)]),
    ...(skipOwned ? ["without owned objects"] : []),
    ...(redaction === undefined ? [] : [`values redacted (${redactionIdentity(redaction)})`]),
  ]
  return parts.join("; ")
}

/** Whether two selections have their values redacted in the same way, or both not at all. One that is unknown was made without redaction. */
export const areRedactedAlike = (one: string, other: string): boolean => redactionIn(one) === redactionIn(other)

const redactionIn = (selection: string): string | undefined => /; values redacted \(([^)]*)\)$/.exec(selection)?.[1]

/** The part of a selection without the namespaces. */
export const withoutNamespaces = (selection: string): string => {
  const end = selection.indexOf("; ")
  return end < 0 ? "" : selection.slice(end)
}

/** The namespaces in a selection; `undefined`: all, or unknown. */
const namespacesIn = (selection: string): ReadonlyArray<string> | undefined =>
  /^namespaces ([^;]*)/.exec(selection)?.[1]?.split(",")

/** Whether objects of a namespace are selected. An unknown selection is assumed to be the current one. */
export const isSelected = (selection: string, namespace: string): boolean =>
  namespacesIn(selection)?.includes(namespace) ?? true

/** The part of the selection outside of these namespaces: their names, or `unnamed` if all existing namespaces were selected. */
export const selectedBeside = (
  selection: string,
  namespaces: ReadonlySet<string>,
): { readonly named: ReadonlyArray<string>; readonly unnamed: boolean } => {
  const before = namespacesIn(selection)
  return {
    named: before?.filter((namespace) => !namespaces.has(namespace)) ?? [],
    unnamed: before === undefined && selection !== "",
  }
}
