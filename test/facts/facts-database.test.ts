/** Questions in SQL: what they may see, and what the views say. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { openFacts } from "../../src/facts/index.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { type Described, event, header } from "../trace/views/items.ts"
import { allRows, always, askFacts, filesIn, makeFacts, recordingOf, streamOf } from "./made-facts.ts"
import { answers, comparable, hour, template, web } from "./shop-hour.ts"

test.each(Object.keys(answers))("The view %s answers its question", async (view) => {
  const directory = await recordingOf(hour)
  const bucket = await streamOf(directory)
  await makeFacts(bucket, directory)
  expect(comparable(await askFacts(bucket, `FROM ${view}`))).toEqual(comparable(answers[view] ?? []))
})

test.each(["image_changes", "scaling", "restarts"])(
  "%s knows what was there before the time that is asked for",
  async (view) => {
    const directory = await recordingOf(hour)
    const bucket = await streamOf(directory)
    await makeFacts(bucket, directory)
    const [{ time } = {}] = answers[view] ?? []
    const at = Date.parse(String(time)) * 1000
    // How a container ended is only known from within that time.
    const expected = answers[view]?.map((row) => ("reason" in row ? { ...row, reason: null } : row))
    expect(comparable(await askFacts(bucket, `FROM ${view}`, { from: at, to: at }))).toEqual(comparable(expected ?? []))
  },
)

test("a question of several clusters sees those that it names", async () => {
  const directory = await recordingOf(hour)
  const bucket = await streamOf(directory)
  await makeFacts(bucket, directory, { cluster: "a" })
  await makeFacts(bucket, directory, { cluster: "b" })
  const question = "SELECT cluster, count(*) AS kills FROM oom_kills GROUP BY cluster ORDER BY cluster"
  expect(await askFacts(bucket, question)).toEqual([
    { cluster: "a", kills: 1 },
    { cluster: "b", kills: 1 },
  ])
  expect(await askFacts(bucket, question, { clusters: ["b"] })).toEqual([{ cluster: "b", kills: 1 }])
  expect(await askFacts(bucket, "FROM who", { clusters: ["c"] })).toEqual([])
  await expect(askFacts(temporaryDirectory(), "FROM who")).rejects.toThrow(
    /has no facts\. Make facts with reel fleet facts/,
  )
})

describe("A question", () => {
  test.each([
    ["SELECT * FROM read_text('SECRET')", "file system operations are disabled"],
    ["SELECT * FROM read_csv('SECRET')", "file system operations are disabled"],
    ["SELECT * FROM 'SECRET'", "file system operations are disabled"],
    ["SELECT * FROM glob('FOLDER/*')", "file system operations are disabled"],
    ["SELECT * FROM read_parquet('https://example.com/a.parquet')", /disabled|httpfs/],
    ["FROM sniff_csv('SECRET')", "file system operations are disabled"],
    ["COPY (SELECT 1) TO 'FOLDER/new'", /disabled|can only be read/],
    ["COPY changes TO 'FACTS'", "facts can only be read"],
    ["EXPORT DATABASE 'FOLDER/new'", /disabled|can only be read/],
    ["ATTACH 'FOLDER/new'", /disabled|can only be read/],
    ["INSTALL httpfs", /disabled|can only be read/],
    ["LOAD httpfs", /disabled|can only be read/],
    ["SET enable_external_access = true", /locked|can only be read/],
    ["SET allowed_paths = ['SECRET']", /locked|can only be read/],
    ["RESET lock_configuration", /locked|can only be read/],
    ["PRAGMA enable_profiling", /locked|can only be read/],
    ["CREATE TABLE mine AS SELECT 1", "facts can only be read"],
    ["DROP VIEW changes", "facts can only be read"],
    ["EXPLAIN ANALYZE COPY (SELECT 1) TO 'FACTS'", "facts can only be read"],
    ["SELECT 1; DROP VIEW changes", "one statement is expected, and there are 2"],
    ["SELEC 1", /Parser Error/],
  ])("%s is refused", async (question, reason) => {
    const directory = temporaryDirectory()
    const secret = join(directory, "secret.csv")
    writeFileSync(secret, "a\nb\n")
    const folder = join(directory, "cluster=prod/day=2025-11-21")
    mkdirSync(folder, { recursive: true })
    const facts = join(folder, "facts.parquet")
    const bucket = await streamOf(await recordingOf(hour))
    await makeFacts(bucket, await recordingOf(hour))
    const [content = ""] = filesIn(bucket).values()
    writeFileSync(facts, content, "base64")
    const database = await openFacts([facts], always)
    try {
      const asked = question.replaceAll("SECRET", secret).replaceAll("FACTS", facts).replaceAll("FOLDER", directory)
      const answer = database.ask(asked).then(({ rows }) => allRows(rows))
      await expect(answer).rejects.toThrow(reason)
      expect(existsSync(join(directory, "new"))).toBe(false)
      const { rows } = await database.ask("SELECT count(*) FROM changes")
      expect(await allRows(rows)).toEqual([[14]])
    } finally {
      database.close()
    }
  })

  test.each([
    "DESCRIBE changes",
    "SHOW TABLES",
    "SUMMARIZE changes",
    "FROM who",
    "WITH a AS (FROM who) SELECT * FROM a",
  ])("%s is answered, also without any file", async (question) => {
    const database = await openFacts([], always)
    try {
      await expect(database.ask(question)).resolves.toMatchObject({ columns: expect.any(Array) })
    } finally {
      database.close()
    }
  })

  test("has numbers as numbers, and what no number represents as text", async () => {
    const database = await openFacts([], always)
    try {
      const { rows } = await database.ask(
        "SELECT 1::BIGINT, 1.5, 9223372036854775807, [1, NULL], NULL, make_timestamptz(1)",
      )
      expect(await allRows(rows)).toEqual([
        [1, 1.5, "9223372036854775807", [1, null], null, "1970-01-01T00:00:00.000001Z"],
      ])
    } finally {
      database.close()
    }
  })
})

test("a question ends when its reader does", async () => {
  const stop = new AbortController()
  const database = await openFacts([], always, { signal: stop.signal })
  try {
    const { rows } = await database.ask("FROM range(10000000000)")
    await rows.next()
    stop.abort()
    await expect(allRows(rows)).rejects.toThrow(/interrupt|abort/i)
  } finally {
    database.close()
  }
})

test("without the package it is said how to install it", async () => {
  const missing = () => Promise.reject(new Error("Cannot find package '@duckdb/node-api'"))
  await expect(openFacts([], always, { importing: missing })).rejects.toThrow(
    "this needs the package @duckdb/node-api, which cannot be loaded: Cannot find package '@duckdb/node-api'. Install it beside kubereel: npm install @duckdb/node-api@1.5.5-r.1",
  )
})

test("every column and view is described, and no other", async () => {
  const page = readFileSync("docs/reference/facts.md", "utf8")
  const named = (heading: string): ReadonlyArray<string> => {
    const section = page.split(/^## /m).find((each) => each.startsWith(heading)) ?? ""
    const cells = [...section.matchAll(/^\| (`[^|]*`) \|/gm)].map(([, cell]) => cell ?? "")
    return cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name ?? "")).toSorted()
  }
  const database = await openFacts([], always)
  expect(named("Views")).toEqual(["changes", ...Object.keys(answers)].toSorted())
  try {
    const names = async (question: string): Promise<ReadonlyArray<unknown>> =>
      (await allRows((await database.ask(question)).rows)).map(([name]) => name).toSorted()
    expect(named("Columns")).toEqual(await names("DESCRIBE changes"))
    expect(named("Views")).toEqual(await names("SHOW TABLES"))
  } finally {
    database.close()
  }
})

test("folders above those of the facts are no columns", async () => {
  const bucket = join(temporaryDirectory(), "name=other", "cluster=a", "day=b")
  mkdirSync(bucket, { recursive: true })
  const directory = await recordingOf(hour)
  await streamOf(directory, undefined, bucket)
  await makeFacts(bucket, directory)
  const question = "SELECT DISTINCT cluster, day, name FROM changes WHERE kind = 'Deployment'"
  expect(await askFacts(bucket, question)).toEqual([{ cluster: "prod", day: "2025-11-21", name: "web" }])
})

test.each([
  ["", "there is no question"],
  ["-- nothing", "there is no question"],
  ["PIVOT changes ON kind USING count(*)", "PIVOT needs the values"],
])("the question %j is refused in words", async (question, problem) => {
  const database = await openFacts([], always)
  await expect(database.ask(question)).rejects.toThrow(problem)
  database.close()
})

test("a rollout that was restarted is a deploy", async () => {
  const restarted = (version: number, restartedAt: string): Described => ({
    ...web(version, 2, "web:1"),
    spec: { template: { ...template("web:1"), metadata: { annotations: { restartedAt } } } },
  })
  const directory = await recordingOf([
    header(0, 60, { clusterUid: "cluster-1", kinds: ["apps/v1.Deployment"] }),
    ...[1, 2].map((version) => event("applied", version, restarted(version, `${version}`))),
  ])
  const bucket = await streamOf(directory)
  await makeFacts(bucket, directory)
  const question = "SELECT operation FROM deploys ORDER BY time"
  expect(await askFacts(bucket, question)).toEqual([{ operation: "created" }, { operation: "changed" }])
})
