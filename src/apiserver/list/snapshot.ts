/**
 * A frozen state of one kind, sorted by key, and the pages of it. Keys sort as etcd's do (`namespace/name`, byte
 * order; object names are ASCII), so pages come in the real server's order.
 */

import { type Change, keyOf } from "../kinds/change.ts"
import { hasSelectors, type Selection, selects } from "../selection/selection.ts"

export interface Snapshot {
  readonly keys: ReadonlyArray<string>
  /** In the order of the keys. */
  readonly changes: ReadonlyArray<Change>
}

interface Page {
  readonly changes: ReadonlyArray<Change>
  /** Where the next page starts, relative to the requested namespace; absent on the last page. */
  readonly next?: string
  /** Absent on the last page and, as in the real server, whenever selectors are in use. */
  readonly remaining?: number
}

export const snapshotOf = (changes: Iterable<Change>): Snapshot => {
  const entries = Array.from(changes, (change) => ({ key: keyOf(change.namespace, change.name), change }))
  entries.sort((left, right) => (left.key < right.key ? -1 : left.key > right.key ? 1 : 0))
  return { keys: entries.map(({ key }) => key), changes: entries.map(({ change }) => change) }
}

/** `limit` 0 means everything; `start` is the `next` of an earlier page, or the empty string. */
export const pageOf = (snapshot: Snapshot, selection: Selection, limit: number, start: string): Page => {
  const { keys, changes } = snapshot
  const prefix = selection.namespace === undefined ? "" : `${selection.namespace}/`
  const end = prefix === "" ? keys.length : lowerBound(keys, `${selection.namespace}${afterSlash}`)
  let index = lowerBound(keys, prefix + start)
  if (limit === 0 && !hasSelectors(selection)) return { changes: changes.slice(index, end) }
  const chosen: Change[] = []
  for (; index < end && (limit === 0 || chosen.length < limit); index++) {
    const change = changes[index]
    if (change !== undefined && selects(selection, change)) chosen.push(change)
  }
  if (index >= end) return { changes: chosen }
  // The NUL makes the key the smallest one above the last key of this page, as in the real tokens.
  const next = `${(keys[index - 1] ?? "").slice(prefix.length)}\0`
  return { changes: chosen, next, ...(hasSelectors(selection) ? {} : { remaining: end - index }) }
}

/** The character after `/`: every key of a namespace lies between `namespace/` and `namespace0`. */
const afterSlash = "0"

const lowerBound = (keys: ReadonlyArray<string>, wanted: string): number => {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((keys[middle] ?? "") < wanted) low = middle + 1
    else high = middle
  }
  return low
}
