/**
 * Whether what a database returns is what was written: the checksums of its rows, and the structure of its trees.
 *
 * SQLite notices some damage to its pages and none to their content, and a row that a damaged page hides is simply not found. So small
 * tables are checked whole before anything of them is used (some ms), rows of large ones as they are read. BLOBs have checksums of their
 * own, which `block.ts` checks.
 */

import { DatabaseSync } from "node:sqlite"
import { crc32 } from "node:zlib"
import { CorruptArchiveError } from "../directory/archive-errors.ts"
import { type Connection, numberOf, prepare, rowsOf } from "./database.ts"
import { CHECKSUM_FUNCTION, isSoundRow, TABLES } from "./tables.ts"

/** Small tables on which everything else depends. */
export const CENTRAL_TABLES = [
  "metadata",
  "kind",
  "kind_namespace",
  "gap",
  "late_range",
  "block_kind",
  "retained",
] as const

/** All tables without BLOBs. */
export const TABLES_OF_ROWS = [
  ...CENTRAL_TABLES,
  ...["sender", "object", "pod", "pod_life", "owner_set", "former_owner_set", "owner"],
  ...["author", "pin"],
] as const

/** Rows that are many, and of which a damaged one costs no more than itself: checked as they are read. */
export const TABLES_OF_WRITES = ["audited_write"] as const

/** Tables with a BLOB in each row, whose pages make up nearly all of a recording. */
export const TABLES_OF_BLOBS = ["block", "checkpoint"] as const

/** Gives a connection the function with which rows are written and checked. */
export const addChecksumFunction = (database: DatabaseSync): void =>
  database.function(CHECKSUM_FUNCTION, { deterministic: true }, (text) => crc32(String(text)))

/**
 * What is wrong with a table, in words; `undefined` if nothing is. Reads all of it, with the pages and indexes that lead to its
 * rows.
 */
export const faultOfTable = (database: Connection, table: string): string | undefined => {
  const fault = faultOfTrees(database, table)
  if (fault !== undefined) return fault
  const wrong = numberOf(database, `SELECT count(*) AS value FROM ${table} WHERE NOT (${isSoundRow(table)})`)
  return wrong === 0 ? undefined : wrongRows(table, wrong)
}

/** What is wrong with the pages of a table and of its indexes; `undefined` if nothing is. */
const faultOfTrees = (database: Connection, table: string): string | undefined => {
  const first = checkOf(database, "integrity_check", table)
  return first === undefined ? undefined : `table ${table}: ${first}`
}

/** The first fault that a check of SQLite finds in a table; `undefined`: there is none. */
const checkOf = (database: Connection, check: "integrity_check" | "quick_check", table: string): string | undefined => {
  const fault = prepare<Readonly<Record<string, string>>>(database, `PRAGMA ${check}(${table})`).get()?.[check]
  return fault === "ok" ? undefined : fault
}

const wrongRows = (table: string, rows: number): string =>
  `table ${table}: ${rows} ${rows === 1 ? "row has" : "rows have"} a wrong checksum`

/** @throws CorruptArchiveError, or what SQLite throws */
export const requireSoundTables = (database: Connection, directory: string, tables: ReadonlyArray<string>): void => {
  for (const table of tables) {
    const reason = faultOfTable(database, table)
    if (reason !== undefined) throw new CorruptArchiveError({ directory, reason })
  }
}

/** Whether rows of objects may be hidden by damage. @throws CorruptArchiveError, or what SQLite throws */
export const requireSoundObjectTrees = (database: Connection, directory: string): void => {
  const reason = faultOfTrees(database, "object")
  if (reason !== undefined) throw new CorruptArchiveError({ directory, reason })
}

/**
 * Rows of objects, of which there are many, are checked once by a reader: afterwards only those that have been added. Call it before a
 * search among the names of objects, where a row that damage hides would not be missed. `known`: by kind, the number up to which rows were
 * found to be sound; it is brought up to date.
 *
 * @throws CorruptArchiveError, or what SQLite throws
 */
export const requireSoundObjects = (database: Connection, directory: string, known: Map<number, number>): void => {
  const grown = rowsOf<{ readonly id: number; readonly last: number }>(
    database,
    "SELECT id, coalesce((SELECT max(number) FROM object WHERE kind = id), 0) AS last FROM kind",
  ).filter(({ id, last }) => last > (known.get(id) ?? 0))
  if (grown.length === 0) return
  const wrong = `SELECT count(*) AS value FROM object WHERE kind = ? AND number > ? AND NOT (${isSoundRow("object")})`
  requireSoundObjectTrees(database, directory)
  const rows = grown.reduce((sum, { id }) => sum + numberOf(database, wrong, id, known.get(id) ?? 0), 0)
  if (rows > 0) throw new CorruptArchiveError({ directory, reason: wrongRows("object", rows) })
  for (const { id, last } of grown) known.set(id, last)
}

/**
 * The structure of the tables with BLOBs, for which all of a recording is read, a second for each GB. Damage inside a BLOB is confined to
 * it; a damaged tree would be damaged further by whatever is added to it.
 *
 * @throws CorruptArchiveError, or what SQLite throws
 */
export const requireSoundStructure = (database: Connection, directory: string): void => {
  for (const table of [...TABLES_OF_BLOBS, ...TABLES_OF_WRITES]) {
    const reason = faultOfStructure(database, table)
    if (reason !== undefined) throw new CorruptArchiveError({ directory, reason })
  }
}

/** What is wrong with the pages of a table whose rows are checked elsewhere; `undefined` if nothing is. */
export const faultOfStructure = (database: Connection, table: string): string | undefined => {
  const fault = checkOf(database, "quick_check", table)
  return fault === undefined ? undefined : `table ${table}: ${fault}`
}

/** The definitions of a database's tables and indexes, and where each begins. */
const definitionsOf = (database: Connection): string =>
  rowsOf<Readonly<Record<"name" | "tbl_name" | "sql", string>>>(
    database,
    "SELECT name, tbl_name, sql FROM sqlite_schema ORDER BY name",
  )
    .map(({ name, tbl_name, sql }) => `${name} ${tbl_name} ${sql}`)
    .join("\n")

let expected: string | undefined

const expectedDefinitions = (): string => {
  if (expected !== undefined) return expected
  const empty = new DatabaseSync(":memory:")
  try {
    addChecksumFunction(empty)
    empty.exec(TABLES)
    expected = definitionsOf(empty)
    return expected
  } finally {
    empty.close()
  }
}

/**
 * A changed letter in a definition changes what a query means.
 *
 * @throws CorruptArchiveError, or what SQLite throws
 */
export const requireDefinitions = (database: Connection, directory: string): void => {
  if (definitionsOf(database) !== expectedDefinitions())
    throw new CorruptArchiveError({ directory, reason: "the definitions of its tables are not those of its format" })
}
