/** The ownership graph of a recording, read from its database while it is being written. */
import { openForReading } from "../../trace/archive/schema.ts"
import type { OwnershipGraph, RecordedOwners } from "./resolver.ts"

/** Rows read at once: the walk is never one long transaction, under which the log would grow (architecture §5). */
const pageRows = 1000

/** Opens the database read-only. @throws as `openForReading` does */
export const openOwnershipGraph = (directory: string): OwnershipGraph & { close(): void } => {
  const database = openForReading(directory)
  const one = database.prepare("SELECT namespace, owner_references, source FROM owner_edge WHERE uid = ?")
  const page = database.prepare(
    `SELECT uid, namespace, owner_references, source FROM owner_edge
      WHERE uid > ? AND owner_references <> '' ORDER BY uid LIMIT ${pageRows}`,
  )
  return {
    ownersOf: (uid) => {
      const row = one.get(uid)
      return row === undefined ? undefined : recorded(row)
    },
    *all() {
      for (let after = ""; ; ) {
        const rows = page.all(after)
        for (const row of rows) yield recorded(row)
        const last = rows.at(-1)
        if (last === undefined || rows.length < pageRows) return
        after = String(last.uid)
      }
    },
    close: () => database.close(),
  }
}

const recorded = (row: Readonly<Record<string, unknown>>): RecordedOwners => ({
  namespace: String(row.namespace),
  ownerReferences: String(row.owner_references),
  // The column holds what this program wrote.
  source: String(row.source) as RecordedOwners["source"],
})
