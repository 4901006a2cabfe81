/** The statements for DuckDB in docs/guides/query.md, in order, as a reader of the page has facts. */
import { globSync } from "node:fs"
import { DuckDBInstance } from "@duckdb/node-api"
import { expect, test } from "vitest"
import { blocksOf } from "../../scripts/guide-blocks.ts"
import { sample } from "../archive/sample-recording.ts"
import { makeFacts, streamOf } from "../facts/made-facts.ts"
import { readPage } from "./page-run.ts"

test("DuckDB runs each statement of the page about queries", async () => {
  const directory = sample()
  const bucket = await streamOf(directory)
  await makeFacts(bucket, directory)
  // Those of DuckLake need an extension: test/engines/engines.test.ts.
  const [page = ""] = readPage("docs/guides/query.md").split("\n### DuckLake")
  const statements = blocksOf(page)
    .filter(({ language }) => language === "sql")
    .flatMap(({ text }) => text.split(";"))
    .map((each) =>
      each.replaceAll("'history/", `'${bucket}/`).replaceAll("'compacted'", `'${bucket}/compacted'`).trim(),
    )
    .filter((each) => each !== "")
  expect(statements.length).toBeGreaterThan(3)
  const database = await DuckDBInstance.create(":memory:")
  const connection = await database.connect()
  for (const statement of statements) await connection.run(statement)
  const counted = `SELECT count(*)::INT AS n FROM read_parquet('${bucket}/compacted/*/*/*.parquet', hive_partitioning = true)`
  expect((await connection.runAndReadAll(counted)).getRowObjectsJson()).toEqual([{ n: 360 }])
  expect(globSync("compacted/cluster=prod/day=*/*.parquet", { cwd: bucket })).toHaveLength(1)
  connection.closeSync()
  database.closeSync()
})
