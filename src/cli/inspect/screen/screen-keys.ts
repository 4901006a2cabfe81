/** The interactive view as a state machine: what each key, and all else that happens, does to what it shows. */

import { displayWidth } from "../../terminal/display-width.ts"
import { formatCount } from "../../terminal/quantities.ts"
import type { Part, WantedPart } from "../recording-parts.ts"
import { FilteredEvents, readFilter } from "./event-filter.ts"
import { helpLines } from "./help-lines.ts"
import { shortcomingText } from "./object-lines.ts"
import { objectTree } from "./object-tree.ts"
import {
  following,
  layoutOf,
  opening,
  type Prompt,
  type ScreenSize,
  type ScreenState,
  selectedEvent,
} from "./screen-state.ts"
import { textOf } from "./styled-line.ts"

// Goes to what is searched for, and to findings and gaps.

/** To the next place with what is searched for, from the end on from the beginning. */
const found = (state: ScreenState, direction: 1 | -1): ScreenState => {
  const { search, opened: shown, focus, tree, events, list } = state
  const { objectColumns } = layoutOf(state)
  if (search === "") return { ...state, message: "nothing was searched for: press /" }
  const wanted = search.toLowerCase()
  const objectText = (event: number): string => {
    const { gvk, namespace, name, lacks } = list.object(event)
    return (lacks === undefined ? `${gvk} ${namespace}/${name}` : shortcomingText(lacks)).toLowerCase()
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
    const textAt = (line: number): string => textOf(shown.lines[line] ?? []).toLowerCase()
    const line = next(shown.lines.length, shown.found ?? shown.top - direction, (index) =>
      textAt(index).includes(wanted),
    )
    if (line === undefined) return missing
    const end = displayWidth(textAt(line).slice(0, textAt(line).indexOf(wanted) + wanted.length))
    const isInSight = end > shown.left && end <= shown.left + objectColumns
    const left = isInSight ? shown.left : Math.max(0, end - Math.floor(objectColumns / 2))
    return { ...state, opened: { ...shown, found: line, top: line, left } }
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

/** To the next event with an error, a warning or a gap. */
const toFinding = (state: ScreenState): ScreenState => {
  const { events, list } = state
  for (let step = 1; step <= events.length; step++) {
    const row = (state.row + step) % events.length
    const event = events.event(row)
    if (list.sort(event) === "missing" || list.findings(event).length > 0)
      return following({ ...state, tree: undefined, row })
  }
  return {
    ...state,
    message:
      state.progress === "" ? "no error, warning or gap" : "errors and warnings are known once everything is read",
  }
}

/** What can happen. Keys are named as in terminal.ts. */
export type ScreenInput =
  | { readonly tag: "key"; readonly key: string }
  | { readonly tag: "resized"; readonly size: ScreenSize }
  | { readonly tag: "progress"; readonly progress: string }
  | { readonly tag: "part"; readonly part: Part; readonly wanted: WantedPart }

/** The screen after something happened. Throws SpoolError if a state cannot be read. */
export const updated = (state: ScreenState, input: ScreenInput): ScreenState => {
  switch (input.tag) {
    case "resized":
      return inSight({ ...state, size: input.size })
    case "part": {
      const { part, wanted } = input
      // Of a long recording, what happened last is looked for first.
      const sticksTo = wanted === "later" ? "changes" : wanted === "earlier" || !part.isFirst ? "end" : undefined
      return { ...state, part, sticksTo }
    }
    case "progress": {
      const { progress } = input
      const { shortcomings } = state.list
      const message =
        progress === "" && shortcomings > 0
          ? `${formatCount(shortcomings, "gap")}, where something is missing: ! goes to the next one`
          : state.message
      const row = stuckRow(state)
      const next = inSight({ ...state, progress, message, row, ...(state.sticksTo === "changes" && { top: row }) })
      // What was found shows only now.
      return progress === "" && next.opened !== undefined ? opening(next, next.opened.event, next.opened.top) : next
    }
    case "key":
      return inSight(pressed({ ...state, message: "", sticksTo: undefined }, input.key))
  }
}

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
      return { ...state, prompt: { about: "search", text: "", before: before(state) } }
    case "f": {
      const next = atList(state)
      return { ...next, prompt: { about: "filter", text: next.events.filter.text, before: before(next) } }
    }
    case "n":
      return found(state, 1)
    case "N":
      return found(state, -1)
    case "t":
      return state.tree === undefined ? withTree(atList(state)) : { ...atList(state), tree: undefined }
    case "o":
      return onlySelected(atList(state))
    case "r":
      return { ...state, isRelative: !state.isRelative }
    case "[":
      return toState(state, "previous")
    case "]":
      return toState(state, "next")
    case "!":
      return toFinding(state)
    case "<":
      return toPart(state, "earlier")
    case ">":
      return toPart(state, "later")
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
  const { opened: shown, focus, tree, events, part, progress } = state
  if (focus === "object" && shown !== undefined)
    return { ...state, opened: { ...shown, top: shown.top + by, found: undefined } }
  if (tree !== undefined) {
    return following({ ...state, tree: { ...tree, row: within(tree.row + by, tree.rows.length - 1) } })
  }
  const next = following({ ...state, row: within(state.row + by, events.length - 1) })
  if (by === Number.POSITIVE_INFINITY && progress !== "") return { ...next, sticksTo: "end" }
  const isStopped = next.row === state.row && by < 0
  return isStopped && part?.isFirst === false ? { ...next, message: "earlier events: press <" } : next
}

const before = ({ events, row }: ScreenState): Prompt["before"] => ({
  filter: events.filter.text,
  event: events.length === 0 ? 0 : events.event(row),
})

/** What is about the list shows it: where there is no room beside an object, that is closed. */
const atList = (state: ScreenState): ScreenState =>
  layoutOf(state).listColumns > 0 ? state : { ...state, opened: undefined, focus: "list" }

const stuckRow = (state: ScreenState): number => {
  if (state.sticksTo === undefined) return state.row
  return state.sticksTo === "end" ? state.events.length - 1 : rowFrom(state, Number.NEGATIVE_INFINITY)
}

const toPart = (state: ScreenState, wants: "earlier" | "later"): ScreenState => {
  const { part } = state
  if (part === undefined)
    return {
      ...state,
      message: state.progress === "" ? "everything is in the list" : "not yet: the recording is still being counted",
    }
  if (wants === "earlier" && part.isFirst) return { ...state, message: "there are no earlier events" }
  if (wants === "earlier" || !part.isLast) return { ...state, wants }
  return part.isGrowing ? { ...state, wants: "last" } : { ...state, message: "there are no later events" }
}

const opened = (state: ScreenState): ScreenState => {
  const event = selectedEvent(state)
  if (event === undefined) return { ...state, message: "there is nothing to open" }
  return { ...opening(state, event, 0), focus: "object" }
}

/** One level: what is open, the tree, the filter. */
const closed = (state: ScreenState): ScreenState => {
  if (state.opened !== undefined) return { ...state, opened: undefined, focus: "list" }
  if (state.tree !== undefined) return { ...state, tree: undefined }
  if (state.events.filter.terms.length > 0) return filtered(state, "")
  return { ...state, message: "press q to quit" }
}

const inHelp = (state: ScreenState, top: number, key: string): ScreenState => {
  const move = moves.get(key)
  if (move !== undefined) {
    const { page, columns, listRows } = layoutOf(state)
    return { ...state, help: within(top + move(page), helpLines(columns).length - listRows) }
  }
  return key === "q" ? { ...state, isEnded: true } : { ...state, help: undefined }
}

const typed = (state: ScreenState, prompt: Prompt, key: string): ScreenState => {
  const { text } = prompt
  switch (key) {
    case "\u001b":
    case "escape":
      if (text === prompt.before.filter) return { ...state, prompt: undefined }
      return { ...typing(state, prompt, prompt.before.filter), prompt: undefined }
    case "\u007f":
    case "\b":
    case "backspace":
      return text === "" ? { ...state, prompt: undefined } : typing(state, prompt, [...text].slice(0, -1).join(""))
    case "\u0015":
      return typing(state, prompt, "")
    case "\u0017":
      return typing(state, prompt, text.replace(/\S*\s*$/u, ""))
    case "\r":
    case "return":
    case "enter": {
      const next = { ...state, prompt: undefined }
      if (prompt.about === "filter") return next
      return found({ ...next, search: text === "" ? state.search : text }, 1)
    }
    default:
      // Named keys have more than one letter, and are no text.
      return [...key].length === 1 && !/\p{Cc}/u.test(key) ? typing(state, prompt, text + key) : state
  }
}

/** A filter takes effect while it is typed. */
const typing = (state: ScreenState, prompt: Prompt, text: string): ScreenState =>
  prompt.about === "filter"
    ? { ...filtered(state, text, prompt.before.event), prompt: { ...prompt, text } }
    : { ...state, prompt: { ...prompt, text } }

/** `event`: the one to be near. */
const filtered = (state: ScreenState, text: string, event = before(state).event): ScreenState => {
  const events = new FilteredEvents(state.list, readFilter(text))
  const next = { ...state, events, row: events.rowAt(event), tree: undefined }
  if (events.length > 0 || text.trim() === "") return following(next)
  return { ...next, opened: undefined, focus: "list" }
}

/** The events of the selected object alone. */
const onlySelected = (state: ScreenState): ScreenState => {
  const event = selectedEvent(state)
  if (event === undefined) return state
  const { gvk, namespace, name, lacks } = state.list.object(event)
  if (lacks !== undefined) return { ...state, message: "this row is not an object" }
  return filtered(state, `kind=${gvk}${namespace === "" ? "" : ` ns=${namespace}`} name=${name}`, event)
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
  const { list } = state
  const bars = list.histogram.bars(layoutOf(state).columns)
  const time = list.sort(event) === "start" ? Number.NEGATIVE_INFINITY : list.time(event)
  const filled = bars.filter((bar) => bar.events > 0)
  const here = filled.findIndex((bar) => bar.start <= time && time < bar.end)
  const target = filled[here < 0 ? (direction > 0 ? 0 : -1) : here + direction]
  if (target === undefined) return moved(state, direction > 0 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY)
  return following({ ...state, row: rowFrom(state, target.start) })
}

/** The first row, after the state at the start, from a time on; the last one if there is none. */
const rowFrom = ({ events, list }: ScreenState, time: number): number => {
  let [low, high] = [0, events.length - 1]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const at = events.event(middle)
    if (list.sort(at) !== "start" && list.time(at) >= time) high = middle
    else low = middle + 1
  }
  return low
}

/** The selected rows are on the screen, and what is open fills it. */
const inSight = (state: ScreenState): ScreenState => {
  const { listRows } = layoutOf(state)
  const topFor = (row: number, top: number, count: number): number => {
    const highest = Math.max(0, row - listRows + 1)
    return within(Math.min(Math.max(top, highest), row), count - listRows)
  }
  const row = within(state.row, state.events.length - 1)
  const { tree, opened: shown } = state
  return {
    ...state,
    ...{ row, top: topFor(row, state.top, state.events.length) },
    opened: shown === undefined ? undefined : { ...shown, top: within(shown.top, shown.lines.length - listRows) },
    tree: tree === undefined ? undefined : { ...tree, top: topFor(tree.row, tree.top, tree.rows.length) },
  }
}
