/**
 * Facts in DuckDB: `changes`, and {@link views} of it, for questions or in a DuckLake catalogue.
 *
 * Guarantee: a question is one statement that reads. It sees these files, and no other file, no network and no extension that is not in the package; its
 * settings cannot be changed. DuckDB is an optional package, which is loaded when it is asked for.
 */
import { existsSync, renameSync, rmSync } from "node:fs"
import type * as DuckDB from "@duckdb/node-api"
import { messageOf } from "../message-of.ts"
import { sqlColumns } from "./facts-file.ts"
import { FactsError, type FactsRange, fileEndOf } from "./facts-files.ts"

/** One object's changes, in order. */
const object = "PARTITION BY cluster, gvk, uid ORDER BY time, sequence"

const where = "time, cluster, namespace, kind, name"
const who = "manager, username"

/** Ready questions, as views over `changes`. docs/reference/facts.md says what each answers. */
const views: Readonly<Record<string, string>> = {
  image_changes: `SELECT ${where}, images_before AS before, images AS after, ${who} FROM changes WHERE images_before <> images`,
  deploys: `SELECT ${where}, operation, images, ${who} FROM changes
    WHERE images IS NOT NULL AND kind <> 'Pod' AND owner IS NULL AND (operation = 'created'
      OR len(list_filter(changed, lambda path: path LIKE 'spec.template%' OR path LIKE 'spec.jobTemplate.%')) > 0)`,
  scaling: `SELECT ${where}, replicas_before AS before, replicas AS after, owner, ${who} FROM changes WHERE replicas_before <> replicas`,
  restarts: `SELECT ${where}, restarts - restarts_before AS added, restarts, ended AS reason, node, owner
    FROM (SELECT *, last_value(CASE WHEN reason <> 'CrashLoopBackOff' THEN reason END IGNORE NULLS) OVER (${object}) AS ended
      FROM changes WHERE kind = 'Pod')
    WHERE restarts > restarts_before`,
  oom_kills: `SELECT ${where}, node, owner, memory AS requested FROM changes WHERE kind = 'Pod' AND reason = 'OOMKilled'`,
  evictions: `SELECT ${where}, reason, node, owner FROM changes
    WHERE kind = 'Pod' AND reason IN ('Evicted', 'EvictionByEvictionAPI', 'PreemptionByScheduler', 'DeletionByTaintManager',
      'DeletionByPodGC', 'TerminationByKubelet', 'Preempting', 'NodeShutdown', 'NodeLost')
    QUALIFY row_number() OVER (${object}) = 1`,
  node_not_ready: `SELECT time, cluster, name, phase, reason, until, date_diff('second', time, until) AS seconds
    FROM (SELECT *, lead(time) OVER (${object}) AS until
      FROM (SELECT *, lag(phase) OVER (${object}) AS before FROM changes WHERE kind = 'Node' AND gvk = 'v1.Node')
      WHERE before IS DISTINCT FROM phase OR operation IN ('deleted', 'vanished'))
    WHERE phase <> 'Ready' AND operation NOT IN ('deleted', 'vanished')`,
  deletions: `SELECT ${where}, operation, owner, username FROM changes WHERE operation IN ('deleted', 'vanished')`,
  who: `SELECT cluster, coalesce(username, manager) AS who, kind, operation, count(*) AS changes, min(time) AS since, max(time) AS until
    FROM changes WHERE coalesce(username, manager) IS NOT NULL GROUP BY ALL`,
  waste: `SELECT cluster, namespace, coalesce(owner, name) AS owner, why, count(DISTINCT uid) AS pods,
      sum(hours) AS pod_hours, sum(hours * cpu) AS cpu_hours, sum(hours * memory) / 1073741824 AS memory_gib_hours
    FROM (SELECT *, coalesce(reason, phase) AS why, date_diff('millisecond', time, coalesce(lead(time) OVER (${object}),
          (SELECT max(time) FROM changes))) / 3600000 AS hours FROM changes WHERE kind = 'Pod')
    WHERE node IS NOT NULL AND operation NOT IN ('deleted', 'vanished') AND (phase = 'Pending' OR (phase = 'Running' AND reason IN
      ('CrashLoopBackOff', 'ImagePullBackOff', 'ErrImagePull', 'CreateContainerConfigError', 'CreateContainerError', 'RunContainerError')))
    GROUP BY ALL`,
}

/** An answer, as it comes: values as JSON has them, times in RFC 3339, integers beyond 2^53 as texts. */
interface SqlAnswer {
  readonly columns: ReadonlyArray<{ readonly name: string; readonly isNumber: boolean }>
  readonly rows: AsyncGenerator<ReadonlyArray<ReadonlyArray<DuckDB.Json>>, void, void>
}

/** Of a file's own two folders. Folders above them may be called `name=prod`, which DuckDB would take for the column `name`. */
const partOf = (group: number): string => `regexp_extract(filename, '/cluster=([^/]*)/day=([^/]*)/[^/]*$', ${group})`

const createTable = `CREATE TABLE changes (${sqlColumns.map((column) => column.join(" ")).join(", ")})`

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

/** A database in memory in which the statements have been run. Without internet, an extension that is fetched would keep it waiting. */
const prepared = async (
  statements: ReadonlyArray<string>,
  { signal, importing = (name) => import(name) }: OpenFactsOptions,
): Promise<{ duckDb: typeof DuckDB; connection: DuckDB.DuckDBConnection; close: () => void }> => {
  const loaded = await importing("@duckdb/node-api").catch((error: unknown) => {
    const [reason] = messageOf(error).split("\n")
    const message = `this needs the package @duckdb/node-api, which cannot be loaded: ${reason}. Install it beside kubereel: npm install @duckdb/node-api@1.5.5-r.1`
    throw new FactsError({ message })
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
  for (const statement of ["SET TimeZone = 'UTC'", ...statements])
    await connection.run(statement).catch((error: unknown) => {
      close()
      throw refused(error)
    })
  return { duckDb, connection, close }
}

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

const listOf = (files: ReadonlyArray<string>): string => `[${files.map(literal).join(", ")}]`

const createViews = Object.entries(views).map(([name, question]) => `CREATE VIEW ${name} AS ${question}`)

/** `files`: paths. Rejects with a FactsError. */
export const openFacts = async (
  files: ReadonlyArray<string>,
  { from, to }: Pick<FactsRange, "from" | "to">,
  options: OpenFactsOptions = {},
): Promise<FactsDatabase> => {
  const list = listOf(files)
  // To find out columns by name, all files are opened once more for each statement: half of what a question takes.
  const isMixed = new Set(files.map((file) => fileEndOf(file)?.columns || file)).size > 1
  const within = `time >= make_timestamptz(${from}) AND time <= make_timestamptz(${to})`
  const changes = `CREATE VIEW changes AS SELECT * EXCLUDE (filename), ${partOf(1)} AS cluster, ${partOf(2)}::DATE AS day
    FROM read_parquet(${list}, union_by_name = ${isMixed}, hive_partitioning = false, filename = true) WHERE ${within}`
  const statements = [
    // A view is checked when it is made: over the files themselves, each of the ten would open them all once more.
    ...[createTable, ...createViews, ...(files.length === 0 ? [] : ["DROP TABLE changes", changes])],
    // From here on nothing else is read, and nothing of this can be taken back.
    ...[`SET allowed_paths = ${list}`, "SET enable_external_access = false", "SET lock_configuration = true"],
  ]
  const { duckDb, connection, close } = await prepared(statements, options)
  return {
    close,
    ask: (question) =>
      asked(duckDb, connection, question, options.signal).catch((error) => Promise.reject(refused(error))),
  }
}

interface CatalogPlace {
  /** The catalogue, which takes the place of one that is there. */
  readonly path: string
  /** Directory that has the folder `facts`; new data of the catalogue would go there. */
  readonly directory: string
  /** DuckLake: the path of the extension, or its name, for one that DuckDB has installed. */
  readonly extension: string
}

/**
 * Makes a DuckLake catalogue of files, which stay where they are, with `changes` and the views. Always from nothing: DuckLake would take a file twice. It is
 * complete, or what was there before. Rejects with a FactsError, also if a file is there that is no catalogue, or with an error of the file system.
 */
export const writeCatalog = async (
  files: ReadonlyArray<string>,
  { path, directory, extension }: CatalogPlace,
  options: OpenFactsOptions = {},
): Promise<void> => {
  const draft = `${path}.new`
  const attached = (file: string, more: string): string => `ATTACH ${literal(`ducklake:${file}`)} AS lake (${more})`
  rmSync(draft, { force: true })
  const statements = [
    `LOAD ${extension === "ducklake" ? extension : literal(extension)}`,
    ...(existsSync(path) ? [attached(path, "READ_ONLY"), "DETACH lake"] : []),
    attached(draft, `DATA_PATH ${literal(`${directory}/`)}`),
    ...["USE lake", "BEGIN", createTable, "ALTER TABLE changes SET PARTITIONED BY (cluster, day)"],
    `CALL ducklake_add_data_files('lake', 'changes', ${listOf(files)}, hive_partitioning => true, allow_missing => true)`,
    ...[...createViews, "COMMIT", "USE memory", "DETACH lake"],
  ]
  try {
    const { close } = await prepared(statements, options)
    close()
    renameSync(draft, path)
  } finally {
    rmSync(draft, { force: true })
  }
}

const isExact = (type: string | undefined, value: number): boolean =>
  Number.isSafeInteger(value) || type?.includes("INT") !== true

const refused = (error: unknown): FactsError => new FactsError({ message: messageOf(error) })

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
  const rows = async function* (): SqlAnswer["rows"] {
    try {
      for await (const some of result.yieldRowsJson()) yield some.map((row) => row.map(shown))
      // An interrupted answer ends as if it were whole.
      signal?.throwIfAborted()
    } catch (error) {
      throw refused(error)
    }
  }
  return { columns, rows: rows() }
}
