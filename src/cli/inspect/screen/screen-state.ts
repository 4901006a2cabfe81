/**
 * The interactive view as a state machine: what is selected, open and typed, and what each key does to it. No terminal, no time, no I/O but the reading of
 * a state that is opened.
 */

import { FilteredEvents, noFilter, readFilter } from "./event-filter.ts"
import type { EventList } from "./event-list.ts"
import { helpLines } from "./help-lines.ts"
import { objectLines } from "./object-lines.ts"
import { objectTree, type TreeRow } from "./object-tree.ts"
import { layoutOf, type ScreenSize } from "./screen-layout.ts"
import { type StyledLine, textOf } from "./styled-line.ts"

/** A state of an object that is shown. */
export interface OpenedObject {
  readonly event: number
  readonly lines: ReadonlyArray<StyledLine>
  /** The first line and the first column that are shown. */
  readonly top: number
  readonly left: number
}

/** What is being typed in the last line. */
export interface Prompt {
  readonly about: "search" | "filter"
  readonly text: string
}

/** The screen as it is. */
export interface ScreenState {
  /** What is inspected, as it was given. */
  readonly name: string
  readonly list: EventList
  readonly events: FilteredEvents
  readonly size: ScreenSize
  /** ms since the Unix epoch: decides which times have a date. */
  readonly nowMs: number
  /** Rows of the list of events: the selected one and the first that is shown. */
  readonly row: number
  readonly top: number
  /** The objects that existed at the selected event; absent: the events are shown. */
  readonly tree?: { readonly rows: ReadonlyArray<TreeRow>; readonly row: number; readonly top: number } | undefined
  readonly opened?: OpenedObject | undefined
  /** What the arrow keys move. */
  readonly focus: "list" | "object"
  readonly prompt?: Prompt | undefined
  /** What was searched for last. */
  readonly search: string
  /** The first line of the help that is shown; absent: it is not. */
  readonly help?: number | undefined
  /** Whether times are those since the first event. */
  readonly isRelative: boolean
  /** What is being read; empty once all is. */
  readonly progress: string
  /** One line for the user, until the next key. */
  readonly message: string
  readonly isEnded: boolean
}

/** What can happen. Keys are named as in keyboard.ts. */
export type ScreenInput =
  | { readonly tag: "key"; readonly key: string }
  | { readonly tag: "resized"; readonly size: ScreenSize }
  | { readonly tag: "progress"; readonly progress: string; readonly message?: string }

/** The screen before anything is read. */
export const firstScreen = (name: string, list: EventList, size: ScreenSize, nowMs: number): ScreenState => ({
  ...{ name, list, size, nowMs, events: new FilteredEvents(list, noFilter) },
  ...{ row: 0, top: 0, focus: "list", search: "", isRelative: false },
  ...{ progress: "reading", message: "", isEnded: false },
})

/** The screen after something happened. Throws SpoolError if a state cannot be read. */
export const updated = (state: ScreenState, input: ScreenInput): ScreenState => {
  switch (input.tag) {
    case "resized":
      return inSight({ ...state, size: input.size })
    case "progress": {
      const { progress, message = state.message } = input
      const next = { ...state, progress, message }
      // What was found shows only now.
      return progress === "" && next.opened !== undefined ? opening(next, next.opened.event, next.opened.top) : next
    }
    case "key":
      return inSight(pressed({ ...state, message: "" }, input.key))
  }
}

/** The event that is selected; `undefined`: there is none. */
export const selectedEvent = ({ tree, events, row }: ScreenState): number | undefined =>
  tree === undefined ? (events.length === 0 ? undefined : events.event(row)) : tree.rows[tree.row]?.event

const pressed = (state: ScreenState, key: string): ScreenState => {
  if (state.prompt !== undefined) return typed(state, state.prompt, key)
  if (state.help !== undefined) return inHelp(state, state.help, key)
  const { page } = layoutOf(state)
  const move = moves.get(key)
  if (move !== undefined) return moved(state, move(page))
  switch (key) {
    case "q":
      return { ...state, isEnded: true }
    case "\u001b":
    case "escape":
      return closed(state)
    case "?":
      return { ...state, help: 0 }
    case " ":
    case "\r":
    case "return":
      return opened(state)
    case "\t":
    case "tab":
      return state.opened === undefined ? state : { ...state, focus: state.focus === "list" ? "object" : "list" }
    case "/":
      return { ...state, prompt: { about: "search", text: "" } }
    case "f":
      return { ...state, prompt: { about: "filter", text: state.events.filter.text } }
    case "n":
      return found(state, 1)
    case "N":
      return found(state, -1)
    case "t":
      return state.tree === undefined ? withTree(state) : { ...state, tree: undefined }
    case "o":
      return onlySelected(state)
    case "r":
      return { ...state, isRelative: !state.isRelative }
    case "[":
      return toState(state, "previous")
    case "]":
      return toState(state, "next")
    case "!":
      return toFinding(state)
    case "h":
    case "left":
      return sideways(state, -1)
    case "l":
    case "right":
      return sideways(state, 1)
    default:
      return state
  }
}

/** By how many rows a key moves, with the rows of a page. */
const moves: ReadonlyMap<string, (page: number) => number> = new Map([
  ...["up", "k"].map((key) => [key, () => -1] as const),
  ...["down", "j"].map((key) => [key, () => 1] as const),
  ...["pageup", "\u0002"].map((key) => [key, (page: number) => -page] as const),
  ...["pagedown", "\u0006"].map((key) => [key, (page: number) => page] as const),
  ...["home", "g"].map((key) => [key, () => Number.NEGATIVE_INFINITY] as const),
  ...["end", "G"].map((key) => [key, () => Number.POSITIVE_INFINITY] as const),
])

const within = (number: number, last: number): number => Math.max(0, Math.min(number, last))

const moved = (state: ScreenState, by: number): ScreenState => {
  const { opened: shown, focus, tree, events } = state
  if (focus === "object" && shown !== undefined)
    return { ...state, opened: { ...shown, top: within(shown.top + by, shown.lines.length - 1) } }
  const next =
    tree === undefined
      ? { ...state, row: within(state.row + by, events.length - 1) }
      : { ...state, tree: { ...tree, row: within(tree.row + by, tree.rows.length - 1) } }
  return following(next)
}

/** An object that is open beside the list is the selected one. */
const following = (state: ScreenState): ScreenState => {
  const event = selectedEvent(state)
  if (state.opened === undefined || event === undefined || event === state.opened.event) return state
  return opening(state, event, 0)
}

const opening = (state: ScreenState, event: number, top: number): ScreenState => {
  const lines = objectLines(state.list, event, state.nowMs)
  const left = state.opened?.left ?? 0
  return { ...state, opened: { event, lines, top: within(top, lines.length - 1), left } }
}

const opened = (state: ScreenState): ScreenState => {
  const event = selectedEvent(state)
  if (event === undefined) return { ...state, message: "there is nothing to open" }
  return { ...opening(state, event, 0), focus: "object" }
}

/** One level: what is open, the tree, the filter, and then everything. */
const closed = (state: ScreenState): ScreenState => {
  if (state.opened !== undefined) return { ...state, opened: undefined, focus: "list" }
  if (state.tree !== undefined) return { ...state, tree: undefined }
  if (state.events.filter.terms.length > 0) return filtered(state, "")
  return { ...state, isEnded: true }
}

const inHelp = (state: ScreenState, top: number, key: string): ScreenState => {
  const move = moves.get(key)
  if (move !== undefined) return { ...state, help: within(top + move(layoutOf(state).page), helpLines.length - 1) }
  return key === "q" ? { ...state, isEnded: true } : { ...state, help: undefined }
}

const typed = (state: ScreenState, prompt: Prompt, key: string): ScreenState => {
  switch (key) {
    case "\u001b":
    case "escape":
      return { ...state, prompt: undefined }
    case "\u007f":
    case "\b":
    case "backspace":
      return prompt.text === ""
        ? { ...state, prompt: undefined }
        : { ...state, prompt: { ...prompt, text: [...prompt.text].slice(0, -1).join("") } }
    case "\u0015":
      return { ...state, prompt: { ...prompt, text: "" } }
    case "\r":
    case "return":
    case "enter": {
      const next = { ...state, prompt: undefined }
      if (prompt.about === "filter") return filtered(next, prompt.text)
      return found({ ...next, search: prompt.text === "" ? state.search : prompt.text }, 1)
    }
    default:
      // Named keys have more than one letter, and are no text.
      return [...key].length === 1 && !/\p{Cc}/u.test(key)
        ? { ...state, prompt: { ...prompt, text: prompt.text + key } }
        : state
  }
}

const filtered = (state: ScreenState, text: string): ScreenState => {
  const event = state.events.length === 0 ? 0 : state.events.event(state.row)
  const events = new FilteredEvents(state.list, readFilter(text))
  const next = { ...state, events, row: events.rowAt(event), tree: undefined }
  if (events.length > 0 || text.trim() === "") return following(next)
  return { ...next, opened: undefined, focus: "list", message: "no event passes this filter; Esc removes it" }
}

/** The events of the selected object alone. */
const onlySelected = (state: ScreenState): ScreenState => {
  const event = selectedEvent(state)
  if (event === undefined) return state
  const { gvk, namespace, name } = state.list.object(event)
  const next = filtered(state, `kind=${gvk}${namespace === "" ? "" : ` ns=${namespace}`} name=${name}`)
  return following({ ...next, row: next.events.rowAt(event) })
}

const withTree = (state: ScreenState): ScreenState => {
  const event = selectedEvent(state)
  if (event === undefined) return { ...state, message: "there is no event yet" }
  const rows = objectTree(state.list, state.events, event)
  if (rows.length === 0) return { ...state, message: "no object exists at that moment" }
  const own = rows.findIndex(({ object }) => object === state.list.objectOf(event))
  return following({ ...state, tree: { rows, row: Math.max(0, own), top: 0 } })
}

/** To another state of the object that is selected, which becomes the selected event if the filter shows it. */
const toState = (state: ScreenState, which: "previous" | "next"): ScreenState => {
  const event = state.opened?.event ?? selectedEvent(state)
  if (event === undefined) return state
  const other = state.list[which](event)
  if (other === undefined)
    return { ...state, message: `the trace has no ${which === "previous" ? "earlier" : "later"} state of it` }
  const row = state.events.rowAt(other)
  const next = { ...state, tree: undefined, row: state.events.event(row) === other ? row : state.row }
  return state.opened === undefined ? next : opening(next, other, state.opened.top)
}

const toFinding = (state: ScreenState): ScreenState => {
  const { events, list } = state
  for (let step = 1; step <= events.length; step++) {
    const row = (state.row + step) % events.length
    if (list.findings(events.event(row)).length > 0) return following({ ...state, tree: undefined, row })
  }
  return {
    ...state,
    message: state.progress === "" ? "nothing was found" : "findings are known once everything is read",
  }
}

/** Columns that a long line is moved by. */
const shiftColumns = 8

/** The object by some columns, or the selection by one bar of the time line. */
const sideways = (state: ScreenState, direction: 1 | -1): ScreenState => {
  const { opened: shown, focus } = state
  if (shown === undefined || focus === "list") return alongTime(state, direction)
  return { ...state, opened: { ...shown, left: within(shown.left + direction * shiftColumns, widestLine) } }
}

/** Columns beyond which no line is shown: longer values are for `reel get`. */
const widestLine = 10_000

const alongTime = (state: ScreenState, direction: 1 | -1): ScreenState => {
  const event = selectedEvent({ ...state, tree: undefined })
  if (event === undefined || state.tree !== undefined) return state
  const { events, list } = state
  const bars = list.histogram.bars(layoutOf(state).columns)
  const time = list.sort(event) === "start" ? Number.NEGATIVE_INFINITY : list.time(event)
  const filled = bars.filter((bar) => bar.events > 0)
  const here = filled.findIndex((bar) => bar.start <= time && time < bar.end)
  const target = filled[here < 0 ? (direction > 0 ? 0 : -1) : here + direction]
  if (target === undefined) return moved(state, direction > 0 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY)
  let [low, high] = [0, events.length - 1]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const at = events.event(middle)
    if (list.sort(at) !== "start" && list.time(at) >= target.start) high = middle
    else low = middle + 1
  }
  return following({ ...state, row: low })
}

/** To the next place with what is searched for, from the end on from the beginning. */
const found = (state: ScreenState, direction: 1 | -1): ScreenState => {
  const { search, opened: shown, focus, tree, events, list } = state
  if (search === "") return { ...state, message: "nothing was searched for: press /" }
  const wanted = search.toLowerCase()
  const objectText = (event: number): string => {
    const { gvk, namespace, name } = list.object(event)
    return `${gvk} ${namespace}/${name}`.toLowerCase()
  }
  const next = (count: number, from: number, isMatch: (index: number) => boolean): number | undefined => {
    for (let step = 1; step <= count; step++) {
      const index = (((from + direction * step) % count) + count) % count
      if (isMatch(index)) return index
    }
    return undefined
  }
  const missing = { ...state, message: `not found: ${search}` }
  if (focus === "object" && shown !== undefined) {
    const top = next(shown.lines.length, shown.top, (index) =>
      textOf(shown.lines[index] ?? [])
        .toLowerCase()
        .includes(wanted),
    )
    return top === undefined ? missing : { ...state, opened: { ...shown, top } }
  }
  if (tree !== undefined) {
    const row = next(tree.rows.length, tree.row, (index) => objectText(tree.rows[index]?.event ?? 0).includes(wanted))
    return row === undefined ? missing : following({ ...state, tree: { ...tree, row } })
  }
  // Most events are of objects that have many: each object is compared once.
  const known = new Map<number, boolean>()
  const row = next(events.length, state.row, (index) => {
    const event = events.event(index)
    const object = list.objectOf(event)
    const isMatch = known.get(object) ?? objectText(event).includes(wanted)
    known.set(object, isMatch)
    return isMatch
  })
  return row === undefined ? missing : following({ ...state, row })
}

/** The selected rows are on the screen. */
const inSight = (state: ScreenState): ScreenState => {
  const { listRows } = layoutOf(state)
  const topFor = (row: number, top: number, count: number): number => {
    const highest = Math.max(0, row - listRows + 1)
    return within(Math.min(Math.max(top, highest), row), Math.max(0, count - 1))
  }
  const row = within(state.row, state.events.length - 1)
  const { tree } = state
  return {
    ...state,
    ...{ row, top: topFor(row, state.top, state.events.length) },
    tree: tree === undefined ? undefined : { ...tree, top: topFor(tree.row, tree.top, tree.rows.length) },
  }
}
