/**
 * The visible rows of the tree, found by their number without making the others: a namespace may have a hundred thousand. Below an open object come its
 * conditions and containers, then what it owns.
 */

import type { Lane, Part } from "../../timeline/index.ts"
import type { LaneList, PageState } from "./state.ts"

/** One row. */
export interface Row {
  /** Of a lane its id, of a part the lane's with the part's behind a space. */
  readonly key: string
  /** Absent: it was not read yet. */
  readonly lane?: Lane
  readonly part?: Part
  /** 1: a namespace. */
  readonly level: number
  readonly isOpen: boolean
  /** Of the lane that it is below; the empty string for namespaces. */
  readonly parent: string
  /** Its place below the parent, from 0, and how many there are. */
  readonly place: number
  readonly siblings: number
}

type Tree = Pick<PageState, "lists" | "open" | "parts">

export const partKey = (lane: string, part: string): string => `${lane} ${part}`

const openBelow = ({ open }: Tree, list: LaneList | undefined): ReadonlyArray<readonly [place: number, lane: Lane]> => {
  if (list === undefined) return []
  const found: Array<readonly [number, Lane]> = []
  for (const id of open) {
    const place = list.places.get(id)
    const lane = place === undefined ? undefined : list.lanes.get(place)
    if (place !== undefined && lane !== undefined) found.push([place, lane])
  }
  return found.sort(([one], [other]) => one - other)
}

const partsBelow = ({ parts }: Tree, lane: string): ReadonlyArray<Part> => parts.get(lane) ?? []

/** Rows below a lane that is open, or all rows for the empty string. */
export const rowsBelow = (tree: Tree, parent = "", expected = 0): number => {
  const list = tree.lists.get(parent)
  let count = (list?.total ?? expected) + partsBelow(tree, parent).length
  for (const [, lane] of openBelow(tree, list)) count += rowsBelow(tree, lane.id, lane.children)
  return count
}

/** `undefined`: there are fewer. */
export const rowAt = (tree: Tree, wanted: number): Row | undefined => {
  if (wanted < 0) return undefined
  let parent: Lane | undefined
  let index = wanted
  for (let level = 1; ; level++) {
    const id = parent?.id ?? ""
    const parts = partsBelow(tree, id)
    const part = parts[index]
    const list = tree.lists.get(id)
    const siblings = list?.total ?? parent?.children ?? 0
    if (part !== undefined && parent !== undefined)
      return {
        ...{ key: partKey(id, part.id), lane: parent, part, level, isOpen: false, parent: id },
        ...{ place: index, siblings: parts.length + siblings },
      }
    index -= parts.length
    let passed = 0
    let inner: Lane | undefined
    for (const [place, lane] of openBelow(tree, list)) {
      if (index - passed <= place) break
      const below = rowsBelow(tree, lane.id, lane.children)
      if (index - passed <= place + below) {
        index -= passed + place + 1
        inner = lane
        break
      }
      passed += below
    }
    if (inner !== undefined) {
      parent = inner
      continue
    }
    const place = index - passed
    if (place >= siblings) return undefined
    const lane = list?.lanes.get(place)
    const key = lane?.id ?? `${id} #${place}`
    const isOpen = lane !== undefined && tree.open.has(lane.id)
    return { key, ...(lane && { lane }), level, isOpen, parent: id, place, siblings }
  }
}

/** Those from one row on. */
export const rowsFrom = (tree: Tree, top: number, count: number): ReadonlyArray<Row> => {
  const rows: Row[] = []
  for (let index = top; index < top + count; index++) {
    const row = rowAt(tree, index)
    if (row === undefined) break
    rows.push(row)
  }
  return rows
}

/** The number of a lane's row; `undefined`: it, or one above it, was not read, or is closed. `above`: outermost first. */
export const numberOfLane = (tree: Tree, above: ReadonlyArray<string>, lane: string): number | undefined => {
  let number = 0
  let parent = ""
  for (const id of [...above, lane]) {
    const list = tree.lists.get(parent)
    const place = list?.places.get(id)
    if (place === undefined || (parent !== "" && !tree.open.has(parent))) return undefined
    number += partsBelow(tree, parent).length + place
    for (const [other, inner] of openBelow(tree, list))
      if (other < place) number += rowsBelow(tree, inner.id, inner.children)
    if (id !== lane) number++
    parent = id
  }
  return number
}

/** Whether a row has rows below it. */
export const canOpen = ({ lane, part }: Row): boolean =>
  lane !== undefined && part === undefined && (lane.children > 0 || lane.type === "object")
