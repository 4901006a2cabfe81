/** Rows of objects, of which there are many, are checked once by a reader: afterwards only those that have been added. */
import type { DatabaseSync } from "node:sqlite"
import { CorruptArchiveError } from "../archive-errors.ts"
import { isSoundRow } from "../tables.ts"
import { faultOfTrees, wrongRows } from "./sound-rows.ts"

/**
 * Call it before a search among the names of objects, where a row that damage hides would not be missed. `known`: by kind, the number up to which rows were
 * found to be sound; it is brought up to date.
 *
 * @throws CorruptArchiveError, or what SQLite throws
 */
export const requireSoundObjects = (database: DatabaseSync, directory: string, known: Map<number, number>): void => {
  const grown = database
    .prepare("SELECT id, (SELECT max(number) FROM object WHERE kind = id) AS last FROM kind")
    .all()
    .map(({ id, last }) => ({ id: Number(id), last: Number(last ?? 0) }))
    .filter(({ id, last }) => last > (known.get(id) ?? 0))
  if (grown.length === 0) return
  const wrong = database.prepare(`
    SELECT count(*) AS rows FROM object WHERE kind = ? AND number > ? AND NOT (${isSoundRow("object")})`)
  let reason = faultOfTrees(database, "object")
  if (reason === undefined) {
    const rows = grown.reduce((sum, { id }) => sum + Number(wrong.get(id, known.get(id) ?? 0)?.rows), 0)
    if (rows > 0) reason = wrongRows("object", rows)
  }
  if (reason !== undefined) throw new CorruptArchiveError({ directory, reason })
  for (const { id, last } of grown) known.set(id, last)
}
