/** Discovery of all kinds: what an unchanged server repeats, and what is known of a group that does not respond. */
import { expect, test } from "vitest"
import { type DiscoveryCache, discoverKinds, watchableKinds } from "../../../src/kube/discovery/discovered-kinds.ts"

import { formatGvk } from "../../../src/kube/gvk.ts"
import { HttpClient } from "../../../src/kube/http/http-client.ts"
import type { ReadTransport } from "../../../src/kube/http/transport.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"

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
