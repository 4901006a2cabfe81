/**
 * Whether what a database returns is what was written: the checksums of its rows, and the structure of its trees.
 *
 * SQLite notices some damage to its pages and none to their content, and a row that a damaged page hides is simply not found. So small
 * tables are checked whole before anything of them is used (some ms), rows of large ones as they are read. BLOBs have checksums of their
 * own, which `block.ts` checks.
 */
import { DatabaseSync } from "node:sqlite"
import { crc32 } from "node:zlib"
import { CorruptArchiveError } from "../archive-errors.ts"
import { CHECKSUM_FUNCTION, hasRightChecksum, TABLES, tablesOf } from "../tables.ts"

/** The format without checksums of rows. */
const FORMAT_WITHOUT_CHECKSUMS = 6

/** The last format without retention. */
const FORMAT_WITHOUT_RETENTION = 7

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

/** Those that the format of a database has. */
export const centralTables = (database: DatabaseSync): ReadonlyArray<string> =>
  CENTRAL_TABLES.filter((table) => table !== "retained" || hasRetention(database))

/** Whether rows of the format of a database have checksums, and checkpoints name the one before. */
export const hasChecksums = (database: DatabaseSync): boolean => formatOf(database) !== FORMAT_WITHOUT_CHECKSUMS

/** Whether the format of a database has retention. */
export const hasRetention = (database: DatabaseSync): boolean => formatOf(database) > FORMAT_WITHOUT_RETENTION

/** All tables without BLOBs. */
export const TABLES_OF_ROWS = [
  ...CENTRAL_TABLES,
  ...["sender", "object", "pod", "pod_life", "owner_set", "former_owner_set", "owner"],
] as const

/** Those that the format of a database has. */
export const tablesOfRows = (database: DatabaseSync): ReadonlyArray<(typeof TABLES_OF_ROWS)[number]> =>
  TABLES_OF_ROWS.filter((table) => table !== "retained" || hasRetention(database))

/** Tables with a BLOB in each row, whose pages make up nearly all of a recording. */
export const TABLES_OF_BLOBS = ["block", "checkpoint"] as const

/** Gives a connection the function with which rows are written and checked. */
export const addChecksumFunction = (database: DatabaseSync): void =>
  database.function(CHECKSUM_FUNCTION, { deterministic: true }, (text) => crc32(text as string))

/** SQL that is 1 for a row as it was written. Rows of format 6 have no checksum. */
export const isSoundRow = (database: DatabaseSync, table: string, name = table): string =>
  formatOf(database) === FORMAT_WITHOUT_CHECKSUMS ? "1" : hasRightChecksum(table, name, formatOf(database))

/** `PRAGMA user_version`. */
export const formatOf = (database: DatabaseSync): number =>
  Number(database.prepare("PRAGMA user_version").get()?.user_version)

/**
 * What is wrong with a table, in words; `undefined` if nothing is. Reads all of it, with the pages and indexes that lead to its
 * rows.
 */
export const faultOfTable = (database: DatabaseSync, table: string): string | undefined => {
  const fault = faultOfTrees(database, table)
  if (fault !== undefined) return fault
  const wrong = Number(
    database.prepare(`SELECT count(*) AS rows FROM ${table} WHERE NOT (${isSoundRow(database, table)})`).get()?.rows,
  )
  return wrong === 0 ? undefined : wrongRows(table, wrong)
}

/** What is wrong with the pages of a table and of its indexes; `undefined` if nothing is. */
export const faultOfTrees = (database: DatabaseSync, table: string): string | undefined => {
  const first = database.prepare(`PRAGMA integrity_check(${table})`).get()?.integrity_check
  return first === "ok" ? undefined : `table ${table}: ${first}`
}

/** In words. */
export const wrongRows = (table: string, rows: number): string =>
  `table ${table}: ${rows} ${rows === 1 ? "row has" : "rows have"} a wrong checksum`

/** @throws CorruptArchiveError, or what SQLite throws */
export const requireSoundTables = (database: DatabaseSync, directory: string, tables: ReadonlyArray<string>): void => {
  for (const table of tables) {
    const reason = faultOfTable(database, table)
    if (reason !== undefined) throw new CorruptArchiveError({ directory, reason })
  }
}

/**
 * The structure of the tables with BLOBs, for which all of a recording is read, a second for each GB. Damage inside a BLOB is confined to
 * it; a damaged tree would be damaged further by whatever is added to it.
 *
 * @throws CorruptArchiveError, or what SQLite throws
 */
export const requireSoundStructure = (database: DatabaseSync, directory: string): void => {
  for (const table of TABLES_OF_BLOBS) {
    const reason = faultOfStructure(database, table)
    if (reason !== undefined) throw new CorruptArchiveError({ directory, reason })
  }
}

/** What is wrong with the pages of a table whose rows are checked elsewhere; `undefined` if nothing is. */
export const faultOfStructure = (database: DatabaseSync, table: string): string | undefined => {
  const fault = database.prepare(`PRAGMA quick_check(${table})`).get()?.quick_check
  return fault === "ok" ? undefined : `table ${table}: ${fault}`
}

/** The definitions of a database's tables and indexes, and where each begins. */
const definitionsOf = (database: DatabaseSync): string =>
  database
    .prepare("SELECT name, tbl_name, sql FROM sqlite_schema ORDER BY name")
    .all()
    .map(({ name, tbl_name, sql }) => `${name} ${tbl_name} ${sql}`)
    .join("\n")

const expected = new Map<string, string>()

const expectedDefinitions = (tables: string): string => {
  const known = expected.get(tables)
  if (known !== undefined) return known
  const empty = new DatabaseSync(":memory:")
  try {
    addChecksumFunction(empty)
    empty.exec(tables)
    const definitions = definitionsOf(empty)
    expected.set(tables, definitions)
    return definitions
  } finally {
    empty.close()
  }
}

/**
 * A changed letter in a definition changes what a query means, and a changed format number would turn the checks off.
 *
 * @throws CorruptArchiveError, or what SQLite throws
 */
export const requireDefinitions = (database: DatabaseSync, directory: string): void => {
  const definitions = definitionsOf(database)
  const format = formatOf(database)
  const tables = format === FORMAT_WITHOUT_RETENTION ? tablesOf(FORMAT_WITHOUT_RETENTION) : TABLES
  const isOldest = format === FORMAT_WITHOUT_CHECKSUMS
  if (isOldest ? definitions.includes(CHECKSUM_FUNCTION) : definitions !== expectedDefinitions(tables)) {
    throw new CorruptArchiveError({ directory, reason: "the definitions of its tables are not those of its format" })
  }
}
