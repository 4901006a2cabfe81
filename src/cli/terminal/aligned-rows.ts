/** Rows of text with their columns aligned. */
import { displayWidth } from "./display-width.ts"

/** One line for each row; columns are as wide as their widest cell, three spaces apart. */
export const alignedRows = (rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const widths = (rows[0] ?? []).map((_, column) =>
    rows.reduce((widest, row) => Math.max(widest, displayWidth(row[column] ?? "")), 0),
  )
  return rows.map((row) =>
    row
      .map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - displayWidth(cell)))
      .join("   ")
      .trimEnd(),
  )
}
