/** Drivers of Simulations against a sandbox, as their controller starts them. */
import { rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type Clock, systemClock } from "../../../src/clock.ts"
import { makeServerCertificate } from "../../../src/host/index.ts"
import { type ApiObject, kinds, type Pod } from "../../../src/kube/index.ts"
import { simulationDefinitions, simulationKind, simulationRootKind } from "../../../src/simulation/index.ts"
import { eventually } from "../../harness/eventually.ts"
import { patient } from "../../harness/patience.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { type Driving, type Stage, stageOf, startCluster, traceText } from "./driven-cluster.ts"

let cluster: Awaited<ReturnType<typeof startCluster>>
beforeAll(async () => {
  cluster = await startCluster()
}, patient(20_000))
afterAll(() => cluster.close())

interface ConfigMap extends ApiObject {
  readonly data?: Readonly<Record<string, string>>
}

/** The replayed ConfigMap, as soon as it has changed. */
const changed = ({ prefix }: Stage): Promise<ConfigMap> =>
  eventually(async () => {
    const found = await cluster.client.get<ConfigMap>(kinds.configMaps, { namespace: `${prefix}-shop`, name: "a" })
    expect(found.data?.value).not.toBe("0")
    return found
  })

const failureOf = async ({ ended }: Driving): Promise<string> => {
  const { exitCode, message } = await ended
  expect(exitCode).toBe(1)
  return message
}

/** 50 s in one. */
const faster = 50
const fast: Clock = {
  ...systemClock,
  monotonicMs: () => systemClock.monotonicMs() * faster,
  after: (ms, action) => systemClock.after(ms / faster, action),
}

/** 200 changes within 100 s. */
const long = traceText({ changes: 200, stepMs: 500 })

describe("a driver", { timeout: patient(30_000) }, () => {
  test("replays its Simulation, reports progress and figures, runs hooks once, and removes everything", async () => {
    const hook = (text: string) => ({ cmd: "sh", args: ["-c", `cat > /dev/null; echo ${text}`], sendSim: true })
    const spec = {
      lifecycleParams: { imagePullDelay: 30, imagePullJitter: 20 },
      hooks: { preRunHooks: [hook("before")], postRunHooks: [hook("after")] },
    }
    const trace = traceText({ changes: 20, stepMs: 100 })
    await using stage = await stageOf(cluster, "whole", temporaryDirectory(), { spec, trace })
    const driving = stage.drive()
    const foreign = { namespace: "default", name: "foreign" }
    const replayed = await changed(stage)
    expect(replayed.metadata.labels).toMatchObject({
      "simkube.io/simulation": "whole",
      "simkube.io/virtual": "true",
      "kubereel.dev/replay": "sk-whole-driver-0-abcde",
    })
    expect(replayed.metadata.ownerReferences).toMatchObject([
      { kind: "SimulationRoot", name: "sk-whole-driver-0-abcde-root", blockOwnerDeletion: true },
    ])
    const root = await cluster.client.get<ApiObject>(simulationRootKind, { name: "sk-whole-driver-0-abcde-root" })
    expect(root.metadata.ownerReferences).toMatchObject([{ kind: "Simulation", uid: stage.simulation.metadata.uid }])
    const pod = await cluster.client.get<Pod>(kinds.pods, { namespace: `${stage.prefix}-shop`, name: "p" })
    expect(pod.metadata).toMatchObject({
      labels: { "simkube.io/simulation": "whole" },
      annotations: {
        "simkube.io/kwok-stage-create-delay": "30ms",
        "simkube.io/kwok-stage-create-delay-jitter": "50ms",
        "static.simkube.io/pod-sequence-number": "0",
      },
    })
    const spared = await cluster.client.create<Pod>(kinds.pods, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: foreign,
      spec: { containers: [{ name: "main", image: "main:1" }] },
    })
    expect(spared.metadata.labels?.["simkube.io/simulation"]).toBeUndefined()
    await cluster.client.delete(kinds.pods, foreign, { gracePeriodSeconds: 0 })

    expect(await driving.ended).toEqual({ exitCode: 0, message: "" })
    expect(await stage.remains()).toEqual([])
    const { status } = await stage.present()
    expect(status).toMatchObject({
      driverPod: "sk-whole-driver-0-abcde",
      progress: { repetition: 1, eventsSent: 20, eventsTotal: 20, percent: 100 },
      reports: [{ repetition: 1, objects: expect.any(Number), objectsEqual: expect.any(Number), writesRefused: 0 }],
      hooks: [
        { phase: "preRun", index: 0, repetition: 1, exitCode: 0, output: "before\n" },
        { phase: "postRun", index: 0, repetition: 1, exitCode: 0, output: "after\n" },
      ],
    })
    expect(driving.log).toContain("preRun hook: before")
    const place = { namespace: "simkube", name: "sk-whole-report" }
    const { data = {}, metadata } = await cluster.client.get<ConfigMap>(kinds.configMaps, place)
    expect(metadata.ownerReferences).toMatchObject([{ kind: "Simulation", name: "whole" }])
    expect(JSON.parse(data["1.json"] ?? "")).toMatchObject({
      replay: "sk-whole-driver-0-abcde",
      events: { accepted: 20, refused: 0 },
      fidelity: { states: { different: 0, extra: 0, missing: 0 } },
    })
  })

  test("is paused, resumed and made faster by its Simulation within a second", async () => {
    await using stage = await stageOf(cluster, "paused", temporaryDirectory(), { trace: long })
    const driving = stage.drive()
    await changed(stage)
    const has = (line: string) => eventually(() => expect(driving.log).toContain(line))
    await stage.patch({ pausedTime: new Date().toISOString() })
    const answeredMs = performance.now()
    await has("paused")
    expect(performance.now() - answeredMs).toBeLessThan(patient(500))
    const { data } = await changed(stage)
    await stage.patch({ speed: 1000 })
    await has("the speed is 1000 from now on")
    expect((await changed(stage)).data).toEqual(data)
    await stage.patch({ pausedTime: null })
    await has("resumed")
    expect(await driving.ended).toEqual({ exitCode: 0, message: "" })
    expect((await stage.present()).status?.progress).toMatchObject({ eventsSent: 200, percent: 100 })
  })

  test("that starts while its Simulation is paused waits for it", async () => {
    const spec = { pausedTime: new Date().toISOString(), speed: 50 }
    await using stage = await stageOf(cluster, "waiting", temporaryDirectory(), { spec })
    const driving = stage.drive()
    await eventually(() => cluster.client.get(kinds.configMaps, { namespace: `${stage.prefix}-shop`, name: "a" }))
    expect(driving.log).toContain("paused")
    await stage.patch({ pausedTime: null })
    expect((await driving.ended).exitCode).toBe(0)
  })

  test("of another repetition keeps the figures of those before, and the summaries of a hundred", async () => {
    const spec = { repetitions: 101, duration: "+1m" }
    await using stage = await stageOf(cluster, "twice", temporaryDirectory(), { spec })
    for (const index of [0, 1, 100]) expect(await stage.drive({ index }).ended).toEqual({ exitCode: 0, message: "" })
    expect((await stage.present()).status?.reports?.map(({ repetition }) => repetition)).toEqual([1, 2, 101])
    const place = { namespace: "simkube", name: "sk-twice-report" }
    const { data = {}, metadata } = await cluster.client.get<ConfigMap>(kinds.configMaps, place)
    expect(Object.keys(data).toSorted()).toEqual(["101.json", "2.json"])
    expect(metadata.ownerReferences).toHaveLength(1)
  })

  test.each(["told to end", "being deleted"])("whose work ends early because it is %s leaves nothing", async (why) => {
    const name = why === "told to end" ? "ended" : "deleted"
    await using stage = await stageOf(cluster, name, temporaryDirectory(), { trace: long })
    const driving = stage.drive()
    await changed(stage)
    if (name === "ended") driving.end()
    else await cluster.client.delete(simulationKind, { name })
    expect(await failureOf(driving)).toContain(why)
    await eventually(async () => expect(await stage.remains()).toEqual([]))
  })

  test("serves the metrics of its replay", async () => {
    await using stage = await stageOf(cluster, "metrics", temporaryDirectory(), { trace: long })
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    const driving = stage.drive({ args: ["--metrics-port", String(port)] })
    await changed(stage)
    expect(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()).toMatch(/^kubereel_replay_paused 0$/m)
    driving.end()
    await driving.ended
  })

  test("reads its trace from a web server", async () => {
    const server = createServer((request, response) => {
      if (request.url === "/trace") response.end(traceText())
      else response.writeHead(404).end()
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    try {
      await using served = await stageOf(cluster, "served", temporaryDirectory(), {
        driver: { tracePath: `${address}/trace` },
      })
      expect(await served.drive().ended).toEqual({ exitCode: 0, message: "" })
      await using missing = await stageOf(cluster, "unserved", temporaryDirectory(), {
        driver: { tracePath: `${address}/other` },
      })
      expect(await failureOf(missing.drive())).toMatch(/cannot read http.*other: HTTP 404/)
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })
})

describe("a driver that cannot do its work says why, and creates nothing", { timeout: patient(30_000) }, () => {
  test("without its trace", async () => {
    const directory = temporaryDirectory()
    await using stage = await stageOf(cluster, "traceless", directory)
    rmSync(join(directory, "trace.ndjson"))
    const message = await failureOf(stage.drive())
    expect(message).toMatch(/^cannot read .*trace\.ndjson: file not found; spec\.driver\.tracePath names the trace$/)
    writeFileSync(join(directory, "trace.ndjson"), "no trace")
    expect(await failureOf(stage.drive())).toContain("; spec.driver.tracePath names the trace")
    expect(await stage.remains()).toEqual([])
  })

  test("with a certificate that is none, or a key of another one", async () => {
    const directory = temporaryDirectory()
    await using stage = await stageOf(cluster, "uncertain", directory)
    const { key } = makeServerCertificate({
      host: "127.0.0.1",
      notBeforeMs: Date.now(),
      notAfterMs: Date.now() + 60_000,
    })
    writeFileSync(join(directory, "tls.key"), key)
    expect(await failureOf(stage.drive())).toMatch(/tls\.key is not that of the certificate in/)
    writeFileSync(join(directory, "tls.crt"), "none")
    expect(await failureOf(stage.drive())).toMatch(/tls\.crt is no certificate: .*tls\.crt and tls\.key, as PEM$/)
    rmSync(join(directory, "tls.crt"))
    expect(await failureOf(stage.drive())).toMatch(/tls\.crt cannot be read: ENOENT/)
    expect(await stage.remains()).toEqual([])
  })

  test("without its Simulation", async () => {
    await using stage = await stageOf(cluster, "gone", temporaryDirectory())
    await cluster.client.delete(simulationKind, { name: "gone" })
    expect(await failureOf(stage.drive())).toMatch(/^there is no Simulation gone in this cluster: check --sim-name/)
  })

  test("if the server of its trace cannot be reached, after some attempts", async () => {
    const driver = { tracePath: "http://127.0.0.1:1/trace" }
    await using stage = await stageOf(cluster, "unreachable", temporaryDirectory(), { driver })
    const driving = stage.drive({ clock: fast })
    expect(await failureOf(driving)).toMatch(
      /^cannot read http:\/\/127\.0\.0\.1:1\/trace: .*; spec\.driver\.tracePath names the trace$/,
    )
    expect(driving.log).toHaveLength(5)
    expect(await stage.remains()).toEqual([])
  })

  test("if it is ended while a hook runs, which ends with it", async () => {
    const hooks = { preRunHooks: [{ cmd: "sh", args: ["-c", "echo begun; sleep 600"] }] }
    await using stage = await stageOf(cluster, "hanging", temporaryDirectory(), { spec: { hooks } })
    const driving = stage.drive()
    await eventually(() => expect(driving.log).toContain("preRun hook: begun"))
    driving.end()
    expect(await failureOf(driving)).toMatch(/^the preRun hook 1 .* failed: it was interrupted/)
    expect(await stage.remains()).toEqual([])
  })

  test("if a preRun hook fails", async () => {
    const hooks = { preRunHooks: [{ cmd: "sh", args: ["-c", "echo broken >&2; exit 3"] }] }
    await using stage = await stageOf(cluster, "hooked", temporaryDirectory(), { spec: { hooks } })
    const message = await failureOf(stage.drive())
    expect(message).toMatch(
      /^the preRun hook 1 \(sh .*\) failed: it ended with exit code 3; the end of its output: broken$/,
    )
    expect(await stage.remains()).toEqual([])
    expect((await stage.present()).status?.hooks).toMatchObject([{ phase: "preRun", exitCode: 3, output: "broken\n" }])
    const { items: events } = await cluster.client.list<ApiObject>(kinds.events, { namespace: "default" })
    expect(events.map(({ reason }) => reason)).toContain("PreRunHookFailed")
  })

  test("if the API server does not call its webhook", async () => {
    await using stage = await stageOf(cluster, "unreached", temporaryDirectory(), { isRegistered: false })
    const message = await failureOf(stage.drive({ clock: fast }))
    expect(message).toMatch(/^the API server has not called the driver's webhook on port \d+ within 60 s.*: check that/)
    expect(await stage.remains()).toEqual([])
  })
})

test("a driver under SimKube's definition of Simulations replays without a place for its figures", {
  timeout: patient(30_000),
}, async () => {
  const definition = structuredClone(simulationDefinitions()[0]) as unknown as {
    spec: {
      versions: [{ schema: { openAPIV3Schema: { properties: { status: { properties: Record<string, unknown> } } } } }]
    }
  }
  const { properties } = definition.spec.versions[0].schema.openAPIV3Schema.properties.status
  for (const own of ["conditions", "driverPod", "hooks", "progress", "reports"]) delete properties[own]
  const other = await startCluster(definition)
  try {
    const hooks = { preRunHooks: [{ cmd: "true" }] }
    await using stage = await stageOf(other, "theirs", temporaryDirectory(), { spec: { hooks } })
    const driving = stage.drive()
    expect(await driving.ended).toEqual({ exitCode: 0, message: "" })
    expect(driving.log.filter((line) => line.includes("status of the Simulation"))).toEqual([
      expect.stringMatching(/^(progress and key figures|runs of hooks) are not in the status of the Simulation: /),
      expect.stringMatching(/^(progress and key figures|runs of hooks) are not in the status of the Simulation: /),
    ])
    expect((await stage.present()).status).toEqual({ observedGeneration: 1 })
    expect(await stage.remains()).toEqual([])
  } finally {
    await other.close()
  }
})
