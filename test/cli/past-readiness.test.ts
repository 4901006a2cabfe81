/** READY in the past is the one of then, also while pods crash; where changes of status were not recorded, it is unknown, and that is said once. */
import { afterAll, beforeAll, expect, test } from "vitest"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { getCommand } from "../../src/cli/get.ts"
import { historyCommand } from "../../src/cli/history.ts"
import { openPast } from "../../src/cli/serve.ts"
import { whyCommand } from "../../src/cli/why.ts"
import { LocalCluster } from "../../src/sandbox/index.ts"
import { everything, type RecorderProcess, until, Workplace } from "../recorder/recorder/recorder-command.ts"
import { serve } from "../serve/served.ts"
import { ran } from "./commands-in.ts"

const deployments = {
  gvk: { group: "apps", version: "v1", kind: "Deployment" },
  plural: "deployments",
  namespaced: true,
}
const kinds = {
  "apps/v1.Deployment": "{}",
  "apps/v1.ReplicaSet": "{detect: content}",
  "v1.Pod": "{}",
  "v1.ConfigMap": "{}",
}
const place = new Workplace()
let cluster: LocalCluster
let recorder: RecorderProcess

const deployment = (name: string) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, namespace: "default" },
  spec: {
    replicas: 2,
    strategy: { type: "Recreate" },
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "web", image: "web" }] } },
  },
})

/** The words of a line of the answer that begins with the name. */
const shown = async (command: typeof getCommand, words: ReadonlyArray<string>) => {
  const done = await ran(command(), words)
  return { ...done, cells: done.output.split("\n").map((line) => line.split(/ {2,}/)) }
}

/** READY of a Deployment, UP-TO-DATE and AVAILABLE. */
const readiness = async (name: string, ...words: ReadonlyArray<string>): Promise<string | undefined> => {
  const { cells } = await shown(getCommand, ["deploy", "-n", "default", ...words])
  return cells
    .find(([first]) => first === name)
    ?.slice(1, 4)
    .join(" ")
}

const server = async (): Promise<ReadonlyArray<string>> => ["--server", await recorder.listening()]

/** Waits until a new moment has that answer; returns the moment. */
const momentOf = async (name: string, wanted: string): Promise<string> => {
  let found: string | undefined
  await until(
    async () => {
      found = await readiness(name, ...(await server()))
      return found === wanted
    },
    () => `${name} to be ${wanted}, not ${found}`,
    30_000,
  )
  return new Date().toISOString()
}

const moments = { healthy: "", crashing: "" }
beforeAll(async () => {
  cluster = await LocalCluster.start({ nodes: 1 })
  recorder = place.record({ cluster: { server: cluster.sandbox.url }, kinds })
  await recorder.ready()
  cluster.sandbox.put("v1.ConfigMap", { metadata: { namespace: "default", name: "settings" }, data: {} })
  for (const name of ["quiet", "web"]) await cluster.client.create(deployments, deployment(name))
  await momentOf("quiet", "2/2 2 2")
  moments.healthy = await momentOf("web", "2/2 2 2")
  const annotations = { "sandbox.kubereel.dev/fail-after": "1ms" }
  const crash = { spec: { template: { metadata: { annotations } } } }
  await cluster.client.patch(deployments, { namespace: "default", name: "web" }, "strategic-merge", crash)
  await until(
    () => cluster.sandbox.list("v1.Pod").filter((pod) => JSON.stringify(pod).includes("CrashLoopBackOff")).length === 2,
    () => "the pods to crash",
    30_000,
  )
  moments.crashing = await momentOf("web", "0/2 2 0")
}, 90_000)
afterAll(async () => {
  await place.close()
  await cluster.close()
})

test("a crash-looping Deployment was ready before it crashed, and not while its pods crash", async () => {
  for (const from of [await server(), ["--data-dir", place.path("data")]]) {
    expect(await readiness("web", "--at", moments.healthy, ...from)).toBe("2/2 2 2")
    expect(await readiness("web", "--at", moments.crashing, ...from)).toBe("0/2 2 0")
    expect(await readiness("quiet", "--at", moments.crashing, ...from)).toBe("2/2 2 2")
  }
})

test("kubectl's table of the past shows the same", async () => {
  const past = await openPast(place.path("data"), { environment: {}, signal: new AbortController().signal })
  const { url } = await serve(past)
  const ready = async (moment: string): Promise<unknown> => {
    // The directory ends with its last change.
    const micros = Math.min(Date.parse(moment) * 1000, past.end)
    const table = await tableOf(`${url}/at/${micros}/apis/apps/v1/namespaces/default/deployments`)
    expect(table.warning).toBeNull()
    return table.rows.map(({ cells }) => cells.slice(0, 4))
  }
  expect(await ready(moments.healthy)).toEqual([
    ["quiet", "2/2", 2, 2],
    ["web", "2/2", 2, 2],
  ])
  expect(await ready(moments.crashing)).toEqual([
    ["quiet", "2/2", 2, 2],
    ["web", "0/2", 2, 0],
  ])
})

const tableOf = async (url: string) => {
  const response = await fetch(url, { headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" } })
  const { rows } = (await response.json()) as {
    readonly rows: ReadonlyArray<{ readonly cells: ReadonlyArray<unknown> }>
  }
  return { rows, warning: response.headers.get("warning") }
}

const note = "status changes were not recorded for apps/v1.ReplicaSet, so the status of these objects may be unknown\n"

test("of a kind without changes of status readiness is unknown, which every command says once", async () => {
  const from = await server()
  const { code, cells, error } = await shown(getCommand, ["rs", "--at", moments.healthy, ...from])
  expect(code).toBe(exitCodes.ok)
  expect(cells.slice(1, 3).map((row) => row.slice(2, 5))).toEqual([
    ["2", "<unknown>", "<unknown>"],
    ["2", "<unknown>", "<unknown>"],
  ])
  expect(error).toBe(`reel get: note: ${note}`)
  const name = cells[1]?.[1] ?? ""
  for (const [command, word] of [
    [historyCommand, "history"],
    [whyCommand, "why"],
  ] as const) {
    const told = await shown(command as typeof getCommand, [`rs/${name}`, "-n", "default", ...from])
    expect([told.code, told.error]).toEqual([exitCodes.ok, `reel ${word}: note: ${note}`])
  }
  expect((await shown(getCommand, ["cm,deploy,pods", ...from])).error).toBe("")
  const { url } = await serve(await openPast(from[1] ?? "", { environment: {}, signal: new AbortController().signal }))
  const table = await tableOf(`${url}/apis/apps/v1/replicasets`)
  expect(table.rows[0]?.cells.slice(1, 4)).toEqual([2, "<unknown>", "<unknown>"])
  expect(table.warning).toBe(
    '299 - "apps/v1.ReplicaSet: status changes were not recorded, so the status of objects at this moment may be unknown"',
  )
  expect((await tableOf(`${url}/api/v1/configmaps`)).warning).toBeNull()
})

test("a trace names the kinds whose status it does not know", async () => {
  const text = await (await recorder.post(everything("ndjson"))).text()
  expect(JSON.parse(text.slice(0, text.indexOf("\n")))).toMatchObject({ withoutStatus: ["apps/v1.ReplicaSet"] })
  const trace = ["--trace", place.write("trace.ndjson", text), "--at", moments.crashing]
  expect(await readiness("web", ...trace)).toBe("0/2 2 0")
  const sets = await shown(getCommand, ["rs", ...trace])
  expect(sets.cells[1]?.slice(3, 5)).toEqual(["<unknown>", "<unknown>"])
  const { url } = await serve(await openPast(trace[1] ?? "", { environment: {}, signal: new AbortController().signal }))
  expect((await tableOf(`${url}/apis/apps/v1/replicasets`)).rows[0]?.cells.slice(2, 4)).toEqual([
    "<unknown>",
    "<unknown>",
  ])
  expect((await tableOf(`${url}/apis/apps/v1/deployments`)).warning).toBeNull()
})

test("a recorder that begins to record status knows that of the objects that change from then on", async () => {
  await recorder.stop()
  recorder = place.record({ cluster: { server: cluster.sandbox.url }, kinds: { ...kinds, "apps/v1.ReplicaSet": "{}" } })
  await recorder.ready()
  const scale = { spec: { replicas: 3 } }
  await cluster.client.patch(deployments, { namespace: "default", name: "quiet" }, "merge", scale)
  await momentOf("quiet", "3/3 3 3")
  const { cells, error } = await shown(getCommand, ["rs", ...(await server())])
  const rows = cells.slice(1, 4).map(([, name = "", ...row]) => [name.split("-")[0], ...row.slice(0, 3)])
  expect(rows).toContainEqual(["quiet", "3", "3", "3"])
  // The ReplicaSet of before the crash, which does not change any more.
  expect(rows).toContainEqual(["web", "0", "<unknown>", "<unknown>"])
  expect(error).toContain(note)
  const before = await shown(getCommand, ["rs", "--at", moments.healthy, ...(await server())])
  expect(before.output).toContain("<unknown>")
})
