/** The page as a state machine: what each input does to what is shown. Total: no order of inputs throws. */

import type { Finding, Lane, LaneObject } from "../../timeline/index.ts"
import type { LaneFilter, LanePage, LaneTile, ObjectChange, Overview, Pin, Span } from "../source/source.ts"
import { examined, withFailure, withFinding, withTile } from "./answers.ts"
import { linkedState } from "./permalink.ts"
import { canOpen, numberOfLane, type Row, rowAt, rowCount } from "./rows.ts"
import {
  type Failure,
  firstState,
  type LaneList,
  lanesOfPage,
  type PageState,
  type Pane,
  type Revealed,
  sameSpan,
} from "./state.ts"
import { following, moved, shown, withOverview, zoomed } from "./window.ts"

/** All that can happen. */
export type Input =
  /** `isDefault`: only if none is looked at. */
  | { readonly type: "cluster"; readonly cluster: string; readonly isDefault: boolean }
  /** What the source of a cluster says: nothing, once another one is looked at. */
  | { readonly type: "answered"; readonly cluster: string | undefined; readonly answer: Input }
  | { readonly type: "overview"; readonly overview: Overview }
  | {
      readonly type: "lanes"
      readonly parent: string
      readonly span: Span
      readonly offset: number
      readonly page: LanePage
    }
  | { readonly type: "tile"; readonly span: Span; readonly tile: LaneTile; readonly isMore: boolean }
  | { readonly type: "histogram"; readonly span: Span; readonly counts: Float64Array }
  | { readonly type: "finding"; readonly span: Span; readonly found: Finding | { readonly progress: number } }
  /** Findings of this window are looked for from the beginning. */
  | { readonly type: "examined"; readonly span: Span }
  | { readonly type: "placed"; readonly lane: Lane | undefined; readonly above: ReadonlyArray<string> }
  | { readonly type: "changes"; readonly changes: ReadonlyArray<Pick<ObjectChange, "time">> }
  /** `undefined`: the source keeps none. */
  | { readonly type: "pins"; readonly pins: ReadonlyArray<Pin> | undefined }
  | { readonly type: "failed"; readonly about: string; readonly failure: Failure | undefined }
  | { readonly type: "settled" }
  | { readonly type: "resized"; readonly rows: number; readonly width: number }
  | { readonly type: "scrolled"; readonly top: number }
  /** `at`: 0 to 1, the place in the window that stays where it is. */
  | { readonly type: "zoomed"; readonly factor: number; readonly at: number }
  /** `by`: a part of the window. */
  | { readonly type: "panned"; readonly by: number }
  | { readonly type: "window"; readonly span: Span }
  | { readonly type: "followed"; readonly isFollowing: boolean }
  | { readonly type: "filtered"; readonly filter: LaneFilter }
  | { readonly type: "moved"; readonly by: number }
  | { readonly type: "pressed"; readonly row: number; readonly time?: number; readonly isOther?: boolean }
  | { readonly type: "toggled"; readonly row: number }
  | { readonly type: "cursor"; readonly time: number | undefined; readonly isOther?: boolean }
  /** An object of a finding, an owner, a difference: looked at, and brought into sight. */
  | { readonly type: "opened"; readonly object: LaneObject; readonly time?: number; readonly lane?: string }
  | { readonly type: "pane"; readonly pane: Pane }
  | { readonly type: "help"; readonly isShown: boolean }
  | { readonly type: "typing"; readonly isTyping: boolean }
  | { readonly type: "link"; readonly link: string }
  | { readonly type: "key"; readonly key: string; readonly isShifted: boolean }

/** The state after an input. */
export const updated = (state: PageState, input: Input): PageState => {
  switch (input.type) {
    case "cluster":
      return input.isDefault && state.cluster !== undefined ? state : switched(state, input.cluster)
    case "answered":
      return input.cluster === state.cluster ? updated(state, input.answer) : state
    case "overview":
      return withOverview(state, input.overview)
    case "lanes":
      return withLanes(state, input)
    case "tile":
      return withTile(state, input)
    case "histogram":
      return { ...state, histogram: { span: input.span, counts: input.counts } }
    case "finding":
      return withFinding(state, input.span, input.found)
    case "examined":
      return examined(state, input.span)
    case "placed":
      return placed(state, input.lane, input.above)
    case "changes":
      return { ...state, changes: input.changes }
    case "pins":
      return withPins(state, input.pins)
    case "failed":
      return withFailure(state, input.about, input.failure)
    case "settled":
      return sameSpan(state.settled, state.window) ? state : { ...state, settled: state.window }
    case "resized":
      return scrolled(
        { ...state, rows: Math.max(1, input.rows), width: Math.max(16, Math.floor(input.width)), isMeasured: true },
        state.top,
      )
    case "scrolled":
      return scrolled(state, input.top)
    case "zoomed":
      return zoomed(state, input.factor, input.at)
    case "panned":
      return shown(state, moved(state.window, input.by))
    case "window":
      return shown(state, input.span)
    case "followed":
      return following(state, input.isFollowing)
    case "filtered":
      return filtered(state, input.filter)
    case "moved":
      return focused(state, input.by)
    case "pressed":
      return pressed(state, input)
    case "toggled":
      return toggled(state, input.row)
    case "cursor":
      return withCursor(state, input.time, input.isOther === true)
    case "opened":
      return opened(state, input)
    case "pane":
      return { ...state, pane: input.pane }
    case "help":
      return { ...state, isHelpShown: input.isShown }
    case "typing":
      return { ...state, isTyping: input.isTyping }
    case "link":
      return linked(state, input.link)
    case "key":
      return keyed(state, input.key, input.isShifted)
  }
}

/**
 * Another cluster, at the same moment and with the same filter. An object is looked for by its name, as its UID is another one there. The present, if the page
 * follows it, is that of the other cluster.
 */
const switched = (state: PageState, cluster: string): PageState => {
  if (state.cluster === cluster) return state
  const { filter, rows, width, isMeasured, pane, selection, cursor, other, isHelpShown, isTyping } = state
  const window = state.isFollowing ? firstState.window : state.window
  const object = selection && { ...selection.object, uid: "" }
  return {
    ...{ ...firstState, cluster, window, settled: window, filter },
    ...{ rows, width, isMeasured, pane, isHelpShown, isTyping },
    ...(object && { selection: { object }, reveals: revealing(object) }),
    ...(cursor !== undefined && { cursor }),
    ...(other !== undefined && { other }),
  }
}

/** What was answered for another filter is no answer. */
const filtered = ({ histogram: _, ...state }: PageState, filter: LaneFilter): PageState => ({
  ...{ ...state, filter, lists: new Map(), open: new Set(), top: 0, row: "" },
  found: { span: { from: 0, to: 0 }, findings: [], progress: 0 },
})

const withPins = ({ pins: _, ...state }: PageState, pins: ReadonlyArray<Pin> | undefined): PageState =>
  pins !== undefined ? { ...state, pins } : state.pane === "pins" ? { ...state, pane: "none" } : state

// Rows.

const scrolled = (state: PageState, top: number): PageState => {
  const last = Math.max(0, rowCount(state) - state.rows)
  const next = Math.max(0, Math.min(last, Math.floor(top)))
  return next === state.top ? state : { ...state, top: next }
}

const numberOf = (state: PageState): number => {
  for (let index = state.top; index < state.top + state.rows; index++)
    if (rowAt(state, index)?.key === state.row) return index
  // Out of sight: all rows that are read are few enough to be looked through.
  const count = Math.min(rowCount(state), 5000)
  for (let index = 0; index < count; index++) if (rowAt(state, index)?.key === state.row) return index
  return -1
}

const inSight = (state: PageState, number: number): PageState => {
  const last = state.top + state.rows - 1
  if (number < state.top) return scrolled(state, number)
  return number > last ? scrolled(state, number - state.rows + 1) : state
}

/** The row gets the focus; an object is selected with it while it is looked at. */
const withRow = (state: PageState, row: Row | undefined, number: number): PageState => {
  if (row === undefined) return state
  const next = inSight({ ...state, row: row.key }, number)
  return state.pane === "object" ? selected(next, row) : next
}

const selected = (state: PageState, row: Row): PageState => {
  if (row.lane?.type !== "object") return state
  const { object, id } = row.lane
  return state.selection?.lane === id ? state : { ...state, selection: { object, lane: id }, changes: [] }
}

const focused = ({ reveals: _, ...state }: PageState, by: number): PageState => {
  const count = rowCount(state)
  if (count === 0) return state
  const at = numberOf(state)
  const number = at < 0 ? state.top : Math.max(0, Math.min(count - 1, at + by))
  return withRow(state, rowAt(state, number), number)
}

const pressed = (
  state: PageState,
  { row: number, time, isOther = false }: { readonly row: number; readonly time?: number; readonly isOther?: boolean },
): PageState => {
  const row = rowAt(state, number)
  if (row === undefined) return state
  const next = selected({ ...state, row: row.key }, row)
  const looked = time === undefined ? next : withCursor(next, time, isOther)
  if (row.lane?.type === "namespace" && time === undefined) return toggled(looked, number)
  return isOther || row.lane?.type !== "object" ? looked : { ...looked, pane: "object" }
}

const toggled = (state: PageState, number: number): PageState => {
  const row = rowAt(state, number)
  if (row?.lane === undefined || !canOpen(row)) return state
  const open = new Set(state.open)
  if (!open.delete(row.lane.id)) open.add(row.lane.id)
  return scrolled({ ...state, open, row: row.key }, state.top)
}

const withLanes = (
  state: PageState,
  {
    parent,
    span,
    offset,
    page,
  }: { readonly parent: string; readonly span: Span; readonly offset: number; readonly page: LanePage },
): PageState => {
  const known = state.lists.get(parent)
  const number = pageOf(offset)
  const spans = known === undefined ? new Map<number, Span>() : keptPages(state, known, span, number)
  const read = new Set(page.lanes.map(({ id }) => id))
  const lanes = new Map(
    [...(known?.lanes ?? [])].filter(
      ([place, { id }]) => place < page.total && spans.has(pageOf(place)) && !read.has(id),
    ),
  )
  for (const [index, lane] of page.lanes.entries()) lanes.set(offset + index, lane)
  const places = new Map([...lanes].map(([place, { id }]) => [id, place]))
  const list: LaneList = { span, spans: spans.set(number, span), total: page.total, lanes, places }
  const { lacks = state.lacks, leftOut } = page
  const { leftOut: _, ...others } = state
  const next = { ...others, lacks, ...(leftOut && { leftOut }), lists: new Map(state.lists).set(parent, list) }
  const isFirst = parent === "" && known === undefined && state.open.size === 0
  const opening = isFirst ? { ...next, open: openedAtFirst(page.lanes) } : next
  return revealed(scrolled(opening, state.top))
}

const pageOf = (place: number): number => Math.floor(place / lanesOfPage)

/** The other pages that are kept beside one that was read: those of the same window, its neighbours, and those in which something is open. */
const keptPages = ({ open }: PageState, { spans, places }: LaneList, span: Span, page: number): Map<number, Span> => {
  const opened = new Set([...open].flatMap((id) => places.get(id) ?? []).map(pageOf))
  const isKept = (other: number, of: Span): boolean =>
    other !== page && (sameSpan(of, span) || Math.abs(other - page) === 1 || opened.has(other))
  return new Map([...spans].filter(([other, of]) => isKept(other, of)))
}

/** Objects that are shown without being asked for: of a small recording all, of a large one those of its only namespace. */
const mostAtFirst = 500

const openedAtFirst = (namespaces: ReadonlyArray<Lane>): ReadonlySet<string> => {
  const objects = namespaces.reduce((sum, lane) => sum + lane.objects, 0)
  return new Set(namespaces.length === 1 || objects <= mostAtFirst ? namespaces.map(({ id }) => id) : [])
}

const placed = (state: PageState, lane: Lane | undefined, above: ReadonlyArray<string>): PageState => {
  const { reveals, ...rest } = state
  if (lane === undefined || reveals === undefined) return rest
  const selection = { object: lane.object, lane: lane.id }
  return revealed({
    ...state,
    open: new Set([...state.open, ...above]),
    row: lane.id,
    selection,
    reveals: { ...reveals, above },
  })
}

/** Scrolls to what is to be brought into sight, as soon as the lists above it are read. */
const revealed = (state: PageState): PageState => {
  const { reveals, ...rest } = state
  const number = reveals?.above && numberOfLane(state, reveals.above, state.row)
  if (number === undefined) return state
  return number >= rest.top && number < rest.top + rest.rows ? rest : scrolled(rest, number - Math.floor(rest.rows / 3))
}

const opened = (
  state: PageState,
  { object, time, lane }: { readonly object: LaneObject; readonly time?: number; readonly lane?: string },
): PageState => {
  const selection = { object, ...(lane !== undefined && { lane }) }
  const next: PageState = { ...state, selection, pane: "object", reveals: revealing(object), changes: [] }
  if (time === undefined) return next
  const { from, to } = state.window
  const isInSight = time >= from && time <= to
  const there = isInSight ? next : shown(next, { from: time - (to - from) / 2, to: time + (to - from) / 2 })
  return withCursor({ ...there, settled: there.window }, time, false)
}

// What is drawn.

const withCursor = (state: PageState, time: number | undefined, isOther: boolean): PageState => {
  const { cursor, other, ...rest } = state
  const at = time === undefined ? undefined : Math.round(time)
  const [one, two] = isOther ? [cursor, at] : [at, at === undefined ? undefined : other]
  return { ...rest, ...(one !== undefined && { cursor: one }), ...(two !== undefined && { other: two }) }
}

const linked = (state: PageState, link: string): PageState => {
  const { cluster, window, filter, selection, cursor, other, pane } = linkedState(link)
  const there = cluster === undefined ? state : switched(state, cluster)
  const isSame = JSON.stringify(filter) === JSON.stringify(there.filter)
  const { selection: _, cursor: __, other: ___, reveals: ____, ...rest } = isSame ? there : filtered(there, filter)
  const next: PageState = {
    ...rest,
    ...(window && { window, settled: window, isFollowing: false }),
    pane,
    ...(selection && { selection: { object: selection }, reveals: revealing(selection) }),
    ...(cursor !== undefined && { cursor }),
    ...(other !== undefined && { other }),
  }
  return next
}

const revealing = ({ gvk, namespace, name, uid }: LaneObject): Revealed => ({
  ...{ gvk, namespace, name },
  ...(uid !== "" && { uid }),
})

// Keys. Those of `reel inspect` where both have the same thing to do.

const keyed = (state: PageState, key: string, isShifted: boolean): PageState => {
  if (state.isHelpShown)
    return key === "Escape" || key === "?" || key === "q" ? { ...state, isHelpShown: false } : state
  const action = keys[key]
  return action === undefined ? state : action(state, isShifted)
}

const at = (state: PageState): number => numberOf(state)

const keys: Readonly<Record<string, (state: PageState, isShifted: boolean) => PageState>> = {
  ArrowDown: (state) => focused(state, 1),
  j: (state) => focused(state, 1),
  ArrowUp: (state) => focused(state, -1),
  k: (state) => focused(state, -1),
  PageDown: (state) => focused(state, state.rows - 1),
  PageUp: (state) => focused(state, 1 - state.rows),
  Home: (state) => focused(state, Number.MIN_SAFE_INTEGER),
  g: (state) => focused(state, Number.MIN_SAFE_INTEGER),
  End: (state) => focused(state, Number.MAX_SAFE_INTEGER),
  G: (state) => focused(state, Number.MAX_SAFE_INTEGER),
  ArrowRight: (state, isShifted) => (isShifted ? stepped(state, 1, true) : rowOpened(state)),
  l: (state) => rowOpened(state),
  ArrowLeft: (state, isShifted) => (isShifted ? stepped(state, -1, true) : rowClosed(state)),
  h: (state) => rowClosed(state),
  Enter: (state) => entered(state),
  " ": (state) => entered(state),
  "+": (state) => zoomed(state, 0.5, cursorPlace(state)),
  "=": (state) => zoomed(state, 0.5, cursorPlace(state)),
  "-": (state) => zoomed(state, 2, cursorPlace(state)),
  "<": (state) => shown(state, moved(state.window, -0.5)),
  ">": (state) => shown(state, moved(state.window, 0.5)),
  ",": (state) => stepped(state, -1, false),
  ".": (state) => stepped(state, 1, false),
  "[": (state) => toChange(state, -1),
  "]": (state) => toChange(state, 1),
  "0": (state) => (state.overview === undefined ? state : shown(state, state.overview.span)),
  f: (state) => ({ ...state, isTyping: true }),
  "/": (state) => ({ ...state, isTyping: true }),
  F: (state) => following(state, !state.isFollowing),
  n: (state) => toFinding(state, 1),
  N: (state) => toFinding(state, -1),
  c: (state) => (state.cursor === undefined ? state : withCursor(state, state.cursor, true)),
  d: (state) => ({ ...state, pane: state.pane === "differences" ? "none" : "differences" }),
  w: (state) => ({ ...state, pane: state.pane === "findings" ? "none" : "findings" }),
  p: (state) => (state.pins === undefined ? state : { ...state, pane: state.pane === "pins" ? "none" : "pins" }),
  "?": (state) => ({ ...state, isHelpShown: true }),
  Escape: (state) => escaped(state),
}

const rowOpened = (state: PageState): PageState => {
  const number = at(state)
  const row = rowAt(state, number)
  if (row === undefined || !canOpen(row)) return state
  return row.isOpen ? focused(state, 1) : toggled(state, number)
}

const rowClosed = (state: PageState): PageState => {
  const number = at(state)
  const row = rowAt(state, number)
  if (row === undefined) return state
  if (row.isOpen) return toggled(state, number)
  for (let above = number - 1; above >= 0; above--)
    if (rowAt(state, above)?.key === row.parent) return withRow(state, rowAt(state, above), above)
  return state
}

const entered = (state: PageState): PageState => {
  const number = at(state)
  const row = rowAt(state, number)
  if (row?.lane === undefined) return state
  if (row.lane.type !== "object") return toggled(state, number)
  const cursor = state.cursor ?? state.window.to
  return { ...selected({ ...state, cursor }, row), pane: "object" }
}

/** Where the cursor is in the window, 0 to 1; its middle if it is out of sight. */
const cursorPlace = ({ cursor, window: { from, to } }: PageState): number =>
  cursor === undefined || cursor < from || cursor > to ? 0.5 : (cursor - from) / (to - from)

/** The cursor by a column, or by ten. */
const stepped = (state: PageState, direction: 1 | -1, isFar: boolean): PageState => {
  const { from, to } = state.window
  const step = ((to - from) / state.width) * (isFar ? 10 : 1)
  const time = (state.cursor ?? (from + to) / 2) + direction * Math.max(1, step)
  return withCursor(state, Math.max(from, Math.min(to, time)), false)
}

/** The cursor to the change of the selected object before or after it. */
const toChange = (state: PageState, direction: 1 | -1): PageState => {
  const { changes, cursor = state.window.to } = state
  const next =
    direction === 1 ? changes.find(({ time }) => time > cursor) : changes.findLast(({ time }) => time < cursor)
  return next === undefined ? state : withCursor(state, next.time, false)
}

const toFinding = (state: PageState, direction: 1 | -1): PageState => {
  const findings = state.found.findings.toSorted((one, other) => one.from - other.from)
  const { cursor = direction === 1 ? 0 : Number.MAX_SAFE_INTEGER } = state
  const next =
    direction === 1 ? findings.find(({ from }) => from > cursor) : findings.findLast(({ from }) => from < cursor)
  const found = next ?? (direction === 1 ? findings[0] : findings.at(-1))
  return found === undefined ? state : opened(state, { object: found.object, time: found.from, lane: found.lane })
}

const escaped = (state: PageState): PageState => {
  if (state.isTyping) return { ...state, isTyping: false }
  if (state.pane !== "none") return { ...state, pane: "none" }
  if (state.other !== undefined) return withCursor(state, undefined, true)
  return withCursor(state, undefined, false)
}
