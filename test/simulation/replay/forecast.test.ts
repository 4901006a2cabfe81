/** What a replay would do, asked of a cluster in this process. */
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import type { ApiObject } from "../../../src/kube/index.ts"
import { LocalCluster } from "../../../src/sandbox/index.ts"
import { type ForecastOptions, forecastReplay } from "../../../src/simulation/replay/forecast.ts"
import type { TraceItem } from "../../../src/trace/index.ts"
import { event, start } from "../trace-items.ts"

let cluster: LocalCluster
beforeEach(async () => {
  cluster = await LocalCluster.start({ nodes: 1 })
})
afterEach(() => cluster.close())

const applied = (gvk: string, name: string, object: object, namespace = "shop"): TraceItem =>
  event(1, gvk, name, object, { namespace })

const options = (items: ReadonlyArray<TraceItem>): ForecastOptions => ({
  name: "test",
  items: (async function* () {
    yield items
  })(),
  window: { from: undefined, to: undefined, duration: undefined, now: start + 1e9 },
  client: cluster.client,
  speed: "max",
  namespacePrefix: "virtual",
  placement: { nodeSelector: {}, taintKey: undefined },
  included: new Set(),
  intoRecordedCluster: false,
  followsLives: true,
  signal: new AbortController().signal,
})

const pod = (priorityClassName: string): object => ({ spec: { priorityClassName, containers: [] } })

test("the cluster lacks kinds that it does not serve, and classes that neither it nor the trace has", async () => {
  const forecast = await forecastReplay(
    options([
      applied("scheduling.k8s.io/v1.PriorityClass", "fast", { value: 1 }, ""),
      applied("v1.Pod", "a", pod("fast")),
      applied("v1.Pod", "b", pod("slow")),
      applied("v1.Pod", "c", pod("system-node-critical")),
      applied("example.com/v1.App", "x", {}),
    ]),
  )
  expect(forecast.lacking).toEqual([
    "it has no kind example.com/v1.App",
    "it has no PriorityClass slow, which objects of the trace name",
  ])
  expect(forecast.kinds.map(({ gvk, applies }) => [gvk, applies])).toEqual([
    ["example.com/v1.App", 1],
    ["scheduling.k8s.io/v1.PriorityClass", 1],
    ["v1.Pod", 3],
  ])
  expect(forecast).toMatchObject({ expectedMs: null, namespaces: ["virtual-shop"] })
})

test("credentials lack each right that the webhook of pods needs", async () => {
  const create = cluster.client.create.bind(cluster.client)
  const denied = new Set<string>()
  vi.spyOn(cluster.client, "create").mockImplementation(async (kind, object, given) => {
    const { resourceAttributes: asked } = (object as ApiObject).spec as {
      resourceAttributes: { resource: string; verb: string }
    }
    const isDenied = asked.resource === "mutatingwebhookconfigurations" && denied.has(asked.verb)
    return isDenied
      ? ({ ...object, status: { allowed: false } } as never)
      : ((await create(kind, object, given)) as never)
  })
  const lacking = async (...verbs: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
    denied.clear()
    for (const verb of verbs) denied.add(verb)
    return (await forecastReplay(options([applied("v1.Pod", "a", { spec: { containers: [] } })]))).lacking
  }
  expect(await lacking()).toEqual([])
  expect(await lacking("create", "delete")).toEqual([
    "pods will live as it decides: these credentials may not create, delete mutatingwebhookconfigurations",
  ])
  expect(await lacking("delete")).toEqual(["these credentials may not delete mutatingwebhookconfigurations"])
})

test("the recorded cluster is named, unless it is wanted", async () => {
  const { clusterUid } = cluster.sandbox
  const head: TraceItem = { type: "header", cut: 1, kinds: [], incomplete: [], clusterUid }
  const given = options([head, applied("v1.ConfigMap", "a", {})])
  expect((await forecastReplay(given)).lacking).toEqual([
    "it is the one that was recorded; --into-recorded-cluster allows that",
  ])
  const again = options([head, applied("v1.ConfigMap", "a", {})])
  expect((await forecastReplay({ ...again, intoRecordedCluster: true })).lacking).toEqual([])
})
