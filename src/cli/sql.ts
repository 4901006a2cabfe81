/** `reel sql`: asks the facts of clusters. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openStore, readStorePlace } from "../blob/index.ts"
import { copyFacts, type FactsDatabase, factsIn, openFacts } from "../facts/index.ts"
import { cachePlace } from "../fleet/index.ts"
import { visible, visibleInJson } from "../text/index.ts"
import { type CommandSyntax, list, oneOf, optional, parseSize, withDefault } from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { exitCodes } from "./command-line/exit-codes.ts"
import { readMoment } from "./past/moments.ts"
import { alignedRows } from "./terminal/display-width.ts"
import { interruption } from "./terminal/terminal.ts"

const options = {
  dataDir: optional("ADDRESS", "where the facts are: s3://BUCKET/PREFIX, gs://, azure://, or a directory; required"),
  since: withDefault("1d", "TIME", "from this moment on: 2h, 03:12, 2026-11-21T10:00:00Z"),
  until: withDefault("now", "TIME", "up to this moment"),
  clusters: list("NAME", "only these clusters; default: all"),
  output: withDefault("table", "-o FORMAT", "table, json: one object a line, or csv", oneOf("table", "json", "csv")),
  cacheBytes: withDefault(
    "4Gi",
    "SIZE",
    "facts of object stores that may be kept on this machine, and asked at once",
    parseSize,
  ),
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel sql",
  summary: "Asks the facts of clusters in SQL, with DuckDB.",
  description: [
    "changes has a row for each change. Views answer what is asked often: image_changes, deploys, scaling, restarts, oom_kills, evictions, node_not_ready, deletions, who, waste. docs/reference/facts.md describes them.",
    "Only facts are read: no other file, no network. It needs the optional package @duckdb/node-api.",
  ],
  options,
  operand: { placeholder: "SELECT", help: "one statement, in DuckDB's SQL", count: 1 },
  files: [
    ["~/.cache/kubereel/facts", "facts that were read from object stores; XDG_CACHE_HOME and KUBEREEL_CACHE move it"],
  ],
  examples: [
    "reel sql 'FROM oom_kills' --data-dir s3://recordings/all --since 7d",
    "reel sql 'SELECT cluster, count(*) FROM deploys GROUP BY ALL' --data-dir s3://recordings/all -o csv",
  ],
  seeAlso: ["reel fleet", "docs/guides/query.md", "docs/reference/facts.md"],
}

type Value = string | number | boolean | null | ReadonlyArray<Value> | { readonly [name: string]: Value }

const textOf = (cell: Value | undefined): string =>
  cell === null || cell === undefined ? "" : typeof cell === "object" ? JSON.stringify(cell) : String(cell)

const csv = (cells: ReadonlyArray<string>): string =>
  cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(",")

/** Columns may have the same name, and members of an object may not: a later one gets a number, `name_2`. */
const differentNames = (names: ReadonlyArray<string>): ReadonlyArray<string> => {
  const taken = new Set<string>()
  for (const name of names) {
    let free = name
    for (let number = 2; taken.has(free); number++) free = `${name}_${number}`
    taken.add(free)
  }
  return [...taken]
}

/** The command. `now`: µs since the Unix epoch. */
export const sqlCommand = (now: () => number = () => Date.now() * 1000): Command =>
  command(syntax, async ({ dataDir, clusters, output, cacheBytes, ...given }, terminal, [question = ""]) => {
    if (dataDir === undefined) return "say where the facts are, with --data-dir"
    const reading = readStorePlace(dataDir)
    if (reading.tag === "refused") return reading.message
    const { place } = reading
    const { say, standardOutput, environment } = terminal
    const [from, to] = (["since", "until"] as const).map((name) =>
      readMoment(`--${name}`, given[name], { moment: now(), say }),
    )
    const range = { from: from ?? 0, to: to ?? now(), clusters }
    const print = (line: string): void => void standardOutput.write(`${line}\n`)
    // Programs get a cell as it is; a terminal would carry out what is in it.
    const printCsv = (cells: ReadonlyArray<string>): void =>
      print(csv(standardOutput.isTTY === true ? cells.map(visible) : cells))
    using interrupted = interruption(terminal)
    const { signal } = interrupted
    const directory = mkdtempSync(join(tmpdir(), "reel-sql-"))
    using store = await openStore(place)
    let database: FactsDatabase | undefined
    try {
      const objects = await factsIn(store, range)
      const cacheDirectory = join(cachePlace(environment).directory, "facts")
      const copies = { directory, cacheDirectory, maximumBytes: cacheBytes, onTrouble: say, signal }
      const files =
        place.provider === "file"
          ? objects.map(({ key }) => join(place.bucket, key))
          : await copyFacts(store, objects, copies)
      database = await openFacts(files, range, { signal })
      const { columns, rows } = await database.ask(question)
      const names = columns.map(({ name }) => name)
      const table: string[][] = [names.map((name) => name.toUpperCase())]
      if (output === "csv") printCsv(names)
      const members = differentNames(names)
      for await (const some of rows)
        for (const row of some)
          if (output === "table") table.push(row.map(textOf))
          else if (output === "csv") printCsv(row.map(textOf))
          else
            print(visibleInJson(JSON.stringify(Object.fromEntries(members.map((name, index) => [name, row[index]])))))
      if (output === "table")
        for (const line of alignedRows(table, (index) => columns[index]?.isNumber === true)) print(line)
      return exitCodes.ok
    } catch (error) {
      if (!signal.aborted) throw error
      return exitCodes.interrupted
    } finally {
      database?.close()
      rmSync(directory, { recursive: true, force: true })
    }
  })
