/** The layer between the typed client and HTTP: credentials, retries, deadlines, places, connections. */

import { describe, expect, onTestFinished, test } from "vitest"
import { ApiClient } from "../../../src/kube/client/api-client.ts"
import { backOff, type ConnectionOptions, isSafeToRepeat } from "../../../src/kube/client/api-connection.ts"
import type { ApiError } from "../../../src/kube/client/api-errors.ts"
import { kinds } from "../../../src/kube/client/kinds.ts"
import type { ApiObject } from "../../../src/kube/client/objects.ts"
import { ResourceFinder } from "../../../src/kube/client/resource-finder.ts"
import { impersonating } from "../../../src/kube/credentials/impersonation.ts"

import type { ApiEndpoint, EndpointSource } from "../../../src/kube/endpoint.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { turn, until } from "../../runtime/until.ts"
import { startForwardProxy } from "../http/connect-proxy.ts"
import { ManualTimers } from "../http/manual-timers.ts"
import { answer, TcpServer } from "../http/tcp-server.ts"

const settings: ApiObject = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "default" } }
const place = { namespace: "default", name: "a" }

const status = (code: number, more = "", body: object = {}): string => {
  const text = JSON.stringify({ kind: "Status", code, message: `said ${code}`, ...body })
  return `HTTP/1.1 ${code} X\r\nContent-Type: application/json\r\n${more}Content-Length: ${text.length}\r\n\r\n${text}`
}
const object = answer(JSON.stringify(settings))

const clientOf = (
  server: ConnectionOptions["server"] | TcpServer,
  more: Partial<ConnectionOptions> = {},
): ApiClient => {
  const endpoint = server instanceof TcpServer ? { server: server.url, headers: [] } : server
  const client = new ApiClient({ server: endpoint, userAgent: "kubereel/test", ...more })
  onTestFinished(() => client.close())
  return client
}

const errorOf = (call: Promise<unknown>): Promise<ApiError> =>
  call.then(
    () => Promise.reject(new Error("it did not fail")),
    (error: ApiError) => error,
  )

class RecordedTimers extends ManualTimers {
  /** The requested delays, in ms. */
  readonly delays: number[] = []

  override after(delayMs: number, action: () => void): { cancel(): void } {
    this.delays.push(delayMs)
    return super.after(delayMs, action)
  }
}

/** A source whose credentials are renewed when the test says so. */
class Source implements EndpointSource {
  fetched = 0
  #endpoint: ApiEndpoint
  readonly #tokens: string[]
  readonly #server: string

  constructor(server: string, ...tokens: string[]) {
    this.#server = server
    this.#tokens = tokens
    this.#endpoint = this.#next()
  }

  endpoint(): Promise<ApiEndpoint> {
    return Promise.resolve(this.#endpoint)
  }

  onUnauthorized(): Promise<void> {
    this.fetched++
    if (this.#tokens.length === 0) return Promise.reject(new Error("the plugin failed"))
    this.#endpoint = this.#next()
    return Promise.resolve()
  }

  #next(): ApiEndpoint {
    return { server: this.#server, headers: [["Authorization", `Bearer ${this.#tokens.shift()}`]] }
  }
}

describe("Credentials", () => {
  test("that are rejected are fetched again once, and the call, even a write, is repeated", async () => {
    const sandbox = await Sandbox.start({ token: "new" })
    onTestFinished(() => sandbox.close())
    const source = new Source(sandbox.endpoint.server, "old", "new")
    const client = clientOf(source)
    await client.create(kinds.configMaps, settings)
    await client.get(kinds.configMaps, place)
    expect(source.fetched).toBe(1)
  })

  test("that are rejected again are an error of the call, as are those that cannot be obtained", async () => {
    const sandbox = await Sandbox.start({ token: "right" })
    onTestFinished(() => sandbox.close())
    const refused = await errorOf(
      clientOf(new Source(sandbox.endpoint.server, "old", "wrong")).get(kinds.configMaps, place),
    )
    expect(refused).toMatchObject({ _tag: "UnauthorizedError", code: 401 })
    const failed = await errorOf(clientOf(new Source(sandbox.endpoint.server, "old")).get(kinds.configMaps, place))
    expect(failed).toMatchObject({ _tag: "ApiUnreachableError", failure: "credentials", detail: "the plugin failed" })
  })

  test("of a user who may impersonate act as another, with all the groups, replacing an earlier impersonation", async () => {
    await using server = await TcpServer.start((socket) => socket.write(object))
    const headers: ApiEndpoint["headers"] = [
      ["Authorization", "Bearer a"],
      ["Impersonate-User", "somebody"],
    ]
    const own: EndpointSource = {
      endpoint: () => Promise.resolve({ server: server.url, headers }),
      onUnauthorized: () => Promise.resolve(),
    }
    const user = { user: "carol", uid: undefined, groups: ["a", "b"], extra: [] }
    await clientOf(impersonating(own, user)).get(kinds.configMaps, place)
    const lines = (server.peers[0]?.received ?? "").split("\r\n").filter((line) => /^(auth|imp)/i.test(line))
    expect(lines).toEqual([
      "Authorization: Bearer a",
      "Impersonate-User: carol",
      "Impersonate-Group: a",
      "Impersonate-Group: b",
    ])
  })

  test("go through a proxy, as do writes", async () => {
    const sandbox = await Sandbox.start()
    onTestFinished(() => sandbox.close())
    await using proxy = await startForwardProxy("me:secret")
    const client = clientOf({ ...sandbox.endpoint, proxy: `http://me:secret@127.0.0.1:${proxy.port}` })
    expect((await client.get(kinds.namespaces, { name: "default" })).metadata.name).toBe("default")
    expect(proxy.seen[0]?.line).toBe(`GET ${sandbox.url}/api/v1/namespaces/default`)
  })
})

describe("Warnings", () => {
  const warn = (...values: ReadonlyArray<string>): string => values.map((value) => `Warning: ${value}\r\n`).join("")

  test("are told with their question, one by one, with answers and with refusals", async () => {
    const heads = [
      warn(
        '299 - "old is deprecated, use new"',
        String.raw`299 kube "unknown field \"spec.a\"" "Sat, 21 Nov 2026 10:00:00 GMT"`,
      ),
      warn('299 - "first", 299 - "a \\\\ b", 299 - ""'),
      warn("nonsense"),
      "",
    ]
    let requests = 0
    await using server = await TcpServer.start((socket) => {
      const head = heads[requests++] ?? ""
      socket.write(requests === 2 ? status(404, head) : answer(JSON.stringify(settings), head))
    })
    const told: string[] = []
    const client = clientOf(server, {
      onWarning: (text, { verb, kind, name }) => told.push(`${verb} ${kind} ${name}: ${text}`),
    })
    await client.get(kinds.configMaps, place)
    expect(told.splice(0)).toEqual([
      "get v1.ConfigMap a: old is deprecated, use new",
      'get v1.ConfigMap a: unknown field "spec.a"',
    ])
    await errorOf(client.get(kinds.configMaps, place))
    expect(told.splice(0)).toEqual(["get v1.ConfigMap a: first", String.raw`get v1.ConfigMap a: a \ b`])
    await client.get(kinds.configMaps, place)
    await client.get(kinds.configMaps, place)
    expect([requests, told]).toEqual([4, []])
  })
})

describe("Calls that fail", () => {
  test("are not repeated unless the caller's policy allows it, then after the server's Retry-After", async () => {
    let requests = 0
    await using server = await TcpServer.start((socket) =>
      socket.write(++requests < 4 ? status(429, "Retry-After: 7\r\n") : object),
    )
    const first = await errorOf(clientOf(server).get(kinds.configMaps, place))
    expect(first).toMatchObject({ _tag: "TooManyRequestsError", retryAfterMs: 7000, detail: "said 429" })
    const timers = new RecordedTimers()
    const client = clientOf(server, { timers, deadlineMs: 1_000_000, retries: backOff({ random: () => 0.5 }) })
    const call = client.create(kinds.configMaps, settings)
    for (const waits of [1, 2]) {
      await until(() => timers.delays.filter((delayMs) => delayMs === 7000 * 1.25).length === waits)
      timers.advance(7000 * 1.25 - 1)
      for (let count = 0; count < 5; count++) await turn()
      expect(requests).toBe(1 + waits)
      timers.advance(1)
    }
    await call
    expect(requests).toBe(4)
  })

  test("without a response are repeated only if they may arrive twice", async () => {
    const attempts: string[] = []
    await using server = await TcpServer.start((socket, _number, peer) => {
      attempts.push(peer.received.slice(0, peer.received.indexOf(" ")))
      socket.destroy()
    })
    const timers = new ManualTimers()
    const retries = backOff({ random: () => 0, attempts: 3, baseMs: 0 })
    const client = clientOf(server, { timers, retries })
    const results = Promise.all([
      errorOf(client.get(kinds.configMaps, place)),
      errorOf(client.create(kinds.configMaps, settings)),
      errorOf(client.apply(kinds.configMaps, place, settings, { fieldManager: "test" })),
    ])
    let isOver = false
    void results.then(() => {
      isOver = true
    })
    while (!isOver) {
      timers.advance(1)
      await turn()
    }
    const count = (method: string): number => attempts.filter((each) => each === method).length
    expect([count("GET"), count("POST"), count("PATCH")]).toEqual([3, 1, 3])
    expect((await results).map((error) => error._tag)).toEqual(Array(3).fill("ApiUnreachableError"))
  })

  test("whose idle connection had been closed: reads are sent once more, writes are not", async () => {
    await using server = await TcpServer.start((socket, request) => {
      if (request === 1) socket.write(object)
      // The server closes just as the next request arrives.
      else socket.destroy()
    })
    const client = clientOf(server)
    await client.get(kinds.configMaps, place)
    await client.get(kinds.configMaps, place)
    expect(await errorOf(client.create(kinds.configMaps, settings))).toMatchObject({ failure: "connection" })
    expect(server.peers).toHaveLength(2)
    await client.get(kinds.configMaps, place)
    await client.create(kinds.configMaps, settings, { isRepeatable: true })
    expect(server.peers).toHaveLength(4)
  })

  test("at their deadline report that, as do those that are aborted or whose response is not JSON", async () => {
    let text = ""
    await using server = await TcpServer.start((socket) => socket.write(text))
    const timers = new ManualTimers()
    const client = clientOf(server, { timers, deadlineMs: 500 })
    const late = errorOf(client.get(kinds.configMaps, place))
    await until(() => (server.peers[0]?.received ?? "").includes("\r\n\r\n"))
    timers.advance(500)
    expect(await late).toMatchObject({ _tag: "ApiUnreachableError", failure: "deadline" })
    const abort = new AbortController()
    const aborted = errorOf(client.get(kinds.configMaps, place, { signal: abort.signal }))
    await turn()
    abort.abort()
    expect(await aborted).toMatchObject({ failure: "aborted" })
    text = answer("<html>")
    expect(await errorOf(client.get(kinds.configMaps, place))).toMatchObject({ failure: "unreadable" })
  })

  test("stop waiting for another attempt when the client is closed", async () => {
    await using server = await TcpServer.start((socket) => socket.write(status(503, "Retry-After: 60\r\n")))
    const timers = new RecordedTimers()
    const client = clientOf(server, { timers, deadlineMs: 50_000, retries: backOff({ random: () => 0 }) })
    const call = errorOf(client.get(kinds.configMaps, place))
    await until(() => timers.delays.includes(60_000))
    client.close()
    expect(await call).toMatchObject({ code: 503 })
    expect(timers.pending).toBe(0)
    expect(await errorOf(client.get(kinds.configMaps, place))).toMatchObject({ failure: "aborted" })
  })
})

test("As many calls run at once as allowed, the others in order", async () => {
  const waiting: Array<() => void> = []
  const order: string[] = []
  await using server = await TcpServer.start((socket, _number, peer) => {
    order.push(/\/(\w+) HTTP/.exec(peer.received.slice(peer.received.lastIndexOf("GET")))?.[1] ?? "")
    waiting.push(() => socket.write(object))
  })
  const client = clientOf(server, { maximumConcurrent: 2 })
  const calls = ["a", "b", "c", "d"].map((name) => client.get(kinds.configMaps, { ...place, name }))
  await until(() => order.length === 2)
  for (let count = 0; count < 20; count++) await turn()
  expect(order.length).toBe(2)
  for (let answered = 0; answered < 4; answered++) {
    await until(() => waiting.length > 0)
    waiting.shift()?.()
  }
  await Promise.all(calls)
  expect(order.slice(2)).toEqual(["c", "d"])
})

describe("The usual policy", () => {
  const failed = (verb: string, code: number, retryAfterMs?: number): ApiError =>
    ({ _tag: code === 429 ? "TooManyRequestsError" : "ApiRefusalError", verb, code, retryAfterMs }) as ApiError

  test.each([
    ["create", 429, undefined, true],
    ["create", 503, 1000, true],
    ["create", 503, undefined, false],
    ["apply", 503, undefined, true],
    ["get", 500, undefined, true],
    ["get", 400, undefined, false],
    ["get", 501, undefined, false],
  ])("after a %s with status %s and Retry-After %s: retried? %s", (verb, code, retryAfterMs, expected) => {
    expect(isSafeToRepeat(failed(verb, code, retryAfterMs))).toBe(expected)
  })

  test("doubles its waits up to the longest, and ends", () => {
    const { delayMs } = backOff({ random: () => 0, attempts: 6, baseMs: 100, maximumMs: 500 })
    const delays = [1, 2, 3, 4, 5, 6].map((attempt) => delayMs(failed("get", 500), attempt))
    expect(delays).toEqual([100, 200, 400, 500, 500, undefined])
  })
})

describe("The finder of kinds", () => {
  const simplePod = { group: "slinky.dev", version: "v1", kind: "SimplePod" }

  test("requests a kind once, and again for one that did not exist", async () => {
    const sandbox = await Sandbox.start()
    onTestFinished(() => sandbox.close())
    const finder = new ResourceFinder(clientOf(sandbox.endpoint).connection)
    const deployment = { group: "apps", version: "v1", kind: "Deployment" }
    const [one, other] = await Promise.all([finder.find(deployment), finder.find(deployment)])
    expect(one).toBe(other)
    expect(one).toMatchObject({ plural: "deployments", namespaced: true })
    expect(await errorOf(finder.find(simplePod))).toMatchObject({
      _tag: "NotFoundError",
      kind: "slinky.dev/v1.SimplePod",
    })
    expect(await errorOf(finder.find({ ...deployment, kind: "Deploiment" }))).toMatchObject({ _tag: "NotFoundError" })
    sandbox.register({ gvk: simplePod, plural: "simplepods", namespaced: true })
    expect(await finder.find(simplePod)).toMatchObject({ plural: "simplepods" })
    sandbox.unregister("slinky.dev/v1.SimplePod")
    expect(await finder.find(simplePod)).toMatchObject({ plural: "simplepods" })
    finder.forget(simplePod)
    expect(await errorOf(finder.find(simplePod))).toMatchObject({ _tag: "NotFoundError" })
  })
})
