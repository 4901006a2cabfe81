/** `reel driver` as the controller starts it, on a real control plane, with the token of its pod: the pods of the trace run on kwok's nodes. */
import { writeFileSync } from "node:fs"
import { afterAll, beforeAll, expect, test } from "vitest"
import { type ApiObject, kinds } from "../../../src/kube/index.ts"
import { reel } from "../../recorder/recorder/recorder-command.ts"
import { ndjson } from "../simulation/recorded-trace.ts"
import { kept, SimulatedCluster } from "./simulated-cluster.ts"

let simulated: SimulatedCluster
let trace = ""
beforeAll(async () => {
  simulated = await SimulatedCluster.open({ "/sk-driver": [process.execPath, reel, "driver"] })
  const controller = await simulated.startController()
  await controller.says(/metrics: http/)
  trace = simulated.file("trace.ndjson")
  const labels = { app: "web" }
  const deployment: ApiObject = {
    ...{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", namespace: "shop" } },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "web:1" }] } },
    },
  }
  const settings: ApiObject = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings", namespace: "shop" } }
  writeFileSync(trace, ndjson([deployment, settings]))
})
afterAll(() => simulated?.[Symbol.asyncDispose]())

test("it replays a trace in every repetition, reports, and leaves nothing", async () => {
  const name = await simulated.create({
    spec: { repetitions: 2, speed: 10 },
    driver: { tracePath: `file://${trace}`, args: [] },
  })
  await simulated.reaches(name, "Finished", 120_000)
  const { status } = await simulated.simulation(name)
  expect(status).toMatchObject({ completedRuns: 2 })
  expect(status?.reports, simulated.output).toMatchObject([
    { repetition: 1, objects: 2, writesRefused: 0 },
    { repetition: 2, objects: 2, writesRefused: 0 },
  ])
  const { data } = await simulated.api.get<ApiObject & { readonly data?: Readonly<Record<string, string>> }>(
    kinds.configMaps,
    { namespace: simulated.drivers, name: `sk-${name}-report` },
  )
  expect(Object.keys(data ?? {}).sort()).toEqual(["1.json", "2.json"])
  expect(await simulated.remains(name)).toEqual(kept(name, simulated.startsOf(name)))
  await simulated.remove(name)
  await simulated.isClean(name)
  const user = `system:serviceaccount:${simulated.drivers}:sk-driver`
  const requests = await simulated.audited.requestsOf(user)
  expect(requests.length).toBeGreaterThan(20)
  expect(requests.filter(({ code }) => code === 401 || code === 403)).toEqual([])
})

test("a trace that does not exist ends the Simulation with a sentence that says so", async () => {
  const name = await simulated.create({
    driver: { tracePath: `file://${simulated.file("none.ndjson")}`, args: [] },
  })
  await simulated.reaches(name, "Failed", 120_000)
  const { status } = await simulated.simulation(name)
  const degraded = status?.conditions?.find(({ type }) => type === "Degraded")
  expect(degraded).toMatchObject({ status: "True", message: expect.stringContaining("none.ndjson") })
  await simulated.remove(name)
  await simulated.isClean(name)
})
