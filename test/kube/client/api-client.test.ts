/** The typed client against a sandbox, over real HTTP: every verb, and the errors it rejects with. */

import { describe, expect, onTestFinished, test } from "vitest"
import { ApiClient } from "../../../src/kube/client/api-client.ts"
import {
  AlreadyExistsError,
  type ApiError,
  ConflictError,
  ForbiddenError,
  InvalidError,
  isTerminatingNamespace,
  NotFoundError,
} from "../../../src/kube/client/api-errors.ts"
import { kinds } from "../../../src/kube/client/kinds.ts"
import type { ApiObject } from "../../../src/kube/client/objects.ts"
import { HttpClient } from "../../../src/kube/http/http-client.ts"
import type { Transport } from "../../../src/kube/http/transport.ts"
import { Sandbox, type SandboxOptions } from "../../../src/sandbox/index.ts"

const start = async (options: SandboxOptions = {}): Promise<{ sandbox: Sandbox; client: ApiClient }> => {
  const sandbox = await Sandbox.start({ bookmarkInterval: 0, ...options })
  const client = new ApiClient({ server: sandbox.endpoint, userAgent: "kubereel-test" })
  onTestFinished(async () => {
    client.close()
    await sandbox.close()
  })
  return { sandbox, client }
}

interface ConfigMap extends ApiObject {
  readonly data?: Readonly<Record<string, string>>
}

const settings = (name: string, data: Readonly<Record<string, string>> = {}): ConfigMap => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default" },
  data,
})
const place = (name: string) => ({ namespace: "default", name })

const web: ApiObject = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "default" },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "web" }] } },
  },
}

const pod = (name: string, more: Partial<ApiObject["metadata"]> = {}): ApiObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "default", ...more },
  spec: { containers: [{ name: "web", image: "web" }] },
})

const errorOf = (call: Promise<unknown>): Promise<ApiError> =>
  call.then(
    () => Promise.reject(new Error("it did not fail")),
    (error: ApiError) => error,
  )

describe("Objects", () => {
  test("are created, read, replaced, patched in three ways, and deleted", async () => {
    const { client } = await start()
    const created = await client.create(kinds.configMaps, settings("a", { x: "1" }))
    expect(created.metadata.uid).toMatch(/^[0-9a-f-]{36}$/)
    expect(await client.get(kinds.configMaps, place("a"))).toEqual(created)
    const updated = await client.update(kinds.configMaps, { ...created, data: { x: "2" } })
    expect(updated.data).toEqual({ x: "2" })
    const merged = await client.patch<ConfigMap>(kinds.configMaps, place("a"), "merge", { data: { y: "1", x: null } })
    expect(merged.data).toEqual({ y: "1" })
    const steps = [{ op: "add", path: "/data/z", value: "1" }]
    expect((await client.patch<ConfigMap>(kinds.configMaps, place("a"), "json", steps)).data).toEqual({
      y: "1",
      z: "1",
    })
    const text = '{"data":{"z":null}}'
    const strategic = await client.patch<ConfigMap>(kinds.configMaps, place("a"), "strategic-merge", text)
    expect(strategic.data).toEqual({ y: "1" })
    expect(await client.delete(kinds.configMaps, place("a"))).toBeUndefined()
    expect(await errorOf(client.get(kinds.configMaps, place("a")))).toBeInstanceOf(NotFoundError)
  })

  test("get a generated name if theirs is empty", async () => {
    const { client } = await start()
    const made = await client.create(kinds.pods, pod("", { generateName: "web-" }))
    expect(made.metadata.name).toMatch(/^web-\w{5}$/)
  })

  test("that still exist after a deletion are returned, those that are gone are not", async () => {
    const { client } = await start()
    await client.create(kinds.configMaps, { ...settings("held"), metadata: { ...place("held"), finalizers: ["a/b"] } })
    const left = await client.delete(kinds.configMaps, place("held"))
    expect(left?.metadata.deletionTimestamp).toBeDefined()
    await client.create(kinds.pods, pod("bare"))
    expect(await client.delete(kinds.pods, place("bare"), { gracePeriodSeconds: 0 })).toBeUndefined()
  })

  test("are not stored in a dry run, which returns the outcome", async () => {
    const { client, sandbox } = await start()
    const version = sandbox.resourceVersion
    const made = await client.create(kinds.deployments, web, { dryRun: true })
    expect((made as { spec?: { strategy?: object } }).spec?.strategy).toBeDefined()
    await client.apply(kinds.configMaps, place("b"), settings("b"), { fieldManager: "test", dryRun: true })
    expect(sandbox.resourceVersion).toBe(version)
  })

  test("with unknown fields are rejected if the caller asks for it", async () => {
    const { client } = await start()
    const wrong = { ...web, spec: { ...(web.spec as object), replica: 3 } }
    const error = await errorOf(client.create(kinds.deployments, wrong, { fieldValidation: "Strict" }))
    expect(error).toMatchObject({ _tag: "ApiRefusalError", code: 400, verb: "create", kind: "apps/v1.Deployment" })
    expect(error.message).toContain("replica")
    await client.create(kinds.deployments, wrong, { fieldValidation: "Ignore" })
  })

  test("of a selection are deleted together", async () => {
    const { client } = await start()
    for (const [name, app] of [
      ["a", "x"],
      ["b", "x"],
      ["c", "y"],
    ] as const)
      await client.create(kinds.configMaps, { ...settings(name), metadata: { ...place(name), labels: { app } } })
    await client.deleteCollection(kinds.configMaps, { namespace: "default", labelSelector: "app=x" })
    expect((await client.list(kinds.configMaps)).items.map(({ metadata }) => metadata.name)).toEqual(["c"])
  })
})

describe("A server-side apply", () => {
  test("creates, sets, and removes what its manager no longer gives", async () => {
    const { client } = await start()
    const mine = { fieldManager: "mine" }
    await client.apply(kinds.configMaps, place("a"), settings("a", { x: "1", y: "1" }), mine)
    const text = JSON.stringify({ ...settings("a"), data: { x: "2" } })
    const applied = await client.apply<ConfigMap>(kinds.configMaps, place("a"), text, mine)
    expect(applied.data).toEqual({ x: "2" })
  })

  test("conflicts about what another manager owns, unless it is forced", async () => {
    const { client } = await start()
    await client.apply(kinds.configMaps, place("a"), settings("a", { x: "1" }), { fieldManager: "theirs" })
    const desired = settings("a", { x: "2" })
    const error = await errorOf(client.apply(kinds.configMaps, place("a"), desired, { fieldManager: "mine" }))
    expect(error).toBeInstanceOf(ConflictError)
    expect(error).toMatchObject({
      verb: "apply",
      namespace: "default",
      name: "a",
      reason: "Conflict",
      causes: [{ reason: "FieldManagerConflict", field: ".data.x" }],
    })
    const forced = { fieldManager: "mine", force: true }
    expect((await client.apply<ConfigMap>(kinds.configMaps, place("a"), desired, forced)).data).toEqual({ x: "2" })
  })
})

describe("Subresources", () => {
  test("of a Deployment: status and scale are written separately", async () => {
    const { client } = await start()
    const created = await client.create(kinds.deployments, web)
    const status = { observedGeneration: 1, replicas: 1 }
    const reported = await client.updateStatus(kinds.deployments, { ...created, spec: undefined, status })
    expect(reported).toMatchObject({ status, spec: { replicas: 1 } })
    const scale = await client.get(kinds.deployments, place("web"), { subresource: "scale" })
    expect(scale).toMatchObject({ kind: "Scale", spec: { replicas: 1 } })
    await client.patch(kinds.deployments, place("web"), "merge", { spec: { replicas: 5 } }, { subresource: "scale" })
    expect(await client.get(kinds.deployments, place("web"))).toMatchObject({ spec: { replicas: 5 }, status })
  })

  test("of a Pod and a ServiceAccount: binding, eviction and token are created", async () => {
    const { client } = await start()
    await client.create(kinds.pods, pod("web"))
    const target = { apiVersion: "v1", kind: "Node", name: "node-1" }
    const binding = { apiVersion: "v1", kind: "Binding", metadata: { name: "web" }, target }
    await client.createSubresource(kinds.pods, place("web"), "binding", binding)
    expect(await client.get(kinds.pods, place("web"))).toMatchObject({ spec: { nodeName: "node-1" } })
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: place("web") }
    await client.createSubresource(kinds.pods, place("web"), "eviction", eviction)
    expect((await client.get(kinds.pods, place("web"))).metadata.deletionTimestamp).toBeDefined()
  })
})

describe("Lists", () => {
  test("come in pages of one version, and every item has its apiVersion and kind", async () => {
    const { client } = await start()
    for (let index = 0; index < 7; index++) await client.create(kinds.configMaps, settings(`c-${index}`))
    const sizes: number[] = []
    const versions = new Set<string>()
    for await (const page of client.pages(kinds.configMaps, { namespace: "default", limit: 3 })) {
      sizes.push(page.items.length)
      versions.add(page.resourceVersion)
      // An object that changes meanwhile belongs to no page.
      await client.delete(kinds.configMaps, place("c-6")).catch(() => undefined)
    }
    expect([sizes, versions.size]).toEqual([[3, 3, 1], 1])
    const { items } = await client.list(kinds.configMaps)
    expect(items.map(({ kind, apiVersion }) => `${apiVersion}/${kind}`)).toEqual(Array(6).fill("v1/ConfigMap"))
  })

  test("are requested again, as a whole, when the continue token expires half-way; pages reject then", async () => {
    const { sandbox } = await start({ historyLimit: 5 })
    const http = new HttpClient(sandbox.endpoint, { userAgent: "kubereel-test" })
    let forgotten = 0
    const forgetting: Transport = {
      get: (path, headers, handler) => http.get(path, headers, handler),
      send: (request, handler) => {
        if (request.path.includes("continue=")) forget()
        return http.send(request, handler)
      },
    }
    const forget = (): void => {
      forgotten++
      for (let round = 0; round < 10; round++) sandbox.put("v1.ConfigMap", { metadata: place("busy") })
    }
    const client = new ApiClient({ server: forgetting, userAgent: "kubereel-test" })
    onTestFinished(() => http.close())
    for (let index = 0; index < 7; index++) await client.create(kinds.configMaps, settings(`c-${index}`))
    const pages = client.pages(kinds.configMaps, { limit: 3 })
    await pages.next()
    expect(await errorOf(pages.next())).toMatchObject({ _tag: "ExpiredError", verb: "list" })
    const { items, resourceVersion } = await client.list(kinds.configMaps, { limit: 3 })
    expect([forgotten, items.length, resourceVersion]).toEqual([2, 8, sandbox.resourceVersion])
  })

  test("are of one namespace, label and field", async () => {
    const { client } = await start()
    await client.create(kinds.configMaps, { ...settings("a"), metadata: { ...place("a"), labels: { app: "x" } } })
    await client.create(kinds.configMaps, settings("b"))
    const names = async (options: object): Promise<ReadonlyArray<string>> =>
      (await client.list(kinds.configMaps, options)).items.map(({ metadata }) => metadata.name)
    expect(await names({ labelSelector: "app=x" })).toEqual(["a"])
    expect(await names({ fieldSelector: "metadata.name=b" })).toEqual(["b"])
    expect(await names({ namespace: "kube-system" })).toEqual([])
  })
})

describe("Refusals", () => {
  test("distinguish an object that exists from one that changed, and carry the facts of the request", async () => {
    const { client } = await start()
    const created = await client.create(kinds.configMaps, settings("a"))
    const exists = await errorOf(client.create(kinds.configMaps, settings("a")))
    expect(exists).toBeInstanceOf(AlreadyExistsError)
    await client.update(kinds.configMaps, { ...created, data: { x: "1" } })
    const changed = await errorOf(client.update(kinds.configMaps, { ...created, data: { x: "2" } }))
    expect(changed).toBeInstanceOf(ConflictError)
    expect(changed).toMatchObject({ verb: "update", kind: "v1.ConfigMap", namespace: "default", name: "a", code: 409 })
    expect(changed.message).toMatch(/^update v1\.ConfigMap default\/a: /)
    const stale = await errorOf(client.delete(kinds.configMaps, place("a"), { uid: "another" }))
    expect(stale).toBeInstanceOf(ConflictError)
  })

  test("name the invalid fields", async () => {
    const { client } = await start()
    const error = await errorOf(client.create(kinds.configMaps, settings("Not A Name")))
    expect(error).toBeInstanceOf(InvalidError)
    expect(error).toMatchObject({ code: 422, causes: [{ field: "metadata.name" }] })
  })

  test("report that a namespace is terminating", async () => {
    const { client } = await start()
    const shop = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } }
    await client.create(kinds.namespaces, shop)
    await client.delete(kinds.namespaces, { name: "shop" })
    const late = { ...settings("a"), metadata: { name: "a", namespace: "shop" } }
    const error = await errorOf(client.create(kinds.configMaps, late))
    expect(error).toBeInstanceOf(ForbiddenError)
    expect(isTerminatingNamespace(error)).toBe(true)
    expect(isTerminatingNamespace(await errorOf(client.get(kinds.configMaps, place("none"))))).toBe(false)
  })
})
