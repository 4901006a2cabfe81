/** How an object of one kind becomes a row of a table. */

import type { JsonObject } from "../../kinds/resources.ts"

/** `columnDefinitions` of meta.k8s.io, keys in the server's order. */
export interface ColumnDefinition {
  readonly name: string
  readonly type: string
  readonly format: string
  readonly description: string
  /** 0 is always shown; higher ones with `-o wide`. */
  readonly priority: number
}

export type Cell = string | number | boolean | null

/** `conditions` of a row, which mark Pods that have ended. */
export interface RowCondition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}

export interface Printer {
  readonly columns: ReadonlyArray<ColumnDefinition>
  /** As many cells as columns, the wide ones included. `now` in ms since the Unix epoch. */
  readonly cells: (object: JsonObject, now: number) => ReadonlyArray<Cell>
  readonly conditions?: (object: JsonObject) => ReadonlyArray<RowCondition>
  /** Whether the column at that index shows the object's status. */
  readonly showsStatus: (index: number) => boolean
}

/** The cells of an object whose status at the moment is not known. */
export const withoutStatusCells = ({ showsStatus }: Printer, cells: ReadonlyArray<Cell>): ReadonlyArray<Cell> =>
  cells.map((cell, index) => (showsStatus(index) ? "<unknown>" : cell))

/** The cells of a built-in kind. */
export type Cells = Printer["cells"]
