/** The effect of writes on versions, generations and watches, on which controllers rely most. */

import { describe, expect, test } from "vitest"
import type { Sandbox } from "../../../src/library/sandbox.ts"
import { brief, Watch } from "../client.ts"
import { open } from "../opened-sandbox.ts"
import {
  applyPatch,
  bodyOf,
  configMaps,
  deployment,
  deployments,
  jsonPatch,
  mergePatch,
  send,
  sendFor,
  strategicPatch,
} from "./write-client.ts"

const start = (): Promise<Sandbox> => open({ bookmarkInterval: 0 })

const configMap = (data: object, metadata: object = {}) => ({ metadata: { name: "a", ...metadata }, data })

test("every write that changes something is one event, and the ledger has them all", async () => {
  const sandbox = await start()
  const watch = await Watch.open(`${sandbox.url}/api/v1/configmaps?watch=1&resourceVersion=1002`)
  await sendFor(sandbox, 201, "POST", configMaps, configMap({ k: "1" }))
  await sendFor(sandbox, 200, "PUT", `${configMaps}/a`, configMap({ k: "2" }))
  await sendFor(sandbox, 200, "PATCH", `${configMaps}/a`, { data: { k: "3" } }, mergePatch)
  await sendFor(sandbox, 200, "DELETE", `${configMaps}/a`)
  expect((await watch.take(4)).map(brief)).toEqual([
    "ADDED a@1003",
    "MODIFIED a@1004",
    "MODIFIED a@1005",
    "DELETED a@1006",
  ])
  expect(
    sandbox.ledger.of("v1.ConfigMap").map(({ action, resourceVersion }) => `${action} ${resourceVersion}`),
  ).toEqual(["applied 1003", "applied 1004", "applied 1005", "deleted 1006"])
  watch.close()
})

describe("a write that changes nothing keeps the version, sends no event and gets a 200", () => {
  test.each([
    ["a replacement in another order", "PUT", '{"data":{"y":"2","x":"1"},"metadata":{"name":"a"}}', "application/json"],
    ["a merge patch", "PATCH", '{"data":{"x":"1"}}', mergePatch.type],
    ["a strategic patch", "PATCH", '{"data":{"x":"1"}}', strategicPatch.type],
    ["a JSON patch", "PATCH", '[{"op":"replace","path":"/data/x","value":"1"}]', jsonPatch.type],
    ["a patch without anything", "PATCH", "{}", mergePatch.type],
  ])("%s", async (_name, method, body, type = "") => {
    const sandbox = await start()
    const created = await sendFor(sandbox, 201, "POST", configMaps, configMap({ x: "1", y: "2" }))
    const again = await sendFor(sandbox, 200, method, `${configMaps}/a`, body, { type })
    expect(again).toEqual(created)
    expect(sandbox.resourceVersion).toBe(created.metadata.resourceVersion)
  })

  test("an apply of the same configuration", async () => {
    const sandbox = await start()
    const body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n"
    const path = `${configMaps}/a?fieldManager=me`
    const created = await sendFor(sandbox, 201, "PATCH", path, body, applyPatch)
    expect(await sendFor(sandbox, 200, "PATCH", path, body, applyPatch)).toEqual(created)
  })
})

describe("optimistic locking", () => {
  test("refuses a replacement of an old version and accepts one of the current version", async () => {
    const sandbox = await start()
    const first = await sendFor(sandbox, 201, "POST", configMaps, configMap({ k: "1" }))
    const second = await sendFor(sandbox, 200, "PUT", `${configMaps}/a`, { ...first, data: { k: "2" } })
    const late = await send(sandbox, "PUT", `${configMaps}/a`, { ...first, data: { k: "3" } })
    expect([late.status, bodyOf(late).reason]).toEqual([409, "Conflict"])
    await sendFor(sandbox, 200, "PUT", `${configMaps}/a`, { ...second, data: { k: "4" } })
    expect(sandbox.get("v1.ConfigMap", "default", "a")?.data).toEqual({ k: "4" })
  })

  test("of ten writers that have read the same state, one wins", async () => {
    const sandbox = await start()
    const seen = await sendFor(sandbox, 201, "POST", configMaps, configMap({ k: "0" }))
    const writers = Array.from({ length: 10 }, (_, index) => ({ ...seen, data: { k: `w${index}` } }))
    const results = await Promise.all(writers.map((body) => send(sandbox, "PUT", `${configMaps}/a`, body)))
    expect(results.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 9 }, () => 409)])
  })

  test("is required for Leases", async () => {
    const sandbox = await start()
    const path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    const lease = await sendFor(sandbox, 201, "POST", path, { metadata: { name: "a" }, spec: { holderIdentity: "x" } })
    expect((await send(sandbox, "PUT", `${path}/a`, { metadata: { name: "a" }, spec: {} })).status).toBe(422)
    await sendFor(sandbox, 200, "PUT", `${path}/a`, { ...lease, spec: { holderIdentity: "y" } })
  })
})

describe("the generation", () => {
  test("counts changes of the spec, not of metadata or status", async () => {
    const sandbox = await start()
    const path = `${deployments}/web`
    const generations = [
      await sendFor(sandbox, 201, "POST", deployments, deployment("web", 1)),
      await sendFor(sandbox, 200, "PATCH", path, { metadata: { labels: { x: "y" } } }, mergePatch),
      await sendFor(sandbox, 200, "PATCH", `${path}/status`, { status: { observedGeneration: 1 } }, mergePatch),
      await sendFor(sandbox, 200, "PATCH", path, { spec: { replicas: 2 } }, mergePatch),
    ].map(({ metadata }) => metadata.generation)
    expect(generations).toEqual([1, 1, 1, 2])
  })

  test("cannot be set by a client", async () => {
    const sandbox = await start()
    const made = { ...deployment("web"), metadata: { name: "web", generation: 7 } }
    expect((await sendFor(sandbox, 201, "POST", deployments, made)).metadata.generation).toBe(1)
  })
})

test("the status is written by /status alone, and everything else is not", async () => {
  const sandbox = await start()
  const path = `${deployments}/web`
  await sendFor(sandbox, 201, "POST", deployments, { ...deployment("web", 1), status: { observedGeneration: 9 } })
  await sendFor(sandbox, 200, "PATCH", path, { status: { observedGeneration: 8 } }, mergePatch)
  expect(sandbox.get("apps/v1.Deployment", "default", "web")?.status).toEqual({})
  const both = { status: { observedGeneration: 1 }, spec: { replicas: 5 } }
  const updated = await sendFor(sandbox, 200, "PATCH", `${path}/status`, both, mergePatch)
  expect([updated.status, updated.spec.replicas]).toEqual([{ observedGeneration: 1 }, 1])
})

test("a dry run returns the result and changes nothing", async () => {
  const sandbox = await start()
  const dry = await sendFor(sandbox, 201, "POST", `${configMaps}?dryRun=All`, configMap({ k: "1" }))
  expect([dry.metadata.uid.length, dry.metadata.resourceVersion]).toEqual([36, undefined])
  await sendFor(sandbox, 201, "POST", configMaps, configMap({ k: "1" }))
  const patched = await sendFor(sandbox, 200, "PATCH", `${configMaps}/a?dryRun=All`, { data: { k: "2" } }, mergePatch)
  expect([patched.data, patched.metadata.resourceVersion]).toEqual([{ k: "2" }, "1003"])
  await sendFor(sandbox, 200, "DELETE", `${configMaps}/a?dryRun=All`)
  expect([sandbox.get("v1.ConfigMap", "default", "a")?.data, sandbox.resourceVersion]).toEqual([{ k: "1" }, "1003"])
})

test("fields belong to the named manager, or to the first part of the User-Agent", async () => {
  const sandbox = await start()
  const owners = ({ metadata }: { metadata: Readonly<Record<string, unknown>> }): ReadonlyArray<string> =>
    (metadata.managedFields as ReadonlyArray<{ manager: string; operation: string }>).map(
      ({ manager, operation }) => `${manager} ${operation}`,
    )
  const created = await sendFor(sandbox, 201, "POST", configMaps, configMap({ a: "1" }), {
    userAgent: "kubectl/v1.34 (linux)",
  })
  expect(owners(created)).toEqual(["kubectl Update"])
  const path = `${configMaps}/a?fieldManager=mine`
  expect(owners(await sendFor(sandbox, 200, "PATCH", path, { data: { b: "2" } }, mergePatch))).toEqual([
    "kubectl Update",
    "mine Update",
  ])
})

test("a write from inside the process is the same write", async () => {
  const sandbox = await start()
  const answer = await sandbox.request({
    method: "POST",
    path: configMaps,
    body: configMap({ k: "v" }),
    userAgent: "probe/1.0",
  })
  expect(answer.status).toBe(201)
  const read = await sandbox.request({ method: "GET", path: `${configMaps}/a` })
  expect(JSON.parse(read.text)).toEqual(await sendFor(sandbox, 200, "GET", `${configMaps}/a`))
  expect((await sandbox.request({ method: "GET", path: `${configMaps}/b` })).status).toBe(404)
  expect((await sandbox.request({ method: "GET", path: "/nonsense" })).status).toBe(404)
  expect((await sandbox.request({ method: "PUT", path: configMaps, body: {} })).status).toBe(405)
  const patched = await sandbox.request({
    method: "PATCH",
    path: `${configMaps}/a?fieldValidation=Warn`,
    body: { nope: 1 },
  })
  expect([patched.status, patched.warnings]).toEqual([200, ['unknown field "nope"']])
})

test("the response to a write may be only the metadata", async () => {
  const sandbox = await start()
  await sendFor(sandbox, 201, "POST", configMaps, configMap({ k: "1" }))
  const accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
  const answer = await fetch(`${sandbox.url}${configMaps}/a`, {
    method: "PATCH",
    headers: { Accept: accept, "Content-Type": "application/merge-patch+json" },
    body: '{"data":{"k":"2"}}',
  })
  expect(await answer.json()).toMatchObject({
    kind: "PartialObjectMetadata",
    metadata: { name: "a", resourceVersion: "1004" },
  })
  expect(sandbox.get("v1.ConfigMap", "default", "a")?.data).toEqual({ k: "2" })
})
