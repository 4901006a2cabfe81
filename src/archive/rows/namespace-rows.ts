/** The progress of each namespace of a kind that is watched namespace by namespace: a row each. Kinds watched as a whole have no rows. */
import type { DatabaseSync, StatementSync } from "node:sqlite"
import { isSameProgress, type NamespaceListReason, type NamespaceProgress } from "../../wire/namespace-progress.ts"
import type { Observations } from "../../wire/observations.ts"

export interface RecordedNamespace extends NamespaceProgress {
  /** µs since the Unix epoch at which its first list was complete; 0 before. */
  readonly recordedSince: number
}

/**
 * A kind's namespaces after a frame. `completedAt`: µs, for those whose first list it completes. Returns the same array if nothing has
 * changed.
 */
export const advanceNamespaces = (
  before: ReadonlyArray<RecordedNamespace>,
  frame: Observations,
  completedAt: number,
): ReadonlyArray<RecordedNamespace> => {
  if (frame.namespaceCount === 0 && frame.leftNamespaces.length === 0) return before
  const namespaces = new Map(before.map((each) => [each.namespace, each]))
  for (const namespace of frame.leftNamespaces) namespaces.delete(namespace)
  for (let index = 0; index < frame.namespaceCount; index++) {
    const progress = frame.namespace(index)
    const since = namespaces.get(progress.namespace)?.recordedSince ?? 0
    const recordedSince = since === 0 && progress.completeThrough !== "" ? completedAt : since
    namespaces.set(progress.namespace, { ...progress, recordedSince })
  }
  return [...namespaces.values()]
}

/** Writes rows that differ from the stored ones. */
export class NamespaceRows {
  readonly #put: StatementSync
  readonly #delete: StatementSync
  /** By kind, as in the database once {@link markSaved} was called. */
  readonly #stored: Map<number, ReadonlyArray<RecordedNamespace>>
  readonly #saved = new Map<number, ReadonlyArray<RecordedNamespace>>()

  constructor(database: DatabaseSync, stored: ReadonlyMap<number, ReadonlyArray<RecordedNamespace>>) {
    this.#stored = new Map(stored)
    this.#put = database.prepare(`
      INSERT OR REPLACE INTO kind_namespace (kind, namespace, complete_through, complete_time, list_reason, recorded_since)
      VALUES (?, ?, ?, ?, ?, ?)`)
    this.#delete = database.prepare("DELETE FROM kind_namespace WHERE kind = ? AND namespace = ?")
  }

  /** Inside the commit's transaction. */
  save(kind: number, namespaces: ReadonlyArray<RecordedNamespace>): void {
    const stored = new Map(this.#stored.get(kind)?.map((each) => [each.namespace, each]))
    for (const each of namespaces) {
      const before = stored.get(each.namespace)
      stored.delete(each.namespace)
      if (before !== undefined && isSameProgress(before, each) && before.recordedSince === each.recordedSince) continue
      const { namespace, completeThrough, completeTime, listReason, recordedSince } = each
      this.#put.run(kind, namespace, completeThrough, completeTime, listReason, recordedSince)
    }
    for (const namespace of stored.keys()) this.#delete.run(kind, namespace)
    this.#saved.set(kind, namespaces)
  }

  /** After the commit. */
  markSaved(): void {
    for (const [kind, namespaces] of this.#saved) this.#stored.set(kind, namespaces)
    this.#saved.clear()
  }
}

/** The rows of every kind, as committed, by the kind's number. */
export const readNamespaces = (database: DatabaseSync): ReadonlyMap<number, ReadonlyArray<RecordedNamespace>> => {
  const namespaces = new Map<number, Array<RecordedNamespace>>()
  for (const row of database.prepare("SELECT * FROM kind_namespace ORDER BY kind, namespace").all()) {
    const kind = Number(row.kind)
    if (!namespaces.has(kind)) namespaces.set(kind, [])
    namespaces.get(kind)?.push({
      namespace: String(row.namespace),
      completeThrough: String(row.complete_through),
      completeTime: Number(row.complete_time),
      // The column was checked when the frame arrived.
      listReason: String(row.list_reason) as NamespaceListReason,
      recordedSince: Number(row.recorded_since),
    })
  }
  return namespaces
}
