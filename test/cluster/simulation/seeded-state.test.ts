/** What a replay does at its start besides creating objects, in a real cluster: volumes and claims find each other, statuses are set. */
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type OpenTarget, openTarget } from "../../../src/cli/replay/replay-target.ts"
import { systemClock } from "../../../src/clock.ts"
import { type ApiClient, type ApiObject, type Kind, kinds } from "../../../src/kube/index.ts"
import { cleanUp } from "../../../src/simulation/index.ts"
import { type JsonObject, withoutGenerated } from "../../../src/trace/index.ts"
import { openTestCluster } from "../guard.ts"
import { itemsOf, ndjson, replay } from "./recorded-trace.ts"

const id = String(process.pid)
const source = `seeded-${id}`
const group = `seeded-${id}.kubereel.dev`
const fieldManager = "kubereel"
const volumes: Kind = {
  gvk: { group: "", version: "v1", kind: "PersistentVolume" },
  plural: "persistentvolumes",
  namespaced: false,
}
const definitions: Kind = {
  gvk: { group: "apiextensions.k8s.io", version: "v1", kind: "CustomResourceDefinition" },
  plural: "customresourcedefinitions",
  namespaced: false,
}
const customKind = (kind: string): Kind => ({
  gvk: { group, version: "v1", kind },
  plural: `${kind.toLowerCase()}s`,
  namespaced: true,
})

let target: OpenTarget
let client: ApiClient
const made: Array<readonly [Kind, string]> = []
const replays: string[] = []

const create = async (kind: Kind, object: object): Promise<ApiObject> => {
  const created = await client.create<ApiObject>(kind, object as ApiObject)
  if (!kind.namespaced) made.push([kind, created.metadata.name])
  return created
}
const phaseOf = async (kind: Kind, name: string, namespace = ""): Promise<unknown> =>
  ((await client.get<ApiObject>(kind, { namespace, name })).status as { phase?: string } | undefined)?.phase
const eventually = async <Value>(read: () => Promise<Value>, wanted: Value): Promise<void> => {
  const deadline = performance.now() + 30_000
  while ((await read().catch(() => undefined)) !== wanted && performance.now() < deadline) await sleep(100)
  expect(await read()).toBe(wanted)
}

const spec = { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/nowhere" } }
const volume = (name: string, more: object): JsonObject => ({
  apiVersion: "v1",
  kind: "PersistentVolume",
  metadata: { name },
  spec: { ...spec, ...more },
})
const claim = (name: string, volumeName: string) => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name, namespace: source },
  spec: {
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: "1Gi" } },
    storageClassName: "",
    volumeName,
  },
})

beforeAll(async () => {
  const { kubeconfig } = await openTestCluster()
  target = await openTarget({ kubeconfig, context: undefined, concurrency: 16 })
  client = target.client
  await create(kinds.namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: source } })
})
afterAll(async () => {
  const signal = new AbortController().signal
  for (const replayed of replays) await cleanUp({ client, clock: systemClock, replay: replayed, signal })
  for (const [kind, name] of made.reverse()) await client.delete(kind, { name })
  await target?.[Symbol.asyncDispose]()
})

describe("A volume and its claim", () => {
  test("are bound to each other again under their new names, and the volume's disk stays", async () => {
    const name = `bound-${id}`
    replays.push(name)
    await create(volumes, volume(name, { claimRef: { namespace: source, name: "data" } }))
    await client.create(kinds.claims, claim("data", name) as ApiObject)
    await eventually(() => phaseOf(kinds.claims, "data", source), "Bound")
    const stored = [
      await client.get<ApiObject>(volumes, { name }),
      await client.get<ApiObject>(kinds.claims, { namespace: source, name: "data" }),
    ]
    const report = await replay(client, name, itemsOf([ndjson(stored)]), { included: new Set(["PersistentVolume"]) })
    expect(report.refused).toEqual([])
    await eventually(() => phaseOf(kinds.claims, "data", `virtual-${source}`), "Bound")
    const copy = await client.get<ApiObject>(kinds.claims, { namespace: `virtual-${source}`, name: "data" })
    expect(copy.spec).toMatchObject({ volumeName: `virtual-${name}` })
    expect(await client.get<ApiObject>(volumes, { name: `virtual-${name}` })).toMatchObject({
      status: { phase: "Bound" },
      spec: {
        persistentVolumeReclaimPolicy: "Retain",
        claimRef: { namespace: `virtual-${source}`, name: "data", uid: copy.metadata.uid },
      },
    })
  })

  test("never find each other if the volume has the UID of the recorded claim", async () => {
    const claimRef = { kind: "PersistentVolumeClaim", namespace: source, name: "other", uid: "of-another-cluster" }
    const [raw, clean] = [`raw-${id}`, `clean-${id}`]
    await client.create(kinds.claims, claim("other", raw) as ApiObject)
    const apply = async (name: string, body: JsonObject): Promise<void> => {
      await client.apply(volumes, { name }, body, { fieldManager, force: true })
      made.push([volumes, name])
    }
    await apply(raw, volume(raw, { claimRef }))
    await eventually(() => phaseOf(volumes, raw), "Released")
    await client.create(kinds.claims, { ...claim("another", clean) } as ApiObject)
    const reference = { ...claimRef, name: "another" }
    await apply(clean, withoutGenerated("v1.PersistentVolume", volume(clean, { claimRef: reference })))
    await eventually(() => phaseOf(volumes, clean), "Bound")
  })
})

describe("The status of custom objects", () => {
  const define = async (kind: string, subresources: object): Promise<void> => {
    const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
    const plural = `${kind.toLowerCase()}s`
    const version = { name: "v1", served: true, storage: true, schema, subresources }
    await create(definitions, {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${plural}.${group}` },
      spec: { group, scope: "Namespaced", names: { kind, plural }, versions: [version] },
    })
    const list = async (): Promise<boolean> =>
      (await client.list(customKind(kind), { namespace: source })).items.length === 0
    await eventually(list, true)
  }
  const object = (kind: string, name: string): ApiObject => ({
    apiVersion: `${group}/v1`,
    kind,
    metadata: { name, namespace: source },
    spec: { size: 3 },
    status: { phase: "Ready", conditions: [{ type: "Ready", status: "True" }] },
  })
  const copyOf = (kind: string, prefix: string): Promise<ApiObject> =>
    client.get<ApiObject>(customKind(kind), { namespace: `${prefix}-${source}`, name: "a" })

  test("is set at the start if asked for, where their kind has one of its own", async () => {
    await define("Database", { status: {} })
    await define("Plain", {})
    const items = () => itemsOf([ndjson([object("Database", "a"), object("Plain", "a")])])
    replays.push(`set-${id}`, `unset-${id}`)
    const options = { seededStatus: new Set(["custom"]), namespacePrefix: "set" }
    const report = await replay(client, `set-${id}`, items(), options)
    expect(report).toMatchObject({ refused: [], seed: { accepted: 2 } })
    expect(await copyOf("Database", "set")).toMatchObject({ spec: { size: 3 }, status: object("", "").status })
    expect(await copyOf("Plain", "set")).not.toHaveProperty("status")
    await replay(client, `unset-${id}`, items(), { namespacePrefix: "unset" })
    expect(await copyOf("Database", "unset")).not.toHaveProperty("status")
  })

  test("stays when the object is written again, because it has a manager of its own", async () => {
    const place = { namespace: `set-${source}`, name: "a" }
    const { status: _, ...changed } = object("Database", "a")
    const body = { ...changed, metadata: place, spec: { size: 4 } }
    await client.apply(customKind("Database"), place, body, { fieldManager, force: true })
    expect(await copyOf("Database", "set")).toMatchObject({ spec: { size: 4 }, status: { phase: "Ready" } })
  })
})
