/** The query strings of lists and watches (docs/facts/watch-protocol.md, rule 2), and nothing else. */

/** Selects the objects of a kind; the server checks the selectors. */
export interface Selection {
  /** `/api/v1/pods`, `/apis/apps/v1/namespaces/x/deployments`: without query. */
  readonly path: string
  readonly labelSelector: string | undefined
  readonly fieldSelector: string | undefined
  /** Ignored by servers that do not know it. Default: none. */
  readonly shardSelector?: string | undefined
}

/**
 * A list as a stream: synthetic ADDED events, then a bookmark with `k8s.io/initial-events-end`, then the watch. Without a
 * version it is a consistent read of the latest state.
 */
export const streamingListPath = (selection: Selection, version: string | undefined, timeoutSeconds: number): string =>
  withQuery(selection, [
    ["watch", "1"],
    ["sendInitialEvents", "true"],
    // With any other match rule the server returns 422, whatever the version.
    ["resourceVersionMatch", "NotOlderThan"],
    ["allowWatchBookmarks", "true"],
    ["resourceVersion", version],
    ["timeoutSeconds", String(timeoutSeconds)],
  ])

/**
 * One page of a list. Never `resourceVersion=0`: the server ignores `limit` for it and may return a state older than the recorded one
 * (measured on 1.34). A page after the first sends only its token.
 */
export const pagePath = (
  selection: Selection,
  limit: number,
  version: string | undefined,
  continueToken: string | undefined,
): string =>
  withQuery(selection, [
    ["limit", String(limit)],
    ["continue", continueToken],
    ["resourceVersion", continueToken === undefined ? version : undefined],
    ["resourceVersionMatch", continueToken === undefined && version !== undefined ? "NotOlderThan" : undefined],
  ])

/** The whole list in one response, without limit. */
export const wholeListPath = (selection: Selection, version: string | undefined): string =>
  withQuery(selection, [
    ["resourceVersion", version],
    ["resourceVersionMatch", version === undefined ? undefined : "NotOlderThan"],
  ])

export const watchPath = (selection: Selection, version: string, timeoutSeconds: number): string =>
  withQuery(selection, [
    ["watch", "1"],
    ["resourceVersion", version],
    ["allowWatchBookmarks", "true"],
    ["timeoutSeconds", String(timeoutSeconds)],
  ])

/** The cheapest consistent read: its metadata has the server's current version (rule 12). */
export const probePath = (selection: Selection): string => withQuery(selection, [["limit", "1"]])

const withQuery = (selection: Selection, query: ReadonlyArray<readonly [string, string | undefined]>): string => {
  const parameters = new URLSearchParams()
  for (const [name, value] of query) if (value !== undefined) parameters.set(name, value)
  if (selection.labelSelector !== undefined) parameters.set("labelSelector", selection.labelSelector)
  if (selection.fieldSelector !== undefined) parameters.set("fieldSelector", selection.fieldSelector)
  if (selection.shardSelector !== undefined) parameters.set("shardSelector", selection.shardSelector)
  return parameters.size === 0 ? selection.path : `${selection.path}?${parameters.toString()}`
}
