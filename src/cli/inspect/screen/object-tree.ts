/** The objects that exist after an event, each below its owner, as rows with their depth. */

import type { FilteredEvents } from "./event-filter.ts"
import { type EventList, type EventSort, isDeletion, type ListedObject } from "./event-list.ts"

/** One object of the tree. */
export interface TreeRow {
  readonly object: number
  /** Its latest event up to the moment. */
  readonly event: number
  /** 0 for one without an owner that exists. */
  readonly depth: number
}

/** Owners beyond this depth are cut: those that own each other would have no end. */
const deepest = 20

/** In order of namespace, kind and name, owned ones after their owner. Objects that the filter leaves out are absent; what they own is shown without them. */
export const objectTree = (list: EventList, shown: FilteredEvents, through: number): ReadonlyArray<TreeRow> => {
  const latest = latestEvents(list, through)
  const alive = [...latest]
    .map(([object, event]) => ({ object, event }))
    .filter(({ object, event }) => shown.shows(object) && exists(list.sort(event)))
  const there = new Set(alive.map(({ object }) => object))
  const roots: typeof alive = []
  const owned = new Map<number, typeof alive>()
  for (const each of alive) {
    const owner = ownerOf(list, each.object, there)
    if (owner === undefined) roots.push(each)
    else {
      const siblings = owned.get(owner) ?? []
      siblings.push(each)
      owned.set(owner, siblings)
    }
  }
  const rows: TreeRow[] = []
  const placed = new Set<number>()
  const inOrder = (some: typeof alive): typeof alive =>
    some.sort((one, other) => compare(list.objects[one.object], list.objects[other.object]))
  const place = (each: (typeof alive)[number], depth: number): void => {
    if (placed.has(each.object)) return
    placed.add(each.object)
    rows.push({ ...each, depth })
    if (depth < deepest) for (const child of inOrder(owned.get(each.object) ?? [])) place(child, depth + 1)
  }
  for (const root of inOrder(roots)) place(root, 0)
  // Objects that own each other, and what is too deep, have no place below a root.
  for (const each of inOrder(alive.filter(({ object }) => !placed.has(object)))) place(each, 0)
  return rows
}

const exists = (sort: EventSort): boolean => !isDeletion(sort) && sort !== "missing"

const latestEvents = (list: EventList, through: number): ReadonlyMap<number, number> => {
  const latest = new Map<number, number>()
  const last = Math.min(through, list.length - 1)
  for (let event = 0; event <= last; event++) latest.set(list.objectOf(event), event)
  return latest
}

const ownerOf = (list: EventList, object: number, there: ReadonlySet<number>): number | undefined => {
  for (const uid of list.objects[object]?.owners ?? []) {
    const owner = list.withUid(uid)
    if (owner !== undefined && owner !== object && there.has(owner)) return owner
  }
  return undefined
}

const compare = (one: ListedObject | undefined, other: ListedObject | undefined): number => {
  if (one === undefined || other === undefined) return 0
  for (const member of ["namespace", "gvk", "name"] as const) {
    if (one[member] < other[member]) return -1
    if (one[member] > other[member]) return 1
  }
  return 0
}
