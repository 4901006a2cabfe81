/** The difference of two structs as the server appends it to a message: a unified diff of their indented JSON. */

import { GoStruct, goJson } from "./go-value.ts"

/** Lines of context around a change. */
const context = 3

/** One blank a level, as `json.MarshalIndent` is called. */
const indented = (value: unknown, depth: number): string => {
  const [outer, inner] = [" ".repeat(depth), " ".repeat(depth + 1)]
  const block = (open: string, members: ReadonlyArray<string>, close: string): string =>
    members.length === 0
      ? open + close
      : `${open}\n${members.map((line) => inner + line).join(",\n")}\n${outer}${close}`
  if (Array.isArray(value))
    return block(
      "[",
      value.map((item) => indented(item, depth + 1)),
      "]",
    )
  const members =
    value instanceof GoStruct
      ? value.fields
      : typeof value === "object" && value !== null
        ? Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1))
        : undefined
  if (members === undefined) return goJson(value)
  return block(
    "{",
    members.map(([name, member]) => `${goJson(name)}: ${indented(member, depth + 1)}`),
    "}",
  )
}

interface Line {
  readonly sign: " " | "-" | "+"
  readonly text: string
}

/** By a longest common subsequence; of one change, what went comes before what came. */
const compared = (before: ReadonlyArray<string>, after: ReadonlyArray<string>): ReadonlyArray<Line> => {
  const width = after.length + 1
  const common = new Uint32Array((before.length + 1) * width)
  const at = (row: number, column: number): number => common[row * width + column] ?? 0
  for (let row = before.length - 1; row >= 0; row--)
    for (let column = after.length - 1; column >= 0; column--)
      common[row * width + column] =
        before[row] === after[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1))
  const lines: Line[] = []
  let [row, column] = [0, 0]
  while (row < before.length || column < after.length) {
    const [old = "", fresh = ""] = [before[row], after[column]]
    if (row < before.length && column < after.length && old === fresh) {
      lines.push({ sign: " ", text: old })
      row++
      column++
    } else if (row < before.length && (column === after.length || at(row + 1, column) >= at(row, column + 1))) {
      lines.push({ sign: "-", text: old })
      row++
    } else {
      lines.push({ sign: "+", text: fresh })
      column++
    }
  }
  return lines
}

/** Lines of both files between which a hunk runs, as unified diffs number them. */
const range = (start: number, count: number): string => {
  if (count === 1) return String(start + 1)
  return `${count === 0 ? start : start + 1},${count}`
}

/** From `before` to `after`, with a line feed at the end; empty if they print alike. */
export const structDiff = (before: GoStruct, after: GoStruct): string => {
  const lines = compared(indented(before, 0).split("\n"), indented(after, 0).split("\n"))
  const near = lines.map((_line, index) =>
    lines.slice(Math.max(0, index - context), index + context + 1).some(({ sign }) => sign !== " "),
  )
  let [text, old, fresh] = ["", 0, 0]
  for (let start = 0; start < lines.length; ) {
    let end = start
    while (end < lines.length && near[end] === near[start]) end++
    const hunk = lines.slice(start, end)
    const [gone, come] = [
      hunk.filter(({ sign }) => sign !== "+").length,
      hunk.filter(({ sign }) => sign !== "-").length,
    ]
    if (near[start] === true)
      text += `@@ -${range(old, gone)} +${range(fresh, come)} @@\n${hunk.map((line) => `${line.sign}${line.text}\n`).join("")}`
    old += gone
    fresh += come
    start = end
  }
  return text
}
