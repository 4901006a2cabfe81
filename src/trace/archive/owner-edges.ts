/**
 * Who owns whom: one row for each object whose owners are known, found by the object's UID.
 *
 * `recorded`: read in an object of the recording; it has the last word. `learnt`: asked of the API server because the object is not
 * recorded. `gone`: asked for, and the server had no object of that name with that UID: nothing more will be learnt.
 * A recorded object without owners has a row too, so that "has none" can be told from "nobody knows yet".
 */

import type { DatabaseSync, StatementSync } from "node:sqlite"
import { type OwnerReference, parseOwnerReferences } from "../owner-references.ts"
import { toArchiveError } from "./archive-errors.ts"
import { hasTable } from "./schema.ts"

/** How an edge came to be known. */
export type OwnerEdgeSource = "recorded" | "learnt" | "gone"

/** What is known of one object's owners. */
export interface OwnerEdge {
  /** `apps/v1.ReplicaSet` */
  readonly gvk: string
  /** The empty string for cluster-scoped objects. */
  readonly namespace: string
  readonly name: string
  /** Empty when it has none, and when it is gone. */
  readonly ownerReferences: ReadonlyArray<OwnerReference>
  readonly source: OwnerEdgeSource
}

/** An edge as it is stored. */
export interface StoredOwnerEdge {
  readonly uid: string
  readonly gvk: string
  readonly namespace: string
  readonly name: string
  /** The JSON array; the empty string for none. */
  readonly ownerReferences: string
  readonly source: OwnerEdgeSource
  /** µs since the Unix epoch: when it was observed or answered. */
  readonly time: number
}

/** Looks edges up through one database connection, also while they are being written. */
export class OwnerEdges {
  readonly #directory: string
  readonly #select: StatementSync | undefined

  /** A recording of format 1 has no edges. */
  constructor(database: DatabaseSync, directory: string) {
    this.#directory = directory
    this.#select = hasTable(database, "owner_edge")
      ? database.prepare("SELECT gvk, namespace, name, owner_references, source FROM owner_edge WHERE uid = ?")
      : undefined
  }

  /**
   * What is known now of the object with that UID; `undefined` if nothing is.
   *
   * @throws ArchiveIoError, CorruptArchiveError
   */
  ownersOf(uid: string): OwnerEdge | undefined {
    if (this.#select === undefined) return undefined
    let row: ReturnType<StatementSync["get"]>
    try {
      row = this.#select.get(uid)
    } catch (error) {
      throw toArchiveError(this.#directory, "read", error)
    }
    if (row === undefined) return undefined
    return {
      gvk: String(row.gvk),
      namespace: String(row.namespace),
      name: String(row.name),
      ownerReferences: parseOwnerReferences(String(row.owner_references)),
      // The column holds what this program wrote.
      source: String(row.source) as OwnerEdgeSource,
    }
  }
}

/** Prepares the statements that store edges; run what it answers inside the commit's transaction. */
export const ownerEdgeWriter = (database: DatabaseSync): ((edge: StoredOwnerEdge) => void) => {
  const columns = "(uid, gvk, namespace, name, owner_references, source, time) VALUES (?, ?, ?, ?, ?, ?, ?)"
  const update = `gvk = excluded.gvk, namespace = excluded.namespace, name = excluded.name,
    owner_references = excluded.owner_references, source = excluded.source, time = excluded.time`
  const statements: Readonly<Record<OwnerEdgeSource, StatementSync>> = {
    // Pods of a tracked kind are told of twice, by their first event and by their first life record.
    recorded: database.prepare(`
      INSERT INTO owner_edge ${columns} ON CONFLICT (uid) DO UPDATE SET ${update}
      WHERE owner_references <> excluded.owner_references OR source <> 'recorded'`),
    learnt: database.prepare(`
      INSERT INTO owner_edge ${columns} ON CONFLICT (uid) DO UPDATE SET ${update} WHERE source <> 'recorded'`),
    gone: database.prepare(`INSERT INTO owner_edge ${columns} ON CONFLICT (uid) DO NOTHING`),
  }
  return ({ uid, gvk, namespace, name, ownerReferences, source, time }) => {
    statements[source].run(uid, gvk, namespace, name, ownerReferences, source, time)
  }
}
