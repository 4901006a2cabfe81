/** Where what is on the screen, for terminals of any size. */

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
