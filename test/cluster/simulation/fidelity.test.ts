/** Replays into a real cluster, compared with a recording of it: what its server and its controllers add must not count as a difference. */
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, expect, test } from "vitest"
import { type OpenTarget, openTarget } from "../../../src/cli/replay/replay-target.ts"
import { systemClock } from "../../../src/clock.ts"
import { type ApiObject, type Kind, kinds, ResourceFinder } from "../../../src/kube/index.ts"
import { Fidelity, type FidelityReport } from "../../../src/simulation/index.ts"
import { openTestCluster } from "../guard.ts"
import { itemsOf, kindOf, ndjson, replay, state } from "./recorded-trace.ts"
import { clusterObjects, namespacedObjects } from "./workload.ts"

const id = `f${process.pid}`
const source = `replayed-${id}`

let target: OpenTarget
let finder: ResourceFinder
const made: Array<readonly [Kind, string]> = []

beforeAll(async () => {
  const { kubeconfig } = await openTestCluster()
  target = await openTarget({ kubeconfig, context: undefined, concurrency: 16 })
  finder = new ResourceFinder(target.client.connection)
})
afterAll(async () => {
  for (const [kind, name] of made.reverse()) await target.client.delete(kind, { name })
  await target?.[Symbol.asyncDispose]()
})

const create = async (object: ApiObject): Promise<void> => {
  const kind = await kindOf(finder, object)
  await target.client.create(kind, object)
  if (!kind.namespaced) made.push([kind, object.metadata.name])
}

/** One object of every built-in kind, as the server and the controllers made it. */
const storedObjects = async (): Promise<ReadonlyArray<ApiObject>> => {
  const { client } = target
  const namespace: ApiObject = { apiVersion: "v1", kind: "Namespace", metadata: { name: source } }
  const scoped = [namespace, ...clusterObjects(id)]
  for (const object of scoped) await create(object)
  // Pods are refused until the controllers have made the account of the namespace.
  const account = { namespace: source, name: "default" }
  const accounts = await kindOf(finder, { apiVersion: "v1", kind: "ServiceAccount", metadata: account })
  const hasAccount = (): Promise<boolean> => client.get(accounts, account).then(Boolean, () => false)
  while (!(await hasAccount())) await sleep(50)
  for (const object of namespacedObjects(id))
    await create({ ...object, metadata: { ...object.metadata, namespace: source } })
  const isReady = async (): Promise<boolean> => {
    const { status } = await client.get<ApiObject>(kinds.deployments, { namespace: source, name: "web" })
    return (status as { readyReplicas?: number }).readyReplicas === 2
  }
  while (!(await isReady())) await sleep(100)
  const places = [...scoped, ...namespacedObjects(id).map((object) => inSource(object))]
  return Promise.all(places.map(async (object) => client.get<ApiObject>(await kindOf(finder, object), object.metadata)))
}

const inSource = (object: ApiObject): ApiObject => ({
  ...object,
  metadata: { ...object.metadata, namespace: source },
})

test("every state of every built-in kind is found equal, at speed 10, with the same gaps", async () => {
  const stored = await storedObjects()
  const one = (kind: string, name: string): ApiObject => {
    const object = stored.find((each) => each.kind === kind && each.metadata.name === name)
    if (object === undefined) throw new Error(`${kind} ${name} is not stored`)
    return object
  }
  const labelled = (object: ApiObject): ApiObject => ({
    ...object,
    metadata: { ...object.metadata, labels: { ...object.metadata.labels, changed: "yes" } },
  })
  const scaled = (replicas: number): ApiObject => {
    const web = one("Deployment", "web")
    return { ...web, spec: { ...(web.spec as object), replicas } }
  }
  const changes: ReadonlyArray<ApiObject> = [scaled(3), labelled(one("Service", "inner")), labelled(one("Pod", "bare"))]
  const events = [
    ...changes.map((object, index) => state(object, 1 + index)),
    state(scaled(1), 5),
    state(one("ConfigMap", "settings"), 6, "deleted"),
    state(one("Service", "inner"), 8),
    state(one("Job", "once"), 9, "deleted"),
  ]
  const { endpoints, client } = target
  await using fidelity = new Fidelity({
    endpoints,
    userAgent: "kubereel-test",
    clock: systemClock,
    settleMs: 3000,
    directory: undefined,
    namespacePrefix: "virtual",
    placement: { nodeSelector: {}, taintKey: undefined },
    replay: `fidelity-${id}`,
  })
  const report = await replay(client, `fidelity-${id}`, itemsOf([ndjson(stored, events)]), {
    speed: 10,
    keep: false,
    witness: fidelity,
  })
  expect(report.refused).toEqual([])
  const judged = fidelity.compare() as FidelityReport
  const problems = judged.worst
    .filter(({ result }) => result !== "equal")
    .map(({ gvk, name, reason }) => `${gvk} ${name}: ${reason}`)
  expect(problems).toEqual([])
  expect(judged.details.filter(({ extra }) => extra.length > 0)).toEqual([])
  expect(judged.extraObjects).toEqual([])
  expect(judged.recording.unmeasured).toEqual([])
  expect(judged.score).toMatchObject({ objectsEqual: 1, statesInOrder: 1, gapsWithin: 1 })
  expect(judged.gaps?.total).toBe(events.length - 1)
})
