/** Rows of text with their columns aligned. */
import { visible } from "../../text/index.ts"
import { displayWidth } from "./display-width.ts"

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
