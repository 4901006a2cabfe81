/** Drivers of Simulations on a real API server with a real garbage collector: roots, status, webhook and clean-up. */
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, expect, test } from "vitest"
import { systemClock } from "../../../src/clock.ts"
import { ApiClient, type Credentials, kinds, loadCredentials, type Pod } from "../../../src/kube/index.ts"
import { simulationKind } from "../../../src/simulation/index.ts"
import { type Driving, stageOf, traceText } from "../../cli/driver/driven-cluster.ts"
import { eventually } from "../../harness/eventually.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { kubectl } from "../command.ts"
import { openTestCluster, type TestCluster } from "../guard.ts"

const crds = fileURLToPath(new URL("../../../k8s/crds", import.meta.url))

let cluster: TestCluster
let driven: { readonly client: ApiClient; readonly endpoints: Credentials }
beforeAll(async () => {
  cluster = await openTestCluster()
  await kubectl(cluster, "apply", "-k", crds)
  await kubectl(
    cluster,
    "wait",
    "--for=condition=Established",
    "--timeout=60s",
    "crd/simulations.simkube.io",
    "crd/simulationroots.simkube.io",
  )
  await kubectl(cluster, "create", "namespace", "simkube")
  const endpoints = await loadCredentials({ kubeconfig: cluster.kubeconfig })
  driven = { client: new ApiClient({ server: endpoints, userAgent: "test" }), endpoints }
})
afterAll(async () => {
  driven?.client.close()
  await kubectl(cluster, "delete", "namespace", "simkube", "--ignore-not-found")
  await kubectl(cluster, "delete", "-k", crds, "--ignore-not-found")
})

const replayedPod = (prefix: string): Promise<Pod> =>
  eventually(() => driven.client.get<Pod>(kinds.pods, { namespace: `${prefix}-shop`, name: "p" }))

const outcomeOf = async ({ ended, log }: Driving) => ({
  ...(await ended),
  log: log.filter((line) => /not|again/.test(line)),
})

test("a driver replays its Simulation, writes its status, and removes what it created", async () => {
  const hooks = { preRunHooks: [{ cmd: "true" }] }
  const spec = { hooks, lifecycleParams: { imagePullDelay: 30 } }
  const trace = traceText({ changes: 20, stepMs: 100 })
  await using stage = await stageOf(driven, "real", temporaryDirectory(), { spec, trace })
  for (const index of [0, 1]) {
    const driving = stage.drive({ index })
    expect((await replayedPod(stage.prefix)).metadata).toMatchObject({
      labels: { "simkube.io/simulation": "real" },
      annotations: { "simkube.io/kwok-stage-create-delay": "30ms" },
    })
    expect(await outcomeOf(driving)).toEqual({ exitCode: 0, message: "", log: [] })
    expect(await stage.remains()).toEqual([])
  }
  expect((await stage.present()).status).toMatchObject({
    driverPod: "sk-real-driver-1-abcde",
    progress: { repetition: 2, eventsSent: 20, percent: 100 },
    reports: [
      { repetition: 1, objectsEqual: 1, writesRefused: 0 },
      { repetition: 2, objectsEqual: 1, writesRefused: 0 },
    ],
    hooks: [
      { phase: "preRun", repetition: 1, exitCode: 0 },
      { phase: "preRun", repetition: 2, exitCode: 0 },
    ],
  })
  await driven.client.delete(simulationKind, { name: "real" })
})

test.each(["ended", "deleted"])("a driver that is %s leaves nothing", async (name) => {
  await using stage = await stageOf(driven, name, temporaryDirectory(), { trace: traceText({ changes: 500 }) })
  const driving = stage.drive()
  await replayedPod(stage.prefix)
  if (name === "ended") driving.end()
  else await driven.client.delete(simulationKind, { name })
  expect((await driving.ended).exitCode).toBe(1)
  await eventually(async () => expect(await stage.remains()).toEqual([]))
  if (name === "ended") await driven.client.delete(simulationKind, { name })
})

test("a pause takes effect within a second", async () => {
  await using stage = await stageOf(driven, "paused", temporaryDirectory(), { trace: traceText({ changes: 500 }) })
  const driving = stage.drive()
  await replayedPod(stage.prefix)
  await stage.patch({ pausedTime: new Date(systemClock.wallMicros() / 1000).toISOString() })
  const answeredMs = performance.now()
  await eventually(() => expect(driving.log).toContain("paused"))
  expect(performance.now() - answeredMs).toBeLessThan(1000)
  await stage.patch({ pausedTime: null, speed: 1000 })
  expect((await driving.ended).exitCode).toBe(0)
  await driven.client.delete(simulationKind, { name: "paused" })
})
