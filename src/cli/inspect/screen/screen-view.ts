/** The screen as lines (docs/decisions/0057-the-view-of-a-trace-is-a-state-machine.md): as many as the terminal has rows, none wider than it has columns. */

import { formatLocalTime } from "../../../local-time.ts"
import { visible } from "../../../text/index.ts"
import { displayWidth } from "../../terminal/display-width.ts"
import { formatCount, formatDuration, formatInteger, localMoment } from "../../terminal/quantities.ts"
import { barText } from "../time-histogram.ts"
import type { EventList, EventSort, FindingCounts, ListedObject } from "./event-list.ts"
import { helpLines } from "./help-lines.ts"
import { shortcomingText } from "./object-lines.ts"
import { layoutOf, type ScreenLayout, type ScreenState, selectedEvent } from "./screen-state.ts"
import {
  cutLine,
  fitLine,
  inStyle,
  type Span,
  type Style,
  type StyledLine,
  shiftLine,
  span,
  spreadLine,
} from "./styled-line.ts"

/** The lines of a screen, from its first row to its last. */
export const screenLines = (state: ScreenState): ReadonlyArray<StyledLine> => {
  const layout = layoutOf(state)
  const lines = [
    ...(layout.hasTitle ? [titleLine(state, layout)] : []),
    ...(layout.hasTimeLine ? timeLine(state, layout) : []),
    ...bodyLines(state, layout),
    statusLine(state),
  ]
  return lines.slice(-layout.rows).map((line) => cutLine(line, layout.columns))
}

const titleLine = ({ name, events, list, part, progress }: ScreenState, { columns }: ScreenLayout): StyledLine => {
  const { text } = events.filter
  const whole = part === undefined || (part.isFirst && part.isLast) ? "" : `, part of ${formatInteger(part.events)}`
  const count =
    text === ""
      ? `${formatCount(list.length - list.shortcomings, "event")}${whole}`
      : `${formatInteger(events.length)} of ${formatCount(list.length, "event")}${whole}: ${visible(text)}`
  const lacking = list.shortcomings === 0 ? [] : [span("  "), span(formatCount(list.shortcomings, "gap"), "warning")]
  const left = [span(endOf(visible(name), Math.ceil(columns / 2)), "title"), span(`  ${count}`), ...lacking]
  return spreadLine(left, [span(progress, "dim")], columns)
}

/** The end of a long path says more than its beginning. */
const endOf = (name: string, columns: number): string => {
  if (displayWidth(name) <= columns) return name
  const characters = [...name]
  while (characters.length > 0 && displayWidth(characters.join("")) >= columns) characters.shift()
  return `…${characters.join("")}`
}

/** The bars with the one of the selected event marked, and below them the times at both ends. */
const timeLine = (state: ScreenState, { columns }: ScreenLayout): ReadonlyArray<StyledLine> => {
  const { list, nowMs, part } = state
  const bars = list.histogram.bars(columns)
  const [first, last] = [bars[0], bars.at(-1)]
  if (first === undefined || last === undefined) return [[], [span("no changes yet", "dim")]]
  const event = selectedEvent(state)
  const time = event === undefined || list.sort(event) === "start" ? first.start : list.time(event)
  const at = bars.findIndex((bar) => bar.start <= time && time < bar.end)
  // Bars are stretched, so that the line is always as wide as the screen.
  const wide = Array.from({ length: columns }, (_, column) => Math.floor((column * bars.length) / columns))
  const characters = [...barText(bars)]
  const spans: Span[] = []
  for (const bar of wide) {
    const style: Style = bar === at ? "current" : "plain"
    const before = spans.at(-1)
    const text = characters[bar] ?? " "
    if (before?.style === style) spans[spans.length - 1] = { text: before.text + text, style }
    else spans.push({ text, style })
  }
  const width = formatDuration((first.end - first.start) / 1000)
  const earlier = part?.isFirst === false ? [span("< ", "key")] : []
  const later = part?.isLast === false ? [span(" >", "key")] : []
  const left = [...earlier, span(`${localMoment(first.start, nowMs)}  ▏${width}`, "dim")]
  return [spans, spreadLine(left, [span(localMoment(last.end, nowMs), "dim"), ...later], columns)]
}

const bodyLines = (state: ScreenState, layout: ScreenLayout): ReadonlyArray<StyledLine> => {
  const { listRows, listColumns, objectColumns } = layout
  const rows = Array.from({ length: listRows }, (_, row) => row)
  const { opened, focus, help } = state
  if (help !== undefined) {
    const lines = helpLines(layout.columns)
    return rows.map((row) => [span(lines[help + row] ?? "")])
  }
  const list = (row: number): StyledLine => listLine(state, row, listColumns)
  if (opened === undefined) return rows.map(list)
  const object = (row: number): StyledLine => {
    const line = shiftLine(opened.lines[opened.top + row] ?? [], opened.left)
    return opened.top + row === opened.found ? inStyle(line, "current") : line
  }
  if (listColumns === 0) return rows.map((row) => cutLine(object(row), objectColumns))
  const border: Style = focus === "object" ? "title" : "dim"
  return rows.map((row) => [
    ...fitLine(list(row), listColumns),
    span("│", border),
    ...cutLine(object(row), objectColumns),
  ])
}

const listLine = (state: ScreenState, row: number, columns: number): StyledLine => {
  const { tree, events, top, list } = state
  if (tree !== undefined) {
    const at = tree.top + row
    const shown = tree.rows[at]
    if (shown === undefined) return []
    const left = [
      span("  ".repeat(Math.min(shown.depth, 10))),
      ...objectSpans(list.object(shown.event), shown.depth > 0),
    ]
    return marked(spreadLine(left, badge(list.findingCounts(shown.event)), columns), at === tree.row, state, columns)
  }
  const at = top + row
  if (at >= events.length) {
    const nothing = events.filter.terms.length > 0 ? "no event passes the filter: Esc removes it" : "no events"
    return row === 0 && state.progress === "" ? [span(nothing, "dim")] : []
  }
  const event = events.event(at)
  const sort = list.sort(event)
  const { lacks } = list.object(event)
  const left = [
    span(momentOf(state, event, columns), "dim"),
    span(`${signs[sort]} `, signStyles[sort]),
    ...(lacks === undefined
      ? objectSpans(list.object(event), false)
      : [span(visible(shortcomingText(lacks)), "warning")]),
  ]
  return marked(spreadLine(left, badge(list.findingCounts(event)), columns), at === state.row, state, columns)
}

const signs: Readonly<Record<EventSort, string>> = {
  start: "·",
  created: "+",
  changed: "~",
  deleted: "-",
  vanished: "?",
  missing: "!",
}

const signStyles: Readonly<Record<EventSort, Style>> = {
  ...{
    start: "dim",
    created: "added",
    changed: "changed",
    deleted: "removed",
    vanished: "removed",
    missing: "warning",
  },
}

const marked = (line: StyledLine, isSelected: boolean, { focus }: ScreenState, columns: number): StyledLine =>
  isSelected ? inStyle(fitLine(line, columns), focus === "list" ? "selected" : "title") : line

/** The kind without group and version, and the name. `isOwned`: its namespace is that of its owner. */
const objectSpans = ({ gvk, namespace, name }: ListedObject, isOwned: boolean): StyledLine => {
  const kind = gvk.slice(gvk.lastIndexOf(".") + 1)
  const full = namespace === "" || isOwned ? name : `${namespace}/${name}`
  return [span(visible(kind), "key"), span(visible(` ${full}`))]
}

const badge = ({ errors, warnings }: FindingCounts): StyledLine => [
  ...(errors === 0 ? [] : [span(`${errors}E`, "error")]),
  ...(errors === 0 || warnings === 0 ? [] : [span(" ")]),
  ...(warnings === 0 ? [] : [span(`${warnings}W`, "warning")]),
]

/** Columns of a list from which on there is room for dates and parts of seconds, and for any time. */
const wholeTimes = 60
const shortTimes = 34

/** With a space after it. */
const momentOf = (state: ScreenState, event: number, columns: number): string => {
  if (columns < shortTimes) return ""
  const { list, isRelative, nowMs } = state
  const time = list.time(event)
  if (isRelative) return `${sinceBegin(list, event)} `
  const isDate = Number.isSafeInteger(time) && time >= 0
  if (!isDate) return `${time} µs `
  // The zone is in the time line.
  const local = formatLocalTime(time / 1000, nowMs).replace(
    /(?:\.(\d+))? [^ ]+$/,
    (_, digits = "") => `.${digits.padEnd(6, "0")}`,
  )
  return `${columns < wholeTimes ? local.replace(/^.* |\.\d+$/g, "") : local} `
}

const sinceBegin = (list: EventList, event: number): string => {
  if (list.sort(event) === "start") return "at start"
  const seconds = Math.max(0, Math.floor((list.time(event) - list.begin) / 1_000_000))
  const two = (number: number): string => String(Math.floor(number)).padStart(2, "0")
  const days = Math.floor(seconds / 86_400)
  const clock = `${two((seconds / 3600) % 24)}:${two((seconds / 60) % 60)}:${two(seconds % 60)}`
  return days === 0 ? clock : `${days}d ${clock}`
}

const statusLine = (state: ScreenState): StyledLine => {
  const { prompt, message, opened, focus, help, tree } = state
  if (prompt !== undefined) {
    const about = prompt.about === "search" ? "/" : "filter: "
    return [span(about, "title"), span(visible(prompt.text)), span(" ", "selected")]
  }
  if (message !== "") return [span(visible(message), "changed")]
  if (help !== undefined) return [span("any other key closes the help", "dim")]
  const hints = ["? help", "Space open", "/ search", "f filter", tree === undefined ? "t tree" : "t events"]
  const inObject = ["? help", "Esc close", "Tab list", "[ ] states", "/ search"]
  return [span((opened !== undefined && focus === "object" ? inObject : [...hints, "q quit"]).join("   "), "dim")]
}
