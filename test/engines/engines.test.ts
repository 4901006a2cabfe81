/** Spark on two machines, and DuckDB through a DuckLake catalogue, give the answers of `reel sql`, by the recipes of docs/guides/query.md. */
import { createHash } from "node:crypto"
import { globSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import type * as DuckDB from "@duckdb/node-api"
import { beforeAll, expect, test } from "vitest"
import { blocksOf } from "../../scripts/guide-blocks.ts"
import { fleetCommand } from "../../src/cli/fleet.ts"
import { ran } from "../cli/commands-in.ts"
import { nodePackages, type Packages, pythonIn, pythonPackages } from "../clients/build/installed-packages.ts"
import { runToEnd } from "../clients/running-program.ts"
import { skipBecause } from "../clients/skip-because.ts"
import { readPage } from "../docs/page-run.ts"
import { askFacts, makeFacts, recordingOf, streamOf } from "../facts/made-facts.ts"
import { answers, comparable, hour } from "../facts/shop-hour.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"

type Row = Readonly<Record<string, unknown>>

/** One that engines take for a number unless they are told. */
const clusters = ["prod", "007"]

let python: Packages
let duckDb: Packages
beforeAll(async () => {
  python = await pythonPackages("../engines/requirements.txt")
  duckDb = await nodePackages("../engines/duckdb/package.json")
})

const importing = (): Promise<typeof DuckDB> => {
  if ("missing" in duckDb) throw new Error(duckDb.missing)
  return import(pathToFileURL(join(duckDb.folder, "node_modules/@duckdb/node-api/lib/index.js")).href)
}

/** A directory with the facts of both clusters. */
const madeFacts = async (): Promise<string> => {
  const directory = await recordingOf(hour)
  const bucket = await streamOf(directory)
  for (const cluster of clusters) await makeFacts(bucket, directory, { cluster })
  return bucket
}

/** What a section of the page about queries has in a language. */
const recipe = (engine: string, language: string): string => {
  const section = readPage("docs/guides/query.md").split(`\n### ${engine}\n`)[1]?.split("\n### ")[0] ?? ""
  return blocksOf(section)
    .filter((block) => block.language === language)
    .map(({ text }) => text)
    .join("\n")
}

/** @param rowsOf of a view. */
const expectAnswers = async (rowsOf: (view: string) => ReadonlyArray<Row> | Promise<ReadonlyArray<Row>>) => {
  for (const [view, rows] of Object.entries(answers))
    expect([view, comparable(await rowsOf(view))]).toEqual([
      view,
      comparable(clusters.flatMap((cluster) => rows.map((row) => ({ ...row, cluster })))),
    ])
}

test("Spark with two executors answers as DuckDB does", async ({ skip }) => {
  if ("missing" in python) return skipBecause(skip, `pyspark was not installed: ${python.missing}`)
  if ("missing" in duckDb) return skipBecause(skip, `DuckDB was not installed: ${duckDb.missing}`)
  const [bucket, directory] = [await madeFacts(), temporaryDirectory()]
  const text = recipe("Spark", "python").replaceAll("s3a://recordings/all/", `${bucket}/`)
  const program = join(directory, "recipe.py")
  writeFileSync(program, text + readFileSync("test/engines/answers.py", "utf8"))
  const java = `-Djava.io.tmpdir=${directory} -XX:-UsePerfData`
  const settings = {
    ...{ "spark.driver.memory": "512m", "spark.executor.memory": "512m", "spark.sql.shuffle.partitions": "2" },
    ...{ "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1" },
    // Both executors are there before the first question.
    "spark.scheduler.minRegisteredResourcesRatio": "1",
    ...{ "spark.driver.extraJavaOptions": java, "spark.executor.extraJavaOptions": java },
  }
  const words = Object.entries(settings).map(([name, value]) => `--conf "${name}=${value}"`)
  const { code, output, errors } = await runToEnd(pythonIn(python.folder), [program], {
    PYSPARK_SUBMIT_ARGS: `--master local-cluster[2,1,1024] ${words.join(" ")} pyspark-shell`,
    ...{ SPARK_LOCAL_IP: "127.0.0.1", SPARK_LOCAL_DIRS: directory },
    ...{ TZ: "UTC", TMPDIR: directory, PYTHONDONTWRITEBYTECODE: "1" },
  })
  // What workers keep of executors, beside Spark itself.
  for (const path of globSync("lib/python*/site-packages/pyspark/work", { cwd: python.folder }))
    rmSync(join(python.folder, path), { recursive: true })
  expect(code, errors).toBe(0)
  const lines = output.split("\n")
  expect(lines).toContain("executors 2")
  const rows: ReadonlyArray<readonly [string, Row]> = lines
    .filter((line) => line.startsWith("row "))
    .map((line) => JSON.parse(line.slice("row ".length)))
  const rowsOf = (view: string): ReadonlyArray<Row> => rows.filter(([name]) => name === view).map(([, row]) => row)
  await expectAnswers(rowsOf)
  expect(comparable(rowsOf("changes"))).toEqual(comparable(await askFacts(bucket, "FROM changes", {}, { importing })))
})

/** Runs the statements; returns what the last one answers. */
const asked = async (statements: ReadonlyArray<string>): Promise<ReadonlyArray<Row>> => {
  const { DuckDBInstance } = await importing()
  const instance = await DuckDBInstance.create(":memory:", { autoinstall_known_extensions: "false" })
  const connection = await instance.connect()
  try {
    for (const statement of statements.slice(0, -1)) await connection.run(statement)
    const answer = await connection.runAndReadAll(statements.at(-1) ?? "")
    return answer.getRowObjectsJson()
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

/** As `reel sql` has them. */
const shown = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value !== "string"
        ? value
        : /^\d+$/.test(value) && name !== "cluster"
          ? Number(value)
          : value.replace(/^(\d{4}-\d\d-\d\d) (.*)\+00$/, "$1T$2Z"),
    ]),
  )

const extensionIn = (folder: string): string => {
  const [path = ""] = globSync("lib/python*/site-packages/**/ducklake.duckdb_extension", { cwd: folder })
  return join(folder, path)
}

/** Statements of the page, for this catalogue and this extension. */
const ducklake = (catalog: string, extension: string): ReadonlyArray<string> =>
  recipe("DuckLake", "sql")
    .replaceAll("facts.ducklake", catalog)
    .split(";")
    .map((each) => each.trim().replace("LOAD ducklake", `LOAD '${extension}'`))
    .filter((each) => each !== "")

const attaching = 2

test("reel fleet index makes a catalogue of DuckLake anew each time, and DuckDB answers through it as over the files", async ({
  skip,
}) => {
  if ("missing" in python) return skipBecause(skip, `the extension was not installed: ${python.missing}`)
  if ("missing" in duckDb) return skipBecause(skip, `DuckDB was not installed: ${duckDb.missing}`)
  const [bucket, catalog] = [await madeFacts(), join(temporaryDirectory(), "facts.ducklake")]
  const extension = extensionIn(python.folder)
  const hashes = () =>
    globSync("facts/**/*.parquet", { cwd: bucket }).map((name) =>
      createHash("sha256")
        .update(readFileSync(join(bucket, name)))
        .digest("hex"),
    )
  const before = hashes()
  const words = ["index", bucket, "--catalog", catalog, "--extension", extension]
  for (let run = 1; run <= 2; run++) {
    const result = await ran(fleetCommand(undefined, importing), words)
    expect(result).toEqual({ code: 0, output: `2 files in ${catalog}\n`, error: "" })
    const statements = ducklake(catalog, extension)
    // Those of the page, as they stand, up to the ones for object stores.
    const own = statements.slice(0, statements.indexOf("INSTALL ducklake"))
    expect(own).toHaveLength(attaching + 2)
    expect(await asked(own)).toEqual([{ namespace: "shop", name: "web-1", kills: "1" }])
    const through = own.slice(0, attaching)
    await expectAnswers(async (view) =>
      (await asked([...through, "SET TimeZone = 'UTC'", `FROM lake.${view}`])).map(shown),
    )
    const everything = await asked([...through, "SET TimeZone = 'UTC'", "FROM lake.changes"])
    expect(comparable(everything.map(shown))).toEqual(
      comparable((await askFacts(bucket, "FROM changes", {}, { importing })).map(shown)),
    )
  }
  expect(hashes()).toEqual(before)
  writeFileSync(`${catalog}-other`, "not a catalogue")
  await expect(ran(fleetCommand(undefined, importing), words.with(3, `${catalog}-other`))).resolves.toMatchObject({
    code: 1,
    error: expect.stringContaining("not a valid DuckDB database file"),
  })
  expect(statSync(`${catalog}-other`).size).toBe("not a catalogue".length)
})

test("the statements for a catalogue of an object store make one with the same changes", async ({ skip }) => {
  if ("missing" in python) return skipBecause(skip, `the extension was not installed: ${python.missing}`)
  if ("missing" in duckDb) return skipBecause(skip, `DuckDB was not installed: ${duckDb.missing}`)
  const [bucket, catalog] = [await madeFacts(), join(temporaryDirectory(), "facts.ducklake")]
  const statements = ducklake(catalog, extensionIn(python.folder))
  const making = statements
    .slice(statements.indexOf("INSTALL ducklake"))
    // There is no object store here.
    .filter((each) => !/^INSTALL|httpfs|^CREATE SECRET/.test(each))
    .map((each) => each.replaceAll("s3://recordings/all/", `${bucket}/`))
  const rows = await asked([...making, "SELECT cluster, count(*) AS n FROM lake.changes GROUP BY ALL ORDER BY ALL"])
  expect(rows).toEqual(["007", "prod"].map((cluster) => ({ cluster, n: "14" })))
})
