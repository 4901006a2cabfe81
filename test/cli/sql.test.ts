/** A real cluster's minute, recorded: `reel sql` says of its facts what `reel events` and `reel history` say of the recording. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { eventsCommand } from "../../src/cli/events.ts"
import { historyCommand } from "../../src/cli/history.ts"
import { sqlCommand } from "../../src/cli/sql.ts"
import { kinds } from "../../src/kube/index.ts"
import { type RecorderLog, startRecorder } from "../../src/library/index.ts"
import { LocalCluster } from "../../src/sandbox/index.ts"
import { makeFacts, streamOf } from "../facts/made-facts.ts"
import { patient } from "../harness/patience.ts"
import { ran } from "./commands-in.ts"

const nothing = (): void => undefined
const quiet: RecorderLog = { error: nothing, warn: nothing, info: nothing, debug: nothing }
const recordedKinds = ["apps/v1.Deployment", "apps/v1.ReplicaSet", "v1.ConfigMap", "v1.Node", "v1.Pod"]
const web = { namespace: "default", name: "web" }

const template = (image: string, annotations: Readonly<Record<string, string>> = {}) => ({
  metadata: { labels: { app: "web" }, annotations },
  spec: { containers: [{ name: "web", image, resources: { requests: { cpu: "50m", memory: "32Mi" } } }] },
})

/** A Deployment is made, scaled, gets an image that crashes and is deleted; a ConfigMap changes. */
const live = async ({ client }: LocalCluster): Promise<void> => {
  const pods = async (isSo: (pod: Readonly<Record<string, unknown>>) => boolean, least: number): Promise<void> => {
    for (let found = 0; found < least; ) {
      const { items } = await client.list(kinds.pods)
      found = items.filter((pod) => isSo(JSON.parse(JSON.stringify(pod)))).length
    }
  }
  const says = (text: string) => (pod: object) => JSON.stringify(pod).includes(text)
  await client.create(kinds.configMaps, {
    ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "default", name: "settings" } },
    data: { banner: "open" },
  })
  await client.create(kinds.deployments, {
    ...{ apiVersion: "apps/v1", kind: "Deployment", metadata: web },
    spec: { replicas: 2, selector: { matchLabels: { app: "web" } }, template: template("web:1") },
  })
  await pods(says('"phase":"Running"'), 2)
  await client.patch(kinds.deployments, web, "merge", { spec: { replicas: 3 } })
  await client.patch(kinds.configMaps, { namespace: "default", name: "settings" }, "merge", {
    data: { banner: "shut" },
  })
  await pods(says('"phase":"Running"'), 3)
  const failing = template("web:2", { "sandbox.kubereel.dev/fail-after": "50ms" })
  await client.patch(kinds.deployments, web, "merge", { spec: { template: failing } })
  await pods((pod) => says("web:2")(pod) && /"restartCount":[1-9]/.test(JSON.stringify(pod)), 1)
  await client.delete(kinds.deployments, web)
  while ((await client.list(kinds.pods)).items.length > 0) await new Promise((resolve) => setImmediate(resolve))
}

let folder = ""
let recording = ""
let facts = ""
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "kubereel-sql-"))
  recording = join(folder, "recording")
  const cluster = await LocalCluster.start({ delays: { createMs: 10, readyMs: 10, terminateMs: 10 } })
  const recorder = await startRecorder({
    kinds: recordedKinds,
    server: cluster.sandbox.url,
    directory: recording,
    log: quiet,
  })
  await recorder.ready()
  await live(cluster)
  await recorder.close()
  await cluster.close()
  facts = await streamOf(recording, 50_000, mkdtempSync(join(folder, "facts-")))
  await makeFacts(facts, recording)
}, patient(60_000))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Row = Readonly<Record<string, unknown>>

const rowsIn = (output: string): ReadonlyArray<Row> =>
  output
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))

const sql = async (question: string): Promise<ReadonlyArray<Row>> => {
  const { code, output, error } = await ran(sqlCommand(), [question, "--data-dir", facts, "--since", "0", "-o", "json"])
  expect([code, error]).toEqual([0, ""])
  return rowsIn(output)
}

const recorded = ["--data-dir", "RECORDING", "--since", "0", "-o", "json"]
const events = async (...words: ReadonlyArray<string>): Promise<ReadonlyArray<Row>> =>
  rowsIn(
    (await ran(eventsCommand(), [...words, ...recorded.map((word) => word.replace("RECORDING", recording))])).output,
  )
const history = async (...words: ReadonlyArray<string>): Promise<ReadonlyArray<Row>> =>
  rowsIn(
    (await ran(historyCommand(), [...words, ...recorded.map((word) => word.replace("RECORDING", recording))])).output,
  )

interface Difference {
  readonly path: string
  readonly before?: unknown
  readonly after?: unknown
}
const differences = ({ differences: found }: Row): ReadonlyArray<Difference> =>
  Array.isArray(found) ? found.filter((each) => typeof each === "object") : []
/** Of the field with this path. */
const steps = (rows: ReadonlyArray<Row>, path: string) =>
  rows.flatMap((row) =>
    differences(row)
      .filter((each) => each.path === path)
      .map(({ before, after }) => [row.name, before, after]),
  )
const values = (rows: ReadonlyArray<Row>) => rows.map((row) => Object.values(row))
const sorted = (rows: ReadonlyArray<unknown>) => rows.map((row) => JSON.stringify(row)).toSorted()
const managerOf = ({ managers }: Row): string | null =>
  Array.isArray(managers) ? (managers[0]?.manager ?? null) : null

describe("The same answer is given to the question", () => {
  test("what happened", async () => {
    const found = await events()
    expect(found.length).toBeGreaterThan(40)
    expect(
      sorted(
        values(
          await sql(
            "SELECT epoch_us(time), operation, gvk, coalesce(namespace, ''), name, uid, resource_version FROM changes",
          ),
        ),
      ),
    ).toEqual(
      sorted(
        found.map(({ time, type, gvk, namespace, name, uid, resourceVersion }) => [
          time,
          type,
          gvk,
          namespace,
          name,
          uid,
          resourceVersion,
        ]),
      ),
    )
  })

  test("how much of what", async () => {
    const counts = new Map<string, number>()
    for (const { gvk, type } of await events()) counts.set(`${gvk} ${type}`, (counts.get(`${gvk} ${type}`) ?? 0) + 1)
    const asked = await sql("SELECT gvk || ' ' || operation AS what, count(*) AS n FROM changes GROUP BY ALL")
    expect(new Map(asked.map(({ what, n }) => [String(what), Number(n)]))).toEqual(counts)
  })

  test("which fields of the Deployment changed", async () => {
    const found = (await history("deploy/web")).filter(({ type }) => type === "changed")
    const hidden = /^(.*\.annotations)[.[].*$/
    const paths = found.map((row) => [...new Set(differences(row).map(({ path }) => path.replace(hidden, "$1")))])
    const asked = await sql(
      "SELECT changed FROM changes WHERE kind = 'Deployment' AND operation = 'changed' ORDER BY sequence",
    )
    expect(asked.map(({ changed }) => changed)).toEqual(paths)
    expect(paths.flat()).toContain("spec.replicas")
  })

  test("who changed it", async () => {
    const found = (await history("deploy/web")).map((row) => [row.type, managerOf(row)])
    expect(
      values(await sql("SELECT operation, manager FROM changes WHERE kind = 'Deployment' ORDER BY sequence")),
    ).toEqual(found)
    expect(new Set(found.map(([, manager]) => manager)).size).toBeGreaterThan(1)
  })

  test("how it was scaled", async () => {
    const found = steps(await history("deploy/web", "--field", "spec.replicas"), "spec.replicas")
    expect(found).toEqual([["web", 2, 3]])
    expect(
      values(await sql("SELECT name, before, after FROM scaling WHERE kind = 'Deployment' ORDER BY time")),
    ).toEqual(found)
  })

  test("which images it got", async () => {
    const field = "spec.template.spec.containers[name=web].image"
    const found = steps(await history("deploy/web", "--field", field), field)
    expect(found).toEqual([["web", "web:1", "web:2"]])
    const asked = await sql(
      "SELECT name, before[1] AS before, after[1] AS after FROM image_changes WHERE kind = 'Deployment'",
    )
    expect(values(asked)).toEqual(found)
  })

  test("what was deleted", async () => {
    const found = (await events()).filter(({ type }) => type === "deleted").map(({ gvk, name }) => [gvk, name])
    expect(found.length).toBeGreaterThan(4)
    const asked = await sql(
      "SELECT gvk, name FROM changes JOIN deletions USING (time, kind, name) WHERE changes.operation = 'deleted'",
    )
    expect(sorted(values(asked))).toEqual(sorted(found))
  })

  test("where pods ran", async () => {
    const found = steps(await events("-k", "pods", "--field", "spec.nodeName"), "spec.nodeName").map(
      ([name, , node]) => [name, node],
    )
    expect(found.length).toBeGreaterThan(3)
    const asked = await sql(
      "SELECT DISTINCT name, node FROM changes WHERE kind = 'Pod' AND list_contains(changed, 'spec.nodeName')",
    )
    expect(sorted(values(asked))).toEqual(sorted(found))
  })

  test("through which phases they went", async () => {
    const found = steps(await events("-k", "pods", "--field", "status.phase"), "status.phase").map(
      ([name, , phase]) => [name, phase],
    )
    const asked = await sql(
      "SELECT name, phase FROM changes WHERE kind = 'Pod' AND list_contains(changed, 'status.phase')",
    )
    expect(found.length).toBeGreaterThan(3)
    expect(sorted(values(asked))).toEqual(sorted(found))
  })

  test("which containers were restarted", async () => {
    const field = "status.containerStatuses[name=web].restartCount"
    const found = steps(await events("-k", "pods", "--field", field), field).filter(
      ([, before]) => before !== undefined,
    )
    expect(found.length).toBeGreaterThan(0)
    expect(sorted(values(await sql("SELECT name, restarts - added AS before, restarts FROM restarts")))).toEqual(
      sorted(found),
    )
  })
})
