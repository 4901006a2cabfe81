/** Watch and informers of @kubernetes/client-node. */

import { AppsV1Api, CoreV1Api, ListWatch, makeInformer, type V1ConfigMap, Watch } from "@kubernetes/client-node"
import { describe, expect, test } from "vitest"
import { until } from "../../runtime/until.ts"
import { connections, overHttp } from "./connections.ts"

const namespace = "default"
const path = `/api/v1/namespaces/${namespace}/configmaps`

describe.each(connections)("over $name", ({ open }) => {
  test("an informer lists, watches and holds the objects", async () => {
    const { sandbox, config } = await open()
    await using _closed = sandbox
    const core = config.makeApiClient(CoreV1Api)
    const create = (name: string, app = "web") =>
      core.createNamespacedConfigMap({ namespace, body: { metadata: { name, labels: { app } }, data: { n: "1" } } })
    await create("first")
    const listed = () => core.listNamespacedConfigMap({ namespace, labelSelector: "app=web" })
    const informer = makeInformer(config, path, listed, "app=web")
    const events: string[] = []
    for (const verb of ["add", "update", "delete"] as const) {
      informer.on(verb, (object: V1ConfigMap) => events.push(`${verb} ${object.metadata?.name} ${object.data?.n}`))
    }
    informer.on("connect", () => events.push("connect"))
    await informer.start()
    await create("second")
    await create("other", "else")
    await core.replaceNamespacedConfigMap({
      namespace,
      name: "first",
      body: { metadata: { name: "first", labels: { app: "web" } }, data: { n: "2" } },
    })
    await core.deleteNamespacedConfigMap({ namespace, name: "second" })
    await until(() => events.length >= 5)
    expect(events).toEqual(["connect", "add first 1", "add second 1", "update first 2", "delete second 1"])
    expect(informer.list().map(({ metadata }) => metadata?.name)).toEqual(["first"])
    expect(informer.get("first", namespace)?.data).toEqual({ n: "2" })
    await informer.stop()
    await until(() => sandbox.watchCount("configmaps") === 0)
  })
})

test("an informer whose watch ends resumes where it was, and lists only when its version is gone", async () => {
  const { sandbox, config } = await overHttp.open()
  await using _closed = sandbox
  const core = config.makeApiClient(CoreV1Api)
  const events: string[] = []
  const list = () => core.listNamespacedConfigMap({ namespace })
  const delayFn = () => Promise.resolve()
  const options = { delayFn }
  const informer = new ListWatch<V1ConfigMap>(path, new Watch(config), list, false, undefined, undefined, options)
  for (const verb of ["add", "update", "delete"] as const) {
    informer.on(verb, ({ metadata }) => events.push(`${verb} ${metadata?.name}`))
  }
  await informer.start()
  const put = (name: string) => sandbox.put("v1.ConfigMap", { metadata: { name, namespace }, data: {} })
  const watches = { resource: "configmaps", verb: "watch" }
  put("a")
  await until(() => events.length === 1)
  sandbox.faults.endWatches("configmaps")
  await sandbox.requests.waitFor(watches, 2)
  put("b")
  await until(() => events.length === 2)
  expect(sandbox.requests.count({ resource: "configmaps", verb: "list" })).toBe(1)
  const [, resumed] = sandbox.requests.entries(watches)
  expect(resumed?.query).toContain(
    `resourceVersion=${sandbox.get("v1.ConfigMap", namespace, "a")?.metadata.resourceVersion}`,
  )
  sandbox.faults.forceExpired("configmaps", 1)
  sandbox.faults.endWatches("configmaps")
  await until(() => sandbox.requests.count({ resource: "configmaps", verb: "list" }) === 2)
  await sandbox.requests.waitFor(watches, 4)
  put("c")
  await until(() => events.includes("add c"))
  expect(events.filter((event) => event.startsWith("add"))).toEqual(["add a", "add b", "add c"])
  await informer.stop()
})

test("a plain watch gets bookmarks and initial events, and ends when it is aborted", async () => {
  const { sandbox, config } = await overHttp.open()
  await using _closed = sandbox
  sandbox.put("apps/v1.Deployment", { metadata: { name: "web", namespace }, spec: {} })
  const events: string[] = []
  let isDone = false
  const query = { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan", allowWatchBookmarks: true }
  const controller = await new Watch(config).watch(
    "/apis/apps/v1/deployments",
    query,
    (phase: string, object: { metadata: { name?: string; annotations?: Record<string, string> } }) => {
      events.push(`${phase} ${object.metadata.name ?? Object.keys(object.metadata.annotations ?? {}).join()}`)
    },
    () => {
      isDone = true
    },
  )
  await until(() => events.length === 2)
  expect(events).toEqual(["ADDED web", "BOOKMARK k8s.io/initial-events-end"])
  const listed = await config.makeApiClient(AppsV1Api).listDeploymentForAllNamespaces()
  expect(listed.items).toHaveLength(1)
  controller.abort()
  await until(() => isDone && sandbox.watchCount("deployments") === 0)
})
