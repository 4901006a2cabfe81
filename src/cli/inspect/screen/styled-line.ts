/** Lines of the screen as pieces of text with a meaning, which become colours only when they are painted. Text in them must be visible (quoted.ts). */
import { cutToWidth, displayWidth } from "../../terminal/display-width.ts"

/** What a piece of text is. */
export type Style =
  | "plain"
  | "dim"
  | "title"
  | "selected"
  | "current"
  | "key"
  | "string"
  | "number"
  | "added"
  | "removed"
  | "changed"
  | "error"
  | "warning"

/** A piece of a line. */
export interface Span {
  readonly text: string
  readonly style: Style
}

/** One line of the screen. */
export type StyledLine = ReadonlyArray<Span>

/** A piece of text. */
export const span = (text: string, style: Style = "plain"): Span => ({ text, style })

/** The characters of a line. */
export const textOf = (line: StyledLine): string => line.map(({ text }) => text).join("")

const widthOf = (line: StyledLine): number => line.reduce((sum, { text }) => sum + displayWidth(text), 0)

/** A line that takes at most that many columns, with an ellipsis if something was cut off. */
export const cutLine = (line: StyledLine, columns: number): StyledLine => {
  if (widthOf(line) <= columns) return line
  const kept: Span[] = []
  let left = Math.max(0, columns)
  for (const { text, style } of line) {
    const width = displayWidth(text)
    // A piece that fills the line exactly leaves no room for the ellipsis of what follows.
    if (width < left) {
      kept.push({ text, style })
      left -= width
      continue
    }
    kept.push({ text: width === left && left > 0 ? cutToWidth(`${text} `, left) : cutToWidth(text, left), style })
    break
  }
  return kept
}

/** A line without its first columns. Half of a wide character is a space. */
export const shiftLine = (line: StyledLine, columns: number): StyledLine => {
  if (columns <= 0) return line
  const kept: Span[] = []
  let left = columns
  for (const { text, style } of line) {
    const width = displayWidth(text)
    if (width <= left) {
      left -= width
      continue
    }
    kept.push({ text: left === 0 ? text : withoutColumns(text, left), style })
    left = 0
  }
  return kept
}

const withoutColumns = (text: string, columns: number): string => {
  let [dropped, width] = ["", 0]
  for (const character of text) {
    if (width >= columns) break
    dropped += character
    width = displayWidth(dropped)
  }
  return " ".repeat(width - columns) + text.slice(dropped.length)
}

/** A line that takes exactly that many columns. `fill`: how what is added looks. */
export const fitLine = (line: StyledLine, columns: number, fill: Style = "plain"): StyledLine => {
  const cut = cutLine(line, columns)
  const missing = columns - widthOf(cut)
  return missing > 0 ? [...cut, span(" ".repeat(missing), fill)] : cut
}

/** Two lines beside each other, the right one at the right edge if there is room, else left out. */
export const spreadLine = (left: StyledLine, right: StyledLine, columns: number): StyledLine => {
  const room = columns - widthOf(right) - 1
  if (room < Math.min(widthOf(left), Math.ceil(columns / 2))) return cutLine(left, columns)
  return [...fitLine(left, room), span(" "), ...right]
}

/** Every piece in one style. */
export const inStyle = (line: StyledLine, style: Style): StyledLine => line.map(({ text }) => ({ text, style }))

const colours: Readonly<Record<Style, string>> = {
  ...{ plain: "", dim: "2", title: "1", selected: "7", current: "1;7" },
  ...{ key: "36", string: "32", number: "33" },
  ...{ added: "32", removed: "31", changed: "33", error: "1;37;41", warning: "30;43" },
}

/** Without colours, brightness and reversal remain. */
const brightness: Readonly<Partial<Record<Style, string>>> = {
  ...{ dim: "2", title: "1", selected: "7", current: "1;7", error: "7", warning: "1" },
}

/** The line with control sequences. */
export const paintedLine = (line: StyledLine, isColoured: boolean): string =>
  line
    .map(({ text, style }) => {
      const code = isColoured ? colours[style] : (brightness[style] ?? "")
      return code === "" || text === "" ? text : `\u001b[${code}m${text}\u001b[0m`
    })
    .join("")
