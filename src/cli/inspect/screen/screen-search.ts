/** Goes to what is searched for, and to findings and gaps. */
import { displayWidth } from "../../terminal/display-width.ts"
import { shortcomingText } from "./object-lines.ts"
import { layoutOf } from "./screen-layout.ts"
import { following, type ScreenState } from "./screen-state.ts"
import { textOf } from "./styled-line.ts"

/** To the next place with what is searched for, from the end on from the beginning. */
export const found = (state: ScreenState, direction: 1 | -1): ScreenState => {
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
export const toFinding = (state: ScreenState): ScreenState => {
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
