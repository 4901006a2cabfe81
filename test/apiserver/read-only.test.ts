/** The server by itself: without the half that writes, and with a backend that has to wait for everything. */

import { setImmediate as nextTurn } from "node:timers/promises"
import { afterEach, describe, expect, test } from "vitest"
import { ApiServer, type ApiServerOptions, type Change } from "../../src/apiserver/index.ts"
import { ManualClock } from "../runtime/manual-clock.ts"
import { type Answer, type ApiObject, brief, get, getJson, Watch } from "../sandbox/client.ts"
import { changeOf, DelayedBackend } from "./delayed-backend.ts"

const opened: Array<{ close(): unknown }> = []
afterEach(async () => {
  for (const resource of opened.splice(0).reverse()) await resource.close()
})

interface Served {
  readonly backend: DelayedBackend
  readonly server: ApiServer
  readonly troubles: string[]
}

const serve = async (options: ApiServerOptions = {}): Promise<Served> => {
  const backend = new DelayedBackend()
  const troubles: string[] = []
  const onTrouble = (detail: string): unknown => troubles.push(detail)
  const server = await ApiServer.listen(backend, { onTrouble, ...options }, { readOnlyReason: "this is the past" })
  opened.push(server)
  return { backend, server, troubles }
}

const watch = async ({ server }: Served, query: string, path = "/api/v1/configmaps"): Promise<Watch> => {
  const stream = await Watch.open(`${server.url}${path}?watch=1&${query}`)
  opened.push(stream)
  return stream
}

/** Runs turns of the event loop until a condition holds. */
const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await nextTurn()
}

const streamingList = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
const table = { Accept: "application/json;as=Table;v=v1;g=meta.k8s.io" }
const names = ({ items }: ApiObject): ReadonlyArray<string> => items.map(({ metadata }) => metadata.name)

describe("discovery", () => {
  test("names the kinds of the backend and no others, with the verbs that read", async () => {
    const { server } = await serve()
    const list = JSON.parse((await get(`${server.url}/api/v1`)).text) as {
      resources: ReadonlyArray<{ name: string; verbs: ReadonlyArray<string> }>
    }
    expect(list.resources.map(({ name }) => name)).toEqual(["configmaps", "pods", "pods/status"])
    expect(list.resources.map(({ verbs }) => verbs)).toEqual([
      ["get", "list", "watch"],
      ["get", "list", "watch"],
      ["get"],
    ])
    const groups = await get(`${server.url}/apis`, {
      Accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    })
    const { items } = JSON.parse(groups.text) as { items: ReadonlyArray<{ metadata: { name: string } }> }
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["apps", "example.com"])
  })

  test("has a version, health checks and the schemas for `kubectl explain`", async () => {
    const { server } = await serve()
    expect(JSON.parse((await get(`${server.url}/version`)).text)).toMatchObject({ gitVersion: "v1.34.4+kubereel" })
    for (const path of ["/healthz", "/livez", "/readyz"]) expect((await get(server.url + path)).text).toBe("ok")
    const { paths } = JSON.parse((await get(`${server.url}/openapi/v3`)).text) as {
      paths: Record<string, { serverRelativeURL: string }>
    }
    const widgets = await get(server.url + (paths["apis/example.com/v1"]?.serverRelativeURL ?? ""))
    expect(widgets.text).toContain("how big")
    expect((await get(server.url + (paths["apis/apps/v1"]?.serverRelativeURL ?? ""))).status).toBe(200)
  })
})

describe("a read", () => {
  test("of one object sends its bytes, or a Status if there is none", async () => {
    const { server, backend } = await serve()
    backend.add("pods", "web", { spec: { nodeName: "n1" } })
    const found = await getJson(`${server.url}/api/v1/namespaces/default/pods/web`)
    expect(found).toMatchObject({ kind: "Pod", metadata: { name: "web", resourceVersion: "101" } })
    const missing = await get(`${server.url}/api/v1/namespaces/default/pods/other`)
    expect([missing.status, JSON.parse(missing.text)]).toMatchObject([404, { reason: "NotFound", code: 404 }])
    expect((await get(`${server.url}/api/v1/namespaces/default/pods/web/log`)).status).toBe(404)
    expect((await get(`${server.url}/api/v1/secrets`)).status).toBe(404)
  })

  test("pages through a list, each object once and in order", async () => {
    const { server, backend } = await serve()
    for (const name of ["d", "a", "c", "e", "b"]) backend.add("configmaps", name)
    const seen: string[] = []
    let token = ""
    do {
      const page = await getJson(`${server.url}/api/v1/configmaps?limit=2&continue=${token}`)
      seen.push(...names(page))
      token = page.metadata.continue ?? ""
    } while (token !== "")
    expect(seen).toEqual(["a", "b", "c", "d", "e"])
  })

  test("narrows a list by labels and fields", async () => {
    const { server, backend } = await serve()
    backend.add("pods", "a", { spec: { nodeName: "n1" } })
    backend.add("pods", "b", { spec: { nodeName: "n2" } })
    expect(names(await getJson(`${server.url}/api/v1/pods?labelSelector=app%3Da`))).toEqual(["a"])
    expect(names(await getJson(`${server.url}/api/v1/pods?fieldSelector=spec.nodeName%3Dn2`))).toEqual(["b"])
  })

  test("comes as a table, with the columns of custom kinds", async () => {
    const { server, backend } = await serve()
    backend.add("widgets", "big", { spec: { size: 7 } })
    const path = "/apis/example.com/v1/namespaces/default/widgets"
    for (const answer of [await get(server.url + path, table), await get(`${server.url}${path}/big`, table)]) {
      const { kind, rows } = JSON.parse(answer.text) as { kind: string; rows: ReadonlyArray<{ cells: unknown[] }> }
      expect([kind, rows.map(({ cells }) => cells)]).toEqual(["Table", [["big", 7]]])
    }
  })

  test("of more than a client reads pauses the backend, and releases it when the client is gone", async () => {
    const { server, backend } = await serve()
    let given = 0
    let isLetGo = false
    backend.more = async function* endless(): AsyncGenerator<Change> {
      const pods = backend.registry.named("v1.Pod")
      const change = changeOf(pods, "large", 101n, { spec: { text: "x".repeat(100_000) } })
      try {
        for (;;) {
          given++
          yield change
        }
      } finally {
        isLetGo = true
      }
    }
    const client = await Watch.open(`${server.url}/api/v1/pods`)
    client.pause()
    // The kernel's buffers hold some megabytes; after that the number must not change any more.
    let before = -1
    for (let quiet = 0; quiet < 50; quiet = given === before ? quiet + 1 : 0) {
      before = given
      await nextTurn()
    }
    expect(given).toBeLessThan(1000)
    client.close()
    await until(() => isLetGo)
  })
})

describe("a watch", () => {
  test("begins with the present objects and a bookmark, then follows", async () => {
    const served = await serve()
    const { backend } = served
    for (const name of ["a", "b"]) backend.add("configmaps", name)
    const stream = await watch(served, streamingList)
    expect((await stream.take(2)).map(brief)).toEqual(["ADDED a@101", "ADDED b@102"])
    const { type, object } = await stream.next()
    expect([type, object.metadata.resourceVersion]).toEqual(["BOOKMARK", "102"])
    expect(object.metadata.annotations).toEqual({ "k8s.io/initial-events-end": "true" })
    backend.add("configmaps", "a")
    backend.add("configmaps", "b", {}, "DELETED")
    expect((await stream.take(2)).map(brief)).toEqual(["MODIFIED a@103", "DELETED b@104"])
  })

  test("gets changes that happen during its initial events after them, and no bookmark before", async () => {
    const clock = new ManualClock()
    const served = await serve({ clock, bookmarkInterval: 1000 })
    const { backend, server } = served
    let go = (): void => undefined
    backend.pace = () => new Promise<void>((resolve) => (go = resolve))
    backend.add("configmaps", "a")
    const stream = await watch(served, streamingList)
    await until(() => backend.subscriptions === 1)
    backend.add("configmaps", "b")
    clock.advance(1000)
    server.sendBookmarks()
    go()
    expect((await stream.take(3)).map(brief)).toEqual(["ADDED a@101", "BOOKMARK @101", "ADDED b@102"])
    clock.advance(1000)
    expect(brief(await stream.next())).toBe("BOOKMARK @102")
  })

  test("comes as tables, each event a row", async () => {
    const { backend, server } = await serve()
    backend.add("widgets", "big", { spec: { size: 7 } })
    const stream = await Watch.open(`${server.url}/apis/example.com/v1/widgets?watch=1&${streamingList}`, table)
    opened.push(stream)
    const event = (await stream.next()) as unknown as { object: { rows: ReadonlyArray<{ cells: unknown[] }> } }
    expect(event.object.rows[0]?.cells).toEqual(["big", 7])
  })

  test("from before the recording gets the 410 of the backend", async () => {
    const stream = await watch(await serve(), "resourceVersion=99")
    const { type, object } = await stream.next()
    expect([type, object.code, object.reason]).toEqual(["ERROR", 410, "Expired"])
    const status = await serve({ expiredAs: "http" })
    expect((await get(`${status.server.url}/api/v1/pods?watch=1&resourceVersion=99`)).status).toBe(410)
  })

  test("that ends during its initial events is not subscribed", async () => {
    const served = await serve()
    const { backend, server } = served
    let go = (): void => undefined
    backend.pace = () => new Promise<void>((resolve) => (go = resolve))
    backend.add("configmaps", "a")
    const stream = await watch(served, streamingList)
    await until(() => backend.subscriptions === 1)
    stream.close()
    await until(() => server.streams.size === 0)
    go()
    await until(() => backend.subscriptions === 0)
    expect(served.troubles).toEqual([])
  })
})

describe("a write", () => {
  const path = "/api/v1/namespaces/default/configmaps"

  test.each([
    ["POST", path],
    ["PUT", `${path}/a`],
    ["PATCH", `${path}/a`],
    ["DELETE", `${path}/a`],
    ["DELETE", path],
    ["PUT", "/api/v1/namespaces/default/pods/a/status"],
  ])("%s %s is answered with 405, a Status and the reason", async (method, url) => {
    const { server, backend } = await serve()
    backend.add("configmaps", "a")
    const answer = await get(server.url + url, {}, method)
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([
      405,
      { kind: "Status", status: "Failure", reason: "MethodNotAllowed", code: 405 },
    ])
    expect((JSON.parse(answer.text) as ApiObject).message).toBe(
      "the server does not allow this method on the requested resource: this is the past",
    )
    expect(names(await getJson(server.url + path))).toEqual(["a"])
  })
})

describe("a defect of the backend", () => {
  test.each(["pods", "pods?watch=1", "namespaces/default/pods/a"])(
    "behind %s is a 500, and the operator is told",
    async (path) => {
      const { server, backend, troubles } = await serve()
      backend.defect = new Error("the disk is gone")
      const answer: Answer = await get(`${server.url}/api/v1/${path}`)
      expect([answer.status, JSON.parse(answer.text)]).toMatchObject([500, { reason: "InternalError" }])
      expect(troubles).toEqual([expect.stringContaining("the disk is gone")])
    },
  )

  test("in the middle of a list cuts the connection, so that no client takes a part for the whole list", async () => {
    const { server, backend, troubles } = await serve()
    backend.more = async function* broken(): AsyncGenerator<Change> {
      const pods = backend.registry.named("v1.Pod")
      yield changeOf(pods, "large", 101n, { spec: { text: "x".repeat(100_000) } })
      throw new Error("a block is corrupt")
    }
    const client = await Watch.open(`${server.url}/api/v1/pods`)
    expect(await client.ended).toBe("cut")
    expect(troubles).toEqual([expect.stringContaining("a block is corrupt")])
  })

  test("in the initial events of a watch cuts the connection too", async () => {
    const served = await serve()
    served.backend.add("configmaps", "a")
    served.backend.pace = () => Promise.reject(new Error("a block is corrupt"))
    const stream = await watch(served, streamingList)
    expect(await stream.ended).toBe("cut")
    await until(() => served.server.streams.size === 0)
    expect([served.backend.subscriptions, served.troubles]).toEqual([
      0,
      [expect.stringContaining("a block is corrupt")],
    ])
  })
})

test("a bearer token is required, and the endpoint contains it", async () => {
  const { server } = await serve({ token: "secret" })
  expect((await get(`${server.url}/version`)).status).toBe(401)
  const headers = Object.fromEntries(server.endpoint.headers)
  expect((await get(`${server.url}/version`, headers)).status).toBe(200)
})

test("a log with limit 0 keeps no requests, however many there are", async () => {
  const { server } = await serve({ requestLogLimit: 0 })
  for (const path of ["/version", "/api", "/apis"]) await get(server.url + path)
  expect([server.requests.total, server.requests.entries()]).toEqual([3, []])
})
