/**
 * A round trip of pods on a real cluster: a workload whose pods start and run for different times on kwok's nodes is recorded, and replayed
 * with `reel replay`, whose own report must say that the pods of the replay lived as long as the recorded ones, divided by the speed.
 *
 * The recorded nodes have the stages of k8s/kwok under other names of annotations: what the objects of the trace say about their pods
 * means nothing to the nodes of the replay, which know only what the webhook tells them.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { exitCodes } from "../../../src/cli/command-line/exit-codes.ts"
import { type OpenTarget, openTarget } from "../../../src/cli/replay/replay-target.ts"
import { replayCommand } from "../../../src/cli/replay.ts"
import { systemClock } from "../../../src/clock.ts"
import { type ApiObject, kinds, type Pod } from "../../../src/kube/index.ts"
import type { Both, FidelityReport, PodFidelity, Spread } from "../../../src/simulation/index.ts"
import { capturedTerminal } from "../../cli/captured-terminal.ts"
import { eventually } from "../../harness/eventually.ts"
import { patient } from "../../harness/patience.ts"
import { type Kwok, kwokNode, startKwok } from "../clients/kwok.ts"
import { type Recorder, startRecorder } from "../command.ts"
import { openTestCluster, type TestCluster } from "../guard.ts"

const { deployments, jobs, namespaces, nodes, pods } = kinds
const id = `pods-${process.pid}`
const namespace = `recorded-${id}`
const tracked = ["v1.Pod", "apps/v1.Deployment", "apps/v1.ReplicaSet", "batch/v1.Job"]

let cluster: TestCluster
let directory = ""
let trace = ""
let recorder: Recorder | undefined
let target: OpenTarget
const kwoks: Kwok[] = []

const at = (name: string) => ({ namespace, name })

interface Life {
  /** ms from being scheduled to running, and from there to ready. */
  readonly start: number
  readonly ready?: number
  /** ms from the creation to the end; absent: it runs until it is deleted. */
  readonly end?: number
  readonly exitCode?: number
}

/** Metadata and spec of a pod with a life, for the nodes that are recorded. */
const podOf = ({ start, ready = 200, end, exitCode = 0 }: Life, app: string) => ({
  metadata: {
    labels: { app, ...(end !== undefined && { "recorded/complete": "true" }) },
    annotations: {
      "recorded/create-delay": `${start}ms`,
      "recorded/create-delay-jitter": `${start}ms`,
      "recorded/ready-delay": `${ready}ms`,
      "recorded/ready-delay-jitter": `${ready}ms`,
      ...(end !== undefined && { "recorded/complete-time": new Date(Date.now() + end).toISOString() }),
      ...(exitCode !== 0 && { "kubereel.dev/exit-code": String(exitCode) }),
    },
  },
  spec: {
    containers: [{ name: "main", image: "main:1" }],
    nodeSelector: { pool: id },
    restartPolicy: end === undefined ? "Always" : "Never",
    terminationGracePeriodSeconds: 0,
  },
})
const bare = (name: string, life: Life) => {
  const { metadata, spec } = podOf(life, name)
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { ...metadata, ...at(name) }, spec }
  return target.client.create<ApiObject>(pods, pod as ApiObject)
}
const job = (name: string, count: number, life: Life) => {
  const spec = { completions: count, parallelism: count, backoffLimit: 0, template: podOf(life, name) }
  return target.client.create<ApiObject>(jobs, { apiVersion: "batch/v1", kind: "Job", metadata: at(name), spec })
}
const deployment = (name: string, replicas: number, life: Life) =>
  target.client.create<ApiObject>(deployments, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: at(name),
    spec: { replicas, selector: { matchLabels: { app: name } }, template: podOf(life, name) },
  })
const patched = (name: string, spec: object) => target.client.patch(deployments, at(name), "merge", { spec })

/** Each step and the ms to wait before it. */
const script: ReadonlyArray<readonly [waitMs: number, step: () => Promise<unknown>]> = [
  [300, () => deployment("web", 3, { start: 1500, ready: 300 })],
  [200, () => job("short", 3, { start: 800, end: 4000 })],
  [300, () => bare("fails", { start: 2500, end: 8000, exitCode: 3 })],
  [200, () => bare("lasts", { start: 4000, end: 16_000 })],
  [500, () => bare("evicted", { start: 500 })],
  [1500, () => job("long", 2, { start: 3000, end: 10_000 })],
  [2500, () => patched("web", { replicas: 5 })],
  [3000, () => patched("web", { template: podOf({ start: 700, ready: 300 }, "web") })],
  [2000, () => target.client.delete(pods, at("evicted"))],
  [3500, () => target.client.delete(deployments, at("web"), { propagationPolicy: "Background" })],
]

const node = (name: string, labels: Readonly<Record<string, string>>, taints: ReadonlyArray<object>): ApiObject => {
  const made = kwokNode(name, "none", name) as ApiObject
  const { labels: _none, ...metadata } = made.metadata
  return { ...made, metadata: { ...metadata, labels }, spec: { taints } }
}

const exported = async (from: number, to: number): Promise<Uint8Array> => {
  const filters = { excluded_namespaces: [], excluded_labels: [], namespaces: [namespace] }
  const window = { start_ts: 0, end_ts: 0, start_time: from, end_time: to }
  const response = await fetch(`${recorder?.address}/export`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...window, export_path: "file:///export", filters, format: "ndjson", require: "all" }),
  })
  const bytes = new Uint8Array(await response.arrayBuffer())
  if (response.status !== 200) throw new Error(`the export failed: ${Buffer.from(bytes).toString()}`)
  return bytes
}

beforeAll(async () => {
  cluster = await openTestCluster()
  directory = await mkdtemp(join(tmpdir(), "kubereel-pods-"))
  await writeFile(join(directory, "config.yml"), `trackedObjects:\n${tracked.map((gvk) => `  ${gvk}: {}\n`).join("")}`)
  await mkdir(join(directory, "data"))
  target = await openTarget({ kubeconfig: cluster.kubeconfig, context: undefined, concurrency: 16 })
  const stages = fileURLToPath(new URL("../../../k8s/kwok/pod-stages.yaml", import.meta.url))
  const renamed = join(directory, "stages.yml")
  await writeFile(renamed, (await readFile(stages, "utf8")).replaceAll("simkube.io/kwok-stage-", "recorded/"))
  const [recordedNode, replayedNode] = [`recorded-${id}`, `replayed-${id}`]
  kwoks.push(await startKwok(cluster.kubeconfig, { stages: renamed, nodes: recordedNode }))
  kwoks.push(await startKwok(cluster.kubeconfig, { stages, nodes: replayedNode }))
  await target.client.create<ApiObject>(nodes, node(recordedNode, { pool: id }, []))
  // Only what is replayed tolerates the taint.
  const taint = { key: "kwok-provider", effect: "NoSchedule" }
  await target.client.create<ApiObject>(nodes, node(replayedNode, { pool: id, type: id }, [taint]))
  await target.client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } })
  recorder = await startRecorder(cluster, join(directory, "config.yml"), join(directory, "data"))
  const from = systemClock.wallMicros()
  for (const [waitMs, step] of script) {
    await sleep(waitMs)
    await step()
  }
  await eventually(async () => {
    const { items } = await target.client.list<Pod>(pods, { namespace })
    expect(items.filter(({ status }) => status?.phase === "Running" || status?.phase === "Pending")).toEqual([])
  })
  await sleep(500)
  trace = join(directory, "trace.ndjson")
  await writeFile(trace, await exported(from, systemClock.wallMicros()))
})

afterAll(async () => {
  await target?.client.delete(namespaces, { name: namespace })
  for (const name of [`recorded-${id}`, `replayed-${id}`]) await target?.client.delete(nodes, { name })
  await recorder?.stop()
  for (const kwok of kwoks) await kwok.stop()
  await target?.[Symbol.asyncDispose]()
  if (directory !== "") await rm(directory, { recursive: true, force: true })
})

/** What the report of a replay with these options says. */
const replayed = async (
  name: string,
  ...words: ReadonlyArray<string>
): Promise<{ pods: PodFidelity; ended: number }> => {
  const report = join(directory, `${name}.json`)
  const terminal = capturedTerminal()
  const into = ["--kubeconfig", cluster.kubeconfig, "--into-recorded-cluster", "--node-selector", `type=${id}`]
  const own = ["--name", `${name}-${process.pid}`, "--namespace-prefix", name, "--report", report]
  const code = await replayCommand().run([trace, ...into, ...own, ...words], terminal)
  expect(code, terminal.standardError.text()).toBe(exitCodes.ok)
  const { fidelity } = JSON.parse(await readFile(report, "utf8")) as {
    fidelity: Pick<FidelityReport, "timeline"> & { pods: PodFidelity }
  }
  const { Succeeded = [], Failed = [] } = fidelity.timeline.pods.replayed ?? {}
  return { pods: fidelity.pods, ended: (Succeeded.at(-1) ?? 0) + (Failed.at(-1) ?? 0) }
}

/** Of p50 and p99, those that differ by more than `ms` and 5 %. */
const different = (what: string, both: Both<Spread | null>, ms: number): ReadonlyArray<string> =>
  (["p50", "p99"] as const).flatMap((each) => {
    const [recorded, found] = [both.recorded?.[each] ?? Number.NaN, both.replayed?.[each] ?? Number.NaN]
    return Math.abs(found - recorded) <= Math.max(ms, 0.05 * recorded)
      ? []
      : [`${what} ${each} ${found} ms instead of ${recorded} ms`]
  })

/** ms by which a percentile may differ, or 5 % if that is more. */
const toleranceMs = 1000

describe("pods of a replay are pending and run as long as the recorded ones, p50 and p99 within a second or 5 %", () => {
  test("at speed 1", async () => {
    const { pods: followed, ended } = await replayed("one", "--speed", "1")
    expect([followed.created, followed.paired, ended]).toEqual([{ recorded: 18, replayed: 18 }, 18, 7])
    expect(different("pending", followed.pendingMs, toleranceMs)).toEqual([])
    expect(different("running", followed.runningMs, toleranceMs)).toEqual([])
  })

  test("at speed 10", async () => {
    const { pods: followed, ended } = await replayed("ten", "--speed", "10")
    // Controllers are not ten times as fast: a roll-out that is cut off creates fewer pods.
    expect(followed.paired).toBeGreaterThanOrEqual(15)
    expect(ended).toBe(7)
    // What is recorded takes less than a second there.
    expect(different("pending", followed.pendingMs, Math.min(patient(200), toleranceMs))).toEqual([])
    expect(different("running", followed.runningMs, toleranceMs)).toEqual([])
  })

  test("but not if they live as the cluster decides", async () => {
    const { pods: plain, ended } = await replayed("plain", "--speed", "1", "--duration", "6s", "--pods", "cluster")
    expect(different("pending", plain.pendingMs, toleranceMs)).toContainEqual(expect.stringMatching(/^pending p99/))
    expect(ended).toBe(0)
  })
})
