/** Requests of modules at a sandbox, over real HTTP; rates and time limits on a clock that the test moves. */
import { describe, expect, onTestFinished, test } from "vitest"
import { type ModuleLimits, RequestExecutor } from "../../../src/host/executor/request-executor.ts"
import type { ModuleConnection } from "../../../src/host/executor/send-request.ts"
import type { GuestRequest, GuestResponse } from "../../../src/host/guest/abi-values.ts"
import { ApiConnection, type ApiEndpoint, type EndpointSource } from "../../../src/kube/index.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { startWebServer } from "../../kube/http/web-server.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { turn, until } from "../../runtime/until.ts"
import { bodyOf, guestRequest, statusOf } from "./requests.ts"

const startExecutor = (
  identity: (module: string) => ModuleConnection,
  options: { readonly maximumConcurrent?: number } = {},
) => {
  const clock = new ManualClock()
  const executor = new RequestExecutor({ clock, identity, ...options })
  onTestFinished(() => executor.close())
  const answers: string[] = []
  /** Sends a request whose answer is noted as `label status`. */
  const send = (module: string, label: string, request: GuestRequest) =>
    executor.submit(module, request, ({ status }) => answers.push(`${label} ${status}`))
  const ask = (module: string, request: GuestRequest): Promise<GuestResponse> =>
    new Promise((resolve) => executor.submit(module, request, resolve))
  return { clock, executor, answers, send, ask }
}

const connectTo = (server: ApiEndpoint | EndpointSource, module = "m"): ApiConnection =>
  new ApiConnection({ server, userAgent: `kubereel-host/${module}` })

const withSandbox = async (limits: Partial<ModuleLimits> = {}) => {
  const sandbox = await Sandbox.start({ bookmarkInterval: 0 })
  onTestFinished(() => sandbox.close())
  const started = startExecutor((module) => connectTo(sandbox.endpoint, module))
  started.executor.register("m", limits)
  return { sandbox, ...started }
}

/** A server that answers only when the test says so; `open` are the paths of the requests that wait. */
const withSilentServer = async (options: { readonly maximumConcurrent?: number } = {}) => {
  const open = new Map<string, () => void>()
  const aborted: string[] = []
  const server = await startWebServer((request, response) => {
    const path = request.url ?? ""
    open.set(path, () => response.end("{}"))
    response.on("close", () => {
      if (!response.writableFinished) aborted.push(path)
    })
  })
  onTestFinished(() => server[Symbol.asyncDispose]())
  const answer = (path: string): void => {
    open.get(path)?.()
    open.delete(path)
  }
  const endpoint = { server: `http://127.0.0.1:${server.port}`, headers: [] }
  return { open, answer, aborted, endpoint, ...startExecutor((module) => connectTo(endpoint, module), options) }
}

const configMaps = "/api/v1/namespaces/default/configmaps"
const settings = (name: string): GuestRequest =>
  guestRequest("POST", configMaps, { body: JSON.stringify({ metadata: { name }, data: { a: "ü" } }) })
const get = (path: string): GuestRequest => guestRequest("GET", path)

describe("A module's request", () => {
  test("creates, reads, patches and deletes an object under the module's name", async () => {
    const { ask, executor } = await withSandbox()
    const created = await ask("m", settings("a"))
    expect(created.status).toBe(201)
    expect(created.headers.get("content-type")).toEqual([Buffer.from("application/json")])
    expect([...created.headers.keys()]).not.toContain("connection")
    expect(bodyOf(created)).toMatchObject({
      data: { a: "ü" },
      metadata: { managedFields: [{ manager: "kubereel-host" }] },
    })
    const patch = guestRequest("PATCH", `${configMaps}/a`, {
      headers: { "Content-Type": "application/merge-patch+json" },
      body: '{"data":{"b":"1"}}',
    })
    expect(bodyOf(await ask("m", patch))).toMatchObject({ data: { a: "ü", b: "1" } })
    expect((await ask("m", get(`${configMaps}?`))).status).toBe(200)
    expect((await ask("m", guestRequest("DELETE", `${configMaps}/a`))).status).toBe(200)
    const gone = await ask("m", get(`${configMaps}/a`))
    expect(bodyOf(gone)).toMatchObject({ kind: "Status", reason: "NotFound", code: 404 })
    expect(executor.statistics("m")).toMatchObject({ requests: 5, answered: 5, queued: 0 })
  })

  test("that is refused never reaches the server, and is answered with the reason", async () => {
    const { ask, executor, sandbox } = await withSandbox({ maximumRequestBytes: 10 })
    sandbox.faults.respond("configmaps", 500)
    expect(statusOf(await ask("m", get("http://elsewhere/api")))).toMatch(/^400 the URI "http:/)
    expect(statusOf(await ask("m", get(`${configMaps}?watch=1`)))).toMatch(/^400 .* is a watch, which has no end/)
    expect(statusOf(await ask("m", settings("a")))).toMatch(/^413 the body has \d+ bytes; this module may send 10$/)
    expect(executor.statistics("m")).toMatchObject({ requests: 3, refused: 3, answered: 0 })
  })

  test("of a module that is not registered is answered 503", async () => {
    const { ask, executor } = await withSandbox()
    expect(statusOf(await ask("stranger", get("/version")))).toMatch(/^503 the module stranger is not registered/)
    expect(executor.statistics("stranger")).toBeUndefined()
  })

  test("whose response is larger than allowed is answered 503, which says so", async () => {
    const { ask } = await withSandbox({ maximumResponseBytes: 50 })
    expect(statusOf(await ask("m", settings("a")))).toBe(
      "503 no response of the API server: the response is larger than 50 bytes; ask for less, such as a page with limit and continue",
    )
  })

  test("is answered 503 when the server cannot be reached", async () => {
    const { ask, sandbox, executor } = await withSandbox()
    await sandbox.faults.refuseConnections()
    expect(statusOf(await ask("m", get("/version")))).toMatch(
      /^503 no response of the API server: .*connection refused; it may have been carried out$/,
    )
    expect(executor.statistics("m")).toMatchObject({ failed: 1 })
  })

  test("is answered 503 when there are no credentials", async () => {
    const { executor, ask } = startExecutor(() =>
      connectTo({
        endpoint: () => Promise.reject(new Error("the plugin failed")),
        onUnauthorized: () => Promise.resolve(),
      }),
    )
    executor.register("m")
    expect(statusOf(await ask("m", get("/version")))).toBe(
      "503 no credentials for the API server: the plugin failed; the request was not carried out",
    )
  })

  test("is sent once more with fresh credentials after a 401; without fresh ones the module gets the 401", async () => {
    const { sandbox } = await withSandbox()
    sandbox.setToken("new")
    let fresh = "new"
    let refreshes = 0
    const source = (): EndpointSource => {
      let endpoint: ApiEndpoint = { server: sandbox.url, headers: [["Authorization", "Bearer old"]] }
      return {
        endpoint: () => Promise.resolve(endpoint),
        onUnauthorized: () => {
          refreshes++
          if (fresh !== "") endpoint = { server: sandbox.url, headers: [["Authorization", `Bearer ${fresh}`]] }
          return Promise.resolve()
        },
      }
    }
    const { executor, ask } = startExecutor(() => connectTo(source()))
    executor.register("m")
    expect((await ask("m", settings("a"))).status).toBe(201)
    expect(refreshes).toBe(1)
    fresh = ""
    executor.register("other")
    expect((await ask("other", get("/version"))).status).toBe(401)
    expect(executor.statistics("other")).toMatchObject({ answered: 1 })
  })
})

describe("A module's limits", () => {
  test("are a rate after a burst", async () => {
    const { clock, answers, send } = await withSandbox({ requestsPerSecond: 10, burst: 3 })
    for (let index = 0; index < 6; index++) send("m", String(index), get("/version"))
    await until(() => answers.length === 3)
    for (let more = 4; more <= 6; more++) {
      clock.advance(99)
      await turn()
      expect(answers).toHaveLength(more - 1)
      clock.advance(1)
      await until(() => answers.length === more)
    }
    expect(answers).toEqual(["0 200", "1 200", "2 200", "3 200", "4 200", "5 200"])
  })

  test("apply to refused requests too, so that a loop of them is as slow as one of others", async () => {
    const { clock, answers, send } = await withSandbox({ requestsPerSecond: 10, burst: 1 })
    const again = (left: number): void => {
      send("m", "bad", get("nowhere"))
      if (left > 0) void until(() => answers.length === 10 - left).then(() => again(left - 1))
    }
    again(9)
    for (let ms = 0; ms < 850; ms += 50) {
      clock.advance(50)
      for (let turns = 0; turns < 5; turns++) await turn()
    }
    expect(answers.length).toBe(9)
  })

  test("are a number of requests at a time", async () => {
    const { open, answer, answers, send, executor } = await withSilentServer()
    executor.register("m", { maximumConcurrent: 2 })
    for (const path of ["/a", "/b", "/c"]) send("m", path, get(path))
    await until(() => open.size === 2)
    await turn()
    expect([...open.keys()]).toEqual(["/a", "/b"])
    expect(executor.statistics("m")).toMatchObject({ queued: 1 })
    answer("/b")
    await until(() => open.has("/c"))
    expect(answers).toEqual(["/b 200"])
  })

  test("are a number of waiting requests and their bytes; further ones are answered 429 a second later", async () => {
    const { open, clock, executor, ask, send, answers } = await withSilentServer()
    executor.register("m", { maximumConcurrent: 1, maximumQueued: 2, maximumQueuedBytes: 100 })
    send("m", "first", get("/first"))
    await until(() => open.size === 1)
    send("m", "waits", guestRequest("POST", "/a", { body: "x".repeat(60) }))
    send("m", "too many bytes", guestRequest("POST", "/b", { body: "x".repeat(60) }))
    send("m", "waits too", get("/c"))
    const refused = ask("m", get("/d"))
    for (let turns = 0; turns < 5; turns++) await turn()
    expect(answers).toEqual([])
    clock.advance(1000)
    expect(answers).toEqual(["too many bytes 429"])
    const response = await refused
    expect(statusOf(response)).toBe(
      "429 2 requests of the module m with 60 bytes are waiting already; the request was not carried out",
    )
    expect(bodyOf(response)).toMatchObject({ details: { retryAfterSeconds: 1 } })
    expect(response.headers.get("retry-after")).toEqual([Buffer.from("1")])
    expect(executor.statistics("m")).toMatchObject({ overflowed: 2, queued: 2 })
  })

  test("are a time from the request to the end of its response, waiting included", async () => {
    const { open, answer, clock, executor, ask, aborted } = await withSilentServer()
    executor.register("m", { maximumConcurrent: 1, timeoutMs: 5000 })
    const runs = ask("m", get("/runs"))
    await until(() => open.size === 1)
    clock.advance(1000)
    const waits = ask("m", get("/waits"))
    clock.advance(4000)
    expect(statusOf(await runs)).toBe(
      "504 no complete response of the API server within 5000 ms; the request may have been carried out",
    )
    await until(() => aborted.includes("/runs"))
    await until(() => open.has("/waits"))
    answer("/waits")
    expect((await waits).status).toBe(200)
    executor.remove("m")
    executor.register("m", { maximumConcurrent: 1, timeoutMs: 5000, requestsPerSecond: 0.1, burst: 1 })
    const first = ask("m", get("/first"))
    const second = ask("m", get("/second"))
    await until(() => open.has("/first"))
    answer("/first")
    await first
    clock.advance(5000)
    expect(statusOf(await second)).toBe(
      "504 the request did not get its turn within 5000 ms: the module m asks for more than 0.1 requests a second, or for more than 1 at a time; it was not carried out",
    )
    expect(executor.statistics("m")).toMatchObject({ timedOut: 1, queued: 0 })
    executor.close()
    expect(clock.pending).toBe(0)
  })

  test("bound the time of credentials that never come", async () => {
    const never = { endpoint: () => new Promise<never>(() => undefined), onUnauthorized: () => Promise.resolve() }
    const { executor, clock, ask } = startExecutor(() => connectTo(never))
    executor.register("m", { timeoutMs: 100 })
    const answer = ask("m", get("/version"))
    clock.advance(100)
    expect(statusOf(await answer)).toMatch(/^504 /)
  })
})

describe("Modules", () => {
  test("take turns, so that one that floods delays the others by one request", async () => {
    const { open, answer, executor, send } = await withSilentServer({ maximumConcurrent: 1 })
    const limits = { requestsPerSecond: 1000, burst: 1000, maximumConcurrent: 10 }
    for (const module of ["flood", "calm", "quiet"]) executor.register(module, limits)
    for (let index = 0; index < 50; index++) send("flood", "flood", get(`/flood${index}`))
    send("calm", "calm", get("/calm"))
    send("quiet", "quiet", get("/quiet"))
    const order: string[] = []
    while (order.length < 5) {
      await until(() => open.size === 1)
      const [path = ""] = open.keys()
      order.push(path)
      answer(path)
    }
    expect(order).toEqual(["/flood0", "/flood1", "/calm", "/quiet", "/flood2"])
  })

  test("that end have their requests given up, those that wait without being sent", async () => {
    const { open, executor, send, answers, aborted, clock } = await withSilentServer()
    executor.register("m", { maximumConcurrent: 1 })
    executor.register("other")
    send("other", "other", get("/other"))
    for (const path of ["/a", "/b", "/c"]) send("m", path, get(path))
    await until(() => open.size === 2)
    executor.remove("m")
    executor.remove("m")
    await until(() => aborted.length === 1)
    expect([...open.keys()].sort()).toEqual(["/a", "/other"])
    expect(executor.statistics("m")).toBeUndefined()
    expect(answers).toEqual([])
    executor.close()
    expect(clock.pending).toBe(0)
  })

  test("can give up a single request", async () => {
    const { open, executor, send, answers, aborted, answer } = await withSilentServer()
    executor.register("m")
    const one = send("m", "one", get("/one"))
    const early = send("m", "early", get("/early"))
    early.cancel()
    send("stranger", "stranger", get("/x")).cancel()
    send("m", "two", get("/two"))
    await until(() => open.has("/one") && open.has("/two"))
    one.cancel()
    one.cancel()
    await until(() => aborted.includes("/one"))
    answer("/two")
    await until(() => answers.length > 0)
    expect(answers).toEqual(["two 200"])
    expect(executor.statistics("m")).toMatchObject({ requests: 3, answered: 1, queued: 0 })
  })
})
