import fc from "fast-check"
import { describe, expect, onTestFinished, test } from "vitest"
import { type DiscoveryCache, discoverKinds, watchableKinds } from "../../../src/kube/discovery/discovered-kinds.ts"
import { type Discovery, discover, readResourceList } from "../../../src/kube/discovery/discovery.ts"
import { HttpClient } from "../../../src/kube/http/http-client.ts"
import type { ReadTransport } from "../../../src/kube/http/transport.ts"
import { formatGvk, type GroupVersionKind, parseGvk } from "../../../src/kube/kinds/gvk.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { startWebServer } from "../http/web-server.ts"
import { recordedAnswer } from "../recorded-answer.ts"

// Discovery of all kinds: what an unchanged server repeats, and what is known of a group that does not respond.

const definition = {
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    names: { plural: "widgets", kind: "Widget" },
    scope: "Cluster",
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
  },
}

test("a server that has not changed sends nothing again, and one that has sends its kinds", async () => {
  const sandbox = await Sandbox.start({ bookmarkInterval: 0 })
  const client = new HttpClient(sandbox.endpoint, { userAgent: "kubereel/test" })
  let bytes = 0
  const counting: ReadTransport = {
    get: (path, headers, handler) =>
      client.get(path, headers, {
        head: (status, given) => handler.head(status, given),
        data: (buffer, start, end) => {
          bytes += end - start
          handler.data(buffer, start, end)
        },
        end: (outcome) => handler.end(outcome),
      }),
  }
  const cache: DiscoveryCache = new Map()
  try {
    const first = await discoverKinds(counting, cache)
    expect(first).toMatchObject({ tag: "kinds", isAggregated: true, silentGroups: new Set() })
    expect(bytes).toBeGreaterThan(1000)
    bytes = 0
    expect(await discoverKinds(counting, cache)).toEqual(first)
    expect(bytes).toBe(0)
    sandbox.put("apiextensions.k8s.io/v1.CustomResourceDefinition", definition)
    const changed = await discoverKinds(counting, cache)
    if (changed.tag !== "kinds") throw new Error(changed.detail)
    expect(changed.kinds.find(({ gvk }) => formatGvk(gvk) === "example.com/v1.Widget")).toMatchObject({
      isNamespaced: false,
      plural: "widgets",
    })
    sandbox.delete("apiextensions.k8s.io/v1.CustomResourceDefinition", "", "widgets.example.com")
    expect(await discoverKinds(counting, cache)).toEqual(first)
  } finally {
    client.close()
    await sandbox.close()
  }
})

/** Answers with documents by path; the other paths are unavailable. */
const played = (documents: Readonly<Record<string, object>>): ReadTransport => ({
  get: (path, _headers, handler) => {
    const document = documents[path]
    const body = Buffer.from(JSON.stringify(document ?? { kind: "Status", code: 503, message: "down" }))
    queueMicrotask(() => {
      handler.head(document === undefined ? 503 : 200, new Map([["content-type", "application/json"]]))
      handler.data(body, 0, body.length)
      handler.end({ tag: "complete" })
    })
    const nothing = (): void => undefined
    return { pause: nothing, resume: nothing, abort: nothing, bytesReceived: 0 }
  },
})

const resource = (plural: string, kind: string, verbs = ["get", "list", "watch"]) => ({
  resource: plural,
  responseKind: { kind },
  scope: "Namespaced",
  verbs,
})

const core = {
  kind: "APIGroupDiscoveryList",
  items: [{ metadata: {}, versions: [{ version: "v1", freshness: "Current", resources: [resource("pods", "Pod")] }] }],
}

test("a group behind the API server that does not respond is named, so that its kinds are not taken for removed", async () => {
  const groups = {
    kind: "APIGroupDiscoveryList",
    items: [
      { metadata: { name: "far.example.com" }, versions: [{ version: "v1", freshness: "Stale", resources: [] }] },
    ],
  }
  expect(await discoverKinds(played({ "/api": core, "/apis": groups }))).toMatchObject({
    kinds: [{ gvk: { group: "", version: "v1", kind: "Pod" } }],
    silentGroups: new Set(["far.example.com"]),
  })
  // A server before Kubernetes 1.26.
  const list = {
    resources: [
      { name: "pods", kind: "Pod", namespaced: true, verbs: ["list", "watch"] },
      { name: "pods/log", kind: "Pod" },
    ],
  }
  const old = {
    "/api": { versions: ["v1"] },
    "/api/v1": list,
    "/apis": { groups: [{ name: "far.example.com", versions: [{ version: "v1" }] }] },
  }
  expect(await discoverKinds(played(old))).toEqual({
    tag: "kinds",
    isAggregated: false,
    silentGroups: new Set(["far.example.com"]),
    kinds: [
      { gvk: { group: "", version: "v1", kind: "Pod" }, plural: "pods", isNamespaced: true, verbs: ["list", "watch"] },
    ],
  })
})

test("a server that is down is a failure, not a server without kinds", async () => {
  expect(await discoverKinds(played({ "/api": core }))).toEqual({
    tag: "failed",
    detail: "HTTP 503 ServiceUnavailable: down",
  })
})

test("of a resource in several versions the preferred one can be watched, if it can", async () => {
  const groups = {
    kind: "APIGroupDiscoveryList",
    items: [
      {
        metadata: { name: "example.com" },
        versions: [
          { version: "v2", resources: [resource("gears", "Gear"), resource("cogs", "Cog", ["get", "list"])] },
          { version: "v1", resources: [resource("gears", "Gear"), resource("cogs", "Cog")] },
        ],
      },
    ],
  }
  const found = await discoverKinds(played({ "/api": core, "/apis": groups }))
  if (found.tag !== "kinds") throw new Error(found.detail)
  expect(watchableKinds(found.kinds).map(({ gvk }) => formatGvk(gvk))).toEqual([
    "v1.Pod",
    "example.com/v2.Gear",
    "example.com/v1.Cog",
  ])
})

const gvkOf = (text: string): GroupVersionKind => {
  const gvk = parseGvk(text)
  if (gvk === undefined) throw new Error(`${text} is not a kind`)
  return gvk
}

/** A server that returns the real responses; `unknown-group` for every path not listed. */
const discoverAt = async (kind: string, answers: Readonly<Record<string, string>>): Promise<Discovery> => {
  await using server = await startWebServer((request, response) => {
    const { status, headers, body } = recordedAnswer(answers[request.url ?? ""] ?? "unknown-group")
    response.writeHead(status, Object.fromEntries(headers)).end(body)
  })
  const client = new HttpClient(
    { server: `http://127.0.0.1:${server.port}`, headers: [] },
    { userAgent: "kubereel/test" },
  )
  onTestFinished(() => client.close())
  return await discover(client, gvkOf(kind))
}

const real = {
  "/api/v1": "discovery-core-v1",
  "/apis/apps/v1": "discovery-apps-v1",
  "/apis/batch/v1": "discovery-batch-v1",
}

describe("discovery", () => {
  test.each([
    ["apps/v1.Deployment", "deployments", true],
    ["batch/v1.CronJob", "cronjobs", true],
    ["v1.Pod", "pods", true],
    ["v1.Node", "nodes", false],
    ["v1.Endpoints", "endpoints", true],
  ])("finds %s among the resources of a real API server", async (kind, plural, namespaced) => {
    const found = await discoverAt(kind, real)
    expect(found).toMatchObject({ tag: "found", resource: { gvk: gvkOf(kind), plural, namespaced } })
    expect(found.tag === "found" && found.resource.verbs).toEqual(expect.arrayContaining(["get", "list", "watch"]))
  })

  test("lists the supported verbs, for kinds that cannot be watched", async () => {
    expect(await discoverAt("v1.ComponentStatus", real)).toMatchObject({
      tag: "found",
      resource: { verbs: ["get", "list"] },
    })
  })

  test("does not mistake a subresource for a resource", async () => {
    const body = JSON.parse(recordedAnswer("discovery-apps-v1").body.toString()) as {
      resources: Array<{ name: string; kind: string }>
    }
    expect(body.resources.find(({ kind }) => kind === "Scale")?.name).toBe("deployments/scale")
    expect(await discoverAt("apps/v1.Scale", real)).toMatchObject({ tag: "absent", missing: "kind" })
  })

  test("returns a kind that is not installed as a result, not as an error", async () => {
    expect(await discoverAt("example.com/v1.Widget", real)).toEqual({
      tag: "absent",
      missing: "group-version",
      detail: "example.com/v1 does not exist on this server",
    })
    const found = await discoverAt("example.com/v1.Widget", { "/apis/example.com/v1": "unknown-resource" })
    expect(found).toMatchObject({ tag: "absent", missing: "group-version" })
  })

  test("names the kind that was probably meant", async () => {
    for (const given of ["apps/v1.deployment", "apps/v1.Deploymnet"]) {
      const detail = `${given} does not exist on this server; apps/v1.Deployment does`
      const similar = "apps/v1.Deployment"
      expect(await discoverAt(given, real)).toEqual({ tag: "absent", missing: "kind", detail, similar })
    }
    expect(await discoverAt("apps/v1.Widget", real)).toMatchObject({ missing: "kind", similar: undefined })
  })

  test.each([
    ["401", "unauthorized"],
    ["403", "forbidden-list"],
    ["504", "list-rv-exact-future"],
  ])("passes on the status of a refusal (%s)", async (code, name) => {
    expect(await discoverAt("apps/v1.Deployment", { "/apis/apps/v1": name })).toMatchObject({
      tag: "failed",
      status: { code: Number(code) },
    })
  })

  test("does not wait for ever for a kind at an address that is not an API server", async () => {
    // The core group exists everywhere.
    expect(await discoverAt("v1.Pod", {})).toMatchObject({ tag: "failed", status: { code: 404 } })
    await using server = await startWebServer((request, response) => {
      const status = request.url === "/apis/apps/v1" ? 404 : 200
      response.writeHead(status, { "content-type": "text/html" }).end("<h1>Welcome to nginx</h1>")
    })
    const client = new HttpClient({ server: `http://127.0.0.1:${server.port}`, headers: [] }, { userAgent: "x" })
    onTestFinished(() => client.close())
    const message = expect.stringContaining("is this a Kubernetes API server?")
    const failed = await discover(client, gvkOf("apps/v1.Deployment"))
    expect(failed).toMatchObject({ tag: "failed", status: { code: 404, message } })
    expect(await discover(client, gvkOf("batch/v1.Job"))).toMatchObject({
      tag: "failed",
      status: { code: 200, message },
    })
  })

  test("distinguishes a server that cannot be reached from one that rejects", async () => {
    const client = new HttpClient({ server: "nowhere", headers: [] }, { userAgent: "x" })
    expect(await discover(client, gvkOf("v1.Pod"))).toMatchObject({
      tag: "unreachable",
      failure: { tag: "failed" },
      detail: expect.stringContaining("nowhere"),
    })
  })

  test("reads any document without an exception", () => {
    const entry = fc.record({ name: fc.jsonValue(), kind: fc.jsonValue(), verbs: fc.jsonValue() }, { requiredKeys: [] })
    const list = fc.record({
      kind: fc.constant("APIResourceList"),
      resources: fc.oneof(fc.array(entry), fc.jsonValue()),
    })
    const document = fc.oneof(
      fc.string(),
      fc.json(),
      list.map((value) => JSON.stringify(value)),
    )
    fc.assert(
      fc.property(document, (text) => {
        const found = readResourceList(Buffer.from(text), gvkOf("apps/v1.Deployment"))
        expect(["absent", "failed"]).toContain(found.tag)
      }),
    )
  })
})
