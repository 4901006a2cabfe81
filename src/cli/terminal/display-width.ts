/**
 * The number of columns that a text takes on a terminal, and how to cut it to fit. Approximates what terminals agree on: East
 * Asian wide characters and emoji take two columns, combining marks and joiners none. A terminal that disagrees gets a line
 * that is a column too short or too long, never a broken character.
 */
import { visible } from "../../text/index.ts"

/** Blocks of wide characters (Unicode 17, East_Asian_Width W and F), merged where only unassigned code points are between them. */
const wideBlocks: ReadonlyArray<readonly [first: number, last: number]> = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe10, 0xfe19],
  [0xfe30, 0xfe6f],
  [0xff01, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x18d8f],
  [0x1b000, 0x1b2ff],
  [0x20000, 0x3fffd],
]

let segmenter: Intl.Segmenter | undefined

/** Made for the first text that is not ASCII: a segmenter takes 5 MB of locale data. */
const graphemes = (text: string): Intl.Segments => {
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" })
  return segmenter.segment(text)
}

/** Columns of a text without line breaks. */
export const displayWidth = (text: string): number => {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemes(text)) width += graphemeWidth(segment)
  return width
}

/** The longest prefix of a text that takes at most `columns`, with an ellipsis if something was cut off. */
export const cutToWidth = (text: string, columns: number): string => {
  if (displayWidth(text) <= columns) return text
  if (columns < 1) return ""
  let kept = ""
  let width = 1
  for (const { segment } of graphemes(text)) {
    width += graphemeWidth(segment)
    if (width > columns) break
    kept += segment
  }
  return `${kept}…`
}

const graphemeWidth = (grapheme: string): number => {
  const first = grapheme.codePointAt(0) ?? 0
  if (/^[\p{Mark}\p{Cc}\p{Cf}]/u.test(grapheme)) return 0
  // An emoji, or a symbol that a variation selector turns into one.
  if (/^\p{Emoji_Presentation}/u.test(grapheme) || grapheme.includes("\ufe0f")) return 2
  return wideBlocks.some(([from, to]) => first >= from && first <= to) ? 2 : 1
}

// Rows of text with their columns aligned.

/** One line for each row; columns are as wide as their widest cell, three spaces apart. Cells are made {@link visible}. */
export const alignedRows = (
  rows: ReadonlyArray<ReadonlyArray<string>>,
  isRightAligned: (column: number) => boolean = () => false,
): ReadonlyArray<string> => {
  const shown = rows.map((row) => row.map(visible))
  const widths = (shown[0] ?? []).map((_, column) =>
    shown.reduce((widest, row) => Math.max(widest, displayWidth(row[column] ?? "")), 0),
  )
  return shown.map((row) =>
    row
      .map((cell, column) => {
        const padding = " ".repeat((widths[column] ?? 0) - displayWidth(cell))
        return isRightAligned(column) ? padding + cell : cell + padding
      })
      .join("   ")
      .trimEnd(),
  )
}
