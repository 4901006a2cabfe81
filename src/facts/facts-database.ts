/**
 * Facts in DuckDB: the table `changes` and {@link views} of it.
 *
 * Guarantee: a question is one statement that reads. It sees these files, and no other file, no network and no extension that is not in the package; its
 * settings cannot be changed. DuckDB is an optional package, which is loaded when it is asked for.
 */
import type * as DuckDB from "@duckdb/node-api"
import { messageOf } from "../message-of.ts"
import { columns, type Form } from "./fact.ts"
import { FactsError } from "./facts-errors.ts"
import type { FactsRange } from "./facts-files.ts"
import { views } from "./views.ts"

/** An answer, as it comes: values as JSON has them, times in RFC 3339, integers beyond 2^53 as texts. */
interface SqlAnswer {
  readonly columns: ReadonlyArray<{ readonly name: string; readonly isNumber: boolean }>
  readonly rows: AsyncGenerator<ReadonlyArray<ReadonlyArray<DuckDB.Json>>, void, void>
}

/** Types in DuckDB, for a table without files. */
const sqlTypes: Readonly<Record<Form, string>> = {
  ...{ time: "TIMESTAMPTZ", text: "VARCHAR", integer: "BIGINT", number: "DOUBLE", texts: "VARCHAR[]" },
}

const nothing = Object.entries(columns).map(([name, form]) => `NULL::${sqlTypes[form]} AS ${name}`)

/** Of a file's own two folders. Folders above them may be called `name=prod`, which DuckDB would take for the column `name`. */
const partOf = (group: number): string => `regexp_extract(filename, '/cluster=([^/]*)/day=([^/]*)/[^/]*$', ${group})`

const sourceOf = (list: string): string =>
  list === "[]"
    ? `(SELECT ${nothing.join(", ")}, NULL::VARCHAR AS cluster, NULL::DATE AS day WHERE false)`
    : `(SELECT * EXCLUDE (filename), ${partOf(1)} AS cluster, ${partOf(2)}::DATE AS day
        FROM read_parquet(${list}, union_by_name = true, hive_partitioning = false, filename = true))`

/** Facts that can be asked. Rejections are FactsErrors. */
export interface FactsDatabase {
  readonly ask: (question: string) => Promise<SqlAnswer>
  readonly close: () => void
}

interface OpenFactsOptions {
  /** Ends questions. */
  readonly signal?: AbortSignal
  /** Loads the package, by a name that bundlers cannot see. Default `import()`. */
  readonly importing?: (name: string) => Promise<unknown>
}

/** `files`: paths. Rejects with a FactsError. */
export const openFacts = async (
  files: ReadonlyArray<string>,
  { from, to }: Pick<FactsRange, "from" | "to">,
  { signal, importing = (name) => import(name) }: OpenFactsOptions = {},
): Promise<FactsDatabase> => {
  const loaded = await importing("@duckdb/node-api").catch((error: unknown) => {
    const reason = `reel sql needs the package @duckdb/node-api, which cannot be loaded: ${messageOf(error).split("\n")[0]}`
    throw new FactsError({ fault: "package", reason })
  })
  // The types are those of the package with this name.
  const duckDb = loaded as typeof DuckDB
  const settings = { autoinstall_known_extensions: "false", autoload_known_extensions: "false" }
  const instance = await duckDb.DuckDBInstance.create(":memory:", settings)
  const connection = await instance.connect()
  const interrupt = (): void => connection.interrupt()
  signal?.addEventListener("abort", interrupt)
  const close = (): void => {
    signal?.removeEventListener("abort", interrupt)
    connection.closeSync()
    instance.closeSync()
  }
  const list = `[${files.map((file) => `'${file.replaceAll("'", "''")}'`).join(", ")}]`
  const within = `time >= make_timestamptz(${from}) AND time <= make_timestamptz(${to})`
  for (const statement of [
    "SET TimeZone = 'UTC'",
    // A view is checked when it is made, for which all files would be opened once more for each of them.
    `CREATE VIEW changes AS SELECT * FROM ${sourceOf("[]")}`,
    ...Object.entries(views).map(([name, question]) => `CREATE VIEW ${name} AS ${question}`),
    `CREATE OR REPLACE VIEW changes AS SELECT * FROM ${sourceOf(list)} WHERE ${within}`,
    // From here on nothing else is read, and nothing of this can be taken back.
    ...[`SET allowed_paths = ${list}`, "SET enable_external_access = false", "SET lock_configuration = true"],
  ])
    await connection.run(statement).catch((error: unknown) => {
      close()
      throw refused(error)
    })
  return {
    close,
    ask: (question) => asked(duckDb, connection, question, signal).catch((error) => Promise.reject(refused(error))),
  }
}

const isExact = (type: string | undefined, value: number): boolean =>
  Number.isSafeInteger(value) || type?.includes("INT") !== true

const refused = (error: unknown): FactsError => new FactsError({ fault: "question", reason: messageOf(error) })

const asked = async (
  { StatementType, DuckDBTypeId }: typeof DuckDB,
  connection: DuckDB.DuckDBConnection,
  question: string,
  signal: AbortSignal | undefined,
): Promise<SqlAnswer> => {
  const statements = await connection.extractStatements(question).catch((error: unknown) => {
    // What DuckDB says if there is nothing but space and comments.
    throw messageOf(error) === "Error in native callback" ? new Error("there is no question") : error
  })
  if (statements.count !== 1 && /\bpivot\b/i.test(question))
    throw new Error("PIVOT needs the values that become columns: PIVOT … ON column IN ('one', 'other') USING …")
  if (statements.count !== 1) throw new Error(`one statement is expected, and there are ${statements.count}`)
  const statement = await statements.prepare(0)
  // Not EXPLAIN either: with ANALYZE it runs what it explains, such as a COPY to one of the files.
  if (statement.statementType !== StatementType.SELECT)
    throw new Error("facts can only be read: write SELECT, FROM, WITH, DESCRIBE, SHOW or SUMMARIZE")
  const result = await statement.stream()
  const types = result.columnTypes().map(({ typeId }) => DuckDBTypeId[typeId] ?? "")
  const columns = types.map((type, index) => ({
    ...{ name: result.columnName(index), isNumber: /INT$|^INTEGER|DOUBLE|FLOAT|DECIMAL/.test(type) },
  }))
  const shown = (value: DuckDB.Json, index: number): DuckDB.Json => {
    if (typeof value !== "string") return value
    if (columns[index]?.isNumber) return isExact(types[index], Number(value)) ? Number(value) : value
    return types[index] === "TIMESTAMP_TZ" ? value.replace(" ", "T").replace(/\+00$/, "Z") : value
  }
  return { columns, rows: converted(result, shown, signal) }
}

async function* converted(
  result: DuckDB.DuckDBResult,
  shown: (value: DuckDB.Json, index: number) => DuckDB.Json,
  signal: AbortSignal | undefined,
): SqlAnswer["rows"] {
  try {
    for await (const rows of result.yieldRowsJson()) yield rows.map((row) => row.map(shown))
    // An interrupted answer ends as if it were whole.
    signal?.throwIfAborted()
  } catch (error) {
    throw refused(error)
  }
}
