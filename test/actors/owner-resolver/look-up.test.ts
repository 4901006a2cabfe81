/** Single look-ups of an owner at a real HTTP server. */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { type LookUpOutcome, OwnerLookUp } from "../../../src/actors/owner-resolver/look-up.ts"
import type { StoredObject } from "../../../src/apiserver/index.ts"
import { HttpClient } from "../../../src/kube/index.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import type { OwnerQuestion } from "../../../src/wire/index.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const deadlineMs = 15_000
const namespace = "shop"

let sandbox: Sandbox
let client: HttpClient
let clock: ManualClock
let lookUp: OwnerLookUp
/** What went over the wire, request by request. */
let sent: Array<{ readonly path: string; readonly headers: Readonly<Record<string, string>>; body: string }>

beforeEach(async () => {
  sandbox = await Sandbox.start()
  client = new HttpClient(sandbox.endpoint, { userAgent: "kubereel/test" })
  clock = new ManualClock()
  sent = []
  const overheard: Pick<HttpClient, "get"> = {
    get: (path, headers, handler) => {
      const exchange = { path, headers, body: "" }
      sent.push(exchange)
      return client.get(path, headers, {
        head: (status, fields) => handler.head(status, fields),
        data: (buffer, start, end) => {
          exchange.body += buffer.toString("utf8", start, end)
          return handler.data(buffer, start, end)
        },
        end: (end) => handler.end(end),
      })
    },
  }
  lookUp = new OwnerLookUp(overheard, deadlineMs, clock)
})
afterEach(async () => {
  client.close()
  await sandbox.close()
})

const questionAbout = (
  { apiVersion, kind, metadata }: StoredObject,
  more: Partial<OwnerQuestion> = {},
): OwnerQuestion => ({
  uid: metadata.uid,
  gvk: `${apiVersion}.${kind}`,
  namespace: metadata.namespace ?? namespace,
  name: metadata.name,
  ...more,
})
const put = (gvk: string, name: string, metadata: object = {}): StoredObject =>
  sandbox.put(gvk, { metadata: { namespace, name, ...metadata }, spec: { replicas: 1, text: "x".repeat(5000) } })
const putReplicaSet = (name = "web-1", metadata: object = {}): StoredObject => put("apps/v1.ReplicaSet", name, metadata)
const refused = (about: Partial<Extract<LookUpOutcome, { tag: "failed" }>>) => ({ tag: "failed", ...about })
const readable = (outcome: LookUpOutcome) =>
  outcome.tag === "found" ? { ...outcome, ownerReferences: Buffer.from(outcome.ownerReferences).toString() } : outcome
const discoveries = (): ReadonlyArray<string> => sent.map(({ path }) => path).filter((path) => !/\/web-/.test(path))

describe("the result of a look-up", () => {
  test("is the owners, from metadata alone", async () => {
    const owners = [{ apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: "6986996b", controller: true }]
    const outcome = await lookUp.ask(questionAbout(putReplicaSet("web-1", { ownerReferences: owners })))
    expect(readable(outcome)).toEqual({ tag: "found", namespace, ownerReferences: JSON.stringify(owners) })
    const asked = sent.at(-1)
    expect(asked?.path).toBe("/apis/apps/v1/namespaces/shop/replicasets/web-1")
    expect(asked?.headers.Accept).toMatch(/^application\/json;as=PartialObjectMetadata;g=meta\.k8s\.io;v=v1,/)
    const { kind, metadata, spec } = JSON.parse(asked?.body ?? "")
    expect([kind, metadata.name, spec]).toEqual(["PartialObjectMetadata", "web-1", undefined])
  })

  test("is an empty list for an object without owners", async () => {
    const outcome = await lookUp.ask(questionAbout(putReplicaSet()))
    expect(readable(outcome)).toEqual({ tag: "found", namespace, ownerReferences: "" })
  })

  test("for a cluster-scoped owner comes from its own path, whatever namespace the owned object is in", async () => {
    const outcome = await lookUp.ask(questionAbout(sandbox.put("v1.Node", { metadata: { name: "web-node" } })))
    expect(readable(outcome)).toEqual({ tag: "found", namespace: "", ownerReferences: "" })
    expect(sent.at(-1)?.path).toBe("/api/v1/nodes/web-node")
  })

  test("is correct for a name with characters that have a meaning in a URL", async () => {
    const outcome = await lookUp.ask(questionAbout(putReplicaSet("web-1?watch=true#x")))
    expect(outcome.tag).toBe("found")
    expect(sent.at(-1)?.path).toBe("/apis/apps/v1/namespaces/shop/replicasets/web-1%3Fwatch%3Dtrue%23x")
  })
})

describe("an owner is gone", () => {
  test("when no object has its name", async () => {
    const owner = putReplicaSet()
    sandbox.delete("apps/v1.ReplicaSet", namespace, "web-1")
    expect(await lookUp.ask(questionAbout(owner))).toEqual({ tag: "gone", namespace })
  })

  test("when its name has been reused by another object", async () => {
    const owner = putReplicaSet()
    sandbox.delete("apps/v1.ReplicaSet", namespace, "web-1")
    const successor = putReplicaSet("web-1", { ownerReferences: [{ uid: "another" }] })
    expect(await lookUp.ask(questionAbout(owner))).toEqual({ tag: "gone", namespace })
    expect((await lookUp.ask(questionAbout(successor))).tag).toBe("found")
  })

  test("when its kind is namespaced and the object that names it is not", async () => {
    expect(await lookUp.ask(questionAbout(putReplicaSet(), { namespace: "" }))).toEqual({ tag: "gone", namespace: "" })
    expect(sent.every(({ path }) => path === "/apis/apps/v1")).toBe(true)
  })

  test.each(["", ".", "..", "../web-2", "web-1/status", "%2e%2e"])(
    "when it cannot have that name: %j",
    async (name) => {
      expect(await lookUp.ask(questionAbout(putReplicaSet(), { name }))).toEqual({ tag: "gone", namespace })
      expect(sent).toEqual([])
    },
  )

  test.each(["apps/v1.", "no kind at all", ".", ""])("when its kind is not a valid name: %j", async (gvk) => {
    expect(await lookUp.ask({ uid: "u", gvk, namespace, name: "web-1" })).toEqual({ tag: "gone", namespace: "" })
    expect(sent).toEqual([])
  })
})

describe("a kind", () => {
  const gvk = { group: "example.com", version: "v1", kind: "App" }
  const app = "example.com/v1.App"

  test("that does not exist has no objects, and is found once it does", async () => {
    const question = { uid: "u", gvk: app, namespace, name: "web-app" }
    expect(await lookUp.ask(question)).toEqual({ tag: "gone", namespace: "" })
    sandbox.register({ gvk, plural: "apps", namespaced: true })
    expect((await lookUp.ask(questionAbout(put(app, "web-app")))).tag).toBe("found")
    expect(discoveries()).toEqual(["/apis/example.com/v1", "/apis/example.com/v1"])
  })

  test.each([
    ["the last of its group", []],
    ["not the last of its group", [{ gvk: { ...gvk, kind: "Other" }, plural: "others", namespaced: true }]],
  ])("that was removed and came back without namespaces is found there: %s", async (_, others) => {
    for (const other of others) sandbox.register(other)
    sandbox.register({ gvk, plural: "apps", namespaced: true })
    expect((await lookUp.ask(questionAbout(put(app, "web-app")))).tag).toBe("found")
    sandbox.unregister(app)
    sandbox.register({ gvk, plural: "programs", namespaced: false })
    const owner = sandbox.put(app, { metadata: { name: "web-app" } })
    expect((await lookUp.ask(questionAbout(owner))).tag).toBe("found")
    expect(sent.at(-1)?.path).toBe("/apis/example.com/v1/programs/web-app")
  })

  test("is discovered once for many concurrent look-ups, and for later ones", async () => {
    const owners = Array.from({ length: 20 }, (_, index) => putReplicaSet(`web-${index}`))
    const outcomes = await Promise.all(owners.map((owner) => lookUp.ask(questionAbout(owner))))
    expect(outcomes.every(({ tag }) => tag === "found")).toBe(true)
    await lookUp.ask(questionAbout(putReplicaSet("web-later")))
    sandbox.delete("apps/v1.ReplicaSet", namespace, "web-later")
    await lookUp.ask(questionAbout(owners[0] as StoredObject, { name: "web-later" }))
    await lookUp.ask(questionAbout(putReplicaSet("web-last")))
    expect(discoveries()).toEqual(["/apis/apps/v1"])
  })

  test("that was removed has no objects", async () => {
    sandbox.register({ gvk, plural: "apps", namespaced: true })
    const owner = put(app, "web-app")
    await lookUp.ask(questionAbout(owner))
    sandbox.unregister(app)
    expect((await lookUp.ask(questionAbout(owner))).tag).toBe("gone")
  })

  test("whose discovery failed is discovered again", async () => {
    const question = questionAbout(putReplicaSet())
    sandbox.faults.respond("discovery", 500, { times: 1 })
    expect(await lookUp.ask(question)).toMatchObject(refused({ reach: "kind", code: 500 }))
    expect((await lookUp.ask(question)).tag).toBe("found")
  })
})

describe("a failure is not a result, and states its scope", () => {
  test.each([
    [401, "server", undefined],
    [403, "kind", undefined],
    [429, "server", 1],
    [429, "server", 7],
    // A conversion webhook, an aggregated server: limited to one kind.
    [500, "kind", undefined],
    [502, "kind", undefined],
    [503, "kind", undefined],
    // The API server itself is shutting down, or overloaded.
    [503, "server", 30],
    [400, "question", undefined],
  ] as const)("status %i: %s, Retry-After %s", async (status, reach, seconds) => {
    const question = questionAbout(putReplicaSet())
    const options = { times: 1, verb: "get", ...(seconds !== undefined && { retryAfterSeconds: seconds }) }
    sandbox.faults.respond("replicasets", status, options)
    const outcome = await lookUp.ask(question)
    const retryAfterMs = seconds === undefined ? undefined : seconds * 1000
    expect(outcome).toMatchObject(refused({ reach, code: status, retryAfterMs }))
    expect(outcome).toMatchObject({
      detail: expect.stringContaining("/apis/apps/v1/namespaces/shop/replicasets/web-1: "),
    })
    expect((await lookUp.ask(question)).tag).toBe("found")
  })

  test.each([
    [401, "server"],
    [403, "kind"],
    [429, "server"],
    [503, "kind"],
  ] as const)("status %i of the discovery: %s", async (status, reach) => {
    sandbox.faults.respond("discovery", status)
    expect(await lookUp.ask(questionAbout(putReplicaSet()))).toMatchObject(refused({ reach, code: status }))
  })

  test("credentials that are rejected, then new ones", async () => {
    const question = questionAbout(putReplicaSet())
    sandbox.setToken("fresh")
    expect(await lookUp.ask(question)).toMatchObject(refused({ reach: "server", code: 401 }))
    client.updateEndpoint(sandbox.endpoint)
    expect((await lookUp.ask(question)).tag).toBe("found")
  })

  test.each(["replicasets", "discovery"])("a server that accepts the request and stays silent: %s", async (scope) => {
    const question = questionAbout(putReplicaSet())
    sandbox.faults.blackHole(scope)
    const asking = lookUp.ask(question)
    await sandbox.requests.waitFor(scope === "discovery" ? { verb: "discovery" } : { verb: "get" })
    clock.advance(deadlineMs)
    expect(await asking).toMatchObject(refused({ reach: "kind", code: 0, retryAfterMs: undefined }))
    sandbox.faults.resume()
    expect((await lookUp.ask(question)).tag).toBe("found")
    expect(clock.pending).toBe(0)
  })

  test("a server that delays the response for less than that", async () => {
    sandbox.faults.holdGets()
    const asking = lookUp.ask(questionAbout(putReplicaSet()))
    await sandbox.requests.waitFor({ verb: "get" })
    clock.advance(deadlineMs - 1)
    sandbox.faults.releaseGets()
    expect((await asking).tag).toBe("found")
  })

  test("a server that is down, then up", async () => {
    const question = questionAbout(putReplicaSet())
    await sandbox.faults.refuseConnections()
    expect(await lookUp.ask(question)).toMatchObject(refused({ reach: "server", code: 0 }))
    await sandbox.faults.acceptConnections()
    expect((await lookUp.ask(question)).tag).toBe("found")
  })
})

describe("any content of a response", () => {
  let server: Server
  let answer: { readonly status: number; readonly type: string; readonly body: string }
  const question: OwnerQuestion = { uid: "u", gvk: "apps/v1.ReplicaSet", namespace, name: "web-1" }

  beforeEach(async () => {
    const replicaSets = { name: "replicasets", kind: "ReplicaSet", namespaced: true, verbs: ["get"] }
    server = createServer((request, response) => {
      if (request.url === "/apis/apps/v1") {
        response.end(JSON.stringify({ kind: "APIResourceList", resources: [replicaSets] }))
      } else response.writeHead(answer.status, { "Content-Type": answer.type }).end(answer.body)
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as AddressInfo
    client.updateEndpoint({ ...sandbox.endpoint, server: `http://127.0.0.1:${port}` })
  })
  afterEach(() => {
    server.closeAllConnections()
    server.close()
  })

  test.each([
    ["cut JSON", '{"metadata":{"uid":"u","na'],
    ["nothing", ""],
    ["null", "null"],
    ["a list", "[1]"],
    ["a text", '"u"'],
    ["no metadata", '{"kind":"PartialObjectMetadata"}'],
    ["metadata that are none", '{"metadata":"u"}'],
    ["metadata without a UID", '{"metadata":{"name":"web-1"}}'],
    ["a page of a proxy", "<html><body>Sign in</body></html>"],
  ])("%s is a failure", async (_, body) => {
    answer = { status: 200, type: "application/json", body }
    expect(await lookUp.ask(question)).toMatchObject(refused({ reach: "question", code: 200 }))
  })

  test.each([null, {}, "x", 7, []])("invalid ownerReferences mean no owners: %j", async (ownerReferences) => {
    const body = JSON.stringify({ metadata: { uid: "u", ownerReferences, __proto__: { polluted: true } } })
    answer = { status: 200, type: "application/json", body }
    expect(readable(await lookUp.ask(question))).toEqual({ tag: "found", namespace, ownerReferences: "" })
  })

  test.each([
    ["text/plain", "404 page not found\n"],
    ["text/html", "<html><body>no such route</body></html>"],
    [
      "application/json",
      '{"kind":"Status","reason":"NotFound","message":"the server could not find the requested resource","code":404}',
    ],
  ])("404 of a kind that discovery knows is no verdict on the object: %s", async (type, body) => {
    answer = { status: 404, type, body }
    expect(await lookUp.ask(question)).toMatchObject(refused({ reach: "kind", code: 404 }))
    expect(discoveries()).toHaveLength(2)
  })

  test("more than any object's metadata can be is a failure of this look-up", async () => {
    answer = { status: 200, type: "application/json", body: "x".repeat(3 * 1024 * 1024) }
    expect(await lookUp.ask(question)).toMatchObject(refused({ reach: "question", code: 0 }))
  })
})
