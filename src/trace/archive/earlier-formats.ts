/** How recordings of earlier formats become what is written today, when somebody records on in them. */
import { OWNER_TABLES, POD_TABLES } from "./tables.ts"

/** What format 3 added: whether a kind's list was under way, and what of the kind is recorded. */
const COLUMNS_OF_FORMAT_3 = `
  ALTER TABLE kind ADD COLUMN list_reason TEXT NOT NULL DEFAULT '';
  ALTER TABLE kind ADD COLUMN selection TEXT NOT NULL DEFAULT '';
`

/** From one edge per object, under its UID, as formats 2 and 3 had them. */
const OWNERS_FROM_EDGES = `
  INSERT INTO owner_set (owner_references)
    SELECT DISTINCT owner_references FROM owner_edge WHERE source = 'recorded' AND owner_references <> '';
  CREATE INDEX owner_set_of_references ON owner_set (owner_references);
  UPDATE object SET owners = coalesce((
    SELECT id FROM owner_edge JOIN owner_set USING (owner_references)
    WHERE owner_edge.uid = object.uid AND source = 'recorded'), 0);
  DROP INDEX owner_set_of_references;
  INSERT INTO owner SELECT uid, gvk, namespace, name, owner_references, source FROM owner_edge WHERE source <> 'recorded';
  INSERT OR IGNORE INTO owner
    SELECT value ->> 'uid', (value ->> 'apiVersion') || '.' || (value ->> 'kind'), edge.namespace, value ->> 'name', '', 'open'
    FROM owner_edge AS edge, json_each(iif(json_valid(edge.owner_references), edge.owner_references, '[]')) AS reference
    WHERE reference.type = 'object'
      AND NOT EXISTS (SELECT 1 FROM owner_edge AS own WHERE own.uid = value ->> 'uid' AND own.source = 'recorded')
      AND value ->> 'uid' IS NOT NULL AND value ->> 'name' IS NOT NULL
      AND value ->> 'apiVersion' IS NOT NULL AND value ->> 'kind' IS NOT NULL;
  DROP TABLE owner_edge;
`

/** SQL that brings the tables of format `found` to those of today, inside a transaction. */
export const changesSince = (found: number): string => `
  ${found < 2 ? POD_TABLES : ""}
  ${found < 3 ? COLUMNS_OF_FORMAT_3 : ""}
  ${OWNER_TABLES}
  ALTER TABLE object ADD COLUMN owners INTEGER NOT NULL DEFAULT 0;
  ${found < 2 ? "" : OWNERS_FROM_EDGES}
`
