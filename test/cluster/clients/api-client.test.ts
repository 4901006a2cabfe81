/** The typed client against a real API server: every verb, and its refusals as typed errors. */

import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest"
import { systemClock } from "../../../src/clock.ts"
import {
  ApiClient,
  type ApiError,
  type ApiObject,
  type ConnectionOptions,
  type Credentials,
  ForbiddenError,
  impersonating,
  type Kind,
  kinds,
  loadCredentials,
  watchObjects,
} from "../../../src/kube/index.ts"
import { openTestCluster } from "../guard.ts"

const { configMaps, deployments, namespaces, pods } = kinds
const userAgent = "kubereel-client-test"
const namespace = `client-${process.pid}`

interface ConfigMap extends ApiObject {
  readonly data?: Readonly<Record<string, string>>
}

const settings = (name: string, data: Readonly<Record<string, string>> = {}, labels = {}): ConfigMap => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace, labels },
  data,
})
const place = (name: string) => ({ namespace, name })

let credentials: Credentials
let client: ApiClient
const opened: ApiClient[] = []
const clientOf = (options: Partial<ConnectionOptions> = {}): ApiClient => {
  const made = new ApiClient({ server: credentials, userAgent, ...options })
  opened.push(made)
  return made
}

beforeAll(async () => {
  const { kubeconfig } = await openTestCluster()
  credentials = await loadCredentials({ kubeconfig, context: undefined })
  client = new ApiClient({ server: credentials, userAgent })
  await client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } })
})
afterEach(() => {
  for (const made of opened.splice(0)) made.close()
})
afterAll(async () => {
  await client?.delete(namespaces, { name: namespace })
  client?.close()
})

const errorOf = (call: Promise<unknown>): Promise<ApiError> =>
  call.then(
    () => Promise.reject(new Error("it did not fail")),
    (error: ApiError) => error,
  )

/** Polls for at most ten seconds. */
const until = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
  for (const deadline = performance.now() + 10_000; !(await condition()); await sleep(20))
    if (performance.now() > deadline) throw new Error("waited ten seconds in vain")
}

describe("Objects", () => {
  test("are created, under generated names too, and read; a dry run stores nothing", async () => {
    const created = await client.create(configMaps, settings("made", { a: "1" }))
    expect(created.metadata).toMatchObject({ namespace, uid: expect.any(String), resourceVersion: expect.any(String) })
    expect(await client.get<ConfigMap>(configMaps, place("made"))).toEqual(created)
    const generated = await client.create(configMaps, {
      ...settings(""),
      metadata: { name: "", generateName: "made-", namespace },
    })
    expect(generated.metadata.name).toMatch(/^made-.{5}$/)
    await client.create(configMaps, settings("tried"), { dryRun: true })
    expect(await errorOf(client.get(configMaps, place("tried")))).toMatchObject({ _tag: "NotFoundError", code: 404 })
  })

  test("are listed page by page at one version, each with its kind", async () => {
    for (let number = 0; number < 7; number++)
      await client.create(configMaps, settings(`listed-${number}`, {}, { test: "pages" }))
    const selection = { namespace, labelSelector: "test=pages", limit: 3 }
    const pages: Array<{ readonly names: ReadonlyArray<string>; readonly resourceVersion: string }> = []
    for await (const { items, resourceVersion } of client.pages<ConfigMap>(configMaps, selection))
      pages.push({ names: items.map(({ metadata }) => metadata.name), resourceVersion })
    expect(pages.map(({ names }) => names.length)).toEqual([3, 3, 1])
    expect(new Set(pages.map(({ resourceVersion }) => resourceVersion)).size).toBe(1)
    const { items } = await client.list<ConfigMap>(configMaps, selection)
    expect(items.map(({ apiVersion, kind, metadata }) => `${apiVersion} ${kind} ${metadata.name}`)).toEqual(
      pages.flatMap(({ names }) => names.map((name) => `v1 ConfigMap ${name}`)),
    )
  })

  test("are changed by merge patch and JSON patch, whose failing test is an InvalidError", async () => {
    await client.create(configMaps, settings("patched", { a: "1", b: "1" }))
    const merged = await client.patch<ConfigMap>(configMaps, place("patched"), "merge", { data: { a: "2", b: null } })
    expect(merged.data).toEqual({ a: "2" })
    const operations = [
      { op: "test", path: "/data/a", value: "2" },
      { op: "add", path: "/data/c", value: "3" },
    ]
    const patched = await client.patch<ConfigMap>(configMaps, place("patched"), "json", operations)
    expect(patched.data).toEqual({ a: "2", c: "3" })
    const failing = [{ op: "test", path: "/data/a", value: "other" }]
    expect(await errorOf(client.patch(configMaps, place("patched"), "json", failing))).toMatchObject({
      _tag: "InvalidError",
      code: 422,
    })
  })

  test("are applied; a field of another manager is a ConflictError that names it, unless forced", async () => {
    const applied = (value: string): ConfigMap => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "applied", namespace },
      data: { a: value },
    })
    const at = place("applied")
    await client.apply(configMaps, at, applied("1"), { fieldManager: "one" })
    const conflict = await errorOf(client.apply(configMaps, at, applied("2"), { fieldManager: "other" }))
    expect(conflict).toMatchObject({
      _tag: "ConflictError",
      code: 409,
      verb: "apply",
      causes: [{ reason: "FieldManagerConflict", field: ".data.a" }],
    })
    const forced = await client.apply<ConfigMap>(configMaps, at, applied("2"), { fieldManager: "other", force: true })
    expect(forced.data).toEqual({ a: "2" })
    // What an apply leaves out goes if the manager owned it.
    const { data: _, ...without } = applied("")
    const left = await client.apply<ConfigMap>(configMaps, at, without, { fieldManager: "other" })
    expect(left.data).toBeUndefined()
  })

  test("have a status of their own: writing it leaves the spec alone, and writing the object leaves the status alone", async () => {
    const pod: ApiObject = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "web", namespace },
      // No scheduler and no kubelet touches it.
      spec: { schedulerName: "nobody", containers: [{ name: "web", image: "web" }] },
    }
    let created: ApiObject | undefined
    // Until the namespace has its default service account, pods are forbidden.
    await until(async () => {
      created = await client.create(pods, pod).catch((error: unknown) => {
        if (error instanceof ForbiddenError) return undefined
        throw error
      })
      return created !== undefined
    })
    if (created === undefined) throw new Error("created by now")
    const told = await client.updateStatus<ApiObject>(pods, {
      ...created,
      spec: { ...(created.spec as object), activeDeadlineSeconds: 60 },
      status: { phase: "Running", message: "told by a test" },
    })
    expect(told).toMatchObject({ status: { phase: "Running", message: "told by a test" } })
    expect(told.spec).not.toHaveProperty("activeDeadlineSeconds")
    const labelled = await client.update<ApiObject>(pods, {
      ...told,
      metadata: { ...told.metadata, labels: { from: "update" } },
      status: { message: "ignored" },
    })
    expect(labelled).toMatchObject({ metadata: { labels: { from: "update" } }, status: { message: "told by a test" } })
    expect(await client.get<ApiObject>(pods, place("web"), { subresource: "status" })).toMatchObject({
      status: { phase: "Running" },
    })
  })

  test("are deleted at once, or when their finalizers are gone, and only if they still are the one meant", async () => {
    const { metadata } = await client.create<ApiObject>(configMaps, {
      ...settings("held"),
      metadata: { name: "held", namespace, finalizers: ["example.com/hold"] },
    })
    expect(await errorOf(client.delete(configMaps, place("held"), { uid: "another" }))).toMatchObject({
      _tag: "ConflictError",
    })
    const { uid = "" } = metadata
    const held = await client.delete(configMaps, place("held"), { uid })
    expect(held?.metadata.deletionTimestamp).toEqual(expect.any(String))
    await client.patch(configMaps, place("held"), "merge", { metadata: { finalizers: null } })
    expect(await errorOf(client.get(configMaps, place("held")))).toMatchObject({ _tag: "NotFoundError" })
    await client.create(configMaps, settings("brief"))
    expect(await client.delete(configMaps, place("brief"))).toBeUndefined()
  })

  test("are deleted as a collection: those that the selector matches and no others", async () => {
    for (const name of ["gone-1", "gone-2", "stays"])
      await client.create(configMaps, settings(name, {}, { test: "collection", goes: String(name !== "stays") }))
    await client.deleteCollection(configMaps, { namespace, labelSelector: "test=collection,goes=true" })
    const { items } = await client.list(configMaps, { namespace, labelSelector: "test=collection" })
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["stays"])
  })
})

test("a watch lists what there is and tells each change, in order", async () => {
  await client.create(configMaps, settings("before", {}, { test: "watch" }))
  const told: string[] = []
  const watch = watchObjects<ConfigMap>(
    client.connection,
    { kind: configMaps, namespace, labelSelector: "test=watch", clock: systemClock, random: Math.random },
    {
      listStarted: () => told.push("list"),
      listed: ({ kind, metadata }) => told.push(`${kind} ${metadata.name}`),
      listCompleted: () => told.push("listed"),
      changed: ({ metadata, data }, isDeleted) => told.push(`${isDeleted ? "-" : "+"}${metadata.name} ${data?.a}`),
      readDone: () => undefined,
      progressed: () => undefined,
      historyStarted: (detail) => told.push(detail),
      stateChanged: () => undefined,
      alarm: (detail) => told.push(detail),
    },
  )
  onTestFinished(() => watch.stop())
  watch.start()
  await until(() => told.includes("listed"))
  await client.create(configMaps, settings("watched", { a: "1" }, { test: "watch" }))
  await client.patch(configMaps, place("watched"), "merge", { data: { a: "2" } })
  await client.delete(configMaps, place("watched"))
  await until(() => told.length >= 6)
  expect(told).toEqual(["list", "ConfigMap before", "listed", "+watched 1", "+watched 2", "-watched 2"])
})

describe("Refusals", () => {
  test("409: a name that is taken, and an object that has changed since it was read", async () => {
    const first = await client.create(configMaps, settings("twice"))
    expect(await errorOf(client.create(configMaps, settings("twice")))).toMatchObject({
      _tag: "AlreadyExistsError",
      code: 409,
      reason: "AlreadyExists",
      verb: "create",
      kind: "v1.ConfigMap",
      namespace,
      name: "twice",
    })
    await client.update<ConfigMap>(configMaps, { ...first, data: { a: "1" } })
    const stale = errorOf(client.update<ConfigMap>(configMaps, { ...first, data: { a: "2" } }))
    expect(await stale).toMatchObject({ _tag: "ConflictError", code: 409, reason: "Conflict" })
  })

  test("422: the causes name the fields that are invalid", async () => {
    const deployment: ApiObject = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "wrong", namespace },
      spec: {
        replicas: -1,
        selector: { matchLabels: { app: "web" } },
        template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "web" }] } },
      },
    }
    const error = await errorOf(client.create(deployments, deployment))
    expect(error).toMatchObject({ _tag: "InvalidError", code: 422, reason: "Invalid" })
    expect("causes" in error && error.causes.map(({ field }) => field)).toEqual(["spec.replicas"])
  })
})

const reviews: Kind = {
  gvk: { group: "authentication.k8s.io", version: "v1", kind: "SelfSubjectReview" },
  plural: "selfsubjectreviews",
  namespaced: false,
}

test("whom the client impersonates is who asks: with its groups, and with no more rights than it has", async () => {
  const asked: ApiObject = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview", metadata: { name: "" } }
  const user = { user: "carol", uid: undefined, groups: ["readers", "writers"], extra: [] }
  const carol = clientOf({ server: impersonating(credentials, user) })
  expect(await carol.create(reviews, asked)).toMatchObject({
    status: { userInfo: { username: "carol", groups: expect.arrayContaining(user.groups) } },
  })
  expect(await errorOf(carol.list(configMaps, { namespace }))).toMatchObject({
    _tag: "ForbiddenError",
    code: 403,
    detail: expect.stringContaining('User "carol" cannot list resource "configmaps"'),
  })
})

test("what the server warns of is told, with the question", async () => {
  const warnings: string[] = []
  const warned = clientOf({ onWarning: (text, { verb, name }) => warnings.push(`${verb} ${name}: ${text}`) })
  await warned.create(configMaps, { ...settings("warned"), unheard: { of: true } })
  expect(warnings).toEqual(['create warned: unknown field "unheard"'])
})
