/** The kinds Simulation and SimulationRoot on a real API server: what it accepts, what it refuses, and with which words. */
import { execFile } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { readTargetPath } from "../../../src/blob/index.ts"
import { reel } from "../../../src/cli/reel.ts"
import { longestSimulationName } from "../../../src/simulation/api/derived-names.ts"
import { capturedTerminal } from "../../cli/captured-terminal.ts"
import { columns } from "../../simulation/api/definition.ts"
import { kubectl, kubectlJson } from "../command.ts"
import { at, textAt } from "../exact-json.ts"
import { openTestCluster, type TestCluster } from "../guard.ts"

const run = promisify(execFile)
const crds = fileURLToPath(new URL("../../../k8s/crds", import.meta.url))

let cluster: TestCluster
let directory = ""
beforeAll(async () => {
  cluster = await openTestCluster()
  directory = await mkdtemp(join(tmpdir(), "kubereel-simulation-api-"))
  const terminal = capturedTerminal()
  await reel(["crd"], terminal)
  const file = join(directory, "crds.yaml")
  await writeFile(file, terminal.standardOutput.text())
  await kubectl(cluster, "apply", "--server-side", "--dry-run=server", "-f", file)
  // Warnings, for example of formats that the server does not know, are on standard error.
  const { stderr } = await run(cluster.kubectl, ["--kubeconfig", cluster.kubeconfig, "apply", "-k", crds])
  expect(stderr).toBe("")
  await kubectl(cluster, "wait", "--for=condition=Established", "--timeout=60s", "-f", file)
})
afterAll(async () => {
  await kubectl(cluster, "delete", "-k", crds, "--ignore-not-found")
  await rm(directory, { recursive: true, force: true })
})

type Members = Readonly<Record<string, unknown>>

const driver = { image: "reel", namespace: "simkube", port: 8888, tracePath: "s3://traces/demo.sktrace" }

let made = 0
const simulation = (spec: Members, name = `sim-${process.pid}-${made++}`) => ({
  apiVersion: "simkube.io/v1",
  kind: "Simulation",
  metadata: { name },
  spec: { driver, ...spec },
})

const send = async (object: object, ...words: ReadonlyArray<string>): Promise<string> => {
  const file = join(directory, `${made++}.json`)
  await writeFile(file, JSON.stringify(object))
  // Without kubectl's own validation, which would refuse before the server does.
  return kubectl(cluster, ...words, "-f", file)
}

const tried = (object: object): Promise<string> => send(object, "create", "--dry-run=server")

describe("manifests of SimKube", () => {
  const sample = {
    driver: { ...driver, virtualNsPrefix: "virtual", certManagerIssuer: "selfsigned", args: ["--verbosity", "info"] },
    lifecycleParams: { imagePullDelay: 500, imagePullJitter: 100, podStartupDelay: 0, podStartupJitter: 0 },
    repetitions: 2,
    speed: 2.5,
    duration: "+10m",
    hooks: { preRunHooks: [{ cmd: "kubectl", args: ["get", "nodes"], ignoreFailure: false, sendSim: false }] },
    metrics: { remoteWriteConfigs: [{ url: "http://rw:1234/receive", queueConfig: { capacity: 5, later: true } }] },
  }

  test("apply unchanged, and so do those from before 2.7", async () => {
    const { lifecycleParams: _, ...before } = sample
    for (const spec of [sample, before]) {
      const object = simulation(spec)
      await send(object, "apply")
      const stored = await kubectlJson(cluster, "get", "sim", object.metadata.name)
      expect(at(stored, "spec")).toMatchObject({ metrics: { remoteWriteConfigs: [{ queueConfig: { later: true } }] } })
      expect(textAt(stored, "spec", "driver", "virtualNsPrefix")).toBe("virtual")
    }
  })

  test("apply with nulls for what is not given, as skctl sends them", async () => {
    const nulls = Object.fromEntries(
      ["duration", "repetitions", "speed", "rescheduleInterruptedBarePods", "pausedTime", "hooks", "metrics"].map(
        (name) => [name, null],
      ),
    )
    const object = simulation({ ...nulls, lifecycleParams: {}, driver: { ...driver, args: null, secrets: null } })
    await send(object, "create")
    const { name } = object.metadata
    await kubectl(cluster, "patch", "sim", name, "--subresource=status", "--type=merge", "-p", status("Running"))
    // The rules about changes compare the nulls, and find them equal.
    await kubectl(cluster, "patch", "sim", name, "--type=merge", "-p", '{"spec":{"speed":3}}')
  })

  test("of a SimulationRoot are empty", async () => {
    await tried({ apiVersion: "simkube.io/v1", kind: "SimulationRoot", metadata: { name: "root" }, spec: {} })
    const without = { apiVersion: "simkube.io/v1", kind: "SimulationRoot", metadata: { name: "root" } }
    await expect(tried(without)).rejects.toThrow("spec: Required value")
  })
})

const status = (state: string): string => JSON.stringify({ status: { observedGeneration: 1, state } })

describe("kubectl", () => {
  test("explains the fields", async () => {
    // kubectl breaks lines. The server publishes the fields a moment after the definition is established.
    const explained = async (field: string) => (await kubectl(cluster, "explain", field)).replaceAll(/\s+/g, " ")
    const soon = { timeout: 20_000, interval: 200 }
    await expect.poll(() => explained("simulation.spec"), soon).toContain("How many times as fast")
    await expect
      .poll(() => explained("simulation.spec.hooks.preRunHooks.timeout"), soon)
      .toContain("has failed. Default: 5m.")
  })

  test("shows SimKube's columns, and with -o wide the figures of the latest repetition", async () => {
    const object = simulation({ speed: 2, repetitions: 5 })
    const { name } = object.metadata
    await send(object, "apply")
    const reports = [
      { repetition: 1, objects: 5, writesRefused: 9, driftP99Ms: 1.5 },
      { repetition: 2, objects: 7, objectsEqual: 0.98, writesRefused: 1, driftP99Ms: 2.25, podsPaired: 0.5 },
    ]
    const written = JSON.stringify({ status: { observedGeneration: 1, state: "Running", completedRuns: 2, reports } })
    await kubectl(cluster, "patch", "sim", name, "--subresource=status", "--type=merge", "-p", written)
    const table = async (...words: string[]) =>
      (await kubectl(cluster, "get", "sims", name, ...words))
        .trimEnd()
        .split("\n")
        .map((line) => line.split(/ {2,}/))
    const names = columns.map((column) => column.name.toUpperCase())
    expect((await table())[0]).toEqual([
      "NAME",
      "START TIME",
      "END TIME",
      "SPEED FACTOR",
      "COMPLETED",
      "TOTAL",
      "STATE",
    ])
    const [head, row] = await table("-o", "wide")
    expect(head).toEqual(["NAME", ...names])
    expect(row).toEqual(expect.arrayContaining([name, "2", "5", "Running", "7", "0.98", "1", "2.25", "0.5"]))
  })
})

const hook = (timeout: string) => ({ hooks: { postRunHooks: [{ cmd: "true", timeout }] } })
const with_ = (members: Members) => ({ driver: { ...driver, ...members } })
const report = (url: string) => ({ report: { url } })

const goodAddresses = [
  "s3://reports",
  "s3://reports/a/b",
  "gs://reports/a",
  "azure://reports/a",
  "abfss://reports@account.dfs.core.windows.net/a",
  "https://s3.eu-west-1.amazonaws.com/reports/a",
  "https://account.blob.core.windows.net/reports/a",
  "https://0123.r2.cloudflarestorage.com/reports/a",
]

describe("the API server", () => {
  test.each([
    ...["/data/trace", "file:///data/trace", "s3://b/k", "s3a://b/k", "gs://b/k", "azure://c/k", "https://h/p"].map(
      (tracePath) => with_({ tracePath }),
    ),
    ...["+5m", "1 hour and 30 minutes", "2 days, 3 hours", "90s"].map((duration) => ({ duration })),
    ...["1ms", "30s", "1h30m", "1.5h"].map(hook),
    { speed: 0.01 },
    with_({ virtualNsPrefix: "v", namespace: "0-a" }),
  ])("accepts %j", async (spec) => {
    expect(await tried(simulation(spec))).toContain("created (server dry run)")
  })

  test.each(goodAddresses)("accepts the folder %s for reports, and exports can be written into it", async (url) => {
    expect(await tried(simulation(report(url)))).toContain("created (server dry run)")
    expect(readTargetPath(`${url}/demo-1.json`)).toMatchObject({ tag: "store" })
  })

  test.each<[Members, string]>([
    [with_({ tracePath: "data/trace" }), 'spec.driver.tracePath: Invalid value: "string": must name a trace: /PATH'],
    [with_({ tracePath: "memory:///x" }), "must name a trace"],
    [with_({ tracePath: "ftp://host/x" }), "must name a trace"],
    [with_({ tracePath: "s3://bucket" }), "must name a trace"],
    [with_({ tracePath: "/data/" }), "without a slash at the end"],
    [with_({ port: 0 }), "spec.driver.port in body should be greater than or equal to 1"],
    [with_({ port: 65_536 }), "should be less than or equal to 65535"],
    [
      with_({ namespace: "Sim_Kube" }),
      'spec.driver.namespace: Invalid value: "string": must be the name of a namespace',
    ],
    [with_({ namespace: "a".repeat(64) }), "may not be more than 63"],
    [with_({ virtualNsPrefix: "" }), "must start names of namespaces"],
    [with_({ image: undefined }), "spec.driver.image: Required value"],
    [{ speed: 0 }, "spec.speed in body should be greater than 0"],
    [{ speed: -1 }, "should be greater than 0"],
    [{ repetitions: 0 }, "spec.repetitions in body should be greater than or equal to 1"],
    [
      { duration: "tomorrow" },
      'spec.duration: Invalid value: "string": must be a duration from the start of the trace, such as +5m',
    ],
    [{ duration: "0s" }, "must be a duration"],
    [hook("0s"), "must be a duration from 1ms on"],
    [hook("soon"), 'spec.hooks.postRunHooks[0].timeout: Invalid value: "string": must be a duration from 1ms on'],
    [report("/data/reports"), 'spec.report.url: Invalid value: "string": must be a folder in an object store'],
    [report("https://example.com/reports"), "must be a folder in an object store"],
    [report("s3://reports/a?versionId=1"), "without ? and #"],
    [{ pausedTime: "now" }, "spec.pausedTime in body must be of type date-time"],
    [{ metrics: {} }, "spec.metrics.remoteWriteConfigs: Required value"],
    [{ unknown: 1 }, 'unknown field "spec.unknown"'],
  ])("refuses %j and says what to change", async (spec, message) => {
    await expect(tried(simulation(spec))).rejects.toThrow(message)
  })

  test("refuses names that are too long for what is named after them, and no shorter ones", async () => {
    await tried(simulation({}, "a".repeat(longestSimulationName)))
    await expect(tried(simulation({}, "a".repeat(longestSimulationName + 1)))).rejects.toThrow("sk-NAME-driver-svc")
    await expect(tried(simulation({}, "a.b"))).rejects.toThrow("no dots")
  })

  test("refuses changes of a running simulation that would have no effect, and only those", async () => {
    const object = simulation({ duration: "5m" })
    const { name } = object.metadata
    await send(object, "apply")
    const patch = (spec: Members) =>
      kubectl(cluster, "patch", "sim", name, "--type=merge", "-p", JSON.stringify({ spec }))
    const become = (state: string) =>
      kubectl(cluster, "patch", "sim", name, "--subresource=status", "--type=merge", "-p", status(state))
    await patch(with_({ namespace: "elsewhere" }))
    await become("Initializing")
    await patch({ repetitions: 2 })
    await expect(patch(with_({ namespace: "simkube" }))).rejects.toThrow("delete the Simulation and create it again")
    for (const state of ["Running", "Paused"]) {
      await become(state)
      for (const change of [
        { driver: { image: "other" } },
        { lifecycleParams: { imagePullDelay: 1 } },
        { duration: "6m" },
        { duration: null },
        { repetitions: 3 },
        { rescheduleInterruptedBarePods: true },
        { metrics: { remoteWriteConfigs: [] } },
        { report: { url: "s3://reports/a" } },
      ])
        await expect(patch(change)).rejects.toThrow("cannot change while the simulation is running")
      await patch({
        speed: state.length,
        pausedTime: "2026-11-23T12:00:00Z",
        hooks: { postStopHooks: [{ cmd: state }] },
      })
    }
    await become("Finished")
    await patch({ ...with_({ namespace: "simkube" }), duration: null, repetitions: 7 })
  })

  test("takes the conditions of a status apart by their type", async () => {
    const object = simulation({})
    const { name } = object.metadata
    await send(object, "apply")
    const condition = {
      type: "Ready",
      status: "True",
      reason: "Running",
      message: "",
      lastTransitionTime: "2026-11-23T12:00:00Z",
    }
    const write = (...conditions: ReadonlyArray<object>) =>
      kubectl(
        cluster,
        ...["patch", "sim", name, "--subresource=status", "--type=merge", "-p"],
        JSON.stringify({ status: { observedGeneration: 1, conditions } }),
      )
    await write(condition, { ...condition, type: "Degraded" })
    await expect(write(condition, condition)).rejects.toThrow("Duplicate value")
    await expect(write({ ...condition, status: "Perhaps" })).rejects.toThrow('"True", "False", "Unknown"')
  })
})
