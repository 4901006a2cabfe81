/** The ownership graph of a recording, read from its database while it is being written. */
import { openForReading } from "../../trace/archive/schema.ts"
import type { OwnershipGraph, RecordedOwners } from "./resolver.ts"

/** Opens the database read-only. @throws as `openForReading` does */
export const openOwnershipGraph = (directory: string): OwnershipGraph & { close(): void } => {
  const database = openForReading(directory)
  const one = database.prepare("SELECT namespace, owner_references, source FROM owner_edge WHERE uid = ?")
  const all = database.prepare(
    "SELECT namespace, owner_references, source FROM owner_edge WHERE owner_references <> ''",
  )
  return {
    ownersOf: (uid) => {
      const row = one.get(uid)
      return row === undefined ? undefined : recorded(row)
    },
    *all() {
      for (const row of all.iterate()) yield recorded(row)
    },
    close: () => database.close(),
  }
}

const recorded = (row: Readonly<Record<string, unknown>>): RecordedOwners => ({
  namespace: String(row.namespace),
  ownerReferences: String(row.owner_references),
  isGone: row.source === "gone",
})
