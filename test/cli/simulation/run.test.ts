import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { parse } from "yaml"
import { exitCodes } from "../../../src/cli/command-line/exit-codes.ts"
import { simulationKind } from "../../../src/simulation/index.ts"
import { eventually } from "../../harness/eventually.ts"
import { condition, simulationClusters } from "./with-simulations.ts"

const here = simulationClusters()

const dryRun = async (...argv: string[]): Promise<Record<string, unknown>> => {
  const { terminal, code } = here.run("run", "monday", "--dry-run", ...argv)
  expect([await code, terminal.standardError.text()]).toEqual([exitCodes.ok, ""])
  return parse(terminal.standardOutput.text())
}

describe("the manifest of reel run", () => {
  test("without options is that of SimKube, without hooks and metrics", async () => {
    expect(await dryRun()).toEqual({
      apiVersion: "simkube.io/v1",
      kind: "Simulation",
      metadata: { name: "monday" },
      spec: {
        driver: {
          image: expect.stringMatching(/^kubereel:\d/),
          namespace: "simkube",
          port: 8888,
          tracePath: "file:///data/trace",
          virtualNsPrefix: "virtual",
          args: ["--verbosity", "info"],
        },
        lifecycleParams: { imagePullDelay: 0, imagePullJitter: 0, podStartupDelay: 0, podStartupJitter: 0 },
        speed: 1,
        repetitions: 1,
      },
    })
  })

  test("has what SimKube's options say, by their long and short names", async () => {
    const { metadata, spec } = await dryRun(
      ...["-f", "s3://traces/a.sktrace", "-D", "+5m", "-s", "2.5", "-N", "3", "-I", "driver:1", "--start-paused"],
      ...["--reschedule-interrupted-bare-pods", "--driver-port", "9000", "--driver-namespace", "sims"],
      ...["--driver-secrets", "a,b", "--driver-verbosity", "debug", "--skip-local-volume-mount"],
      ...["--virtual-ns-prefix", "v", "--image-pull-delay", "1", "--image-pull-jitter", "2"],
      ...["--pod-startup-delay", "3", "--pod-startup-jitter", "4", "--metrics-namespace", "m"],
      ...["--metrics-service-account", "p", "--metrics-pod-monitor-names", "x,y", "--prometheus-shards", "2"],
      ...["--metrics-service-monitor-namespaces", "n", "--remote-write-endpoint", "http://w/receive"],
      ...["--report", "s3://reports/a"],
    )
    expect(metadata).toEqual({
      name: "monday",
      annotations: { "controller.simkube.io/skip-local-volume-mount": "true" },
    })
    expect(spec).toEqual({
      driver: {
        image: "driver:1",
        namespace: "sims",
        port: 9000,
        tracePath: "s3://traces/a.sktrace",
        virtualNsPrefix: "v",
        args: ["--verbosity", "debug"],
        secrets: ["a", "b"],
      },
      lifecycleParams: { imagePullDelay: 1, imagePullJitter: 2, podStartupDelay: 3, podStartupJitter: 4 },
      duration: "+5m",
      speed: 2.5,
      repetitions: 3,
      rescheduleInterruptedBarePods: true,
      pausedTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      metrics: {
        namespace: "m",
        serviceAccount: "p",
        podMonitorNames: ["x", "y"],
        podMonitorNamespaces: ["monitoring-hd"],
        serviceMonitorNamespaces: ["n"],
        prometheusShards: 2,
        remoteWriteConfigs: [{ url: "http://w/receive" }],
      },
      report: { url: "s3://reports/a" },
    })
  })

  test("has no metrics with --disable-metrics, whatever else is given", async () => {
    expect((await dryRun("--metrics-namespace", "m", "--disable-metrics")).spec).not.toHaveProperty("metrics")
  })

  test("has an absolute path for a relative one", async () => {
    const { spec } = await dryRun("-f", "traces/a.sktrace")
    expect(spec).toMatchObject({ driver: { tracePath: join(process.cwd(), "traces/a.sktrace") } })
  })

  test("has the hooks of several files, list by list, and none with an empty list of files", async () => {
    const [first, second] = ["one.yml", "two.yml"].map((name) => join(here.directory, name)) as [string, string]
    writeFileSync(first, "preStartHooks: [{cmd: a}]\npostStopHooks: [{cmd: z, args: [x], ignoreFailure: true}]\n")
    writeFileSync(second, "preStartHooks: [{cmd: b, sendSim: true, timeout: 1m}]\n")
    expect((await dryRun("--hooks", `${first}:${second}`)).spec).toMatchObject({
      hooks: {
        preStartHooks: [{ cmd: "a" }, { cmd: "b", sendSim: true, timeout: "1m" }],
        postStopHooks: [{ cmd: "z", args: ["x"], ignoreFailure: true }],
      },
    })
    expect((await dryRun("--hooks=")).spec).not.toHaveProperty("hooks")
  })

  test("is accepted by the API server as it is printed, in YAML and in JSON", async () => {
    const { terminal, code } = here.run("run", "monday", "--dry-run", "-o", "json", "--metrics-namespace", "m")
    expect(await code).toBe(exitCodes.ok)
    const created = await here.cluster.client.create(simulationKind, JSON.parse(terminal.standardOutput.text()), {
      fieldValidation: "Strict",
    })
    expect(created.metadata.name).toBe("monday")
  })
})

test.each([
  [
    ["--hooks", "missing.yml"],
    exitCodes.failed,
    "--hooks missing.yml: it does not exist; for no hooks, write --hooks ''",
  ],
  [["--speed", "0"], exitCodes.usage, '--speed "0": must be a number above 0'],
  [["--duration", "5"], exitCodes.usage, "must be a duration from the start of the trace"],
  [["--timeout", "5m"], exitCodes.usage, "--timeout requires --wait"],
  [["--dry-run", "--wait"], exitCodes.usage, "--dry-run excludes --wait"],
])("%s is refused before anything is created", async (argv, code, message) => {
  const ran = here.run("run", "monday", ...argv)
  expect(await ran.code).toBe(code)
  expect(ran.terminal.standardError.text()).toContain(message)
  expect((await here.cluster.client.list(simulationKind)).items).toEqual([])
})

test.each([
  ["no YAML", "a: [", "it is not YAML: "],
  ["a hook without a command", "preRunHooks: [{args: [a]}]", 'Missing key at ["preRunHooks"][0]["cmd"]'],
  ["an unknown list", "preRun: []", 'at ["preRun"]'],
])("a file of hooks with %s is refused with the position", async (_what, text, message) => {
  const file = join(here.directory, "hooks.yml")
  writeFileSync(file, text)
  const { terminal, code } = here.run("run", "monday", "--hooks", file)
  expect(await code).toBe(exitCodes.failed)
  expect(terminal.standardError.text()).toContain(`reel run: --hooks ${file}: `)
  expect(terminal.standardError.text()).toContain(message)
})

describe("reel run in a cluster", () => {
  test("creates the Simulation and does not wait", async () => {
    const { terminal, code } = here.run("run", "monday", "-f", "/data/trace", "-N", "2")
    expect(await code).toBe(exitCodes.ok)
    expect(terminal.standardError.text()).toBe("reel run: created the Simulation monday\n")
    expect((await here.get("monday")).spec).toMatchObject({ repetitions: 2, driver: { tracePath: "/data/trace" } })
  })

  test("says so if the name is taken, if the definitions are missing, and what the API server refuses", async () => {
    await here.run("run", "monday").code
    const again = here.run("run", "monday")
    expect(await again.code).toBe(exitCodes.failed)
    expect(again.terminal.standardError.text()).toContain("the Simulation monday exists already")
    const bad = here.run("run", "tuesday", "-f", "ftp://host/trace")
    expect(await bad.code).toBe(exitCodes.failed)
    expect(bad.terminal.standardError.text()).toContain("must name a trace")
    here.cluster.sandbox.unregister("simkube.io/v1.Simulation")
    const without = here.run("run", "wednesday")
    expect(await without.code).toBe(exitCodes.failed)
    expect(without.terminal.standardError.text()).toContain("reel crd | kubectl apply --server-side -f -")
  })
})

describe("reel run --wait", () => {
  const report = { repetition: 1, objects: 12, objectsEqual: 0.9996, writesRefused: 0, driftP99Ms: 2.34, podsPaired: 1 }
  const times = { startTime: "2026-11-23T12:00:00Z", endTime: "2026-11-23T12:01:05Z", completedRuns: 1 }

  test("shows the states and, when the controller has cleaned up, what has come of it", async () => {
    const { terminal, code } = here.run("run", "monday", "--wait")
    const progress = { repetition: 1, eventsSent: 1200, eventsTotal: 2400, percent: 50 }
    await here.report("monday", { state: "Running", progress })
    await eventually(() => expect(terminal.standardError.text()).toContain("Running, 50 %, 1,200 of 2,400 events"))
    const cleaning = [condition("Progressing", "True", "CleaningUp", "removing")]
    await here.report("monday", { state: "Finished", ...times, reports: [report], conditions: cleaning })
    await eventually(() => expect(terminal.standardError.text()).toContain("Finished"))
    expect(terminal.standardOutput.text()).toBe("")
    await here.report("monday", { conditions: [condition("Progressing", "False", "Finished", "done")] })
    expect(await code).toBe(exitCodes.ok)
    expect(terminal.standardOutput.text()).toBe(
      "Finished   1 complete repetition, 1 m 05 s\n" +
        "run 1      12 objects, 99.9 % as recorded, 0 writes refused, p99 2.3 ms after due, 100.0 % of the pods paired\n",
    )
    expect(terminal.listeners()).toBe(0)
  })

  test("fails with the reason if the simulation fails", async () => {
    const { terminal, code } = here.run("run", "monday", "--wait")
    const conditions = [condition("Degraded", "True", "DriverFailed", "the trace /data/trace does not exist")]
    await here.report("monday", { state: "Failed", conditions })
    expect(await code).toBe(exitCodes.failed)
    expect(terminal.standardOutput.text()).toContain("reason     the trace /data/trace does not exist\n")
  })

  test("is incomplete if the cluster refused writes", async () => {
    const { code } = here.run("run", "monday", "--wait")
    await here.report("monday", { state: "Finished", ...times, reports: [{ ...report, writesRefused: 3 }] })
    expect(await code).toBe(exitCodes.incomplete)
  })

  test("fails if the Simulation is deleted, even if another of its name follows", async () => {
    const { terminal, code } = here.run("run", "monday", "--wait")
    await eventually(() => here.get("monday"))
    const { metadata, ...rest } = await here.get("monday")
    await here.cluster.client.delete(simulationKind, metadata)
    await here.cluster.client.create(simulationKind, { ...rest, metadata: { name: "monday" } })
    expect(await code).toBe(exitCodes.failed)
    expect(terminal.standardError.text()).toContain("was deleted before it had ended")
  })

  test("ends with Ctrl-C, which leaves the simulation running, and says how to end it", async () => {
    const { terminal, code } = here.run("run", "monday", "--wait")
    await here.report("monday", { state: "Running" })
    await eventually(() => expect(terminal.standardError.text()).toContain("Running"))
    terminal.interrupt()
    expect(await code).toBe(exitCodes.interrupted)
    expect(terminal.standardError.text()).toContain(
      "the simulation continues; reel status monday --watch shows it, reel delete monday ends it",
    )
    expect((await here.get("monday")).metadata.deletionTimestamp).toBeUndefined()
  })

  test("gives up after --timeout", async () => {
    const { terminal, code } = here.run("run", "monday", "--wait", "--timeout", "1ms")
    expect(await code).toBe(exitCodes.failed)
    expect(terminal.standardError.text()).toContain("not ended after 1 ms; the simulation continues")
  })
})
