/**
 * What of a kind a watcher asks for, as text that can be compared.
 *
 * A recording that resumes with another selection would be wrong without a word: objects that are asked for now and existed
 * before would never appear, those that are not would stay alive for ever.
 */
import type { WatcherConfig } from "./definition.ts"

/** The same text for the same selection, whatever the order of namespaces; never empty. For people too. */
export const selectionOf = ({
  namespaces,
  labelSelector,
  fieldSelector,
  skipOwned,
}: Pick<WatcherConfig, "namespaces" | "labelSelector" | "fieldSelector" | "skipOwned">): string => {
  const parts = [
    namespaces === undefined ? "all namespaces" : `namespaces ${namespaces.toSorted().join(",")}`,
    ...(labelSelector === undefined ? [] : [`labels ${labelSelector}`]),
    ...(fieldSelector === undefined ? [] : [`fields ${fieldSelector}`]),
    ...(skipOwned ? ["without owned objects"] : []),
  ]
  return parts.join("; ")
}

/** What of it does not name namespaces. */
export const withoutNamespaces = (selection: string): string => {
  const end = selection.indexOf("; ")
  return end < 0 ? "" : selection.slice(end)
}

/** The namespaces that it names; `undefined`: all, or it was never said. */
const namespacesIn = (selection: string): ReadonlyArray<string> | undefined =>
  /^namespaces ([^;]*)/.exec(selection)?.[1]?.split(",")

/** Whether objects of a namespace are part of it. One that was never said is taken for whatever is asked for. */
export const isSelected = (selection: string, namespace: string): boolean =>
  namespacesIn(selection)?.includes(namespace) ?? true

/** What of it is in none of these namespaces: their names, or `unnamed` where all there are were part of it. */
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
