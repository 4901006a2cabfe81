/** The events of a trace as a Parquet file, asked by DuckDB. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DuckDBInstance } from "@duckdb/node-api"
import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { LeftOut } from "../../../../src/trace/formats/format.ts"
import type { TraceItem } from "../../../../src/trace/trace-item.ts"
import { parquetEncoder } from "../../../../src/trace/views/parquet/parquet-encoder.ts"
import { watchLines } from "../../recording.ts"
import { core, type Described, encoded, epoch, event, gap, header, timeText } from "../items.ts"

let folder = ""
let database: DuckDBInstance
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "parquet-"))
  database = await DuckDBInstance.create(":memory:", { threads: "1" })
})
afterAll(() => {
  database.closeSync()
  rmSync(folder, { recursive: true })
})

let files = 0

/** A file of items, and how to ask it: `TABLE` in a question is the file. */
const written = (items: ReadonlyArray<TraceItem>, rowGroupBytes?: number) => {
  const encoder = parquetEncoder(rowGroupBytes)
  const path = join(folder, `${++files}.parquet`)
  writeFileSync(path, encoded(encoder, items))
  const ask = async (question: string): Promise<ReadonlyArray<Record<string, unknown>>> => {
    const connection = await database.connect()
    const reader = await connection.runAndReadAll(question.replaceAll("TABLE", `'${path}'`))
    connection.closeSync()
    return reader.getRowObjectsJson()
  }
  return { ask, path, leftOut: encoder.leftOut as LeftOut }
}

const deployment = (replicas: number, version: string, more: object = {}): Described => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "a", uid: "d", resourceVersion: version, ...more },
  spec: { replicas },
})
const node = core("Node", { name: "n", uid: "n" })

const ofNode = {
  ...{ time: expect.any(String), kind: "Node", apiVersion: "v1", namespace: null, name: "n", uid: "n" },
  ...{ resourceVersion: null, changed: null },
}
const ofDeployment = {
  ...{ time: expect.any(String), kind: "Deployment", apiVersion: "apps/v1", namespace: "a", name: "web", uid: "d" },
  changed: null,
}

describe("a Parquet file of events", () => {
  test("has a row for each event, with the object's names, its operation, its time in UTC and the object itself", async () => {
    const { ask } = written([
      header(0, 60),
      event("existed", -9, node),
      event("applied", 1.000001, deployment(1, "7")),
      event("applied", 2, deployment(2, "8")),
      event("deleted", 3, deployment(2, "9")),
      event("vanished", 4, node),
    ])
    expect(await ask("SELECT time::VARCHAR AS time, * EXCLUDE (time, object) FROM TABLE")).toEqual([
      { ...ofNode, operation: "listed", time: expect.stringMatching(/^2025-11-20 23:59:51/) },
      {
        ...{ ...ofDeployment, resourceVersion: "7", operation: "created" },
        time: expect.stringMatching(/^2025-11-21 00:00:01\.000001/),
      },
      { ...ofDeployment, resourceVersion: "8", operation: "updated", changed: ["/spec/replicas"] },
      { ...ofDeployment, resourceVersion: "9", operation: "deleted" },
      { ...ofNode, operation: "deleted" },
    ])
    expect(await ask("SELECT object FROM TABLE ORDER BY time")).toEqual([
      ...[node, deployment(1, "7"), deployment(2, "8"), deployment(2, "9")].map((each) => ({
        object: JSON.stringify(each),
      })),
      { object: null },
    ])
    expect(await ask("DESCRIBE SELECT time, changed, object FROM TABLE")).toMatchObject([
      { column_type: "TIMESTAMP WITH TIME ZONE" },
      { column_type: "VARCHAR[]" },
      { column_type: "VARCHAR" },
    ])
  })

  test("answers what changed when: counts by kind, a filter on changed paths", async () => {
    const { ask } = written([
      header(0, 60),
      event("applied", 1, deployment(1, "1")),
      event("applied", 2, { ...deployment(1, "2"), status: { replicas: 1 } }),
      event("applied", 3, { ...deployment(5, "3"), status: { replicas: 1 } }),
      event("applied", 4, node),
    ])
    expect(await ask("SELECT kind, count(*)::INT AS events FROM TABLE GROUP BY kind ORDER BY kind")).toEqual([
      { kind: "Deployment", events: 3 },
      { kind: "Node", events: 1 },
    ])
    expect(
      await ask(
        "SELECT epoch_us(time)::VARCHAR AS time, json_extract(object, '$.spec.replicas')::INT AS replicas FROM TABLE WHERE list_contains(changed, '/spec/replicas')",
      ),
    ).toEqual([{ time: `${epoch + 3e6}`, replicas: 5 }])
    expect(
      await ask(
        "SELECT count(*)::INT AS n FROM TABLE WHERE len(list_filter(changed, lambda path: path LIKE '/status%')) > 0",
      ),
    ).toEqual([{ n: 1 }])
  })

  test("says what is listed: the start, and what is first seen long after its creation", async () => {
    const created = (name: string, seconds: number): Described => ({
      ...node,
      metadata: { name, uid: name, creationTimestamp: timeText(seconds) },
    })
    const { ask } = written([
      header(0, 600),
      event("applied", 500, created("just", 500)),
      event("applied", 500, created("ahead", 520)),
      event("applied", 500, created("soon", 441)),
      event("applied", 500, created("long", 439)),
    ])
    expect(await ask("SELECT name, operation FROM TABLE")).toEqual([
      { name: "just", operation: "created" },
      { name: "ahead", operation: "created" },
      { name: "soon", operation: "created" },
      { name: "long", operation: "listed" },
    ])
  })

  test("compares an object with nothing if it took the name of another", async () => {
    const { ask } = written([
      header(0, 60),
      event("applied", 1, deployment(1, "1")),
      event("applied", 2, deployment(2, "2", { uid: "e" })),
      event("deleted", 3, deployment(1, "3")),
      event("applied", 4, deployment(3, "4", { uid: "e" })),
    ])
    expect(await ask("SELECT operation, changed FROM TABLE")).toEqual([
      { operation: "created", changed: null },
      { operation: "created", changed: null },
      { operation: "deleted", changed: null },
      { operation: "updated", changed: ["/spec/replicas"] },
    ])
  })

  test("does not count what every change changes", async () => {
    const { ask } = written([
      header(0, 60),
      event("applied", 1, deployment(1, "1", { managedFields: [{ manager: "a" }] })),
      event("applied", 2, deployment(1, "2", { managedFields: [{ manager: "b" }], labels: { "x.io/y": "1" } })),
      event("applied", 3, deployment(1, "3", { managedFields: [], labels: { "x.io/y": "2" } })),
    ])
    expect(await ask("SELECT changed FROM TABLE WHERE changed IS NOT NULL")).toEqual([
      { changed: ["/metadata/labels"] },
      { changed: ["/metadata/labels/x.io~1y"] },
    ])
  })

  test("has row groups of bounded size, which a query for a time passes over", async () => {
    const many = Array.from({ length: 1000 }, (_, at) =>
      event("applied", at / 100, { ...deployment(at, `${at}`), data: "x".repeat(1000) }),
    )
    const { ask } = written([header(0, 60), ...many], 100_000)
    const groups = await ask(
      "SELECT row_group_num_rows::INT AS rows FROM parquet_metadata(TABLE) WHERE path_in_schema = 'time'",
    )
    expect(groups.length).toBeGreaterThan(9)
    for (const { rows } of groups) expect(rows).toBeLessThanOrEqual(100)
    expect(await ask("SELECT DISTINCT compression FROM parquet_metadata(TABLE)")).toEqual([{ compression: "ZSTD" }])
    expect(
      await ask("SELECT count(*)::INT AS n, sum(json_extract(object, '$.spec.replicas')::INT)::INT AS sum FROM TABLE"),
    ).toEqual([{ n: 1000, sum: 499_500 }])
    expect(await ask("SELECT count(*)::INT AS n FROM TABLE WHERE time < TIMESTAMPTZ '2025-11-21 00:00:01+00'")).toEqual(
      [{ n: 100 }],
    )
  })

  test("without events is a valid file with the same columns, and gaps are counted as left out", async () => {
    const { ask, leftOut } = written([
      header(0, 60, { kinds: ["v1.Pod"], incomplete: [{ gvk: "v1.Secret", state: "forbidden" }] }),
      gap("v1.Pod", 1, 2),
    ])
    expect(await ask("SELECT count(*)::INT AS n FROM TABLE WHERE kind = 'Pod'")).toEqual([{ n: 0 }])
    expect(leftOut).toMatchObject({ gaps: 1, incomplete: 1 })
    const [about] = await ask(
      "SELECT decode(value) AS value FROM parquet_kv_metadata(TABLE) WHERE decode(key) = 'kubereel'",
    )
    expect(JSON.parse(String(about?.value))).toMatchObject({ kinds: ["v1.Pod"], window: { start: epoch } })
  })

  test("with an object that is no JSON object is refused, and says which", () => {
    const item = event("applied", 1, node) as Extract<TraceItem, { type: "event" }>
    const bad = { ...item, event: { ...item.event, object: Buffer.from("[") } } as TraceItem
    expect(() => written([header(0, 60), bad])).toThrow(
      "cannot be written as parquet: v1.Node n: its object is not valid JSON (syntax)",
    )
    expect(() => written([item])).toThrow("the trace does not begin with its header")
  })

  test("gives back any names, times and texts", async () => {
    const name = fc.string({ unit: "grapheme", minLength: 1 })
    const row = fc.record({
      at: fc.integer({ min: -1e9, max: 1e9 }),
      name,
      namespace: fc.option(name, { nil: undefined }),
      uid: fc.option(name, { nil: undefined }),
      data: fc.jsonValue(),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 30 }), async (rows) => {
        const objects = rows.map(({ name, namespace, uid, data }) => ({
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name, ...(namespace !== undefined && { namespace }), ...(uid !== undefined && { uid }) },
          data,
        }))
        const { ask } = written(
          [header(0, 60), ...rows.map(({ at }, index) => event("applied", at, objects[index] as Described))],
          300,
        )
        const found = await ask("SELECT epoch_us(time)::VARCHAR AS time, name, namespace, uid, object FROM TABLE")
        expect(found).toEqual(
          rows.map(({ at, name, namespace = null, uid = null }, index) => ({
            time: `${epoch + at * 1e6}`,
            name,
            namespace,
            uid,
            object: JSON.stringify(objects[index]),
          })),
        )
      }),
      { numRuns: 40 },
    )
  })
})

test("a minute of a real cluster: as many rows of each kind and operation as its watches brought", async () => {
  const lines = watchLines(
    "recording",
    new Map([
      ["v1.Pod", {}],
      ["apps/v1.Deployment", {}],
      ["apps/v1.ReplicaSet", {}],
    ]) as never,
  )
  const items = lines.map(({ time, type, object }) =>
    event(
      type === "DELETED" ? "deleted" : "applied",
      (time - epoch) / 1e6,
      JSON.parse(Buffer.from(object).toString()) as Described,
    ),
  )
  const { ask } = written([{ type: "header", cut: 0, kinds: [], incomplete: [] }, ...items], 50_000)
  const deleted = lines.filter(({ type }) => type === "DELETED").length
  expect(
    await ask("SELECT count(*)::INT AS n, count(*) FILTER (operation = 'deleted')::INT AS deleted FROM TABLE"),
  ).toEqual([{ n: lines.length, deleted }])
  const [scaled] = await ask(
    "SELECT count(*)::INT AS n FROM TABLE WHERE kind = 'Deployment' AND list_contains(changed, '/spec/replicas')",
  )
  expect(scaled?.n).toBeGreaterThan(0)
})

test("the questions of docs/reference/trace-views.md have answers", async () => {
  const page = readFileSync(new URL("../../../../docs/reference/trace-views.md", import.meta.url), "utf8")
  const questions = [...page.matchAll(/^```sql\n([\s\S]*?)^```/gm)].flatMap(([, block = ""]) => block.split(";\n"))
  const pod = (restartCount: number): Described =>
    core(
      "Pod",
      { name: "p", namespace: "a", uid: "p" },
      { status: { containerStatuses: [{ name: "c", restartCount }] } },
    )
  const { ask } = written([
    header(0, 60),
    event("applied", 1, deployment(1, "1")),
    event("applied", 2, deployment(4, "2")),
    event("applied", 3, pod(0)),
    event("applied", 4, pod(1)),
  ])
  const answers = []
  for (const question of questions.filter((each) => each.trim() !== ""))
    answers.push(await ask(question.replace("'day.parquet'", "TABLE")))
  expect(answers).toMatchObject([
    [{}, {}, {}, {}],
    [{ namespace: "a", name: "web", replicas: "4" }],
    [{ namespace: "a", name: "p" }],
  ])
})
