/** What the interactive view shows: what is selected, open and typed. No terminal and no time; of I/O only the reading of a state that is opened. */
import type { Part, WantedPart } from "../recording-parts.ts"
import { FilteredEvents, noFilter } from "./event-filter.ts"
import type { EventList } from "./event-list.ts"
import { objectLines } from "./object-lines.ts"
import type { TreeRow } from "./object-tree.ts"
import type { StyledLine } from "./styled-line.ts"

// Where what is on the screen, for terminals of any size.

/** Columns and rows of the terminal. */
export interface ScreenSize {
  readonly columns: number
  readonly rows: number
}

/** Columns from which on an object is beside the list; as in SimKube's xray. */
const wideColumns = 120

interface Laid {
  readonly size: ScreenSize
  readonly opened?: object | undefined
  readonly focus: "list" | "object"
}

/** Numbers are at least 1, whatever the size. */
export interface ScreenLayout {
  readonly columns: number
  readonly rows: number
  /** Whether there is room for the title, and for the time line with its two rows. */
  readonly hasTitle: boolean
  readonly hasTimeLine: boolean
  readonly listRows: number
  /** Columns of the list, 0: it is not shown; and of the object. */
  readonly listColumns: number
  readonly objectColumns: number
  /** Rows that page keys move by. */
  readonly page: number
}

export const layoutOf = ({ size, opened }: Laid): ScreenLayout => {
  const [columns, rows] = [Math.max(1, size.columns), Math.max(1, size.rows)]
  const hasTitle = rows >= 4
  const hasTimeLine = rows >= 10
  const listRows = Math.max(1, rows - 1 - (hasTitle ? 1 : 0) - (hasTimeLine ? 2 : 0))
  const isBeside = columns > wideColumns
  const objectColumns = opened === undefined ? 0 : isBeside ? Math.floor(columns / 2) : columns
  const listColumns = opened === undefined ? columns : isBeside ? columns - objectColumns - 1 : 0
  return { columns, rows, hasTitle, hasTimeLine, listRows, listColumns, objectColumns, page: Math.max(1, listRows - 1) }
}

/** A state of an object that is shown. */
interface OpenedObject {
  readonly event: number
  readonly lines: ReadonlyArray<StyledLine>
  /** The first line and the first column that are shown. */
  readonly top: number
  readonly left: number
  /** The line that was found last. */
  readonly found?: number | undefined
}

/** What is being typed in the last line. */
export interface Prompt {
  readonly about: "search" | "filter"
  readonly text: string
  /** What Esc goes back to: the filter before it, and the event that was selected. */
  readonly before: { readonly filter: string; readonly event: number }
}

/** The screen as it is. */
export interface ScreenState {
  /** What is inspected, as it was given. */
  readonly name: string
  readonly list: EventList
  /** The part of a recording that the list has; absent: the list is the whole, or the part is not known yet. */
  readonly part?: Part | undefined
  /** The part to read instead; {@link screenOfPart} is the screen while it is read. */
  readonly wants?: WantedPart | undefined
  /** What stays selected while events are read, until a key is pressed: the last one, or the first one after the state at the start. */
  readonly sticksTo?: "end" | "changes" | undefined
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

/** The screen before anything is read. */
export const firstScreen = (name: string, list: EventList, size: ScreenSize, nowMs: number): ScreenState => ({
  ...{ name, list, size, nowMs, events: new FilteredEvents(list, noFilter) },
  ...{ row: 0, top: 0, focus: "list", search: "", isRelative: false },
  ...{ progress: "reading", message: "", isEnded: false },
})

/** The screen with a list of another part, before anything of it is read: what was filtered and searched for stays. */
export const screenOfPart = (state: ScreenState, list: EventList): ScreenState => {
  const { name, size, nowMs, search, isRelative, events } = state
  const next = { ...firstScreen(name, list, size, nowMs), events: new FilteredEvents(list, events.filter) }
  return { ...next, search, isRelative }
}

/** The event that is selected; `undefined`: there is none. */
export const selectedEvent = ({ tree, events, row }: ScreenState): number | undefined =>
  tree === undefined ? (events.length === 0 ? undefined : events.event(row)) : tree.rows[tree.row]?.event

/** An object that is open beside the list is the selected one. */
export const following = (state: ScreenState): ScreenState => {
  const event = selectedEvent(state)
  if (state.opened === undefined || event === undefined || event === state.opened.event) return state
  return opening(state, event, 0)
}

/** The event is open, from a line on. Throws SpoolError if its state cannot be read. */
export const opening = (state: ScreenState, event: number, top: number): ScreenState => {
  const lines = objectLines(state.list, event, state.nowMs)
  return { ...state, opened: { event, lines, top, left: state.opened?.left ?? 0 } }
}
