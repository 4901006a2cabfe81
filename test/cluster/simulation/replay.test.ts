/** Replays into a real cluster: what it accepts, what is left of it, and what belongs to others. */

import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type OpenTarget, openTarget } from "../../../src/cli/replay/replay-target.ts"
import { systemClock } from "../../../src/clock.ts"
import {
  type ApiClient,
  type ApiObject,
  type Kind,
  kinds,
  NotFoundError,
  ResourceFinder,
} from "../../../src/kube/index.ts"
import { cleanUp } from "../../../src/simulation/index.ts"
import type { OnConflict } from "../../../src/simulation/target/target-cluster.ts"
import { type Connection, get } from "../connection.ts"
import { openTestCluster } from "../guard.ts"
import { gvkOf, itemsOf, kindOf, ndjson, replay, state } from "./recorded-trace.ts"
import { clusterObjects, namespacedObjects } from "./workload.ts"

const { configMaps, deployments, namespaces } = kinds
const id = String(process.pid)
const source = `replayed-${id}`

let target: OpenTarget
let client: ApiClient
let connection: Connection
let finder: ResourceFinder
const made: Array<readonly [Kind, string]> = []
const replays: string[] = []

const create = async (object: ApiObject): Promise<ApiObject> => {
  const kind = await kindOf(finder, object)
  const created = await client.create(kind, object)
  if (!kind.namespaced) made.push([kind, object.metadata.name])
  return created
}

const namespace = (name: string): ApiObject => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })
const configMap = (at: string, name: string, data: object): ApiObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: at },
  data,
})

const remove = async (name: string): Promise<void> => {
  await cleanUp({ client, clock: systemClock, replay: name, signal: new AbortController().signal })
}

/** Polls for at most a minute. */
const until = async (what: string, condition: () => Promise<boolean>): Promise<void> => {
  for (const deadline = performance.now() + 60_000; !(await condition()); await sleep(100))
    if (performance.now() > deadline) throw new Error(`waited a minute in vain until ${what}`)
}

beforeAll(async () => {
  const cluster = await openTestCluster()
  connection = cluster.connection
  target = await openTarget({ kubeconfig: cluster.kubeconfig, context: undefined, concurrency: 16 })
  client = target.client
  finder = new ResourceFinder(client.connection)
})
afterAll(async () => {
  await Promise.all(replays.map(remove))
  for (const [kind, name] of made.reverse()) await client.delete(kind, { name })
  await target?.[Symbol.asyncDispose]()
})

/** Every cluster-scoped object with the label of a replay, found without the code under test. */
const labelledObjects = async (name: string): Promise<ReadonlyArray<string>> => {
  interface Groups {
    readonly groups: ReadonlyArray<{ readonly versions: ReadonlyArray<{ readonly groupVersion: string }> }>
  }
  interface Resources {
    readonly resources: ReadonlyArray<{
      readonly name: string
      readonly namespaced: boolean
      readonly verbs: ReadonlyArray<string>
    }>
  }
  interface Objects {
    readonly items: ReadonlyArray<{ readonly metadata: { readonly name: string } }>
  }
  const read = async <T>(path: string): Promise<T> => (await get(connection, path)).body as unknown as T
  const { groups } = await read<Groups>("/apis")
  const versions = groups.flatMap(({ versions: all }) => all.map(({ groupVersion }) => `/apis/${groupVersion}`))
  const found: string[] = []
  for (const path of ["/api/v1", ...versions])
    for (const { name: plural, namespaced, verbs } of (await read<Resources>(path)).resources)
      if (!namespaced && !plural.includes("/") && verbs.includes("list")) {
        const { items } = await read<Objects>(`${path}/${plural}?labelSelector=kubereel.dev%2Freplay%3D${name}`)
        found.push(...items.map(({ metadata }) => `${plural} ${metadata.name}`))
      }
  return found
}

describe("Objects as a server stores them", () => {
  let stored: ReadonlyArray<ApiObject>

  beforeAll(async () => {
    await create(namespace(source))
    for (const object of clusterObjects(id)) await create(object)
    await until("the namespace has a service account", async () => {
      const { items } = await client.list(await kindOf(finder, namespacedObjects(id)[2] as ApiObject), {
        namespace: source,
      })
      return items.length > 0
    })
    for (const object of namespacedObjects(id))
      await create({ ...object, metadata: { ...object.metadata, namespace: source } })
    await until("the controllers and the scheduler have done their work", async () => {
      const pods = await client.list<ApiObject>(kinds.pods, { namespace: source })
      const claim = await client.get<ApiObject>(kinds.claims, { namespace: source, name: "bound" })
      const { metadata } = await client.get<ApiObject>(deployments, { namespace: source, name: "web" })
      const placed = pods.items.filter(({ spec }) => (spec as { nodeName?: string }).nodeName !== undefined)
      return (
        placed.length >= 7 &&
        (claim.status as { phase?: string }).phase === "Bound" &&
        metadata.annotations?.["deployment.kubernetes.io/revision"] === "1"
      )
    })
    const read = async (object: ApiObject): Promise<ReadonlyArray<ApiObject>> => {
      const { items } = await client.list<ApiObject>(await kindOf(finder, object), { namespace: source })
      return items
    }
    const one = new Map(namespacedObjects(id).map((object) => [gvkOf(object), object]))
    const namespaced = (await Promise.all([...one.values()].map(read))).flat()
    const scoped = await Promise.all(
      [namespace(source), ...clusterObjects(id)].map(async (object) =>
        client.get<ApiObject>(await kindOf(finder, object), object.metadata),
      ),
    )
    stored = [...scoped, ...namespaced]
  })

  test("are all accepted, under new names, also when they are changed later", async () => {
    const name = `objects-${id}`
    replays.push(name)
    const deployment = stored.find(({ kind, metadata }) => kind === "Deployment" && metadata.name === "web")
    const service = stored.find(({ kind, metadata }) => kind === "Service" && metadata.name === "inner")
    const bare = stored.find(({ kind, metadata }) => kind === "Pod" && metadata.name === "bare")
    if (deployment === undefined || service === undefined || bare === undefined) throw new Error("not stored")
    const labelled = (object: ApiObject): ApiObject => ({
      ...object,
      metadata: { ...object.metadata, labels: { ...object.metadata.labels, changed: "yes" } },
    })
    const events = [
      state({ ...deployment, spec: { ...(deployment.spec as object), replicas: 3 } }, 1),
      state(labelled(service), 2),
      state(labelled(bare), 3),
    ]
    const report = await replay(client, name, itemsOf([ndjson(stored, events)]))
    expect(report.refused).toEqual([])
    expect(report.seed).toMatchObject({ refused: 0, total: stored.length })
    expect(report.events).toMatchObject({ refused: 0, accepted: 3 })
    expect(report.skipped.map(({ gvk, reason }) => `${gvk} ${reason}`).sort()).toEqual(
      [
        "apps/v1.ReplicaSet created by its Deployment",
        "v1.ConfigMap created with every namespace",
        "v1.PersistentVolume belongs to the machines of the recorded cluster",
        "v1.Pod created by its DaemonSet",
        "v1.Pod created by its Job",
        "v1.Pod created by its ReplicaSet",
        "v1.Pod created by its StatefulSet",
        "v1.ServiceAccount created with every namespace",
      ].sort(),
    )
    const at = `virtual-${source}`
    for (const object of namespacedObjects(id)) {
      const place = { namespace: at, name: object.metadata.name }
      const copy = await client.get<ApiObject>(await kindOf(finder, object), place)
      expect(copy.metadata.labels, `${object.kind} ${place.name}`).toMatchObject({ "kubereel.dev/replay": name })
    }
    const copyOf = async (kind: Kind, of: string) => client.get<ApiObject>(kind, { namespace: at, name: of })
    expect(await copyOf(deployments, "web")).toMatchObject({ spec: { replicas: 3 } })
    expect(await copyOf(kinds.pods, "bare")).toMatchObject({
      metadata: { labels: { changed: "yes" } },
      spec: { priorityClassName: `virtual-fast-${id}`, priority: 1000, nodeSelector: { type: "virtual" } },
    })
    expect(await copyOf(kinds.pods, "system")).toMatchObject({ spec: { priorityClassName: "system-node-critical" } })
    expect(await copyOf(kinds.claims, "waiting")).toMatchObject({ spec: { storageClassName: `virtual-disk-${id}` } })
    expect(await copyOf(kinds.claims, "bound")).toMatchObject({ spec: { storageClassName: "" } })
    const { spec: bound } = await copyOf(kinds.claims, "bound")
    expect(bound).not.toHaveProperty("volumeName")
    const { spec: set } = await copyOf(kinds.statefulSets, "data")
    const { volumeClaimTemplates } = set as { volumeClaimTemplates: ReadonlyArray<{ spec: object }> }
    expect(volumeClaimTemplates[0]?.spec).toMatchObject({ storageClassName: `virtual-disk-${id}` })
    expect(await client.get<ApiObject>(namespaces, { name: at })).toMatchObject({
      metadata: { labels: { "kubernetes.io/metadata.name": at } },
    })
    await until("the pods of the Deployment run", async () => {
      const { status } = await copyOf(deployments, "web")
      return (status as { readyReplicas?: number }).readyReplicas === 3
    })
  })

  test("are gone after the removal, with everything else that has the label", async () => {
    const name = `objects-${id}`
    expect((await labelledObjects(name)).toSorted()).toEqual([
      `namespaces kubereel-replay-${name}`,
      `namespaces virtual-${source}`,
      `priorityclasses virtual-fast-${id}`,
      `storageclasses virtual-disk-${id}`,
    ])
    await remove(name)
    expect(await labelledObjects(name)).toEqual([])
    await expect(client.get(namespaces, { name: `virtual-${source}` })).rejects.toBeInstanceOf(NotFoundError)
    // The recorded objects themselves belong to someone else.
    expect(await client.get<ApiObject>(namespaces, { name: source })).toMatchObject({ status: { phase: "Active" } })
  })
})

test("a pod is accepted in the moment in which its namespace, service account and priority class are written", async () => {
  const name = `sudden-${id}`
  const at = `sudden-${id}`
  replays.push(name)
  const account: ApiObject = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "web", namespace: at } }
  const priority = { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name: at }, value: 1 }
  const pods = Array.from({ length: 20 }, (_, index): ApiObject => {
    const spec = { serviceAccountName: "web", priorityClassName: at, containers: [{ name: "web", image: "web" }] }
    return { apiVersion: "v1", kind: "Pod", metadata: { name: `web-${index}`, namespace: at }, spec }
  })
  const events = [account, priority, ...pods].map((object) => state(object, 1))
  const report = await replay(client, name, itemsOf([ndjson([configMap(at, "first", {})], events)]))
  expect(report.refused).toEqual([])
  expect(report.events).toMatchObject({ accepted: 22, skipped: 0 })
})

describe("A namespace that existed before", () => {
  test.each([
    ["and is in the trace", true],
    ["and is only the namespace of objects in the trace", false],
  ])("%s is neither changed nor deleted, and nothing is written into it", async (_title, isInTrace) => {
    const suffix = `${isInTrace ? "traced" : "implied"}-${id}`
    const name = `others-${suffix}`
    replays.push(name)
    await create(namespace(`virtual-${suffix}`))
    await create(configMap(`virtual-${suffix}`, "settings", { a: "theirs" }))
    await create(configMap(`virtual-${suffix}`, "theirs", { a: "theirs" }))
    const look = async () => ({
      namespace: await client.get<ApiObject>(namespaces, { name: `virtual-${suffix}` }),
      configMaps: (await client.list<ApiObject>(configMaps, { namespace: `virtual-${suffix}` })).items.filter(
        ({ metadata }) => metadata.name !== "kube-root-ca.crt",
      ),
    })
    const before = await look()
    const snapshot = [
      ...(isInTrace ? [namespace(suffix)] : []),
      configMap(suffix, "settings", { a: "ours" }),
      configMap(`free-${suffix}`, "settings", { a: "ours" }),
    ]
    const events = [
      state(configMap(suffix, "later", { a: "ours" }), 1),
      state(configMap(suffix, "settings", {}), 2, "deleted"),
      ...(isInTrace ? [state(namespace(suffix), 3, "deleted")] : []),
    ]
    const report = await replay(client, name, itemsOf([ndjson(snapshot, events)]), { keep: false })
    expect(report.refused.every(({ reason }) => reason === "NotOurs")).toBe(true)
    expect(report.seed).toMatchObject({ accepted: 1, refused: isInTrace ? 2 : 1 })
    expect(report.events).toMatchObject({ accepted: 0, refused: events.length })
    expect(await look()).toEqual(before)
    expect(await labelledObjects(name)).toEqual([])
  })
})

describe("If another field manager owns what an event sets", () => {
  const outcomes: ReadonlyArray<readonly [OnConflict, replicas: number, counts: object, said: object]> = [
    ["force", 3, { accepted: 2, refused: 0, skipped: 0 }, { refused: [], skipped: [] }],
    ["skip", 5, { accepted: 1, refused: 0, skipped: 1 }, { refused: [], skipped: [{ gvk: "apps/v1.Deployment" }] }],
    ["fail", 5, { accepted: 1, refused: 1, skipped: 0 }, { refused: [{ reason: "409 Conflict" }], skipped: [] }],
  ]
  test.each(outcomes)(
    "with onConflict %s the Deployment has %i replicas",
    async (onConflict, replicas, counts, said) => {
      const name = `conflict-${onConflict}-${id}`
      const at = `${onConflict}-${id}`
      replays.push(name)
      const deployment = (count: number): ApiObject => ({
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "web", namespace: at },
        spec: {
          replicas: count,
          selector: { matchLabels: { app: "web" } },
          template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "web" }] } },
        },
      })
      const bytes = ndjson([deployment(1)], [state(configMap(at, "first", {}), 1), state(deployment(3), 2)])
      const cut = bytes.subarray(0, bytes.length - 1).lastIndexOf(10, bytes.lastIndexOf(10, bytes.length - 2) - 1)
      const place = { namespace: `virtual-${at}`, name: "web" }
      const scale = { apiVersion: "apps/v1", kind: "Deployment", metadata: place, spec: { replicas: 5 } }
      const pieces = async function* (): AsyncGenerator<Uint8Array> {
        yield bytes.subarray(0, cut + 1)
        await until("the Deployment was written", () =>
          client.get(deployments, place).then(
            () => true,
            () => false,
          ),
        )
        await client.apply(deployments, place, scale, { fieldManager: "autoscaler", force: true })
        yield bytes.subarray(cut + 1)
      }
      const report = await replay(client, name, itemsOf(pieces()), { onConflict })
      expect(report.stopped).toBeNull()
      expect(report.events).toMatchObject({ ...counts, total: 2 })
      expect(report).toMatchObject(said)
      expect(await client.get(deployments, place)).toMatchObject({ spec: { replicas } })
    },
  )
})
