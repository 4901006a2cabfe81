import type { IncomingMessage } from "node:http"
import { describe, expect, onTestFinished, test } from "vitest"
import type { ApiEndpoint } from "../../../src/kube/index.ts"
import { type ListCompression, ListManners } from "../../../src/recorder/watchers/list-manners.ts"
import { podLivesKind } from "../../../src/trace/index.ts"
import { startWebServer } from "../../kube/http/web-server.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const apiServices = {
  kind: "APIServiceList",
  items: [
    { metadata: { name: "v1.apps" }, spec: { group: "apps", version: "v1" } },
    { metadata: { name: "v1.example.com" }, spec: { group: "example.com", version: "v1", service: null } },
    {
      metadata: { name: "v1.orders.example.com" },
      spec: { group: "orders.example.com", version: "v1", service: { name: "orders", namespace: "shop" } },
    },
  ],
}
const order = "orders.example.com/v1.Order"

/** A server that answers requests one after another with these. */
const serverWith = async (...answers: ReadonlyArray<readonly [status: number, body: string]>) => {
  const paths: string[] = []
  const server = await startWebServer((request: IncomingMessage, response) => {
    const [status, body] = answers[Math.min(paths.length, answers.length - 1)] ?? [500, ""]
    paths.push(request.url ?? "")
    response.writeHead(status, { "content-type": "application/json" }).end(body)
  })
  onTestFinished(() => server[Symbol.asyncDispose]())
  return { paths, endpoint: { server: `http://127.0.0.1:${server.port}`, headers: [] } }
}

const manners = (compression: ListCompression = "auto", timers = new ManualClock()): ListManners =>
  new ListManners({ compression, userAgent: "kubereel/test", timers })

describe("whether a kind is listed in pages", () => {
  test("is decided by the APIServices, which are asked for once, for all kinds that Kubernetes does not define", async () => {
    const { paths, endpoint } = await serverWith([200, JSON.stringify(apiServices)])
    const lists = manners()
    const kinds = [order, "example.com/v1.Shop", "orders.example.com/v2.Order", "other.io/v1.Thing"]
    const found = await Promise.all(kinds.map((gvk) => lists.of(gvk, endpoint)))
    expect(found.map(({ inPages }) => inPages)).toEqual([true, false, false, false])
    expect((await lists.of(order, endpoint)).inPages).toBe(true)
    expect(paths).toEqual(["/apis/apiregistration.k8s.io/v1/apiservices"])
  })

  test("needs no question for the kinds of Kubernetes", async () => {
    const { paths, endpoint } = await serverWith([500, ""])
    for (const gvk of ["v1.Pod", "apps/v1.Deployment", podLivesKind])
      expect((await manners().of(gvk, endpoint)).inPages).toBe(false)
    expect(paths).toEqual([])
  })

  test.each([
    ["forbidden", 403, '{"kind":"Status","code":403}'],
    ["an answer that is no JSON", 200, "<html>"],
    ["an answer that is no list", 200, '{"items":7}'],
  ])("is not known after %s, and asked for again by the next kind", async (_, status, body) => {
    const { paths, endpoint } = await serverWith([status, body], [200, JSON.stringify(apiServices)])
    const lists = manners()
    expect((await lists.of(order, endpoint)).inPages).toBe(false)
    expect((await lists.of(order, endpoint)).inPages).toBe(true)
    expect(paths).toHaveLength(2)
  })

  test("is not waited for longer than 5 s", async () => {
    const clock = new ManualClock()
    const server = await startWebServer(() => clock.advance(5000))
    onTestFinished(() => server[Symbol.asyncDispose]())
    const endpoint = { server: `http://127.0.0.1:${server.port}`, headers: [] }
    expect((await manners("auto", clock).of(order, endpoint)).inPages).toBe(false)
    expect(clock.pending).toBe(0)
  })
})

describe("whether lists are compressed", () => {
  const of = (compression: ListCompression, endpoint: Omit<ApiEndpoint, "headers">) =>
    manners(compression).of("v1.Pod", { ...endpoint, headers: [] })

  test.each([
    ["https://api.example.com:6443", true],
    ["https://10.1.2.3:6443", true],
    ["https://[2001:db8::1]:6443", true],
    ["https://localhost:6443", false],
    ["https://127.0.0.1:6443", false],
    ["https://[::1]:6443", false],
  ])("depends by default on the server's address: %s %s", async (server, gzip) => {
    expect(await of("auto", { server })).toEqual({ gzip, inPages: false })
  })

  test("depends on the proxy's address where there is one", async () => {
    const proxy = "http://gateway.example.com:8080"
    expect((await of("auto", { server: "https://127.0.0.1:6443", proxy })).gzip).toBe(true)
    expect((await of("auto", { server: "https://api.example.com", proxy: "http://127.0.0.1:3128" })).gzip).toBe(false)
  })

  test("is off by default in a pod's own cluster and where the kubeconfig says so", async () => {
    const server = "https://10.96.0.1:443"
    expect(await of("auto", { server, prefersPlain: true })).toEqual({ gzip: false, inPages: false })
    expect(await of("always", { server, prefersPlain: true })).toEqual({ gzip: true, inPages: true })
  })

  test("is never, or always and then in pages, if the user says so", async () => {
    expect(await of("never", { server: "https://api.example.com" })).toEqual({ gzip: false, inPages: false })
    expect(await of("always", { server: "https://127.0.0.1" })).toEqual({ gzip: true, inPages: true })
  })
})
