/**
 * How recordings of earlier formats become what is written today, when somebody records on in them.
 *
 * Everything happens in the one transaction of the caller: a process that ends meanwhile leaves the recording as it was. Time and not
 * memory is what it takes, some 20 s for a million objects: work goes from one range of keys to the next, and tells how far it is.
 */
import type { DatabaseSync } from "node:sqlite"
import { OWNER_TABLES, POD_TABLES } from "./tables.ts"

/** What format 3 added: whether a kind's list was under way, and what of the kind is recorded. */
const COLUMNS_OF_FORMAT_3 = `
  ALTER TABLE kind ADD COLUMN list_reason TEXT NOT NULL DEFAULT '';
  ALTER TABLE kind ADD COLUMN selection TEXT NOT NULL DEFAULT '';
`

/** Objects got a reference to what their ownerReferences say. */
const OWNERS_OF_FORMAT_4 = `
  ${OWNER_TABLES}
  ALTER TABLE object ADD COLUMN owners INTEGER NOT NULL DEFAULT 0;
`

/** Formats 2 and 3 had one edge per object, under its UID. Many objects say the same, which is told once from here on. */
const DIFFERENT_SETS = `
  INSERT OR IGNORE INTO earlier_set SELECT DISTINCT owner_references, namespace FROM owner_edge
  WHERE uid > ? AND uid <= ? AND source = 'recorded' AND owner_references <> ''
`

const SETS_OF_OBJECTS = `
  UPDATE object SET owners = coalesce((
    SELECT id FROM owner_edge JOIN owner_set USING (owner_references)
    WHERE owner_edge.uid = object.uid AND source = 'recorded'), 0)
  WHERE kind = ? AND number > ? AND number <= ?
`

/** Owners that nobody knows. A recorded object is no question; what is no reference, or no JSON, names nobody. */
const openOwners = (edges: string): string => `
  INSERT OR IGNORE INTO owner
    SELECT value ->> 'uid', (value ->> 'apiVersion') || '.' || (value ->> 'kind'), edge.namespace, value ->> 'name', '', 'open'
    FROM (${edges}) AS edge, json_each(iif(json_valid(edge.owner_references), edge.owner_references, '[]')) AS reference
    WHERE reference.type = 'object'
      AND NOT EXISTS (SELECT 1 FROM owner_edge AS own WHERE own.uid = value ->> 'uid' AND own.source = 'recorded')
      AND value ->> 'uid' IS NOT NULL AND value ->> 'name' IS NOT NULL
      AND value ->> 'apiVersion' IS NOT NULL AND value ->> 'kind' IS NOT NULL
`

/** Rows between two reports: a tenth of a second. */
const rangeRows = 10_000

/** KiB of pages that are kept while UIDs are looked up in no order; SQLite's 2 MB sends each look-up to the system. */
const cacheKibibytes = 65_536

/** Shares of the time, of a million pods. */
const setsShare = 0.25
const objectsShare = 0.7

/**
 * Brings the tables of format `found` to those of today, inside a transaction. `progress` is told the share that is done, from 0 to
 * 1, before it begins, some ten times a second, and when all is done.
 */
export const extendTables = (database: DatabaseSync, found: number, progress: (share: number) => void): void => {
  progress(0)
  if (found < 2) database.exec(POD_TABLES)
  if (found < 3) database.exec(COLUMNS_OF_FORMAT_3)
  database.exec(OWNERS_OF_FORMAT_4)
  if (found >= 2) withCache(database, () => ownersFromEdges(database, progress))
  progress(1)
}

const withCache = (database: DatabaseSync, work: () => void): void => {
  const before = Number(database.prepare("PRAGMA cache_size").get()?.cache_size)
  database.exec(`PRAGMA cache_size = -${cacheKibibytes}`)
  try {
    work()
  } finally {
    database.exec(`PRAGMA cache_size = ${before}`)
  }
}

const ownersFromEdges = (database: DatabaseSync, progress: (share: number) => void): void => {
  database.exec(
    "CREATE TABLE earlier_set (owner_references TEXT PRIMARY KEY, namespace TEXT NOT NULL) STRICT, WITHOUT ROWID",
  )
  gatherSets(database, (share) => progress(setsShare * share))
  database.exec(`
    INSERT INTO owner_set (owner_references) SELECT owner_references FROM earlier_set;
    CREATE INDEX owner_set_of_references ON owner_set (owner_references);
  `)
  referToSets(database, (share) => progress(setsShare + objectsShare * share))
  database.exec(`
    DROP INDEX owner_set_of_references;
    INSERT INTO owner SELECT uid, gvk, namespace, name, owner_references, source FROM owner_edge WHERE source <> 'recorded';
    ${openOwners("SELECT owner_references, namespace FROM earlier_set")};
    ${openOwners("SELECT owner_references, namespace FROM owner_edge WHERE source <> 'recorded'")};
    DROP TABLE earlier_set;
    DROP TABLE owner_edge;
  `)
}

const gatherSets = (database: DatabaseSync, progress: (share: number) => void): void => {
  const total = Number(database.prepare("SELECT count(*) AS rows FROM owner_edge").get()?.rows)
  const last = database.prepare(`SELECT max(uid) AS uid FROM (
    SELECT uid FROM owner_edge WHERE uid > ? ORDER BY uid LIMIT ${rangeRows})`)
  const gather = database.prepare(DIFFERENT_SETS)
  let after = ""
  for (let done = 0; done < total; done += rangeRows) {
    const until = last.get(after)?.uid
    // No object is without a UID.
    if (typeof until !== "string") return
    gather.run(after, until)
    after = until
    progress(Math.min(1, (done + rangeRows) / total))
  }
}

const referToSets = (database: DatabaseSync, progress: (share: number) => void): void => {
  const kinds = database
    .prepare("SELECT kind, max(number) AS last, count(*) AS rows FROM object GROUP BY kind")
    .all()
    .map(({ kind, last, rows }) => ({ kind: Number(kind), last: Number(last), rows: Number(rows) }))
  const total = kinds.reduce((sum, { rows }) => sum + rows, 0)
  const refer = database.prepare(SETS_OF_OBJECTS)
  let done = 0
  for (const { kind, last, rows } of kinds) {
    // Numbers are given one after another, so few are missing.
    for (let number = 0; number < last; number += rangeRows) {
      refer.run(kind, number, number + rangeRows)
      progress((done + rows * Math.min(1, (number + rangeRows) / last)) / total)
    }
    done += rows
  }
}
