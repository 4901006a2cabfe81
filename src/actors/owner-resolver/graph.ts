/** The ownership facts in a recording's database, read while it is being written. */
import { openForReading, requireSoundTables, toArchiveError } from "../../archive/index.ts"
import { podKind } from "../../trace/index.ts"
import type { OwnerQuestion } from "../../wire/index.ts"
import type { OwnershipGraph } from "./resolver.ts"

/** Rows per read: the walk is never one long transaction, under which the log would grow (docs/reference/architecture.md#archive). */
const pageRows = 1000

/** Opens the database read-only. `isLast`: nothing asks the API server afterwards. @throws as `openForReading` does */
export const openOwnershipGraph = (
  directory: string,
  { isLast = false }: { readonly isLast?: boolean } = {},
): OwnershipGraph & { close(): void } => {
  const database = openForReading(directory)
  try {
    // Beside a recorder an owner that damage hides is looked up again; without one it stays unknown.
    if (isLast) requireSoundTables(database, directory, ["owner", "object", "pod"])
  } catch (error) {
    database.close()
    throw toArchiveError(directory, "read", error)
  }
  const answer = database.prepare(
    "SELECT namespace, owner_references, state FROM owner WHERE uid = ? AND gvk = ? AND state IN ('learnt', 'gone')",
  )
  const open = database.prepare(
    `SELECT uid, gvk, namespace, name FROM owner WHERE (uid, gvk) > (?, ?) AND state = 'open' ORDER BY uid, gvk LIMIT ${pageRows}`,
  )
  const objects = database.prepare(
    "SELECT uid, number FROM object WHERE kind = (SELECT id FROM kind WHERE gvk = ?) AND number > ? ORDER BY number",
  )
  const pod = database.prepare("SELECT 1 FROM pod WHERE uid = ?")
  /** By kind, the UIDs recorded and the number of the last of them, only for kinds of owners that are recorded in part. */
  const recorded = new Map<string, { readonly uids: Set<string>; last: number }>()

  return {
    answerOf: ({ uid, gvk }) => {
      const row = answer.get(uid, gvk)
      if (row === undefined) return undefined
      return {
        namespace: String(row.namespace),
        ownerReferences: String(row.owner_references),
        found: row.state === "learnt",
      }
    },
    isRecorded: ({ gvk, uid }) => {
      const known = recorded.get(gvk) ?? { uids: new Set<string>(), last: 0 }
      for (const row of objects.iterate(gvk, known.last)) {
        known.uids.add(String(row.uid))
        known.last = Number(row.number)
      }
      if (known.last > 0) recorded.set(gvk, known)
      return known.uids.has(uid) || (gvk === podKind && pod.get(uid) !== undefined)
    },
    *open() {
      for (let after: readonly [uid: string, gvk: string] = ["", ""]; ; ) {
        const rows = open.all(...after)
        for (const row of rows) yield asQuestion(row)
        const last = rows.at(-1)
        if (last === undefined || rows.length < pageRows) return
        after = [String(last.uid), String(last.gvk)]
      }
    },
    close: () => database.close(),
  }
}

const asQuestion = ({ uid, gvk, namespace, name }: Readonly<Record<string, unknown>>): OwnerQuestion => ({
  uid: String(uid),
  gvk: String(gvk),
  namespace: String(namespace),
  name: String(name),
})
