/**
 * The example guests, built here and with the test in the place of their host. What one language does right, each must do right:
 * all of them are the same controller.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import type { CompiledGuest } from "../../../src/host/index.ts"
import { patient } from "../../harness/patience.ts"
import { GuestHost, type Open, type TextRequest } from "./guest-host.ts"
import { compiled, toolchains } from "./toolchains.ts"
import { carriesAnyValue } from "./value-scenarios.ts"

const label = "app.kubernetes.io/managed-by"
const manager = "simplepods.slinky.dev"
const simplePodList = "/apis/slinky.dev/v1/simplepods"
const podList = "/api/v1/pods"

const simplePod = (name: string, resourceVersion: number, more: { image?: string; metadata?: object } = {}) => ({
  apiVersion: "slinky.dev/v1",
  kind: "SimplePod",
  metadata: {
    name,
    namespace: "default",
    uid: `uid-of-${name}`,
    resourceVersion: `${resourceVersion}`,
    ...more.metadata,
  },
  spec: { image: more.image ?? "nginx:1.27" },
})

/** The pod that the controller makes for it, without what the API server adds. */
const podOf = (name: string, image = "nginx:1.27") => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name,
    namespace: "default",
    labels: { [label]: manager },
    annotations: { "slinky.dev/image": image },
    ownerReferences: [
      { apiVersion: "slinky.dev/v1", kind: "SimplePod", name, uid: `uid-of-${name}`, controller: true },
    ],
  },
  spec: { containers: [{ name: "main", image }] },
})

const stored = (pod: ReturnType<typeof podOf>, resourceVersion: number, more: object = {}) => ({
  ...pod,
  metadata: { ...pod.metadata, uid: `uid-of-pod-${pod.metadata.name}`, resourceVersion: `${resourceVersion}`, ...more },
})

const list = (resourceVersion: number, items: ReadonlyArray<object>, next?: string) => ({
  kind: "List",
  metadata: { resourceVersion: `${resourceVersion}`, ...(next === undefined ? {} : { continue: next }) },
  items,
})

const status = (code: number, message: string) => ({
  kind: "Status",
  apiVersion: "v1",
  status: "Failure",
  code,
  message,
})

const only = <Item>(items: ReadonlyArray<Item>): Item => {
  expect(items).toHaveLength(1)
  return items[0] as Item
}

const path = ({ asked }: Open<TextRequest>): string => asked.uri.split("?")[0] ?? ""

const requestOf = (host: GuestHost, wanted: string): Open<TextRequest> =>
  only(host.requests.filter((request) => path(request) === wanted))

const watchOf = (host: GuestHost, kind: string): bigint =>
  only(host.watches.filter(({ asked }) => asked.kind === kind)).id

/** A guest that has listed both kinds and watches them, from versions 10 and 11. */
const watching = (
  module: CompiledGuest,
  simplePods: ReadonlyArray<object> = [],
  pods: ReadonlyArray<object> = [],
): GuestHost => {
  const host = new GuestHost(module)
  host.answer(requestOf(host, simplePodList).id, 200, list(10, simplePods))
  host.answer(requestOf(host, podList).id, 200, list(11, pods))
  return host
}

const bodyOf = ({ asked }: Open<TextRequest>): unknown => JSON.parse(asked.body)

describe.each(toolchains)("the SimplePod controller in $language", (toolchain) => {
  const missing = toolchain.missing()
  let directory = ""
  let module: CompiledGuest

  beforeAll(() => {
    if (missing !== undefined) return
    directory = mkdtempSync(join(tmpdir(), "kubereel-guest-"))
    module = compiled(toolchain, join(directory, "simplepod.wasm"))
  }, patient(120_000))
  afterAll(() => rmSync(directory, { recursive: true, force: true }))
  beforeEach((context) => {
    if (missing !== undefined) context.skip(missing)
  })

  test("lists both kinds, then watches them from the versions of the lists", () => {
    const host = new GuestHost(module)
    expect(host.requests.map(({ asked }) => asked.method)).toEqual(["GET", "GET"])
    const query = new URLSearchParams(requestOf(host, podList).asked.uri.split("?")[1])
    expect(Object.fromEntries(query)).toEqual({ limit: "500", labelSelector: `${label}=${manager}` })
    expect(host.watches).toEqual([])

    host.answer(requestOf(host, simplePodList).id, 200, list(10, []))
    host.answer(requestOf(host, podList).id, 200, list(11, []))

    const common = { version: "v1", includeUninitialized: false, allowBookmarks: true }
    expect(host.watches.map(({ asked }) => asked)).toEqual([
      {
        ...common,
        apiVersion: "slinky.dev/v1",
        group: "slinky.dev",
        kind: "SimplePod",
        resourceVersion: "10",
      },
      {
        ...common,
        apiVersion: "v1",
        group: "",
        kind: "Pod",
        resourceVersion: "11",
        labelSelector: `${label}=${manager}`,
      },
    ])
    expect([host.requests, host.delays]).toEqual([[], []])
  })

  test("watches one namespace if the environment names one", () => {
    const host = new GuestHost(module, { OTHER: "x", NAMESPACE: "shop" })
    host.answer(requestOf(host, "/apis/slinky.dev/v1/namespaces/shop/simplepods").id, 200, list(10, []))
    host.answer(requestOf(host, "/api/v1/namespaces/shop/pods").id, 200, list(11, []))
    expect(host.watches.map(({ asked }) => asked.namespace)).toEqual(["shop", "shop"])
  })

  test("makes a pod for each object that appears, owned by it and with its image", () => {
    const host = watching(module)
    host.deliver(watchOf(host, "SimplePod"), "ADDED", simplePod("web", 12))

    const request = only(host.requests)
    expect(request.asked).toMatchObject({
      method: "POST",
      uri: "/api/v1/namespaces/default/pods",
      headers: { "content-type": ["application/json"] },
    })
    expect(bodyOf(request)).toEqual(podOf("web"))
    host.answer(request.id, 201, stored(podOf("web"), 13))
    host.deliver(watchOf(host, "Pod"), "ADDED", stored(podOf("web"), 13))
    host.deliver(watchOf(host, "SimplePod"), "MODIFIED", simplePod("web", 14))
    expect([host.requests, host.delays]).toEqual([[], []])
  })

  test("makes no pod before it knows which pods there are", () => {
    const host = new GuestHost(module)
    host.answer(requestOf(host, simplePodList).id, 200, list(10, [simplePod("old", 5), simplePod("new", 6)]))
    host.deliver(watchOf(host, "SimplePod"), "ADDED", simplePod("newer", 12))
    const pods = only(host.requests)
    expect(path(pods)).toBe(podList)
    host.answer(pods.id, 200, list(11, [stored(podOf("old"), 7)]))
    expect(
      host.requests.map((request) => (bodyOf(request) as { metadata: { name: string } }).metadata.name).sort(),
    ).toEqual(["new", "newer"])
  })

  test("reads lists page by page", () => {
    const host = new GuestHost(module)
    host.answer(requestOf(host, podList).id, 200, list(11, []))
    host.answer(requestOf(host, simplePodList).id, 200, list(10, [simplePod("a", 5)], "abc/+="))
    const second = requestOf(host, simplePodList)
    expect(new URLSearchParams(second.asked.uri.split("?")[1]).get("continue")).toBe("abc/+=")
    expect(host.watches.map(({ asked }) => asked.kind)).toEqual(["Pod"])
    host.answer(second.id, 200, list(10, [simplePod("b", 5)]))
    expect(host.requests.map(bodyOf)).toEqual([podOf("a"), podOf("b")])
  })

  test("makes a deleted pod again", () => {
    const host = watching(module, [simplePod("web", 5)], [stored(podOf("web"), 6)])
    expect(host.requests).toEqual([])
    host.deliver(
      watchOf(host, "Pod"),
      "MODIFIED",
      stored(podOf("web"), 12, { deletionTimestamp: "2026-01-01T00:00:00Z" }),
    )
    expect(host.requests).toEqual([])
    host.deliver(watchOf(host, "Pod"), "DELETED", stored(podOf("web"), 13))
    expect(bodyOf(only(host.requests))).toEqual(podOf("web"))
  })

  test("makes a pod again that was made and deleted while its creation was being answered", () => {
    const host = watching(module, [simplePod("web", 5)])
    const request = only(host.requests)
    host.deliver(watchOf(host, "Pod"), "ADDED", stored(podOf("web"), 12))
    host.deliver(watchOf(host, "Pod"), "DELETED", stored(podOf("web"), 13))
    expect(host.requests).toEqual([request])
    host.answer(request.id, 201, stored(podOf("web"), 12))
    expect(bodyOf(only(host.requests))).toEqual(podOf("web"))
  })

  test("replaces a pod whose object has another image now", () => {
    const host = watching(module, [simplePod("web", 5)], [stored(podOf("web"), 6)])
    host.deliver(watchOf(host, "SimplePod"), "MODIFIED", simplePod("web", 12, { image: "nginx:1.28" }))
    const deletion = only(host.requests)
    expect(deletion.asked).toMatchObject({ method: "DELETE", uri: "/api/v1/namespaces/default/pods/web" })
    expect(bodyOf(deletion)).toEqual({ preconditions: { uid: "uid-of-pod-web" } })
    host.answer(deletion.id, 200, stored(podOf("web"), 13))
    host.deliver(watchOf(host, "Pod"), "DELETED", stored(podOf("web"), 13))
    expect(bodyOf(only(host.requests))).toEqual(podOf("web", "nginx:1.28"))
  })

  test("leaves alone what is being deleted, and pods of others", () => {
    const isBeingDeleted = { deletionTimestamp: "2026-01-01T00:00:00Z" }
    const others = stored(podOf("taken", "other"), 6, { ownerReferences: [] })
    const former = stored(podOf("again", "other"), 6, {
      ownerReferences: [{ ...podOf("again").metadata.ownerReferences[0], uid: "uid-of-former" }],
    })
    const going = simplePod("going", 5, { metadata: isBeingDeleted })
    const host = watching(module, [going, simplePod("taken", 5), simplePod("again", 5)], [others, former])
    host.deliver(watchOf(host, "SimplePod"), "DELETED", simplePod("gone", 12))
    host.deliver(watchOf(host, "Pod"), "DELETED", stored(podOf("gone"), 13))
    expect([host.requests, host.delays]).toEqual([[], []])
  })

  test.each([409, 500, 503])("repeats a write that is answered %d after growing delays, not at once", (code) => {
    const host = watching(module, [simplePod("web", 5)])
    const longest: number[] = []
    for (let attempt = 0; attempt < 12; attempt++) {
      host.answer(only(host.requests).id, code, status(code, "not now"))
      expect(host.requests).toEqual([])
      // Nothing makes it come sooner.
      host.deliver(watchOf(host, "SimplePod"), "MODIFIED", simplePod("web", 20 + attempt))
      expect(host.requests).toEqual([])
      const delay = only(host.delays)
      const full = Math.min(200 * 2 ** attempt, 30_000)
      expect(Number(delay.asked)).toBeGreaterThanOrEqual(full / 2 - 1)
      expect(Number(delay.asked)).toBeLessThanOrEqual(full)
      longest.push(Number(delay.asked))
      host.elapse(delay.id)
    }
    expect(new Set(longest).size).toBeGreaterThan(8)
    expect(host.log.at(-1)).toMatch(new RegExp(`^POST of pod default/web: .*${code}.*not now; next attempt in`))
    host.answer(only(host.requests).id, 201, stored(podOf("web"), 40))
    expect([host.requests, host.delays]).toEqual([[], []])
  })

  test("gives a write up once there is nothing to write", () => {
    const host = watching(module, [simplePod("web", 5), simplePod("shop", 6)])
    for (const request of host.requests) host.answer(request.id, 409, status(409, "exists"))
    host.deliver(watchOf(host, "Pod"), "ADDED", stored(podOf("web"), 12))
    host.deliver(watchOf(host, "SimplePod"), "DELETED", simplePod("shop", 13))
    for (const delay of host.delays) host.elapse(delay.id)
    expect([host.requests, host.delays]).toEqual([[], []])
  })

  test("watches again from the last version when a watch ends", () => {
    const host = watching(module)
    host.deliver(watchOf(host, "Pod"), "BOOKMARK", { kind: "Pod", metadata: { resourceVersion: "17" } })
    host.deliver(watchOf(host, "SimplePod"), "ADDED", simplePod("web", 18))
    const before = host.watches.map(({ id }) => id)
    for (const id of before) host.end(id)
    expect(host.watches.map(({ asked }) => [asked.kind, asked.resourceVersion])).toEqual([
      ["SimplePod", "18"],
      ["Pod", "17"],
    ])
    expect(host.watches.some(({ id }) => before.includes(id))).toBe(false)
    expect(host.requests.map(({ asked }) => asked.method)).toEqual(["POST"])
  })

  test("waits a second before it watches again if a watch brought nothing", () => {
    const host = watching(module)
    host.end(watchOf(host, "Pod"))
    expect(host.watches.map(({ asked }) => asked.kind)).toEqual(["SimplePod"])
    const delay = only(host.delays)
    expect(delay.asked).toBe(1000n)
    host.elapse(delay.id)
    expect(watchOf(host, "Pod")).toBeGreaterThan(delay.id)
  })

  test("lists again when the version has expired, and finds what happened meanwhile", () => {
    const host = watching(
      module,
      [simplePod("web", 5), simplePod("shop", 6)],
      [stored(podOf("web"), 7), stored(podOf("shop"), 8)],
    )
    const expired = watchOf(host, "Pod")
    host.deliver(expired, "ERROR", status(410, "too old"))
    expect(host.requests).toEqual([])
    const delay = only(host.delays)
    host.end(expired)
    expect(host.watches.map(({ asked }) => asked.kind)).toEqual(["SimplePod"])
    expect(host.delays).toEqual([delay])
    host.elapse(delay.id)
    host.answer(requestOf(host, podList).id, 200, list(50, [stored(podOf("web"), 7)]))
    expect(host.watches.map(({ asked }) => [asked.kind, asked.resourceVersion])).toEqual([
      ["SimplePod", "10"],
      ["Pod", "50"],
    ])
    expect(bodyOf(only(host.requests))).toEqual(podOf("shop"))
  })

  test("watches again after a delay when a watch fails otherwise", () => {
    const host = watching(module)
    for (const [attempt, full] of [200, 400, 800].entries()) {
      const failed = watchOf(host, "SimplePod")
      host.deliver(failed, "ERROR", status(attempt === 1 ? 403 : 500, "no"))
      host.end(failed)
      const delay = only(host.delays)
      expect(Number(delay.asked)).toBeGreaterThanOrEqual(full / 2 - 1)
      expect(Number(delay.asked)).toBeLessThanOrEqual(full)
      host.elapse(delay.id)
      expect(host.requests).toEqual([])
      expect(host.watches.map(({ asked }) => asked.resourceVersion).sort()).toEqual(["10", "11"])
    }
  })

  test("lists again after growing delays when it cannot list, such as without the custom resource", () => {
    const host = new GuestHost(module)
    host.answer(requestOf(host, podList).id, 200, list(11, []))
    for (const full of [200, 400, 800]) {
      host.answer(only(host.requests).id, 404, status(404, "no such resource"))
      expect(host.requests).toEqual([])
      const delay = only(host.delays)
      expect(Number(delay.asked)).toBeGreaterThanOrEqual(full / 2 - 1)
      expect(Number(delay.asked)).toBeLessThanOrEqual(full)
      host.elapse(delay.id)
    }
    expect(path(only(host.requests))).toBe(simplePodList)
    expect(host.log.at(-1)).toMatch(/^simplepods cannot be listed: .*404.*no such resource; next attempt in/)
  })

  test("lists again when a watch brings something that is no event", () => {
    const host = watching(module)
    const broken = watchOf(host, "SimplePod")
    host.deliverBytes(broken, Buffer.from(`{"type":"ADDED","object":{"metadata":{"name":"web"`))
    host.elapse(only(host.delays).id)
    expect(path(only(host.requests))).toBe(simplePodList)
  })

  carriesAnyValue(() => module)
})
