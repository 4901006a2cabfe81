/** Objects stored through the control interface, and their ledger entries. */

import { describe, expect, test } from "vitest"
import { type Sandbox, type SandboxOptions, UnknownKindError, UnknownObjectError } from "../../src/library/sandbox.ts"
import { ManualClock } from "../runtime/manual-clock.ts"
import { open } from "./opened-sandbox.ts"

const start = (options: SandboxOptions = {}): Promise<Sandbox> => open({ bookmarkInterval: 0, ...options })

describe("an object that is put", () => {
  test("is stamped by the server, whatever its own values", async () => {
    const sandbox = await start({ clock: new ManualClock() })
    const metadata = { name: "web", uid: "mine", resourceVersion: "7", generation: 9, creationTimestamp: "then" }
    const stored = sandbox.put("apps/v1.Deployment", { metadata, spec: { replicas: 1 } })
    expect(stored).toEqual({
      kind: "Deployment",
      apiVersion: "apps/v1",
      metadata: {
        name: "web",
        namespace: "default",
        uid: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
        resourceVersion: "1003",
        generation: 1,
        creationTimestamp: "2023-11-14T22:13:20Z",
      },
      spec: { replicas: 1 },
    })
  })

  test("keeps its identity when replaced, and gets a new generation only with a new spec", async () => {
    const sandbox = await start()
    const object = (replicas: number, ready: number) => ({
      metadata: { name: "web" },
      spec: { replicas },
      status: { ready },
    })
    const first = sandbox.put("apps/v1.Deployment", object(1, 0))
    const status = sandbox.put("apps/v1.Deployment", object(1, 1))
    const spec = sandbox.put("apps/v1.Deployment", object(2, 1))
    expect([first, status, spec].map(({ metadata }) => metadata.generation)).toEqual([1, 1, 2])
    expect(new Set([first, status, spec].map(({ metadata }) => metadata.uid)).size).toBe(1)
    expect(spec.metadata.creationTimestamp).toBe(first.metadata.creationTimestamp)
  })

  test("has no generation without a spec, and no namespace in a cluster-scoped kind", async () => {
    const sandbox = await start()
    const { metadata } = sandbox.put("v1.Node", { metadata: { name: "n", namespace: "ignored" } })
    expect(Object.keys(metadata)).toEqual(["name", "uid", "resourceVersion", "creationTimestamp"])
  })

  test("can be changed by the caller afterwards without changing what is stored", async () => {
    const sandbox = await start()
    const object = { metadata: { name: "a", labels: { app: "web" } }, data: { k: "before" } }
    sandbox.put("v1.ConfigMap", object)
    object.data.k = "after"
    object.metadata.labels.app = "db"
    const stored = sandbox.get("v1.ConfigMap", "default", "a")
    expect([stored?.data, stored?.metadata.labels]).toEqual([{ k: "before" }, { app: "web" }])
  })

  test("takes the kind's own name, given as text or as an object", async () => {
    const sandbox = await start()
    sandbox.put({ group: "apps", version: "v1", kind: "Deployment" }, { kind: "Lie", metadata: { name: "a" } })
    expect(sandbox.get("apps/v1.Deployment", "default", "a")?.kind).toBe("Deployment")
    expect(() => sandbox.put("apps/v1.Deploymint", { metadata: { name: "a" } })).toThrow(UnknownKindError)
    expect(() => sandbox.put("nonsense", { metadata: { name: "a" } })).toThrow(UnknownKindError)
  })

  test("shares one revision counter with all kinds", async () => {
    const sandbox = await start()
    const versions = ["v1.Pod", "v1.Secret", "v1.Pod"].map(
      (kind, index) => sandbox.put(kind, { metadata: { name: String(index) } }).metadata.resourceVersion,
    )
    expect(versions).toEqual(["1003", "1004", "1005"])
  })
})

test("what does not exist cannot be deleted", async () => {
  const sandbox = await start()
  expect(() => sandbox.delete("v1.Pod", "default", "nope")).toThrow(UnknownObjectError)
  expect(sandbox.resourceVersion).toBe("1002")
})

test("two servers in one process are independent", async () => {
  const [left, right] = [await start(), await start()]
  left.put("v1.Pod", { metadata: { name: "a" } })
  expect(right.get("v1.Pod", "default", "a")).toBeUndefined()
  expect(left.clusterUid).not.toBe(right.clusterUid)
})

describe("the ledger", () => {
  const drive = (sandbox: Sandbox): void => {
    sandbox.put("v1.ConfigMap", { metadata: { name: "a" }, data: { k: "1" } })
    sandbox.put("v1.Secret", { metadata: { name: "s" } })
    sandbox.put("v1.ConfigMap", { metadata: { name: "a" }, data: { k: "2" } })
    sandbox.delete("v1.ConfigMap", "default", "a")
  }

  test("holds every change of every kind in order, from the first one on", async () => {
    const sandbox = await start({ historyLimit: 1 })
    drive(sandbox)
    const all = [...sandbox.ledger].map(({ gvk, name, action, resourceVersion }) =>
      [gvk, name, action, resourceVersion].join(" "),
    )
    expect(all).toEqual([
      "v1.Namespace default applied 1001",
      "v1.Namespace kube-system applied 1002",
      "v1.ConfigMap a applied 1003",
      "v1.Secret s applied 1004",
      "v1.ConfigMap a applied 1005",
      "v1.ConfigMap a deleted 1006",
    ])
  })

  test("holds each kind by itself, with the objects as they were sent", async () => {
    const sandbox = await start()
    drive(sandbox)
    const entries = sandbox.ledger.of("v1.ConfigMap")
    expect(entries.map(({ object }) => object?.data)).toEqual([{ k: "1" }, { k: "2" }, { k: "2" }])
    expect(entries.map(({ object }) => object?.metadata.resourceVersion)).toEqual(["1003", "1005", "1006"])
    expect(JSON.parse(entries[1]?.json?.toString() ?? "")).toEqual(entries[1]?.object)
    expect(sandbox.ledger.of("v1.Pod")).toEqual([])
  })

  test("can keep only the identifiers, or nothing", async () => {
    const [versions, none] = [await start({ ledger: "versions" }), await start({ ledger: "none" })]
    for (const sandbox of [versions, none]) drive(sandbox)
    const [entry] = versions.ledger.of("v1.ConfigMap")
    expect([entry?.object, entry?.json, entry?.resourceVersion]).toEqual([undefined, undefined, "1003"])
    expect([versions.ledger.size, none.ledger.size]).toEqual([6, 0])
  })
})
