/**
 * Copies rows from the recording that is attached as `recording` into the copy of a window. Commits of the writer wait for each transaction, so a table that may be
 * large is copied in pages of at most {@link pageRows} rows: a page took 3 ms in the median and 7 at most, one statement for all of 300,000 owners 750.
 */
import type { DatabaseSync, SQLInputValue } from "node:sqlite"
import { prepare, type Statement } from "../tables/database.ts"
import { columnsOf, isSoundRow } from "../tables/tables.ts"

export const pageRows = 1000

/** How rows are copied. */
interface RowCopy {
  /** SQL of columns that are not copied as they are. */
  readonly changed?: Readonly<Record<string, string>>
  /** The end of the statement. */
  readonly end?: string
  /** Columns with BLOBs. */
  readonly blobs?: ReadonlyArray<string>
}

interface PagedCopy extends RowCopy {
  /** Of the rows that are copied, and `?1` and so on in it and in `changed`. Default: all rows. */
  readonly condition?: string
  readonly values?: ReadonlyArray<SQLInputValue>
  /** Less than the first column of each key. Default: less than each integer. */
  readonly lowest?: SQLInputValue
  /** Rows that are looked at in one transaction. Default {@link pageRows}. */
  readonly rows?: number
  /** Takes what the statement returned of each page. */
  readonly note?: (rows: ReadonlyArray<CopiedReference>) => void
}

/** The row that a copied row refers to. */
export interface CopiedReference {
  readonly id: number
}

/** Blobs come after all numbers and texts. */
const highest = Uint8Array.of(0)

/** Every method throws what SQLite throws. */
export class CopiedRows {
  readonly #copy: DatabaseSync

  constructor(copy: DatabaseSync) {
    this.#copy = copy
  }

  /** Copies the rows of a table for which a condition holds, other than damaged ones. */
  statement(
    table: string,
    condition: string,
    { changed = {}, end = "", blobs = [] }: RowCopy = {},
  ): Statement<CopiedReference> {
    const columns = [...columnsOf(table), ...blobs]
    const values = columns.map((column) => changed[column] ?? `${table}.${column}`)
    return prepare(
      this.#copy,
      `INSERT INTO main.${table} (${columns.join(", ")}) SELECT ${values.join(", ")} FROM recording.${table}
      WHERE (${condition}) AND ${isSoundRow(table)} ${end}`,
    )
  }

  /** Copies a table in the order of a key, which has an index. Yields after each page. */
  *pages(
    table: string,
    key: ReadonlyArray<string>,
    {
      condition = "1",
      values = [],
      lowest = Number.MIN_SAFE_INTEGER,
      rows = pageRows,
      note = () => undefined,
      ...row
    }: PagedCopy = {},
  ): Generator<void, void, void> {
    const columns = key.join(", ")
    const marks = (before: number): string => key.map((_, index) => `?${before + index + 1}`).join(", ")
    const last = prepare<Readonly<Record<string, SQLInputValue>>>(
      this.#copy,
      `SELECT ${columns} FROM recording.${table} WHERE (${columns}) > (${marks(0)}) ORDER BY ${columns} LIMIT 1 OFFSET ${rows - 1}`,
    )
    const [from, to] = [marks(values.length), marks(values.length + key.length)]
    const page = this.statement(table, `(${columns}) > (${from}) AND (${columns}) <= (${to}) AND (${condition})`, row)
    for (let after: ReadonlyArray<SQLInputValue> = key.map(() => lowest); ; ) {
      const found = last.get(...after)
      const through = found === undefined ? key.map(() => highest) : Object.values(found)
      this.transaction(() => note(page.all(...values, ...after, ...through)))
      yield
      if (found === undefined) return
      after = through
    }
  }

  /** Copies the rows with these IDs. Yields after each page. */
  *ofIds(table: string, ids: Iterable<number>): Generator<void, void, void> {
    const one = this.statement(table, "id = ?")
    const all = [...ids]
    for (let start = 0; start < all.length; start += pageRows) {
      this.transaction(() => {
        for (const id of all.slice(start, start + pageRows)) one.run(id)
      })
      yield
    }
  }

  transaction(write: () => void): void {
    this.#copy.exec("BEGIN")
    write()
    this.#copy.exec("COMMIT")
  }
}
