/** Whether two directories have the same recording, row for row: what a process keeps for itself is left out. */

import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { expect } from "vitest"
import { DATABASE_FILE, shippedTables } from "../../src/archive/index.ts"
import { shippedKeys } from "../../src/archive/shipping/delta.ts"

const rowsOf = (directory: string): Readonly<Record<string, ReadonlyArray<unknown>>> => {
  const database = new DatabaseSync(join(directory, DATABASE_FILE), { readOnly: true })
  try {
    return Object.fromEntries(
      shippedTables.map((table) => {
        const rows = database.prepare(`SELECT * FROM ${table} ORDER BY 1, 2`)
        rows.setReadBigInts(true)
        const all = rows.all().filter((row) => table !== "metadata" || shippedKeys.includes(String(row.key)))
        return [table, all]
      }),
    )
  } finally {
    database.close()
  }
}

export const expectSameRecording = (directory: string, original: string): void => {
  const [rows, expected] = [rowsOf(directory), rowsOf(original)]
  for (const table of shippedTables) expect(rows[table], table).toEqual(expected[table])
}
