/** Deletions: at once, after a grace period, after finalizers, or of a whole collection. */

import { describe, expect, test } from "vitest"
import type { Sandbox } from "../../../src/library/sandbox.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { open } from "../opened-sandbox.ts"
import { bodyOf, configMaps, deployment, deployments, mergePatch, pod, pods, send, sendFor } from "./write-client.ts"

const start = (): Promise<Sandbox> => open({ clock: new ManualClock() })

const bound = async (sandbox: Sandbox, name: string, metadata: object = {}): Promise<void> => {
  await sendFor(sandbox, 201, "POST", pods, pod(name, metadata))
  const binding = { metadata: { name }, target: { kind: "Node", name: "n1" } }
  await sendFor(sandbox, 201, "POST", `${pods}/${name}/binding`, binding)
}

describe("a Pod", () => {
  test("on a node gets its grace period, and is removed when the kubelet deletes it", async () => {
    const sandbox = await start()
    await bound(sandbox, "p")
    const going = await sendFor(sandbox, 200, "DELETE", `${pods}/p`)
    // The clock is at 22:13:20.
    expect(going.metadata).toMatchObject({
      deletionTimestamp: "2023-11-14T22:13:50Z",
      deletionGracePeriodSeconds: 30,
      generation: 2,
    })
    const hurried = await sendFor(sandbox, 200, "DELETE", `${pods}/p?gracePeriodSeconds=5`)
    expect(hurried.metadata).toMatchObject({
      deletionTimestamp: "2023-11-14T22:13:25Z",
      deletionGracePeriodSeconds: 5,
      generation: 2,
    })
    const slower = await sendFor(sandbox, 200, "DELETE", `${pods}/p?gracePeriodSeconds=60`)
    expect(slower).toEqual(hurried)
    await sendFor(sandbox, 200, "DELETE", `${pods}/p`, { gracePeriodSeconds: 0 })
    expect((await send(sandbox, "GET", `${pods}/p`)).status).toBe(404)
  })

  test.each([
    ["without a node", {}, ""],
    ["that has ended", { status: { phase: "Succeeded" } }, "n1"],
  ])("%s goes at once", async (_name, status, node) => {
    const sandbox = await start()
    if (node === "") await sendFor(sandbox, 201, "POST", pods, pod("p"))
    else await bound(sandbox, "p")
    await sendFor(sandbox, 200, "PATCH", `${pods}/p/status`, status, mergePatch)
    expect((await sendFor(sandbox, 200, "DELETE", `${pods}/p`)).kind).toBe("Pod")
    expect(sandbox.get("v1.Pod", "default", "p")).toBeUndefined()
  })
})

describe("finalizers", () => {
  test("keep an object until the last one is removed", async () => {
    const sandbox = await start()
    const finalizers = ["a.io/x", "a.io/y"]
    await sendFor(sandbox, 201, "POST", configMaps, { metadata: { name: "f", finalizers } })
    const marked = await sendFor(sandbox, 200, "DELETE", `${configMaps}/f`)
    expect(marked.metadata).toMatchObject({
      finalizers,
      deletionTimestamp: "2023-11-14T22:13:20Z",
      deletionGracePeriodSeconds: 0,
    })
    const again = await sendFor(sandbox, 200, "DELETE", `${configMaps}/f`)
    expect(again).toEqual(marked)
    await sendFor(sandbox, 200, "PATCH", `${configMaps}/f`, { metadata: { finalizers: ["a.io/y"] } }, mergePatch)
    expect(sandbox.get("v1.ConfigMap", "default", "f")).toBeDefined()
    const taken = await send(sandbox, "POST", configMaps, { metadata: { name: "f" } })
    expect([taken.status, bodyOf(taken).message]).toEqual([
      409,
      'object is being deleted: configmaps "f" already exists',
    ])
    await sendFor(sandbox, 200, "PATCH", `${configMaps}/f`, { metadata: { finalizers: null } }, mergePatch)
    expect(sandbox.get("v1.ConfigMap", "default", "f")).toBeUndefined()
    await sendFor(sandbox, 201, "POST", configMaps, { metadata: { name: "f" } })
  })

  test("keep a Pod beyond its grace period", async () => {
    const sandbox = await start()
    await bound(sandbox, "p", { finalizers: ["a.io/x"] })
    await sendFor(sandbox, 200, "DELETE", `${pods}/p`)
    await sendFor(sandbox, 200, "DELETE", `${pods}/p?gracePeriodSeconds=0`)
    expect(sandbox.get("v1.Pod", "default", "p")?.metadata.deletionGracePeriodSeconds).toBe(0)
    await sendFor(sandbox, 200, "PATCH", `${pods}/p`, { metadata: { finalizers: null } }, mergePatch)
    expect(sandbox.get("v1.Pod", "default", "p")).toBeUndefined()
  })
})

test("preconditions protect recreated and changed objects", async () => {
  const sandbox = await start()
  const old = await sendFor(sandbox, 201, "POST", configMaps, { metadata: { name: "a" } })
  await sendFor(sandbox, 200, "DELETE", `${configMaps}/a`)
  const young = await sendFor(sandbox, 201, "POST", configMaps, { metadata: { name: "a" } })
  const other = { preconditions: { uid: old.metadata.uid } }
  expect((await send(sandbox, "DELETE", `${configMaps}/a`, other)).status).toBe(409)
  const { uid, resourceVersion } = young.metadata
  await sendFor(sandbox, 200, "DELETE", `${configMaps}/a`, { preconditions: { uid, resourceVersion } })
})

test.each([
  ["Foreground", ["foregroundDeletion"]],
  ["Orphan", ["orphan"]],
])("the policy %s leaves a finalizer for the garbage collector", async (propagationPolicy, finalizers) => {
  const sandbox = await start()
  await sendFor(sandbox, 201, "POST", deployments, deployment("web"))
  const marked = await sendFor(sandbox, 200, "DELETE", `${deployments}/web?propagationPolicy=${propagationPolicy}`)
  expect(marked.metadata).toMatchObject({ finalizers, generation: 2 })
  await sendFor(sandbox, 200, "DELETE", `${deployments}/web?propagationPolicy=Background`)
  expect(sandbox.get("apps/v1.Deployment", "default", "web")).toBeUndefined()
})

test("of a collection, the selected objects are deleted, each with its own event", async () => {
  const sandbox = await start()
  for (const name of ["a", "b", "c"]) {
    await sendFor(sandbox, 201, "POST", configMaps, { metadata: { name, labels: { app: name === "c" ? "x" : "y" } } })
  }
  const gone = await sendFor(sandbox, 200, "DELETE", `${configMaps}?labelSelector=app%3Dy`)
  expect([gone.kind, gone.items.map(({ metadata }) => metadata.name)]).toEqual(["ConfigMapList", ["a", "b"]])
  expect((await sendFor(sandbox, 200, "GET", configMaps)).items.map(({ metadata }) => metadata.name)).toEqual(["c"])
  const deleted = sandbox.ledger.of("v1.ConfigMap").filter(({ action }) => action === "deleted")
  expect(deleted.map(({ name }) => name)).toEqual(["a", "b"])
  expect((await send(sandbox, "DELETE", `${configMaps}?labelSelector=a%3D%3D%3Db`)).status).toBe(400)
  expect((await send(sandbox, "DELETE", "/api/v1/configmaps")).status).toBe(405)
})

test("an eviction is refused while a disruption budget does not allow it", async () => {
  const sandbox = await start()
  const labels = { app: "web" }
  await bound(sandbox, "p", { labels })
  await sendFor(sandbox, 200, "PATCH", `${pods}/p/status`, { status: { phase: "Running" } }, mergePatch)
  const budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
  await sendFor(sandbox, 201, "POST", budgets, {
    metadata: { name: "b" },
    spec: { minAvailable: 1, selector: { matchLabels: labels } },
  })
  const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "p" } }
  const refused = await send(sandbox, "POST", `${pods}/p/eviction`, eviction)
  expect([refused.status, bodyOf(refused).reason]).toEqual([429, "TooManyRequests"])
  await sendFor(sandbox, 200, "PATCH", `${budgets}/b/status`, { status: { disruptionsAllowed: 1 } }, mergePatch)
  await sendFor(sandbox, 201, "POST", `${pods}/p/eviction`, eviction)
  expect(sandbox.get("v1.Pod", "default", "p")?.metadata.deletionTimestamp).toBeDefined()
  expect(sandbox.get("policy/v1.PodDisruptionBudget", "default", "b")?.status).toMatchObject({ disruptionsAllowed: 0 })
})

test.each([
  ["GET", "log"],
  ["POST", "exec"],
  ["GET", "portforward"],
])("%s pods/p/%s is answered 501 with a reason", async (method, below) => {
  const sandbox = await start()
  await sendFor(sandbox, 201, "POST", pods, pod("p"))
  const answer = await send(sandbox, method, `${pods}/p/${below}`)
  expect([answer.status, bodyOf(answer)]).toMatchObject([
    501,
    { reason: "NotImplemented", message: expect.stringContaining("no containers") },
  ])
})
