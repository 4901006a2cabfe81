/** What webhooks refuse, what happens when they do not answer, and what they are never asked about. */

import { expect, test } from "vitest"
import type { Sandbox } from "../../../../src/library/sandbox.ts"
import { eventually } from "../../../harness/eventually.ts"
import { ManualClock } from "../../../runtime/manual-clock.ts"
import { bodyOf, configMaps, mergePatch, pod, pods, send, sendFor } from "../write-client.ts"
import {
  configuration,
  mutatingConfigurations,
  patching,
  type ReviewAnswer,
  validatingConfigurations,
  webhook,
} from "./webhook-server.ts"
import { configMap, start } from "./with-webhooks.ts"

const mutating = (sandbox: Sandbox, ...webhooks: ReadonlyArray<object>) =>
  sendFor(sandbox, 201, "POST", mutatingConfigurations, configuration("one", ...webhooks))
const validating = (sandbox: Sandbox, ...webhooks: ReadonlyArray<object>) =>
  sendFor(sandbox, 201, "POST", validatingConfigurations, configuration("one", ...webhooks))

const denial = (status?: object): ReviewAnswer => ({ allowed: false, ...(status !== undefined && { status }) })
const allowed: ReviewAnswer = { allowed: true }

test.each([
  ["nothing", undefined, 400, undefined, "denied the request without explanation"],
  ["a message", { message: "because" }, 400, undefined, "denied the request: because"],
  ["a reason", { reason: "Gone" }, 400, "Gone", "denied the request: Gone"],
  ["a code", { code: 403, reason: "Forbidden", message: "no" }, 403, "Forbidden", "denied the request: no"],
  ["a code of success", { code: 200, message: "no" }, 400, undefined, "denied the request: no"],
])("a denial with %s reaches the client, and nothing is stored", async (_what, status, code, reason, message) => {
  const { sandbox, server } = await start(() => denial(status))
  await validating(sandbox, webhook(server, "/deny"))
  const before = sandbox.resourceVersion
  const answer = await send(sandbox, "POST", configMaps, configMap("a"))
  expect(answer.status).toBe(code)
  expect(bodyOf(answer)).toMatchObject({ code, message: `admission webhook "deny.example.com" ${message}` })
  expect(bodyOf(answer).reason).toBe(reason)
  expect(sandbox.resourceVersion).toBe(before)
})

test("validating webhooks are asked at the same time, about the result of all mutating ones; their order decides what is answered", async () => {
  let arrived = 0
  let release = (): void => undefined
  const both = new Promise<void>((resolve) => {
    release = resolve
  })
  const { sandbox, server } = await start(async (path) => {
    if (path === "/add") return patching({ op: "add", path: "/data/added", value: "x" })
    if (++arrived === 2) release()
    // Neither answers before the other has been asked.
    await both
    return denial({ message: path })
  })
  await validating(sandbox, webhook(server, "/first"), webhook(server, "/second"))
  await mutating(sandbox, webhook(server, "/add"))
  const answer = await send(sandbox, "POST", configMaps, configMap("a"))
  expect(bodyOf(answer).message).toBe('admission webhook "first.example.com" denied the request: /first')
  expect(server.reviews[0]?.path).toBe("/add?timeout=10s")
  expect(server.reviews.slice(1).map(({ request }) => request.object?.data)).toEqual([
    { k: "v", added: "x" },
    { k: "v", added: "x" },
  ])
})

test("validating webhooks see what the server has filled in, and an invalid object never", async () => {
  const { sandbox, server } = await start(() => allowed)
  await validating(sandbox, webhook(server, "/look"))
  const made = await sendFor(sandbox, 201, "POST", configMaps, { metadata: { generateName: "c-" } })
  expect(server.reviews[0]?.request).toMatchObject({
    name: made.metadata.name,
    object: { metadata: { uid: made.metadata.uid, name: made.metadata.name } },
  })
  expect((await send(sandbox, "POST", configMaps, configMap("not valid"))).status).toBe(422)
  expect(server.reviews).toHaveLength(1)
})

test("warnings of webhooks reach the client once, whether they allow the request or not", async () => {
  const { sandbox, server } = await start((path) => ({ allowed: path !== "/deny", warnings: [`from ${path}`] }))
  await mutating(sandbox, webhook(server, "/one"))
  await validating(sandbox, webhook(server, "/two"))
  expect((await send(sandbox, "POST", configMaps, configMap("a"))).warnings).toEqual(["from /one", "from /two"])
  await sendFor(sandbox, 201, "POST", validatingConfigurations, configuration("two", webhook(server, "/deny")))
  const denied = await send(sandbox, "POST", configMaps, configMap("b"))
  expect([denied.status, denied.warnings]).toEqual([400, ["from /one", "from /two", "from /deny"]])
})

test.each([
  ["another uid", { allowed: true, uid: "other" }],
  ["no response", '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}'],
  ["no JSON", "nonsense"],
  ["a status of 500", 500],
  ["a patch without a type", { allowed: true, patch: "W10=" }],
  ["a patch of an unknown type", { allowed: true, patch: "W10=", patchType: "Merge" }],
  ["a patch that is no JSON", { allowed: true, patch: "ew==", patchType: "JSONPatch" }],
])("%s is no answer: the failure policy decides", async (_what, answer) => {
  const { sandbox, server } = await start(() => answer)
  await mutating(sandbox, webhook(server, "/broken"))
  const refused = await send(sandbox, "POST", configMaps, configMap("a"))
  expect(refused.status).toBe(500)
  expect(bodyOf(refused)).toMatchObject({
    reason: "InternalError",
    message: expect.stringContaining('failed calling webhook "broken.example.com": '),
  })
  const ignoring = webhook(server, "/broken", { failurePolicy: "Ignore" })
  await sendFor(sandbox, 200, "PATCH", `${mutatingConfigurations}/one`, { webhooks: [ignoring] }, mergePatch)
  await sendFor(sandbox, 201, "POST", configMaps, configMap("a"))
})

test.each([
  ["a port without a server", { url: "https://127.0.0.1:1/" }],
  ["a Service", { service: { namespace: "default", name: "web" } }],
  ["a server of an unknown authority", undefined],
])("%s is unreachable", async (_what, clientConfig) => {
  const { sandbox, server } = await start(() => allowed)
  await mutating(sandbox, webhook(server, "/x", { clientConfig: clientConfig ?? { url: `${server.url}/x` } }))
  const refused = await send(sandbox, "POST", configMaps, configMap("a"))
  expect([refused.status, bodyOf(refused).reason]).toEqual([500, "InternalError"])
  expect(server.reviews).toEqual([])
})

test("a webhook that hangs holds its own request only, for as long as it may take", async () => {
  const clock = new ManualClock()
  const { sandbox, server } = await start((path) => (path === "/hang" ? undefined : allowed), { clock })
  const labels = { slow: "yes" }
  await mutating(sandbox, webhook(server, "/hang", { timeoutSeconds: 3, objectSelector: { matchLabels: labels } }))
  let isAnswered = false
  const slow = send(sandbox, "POST", configMaps, configMap("slow", { metadata: { name: "slow", labels } })).finally(
    () => {
      isAnswered = true
    },
  )
  await eventually(() => expect(server.reviews).toHaveLength(1))
  expect(server.reviews[0]?.path).toBe("/hang?timeout=3s")
  await sendFor(sandbox, 201, "POST", configMaps, configMap("quick"))
  clock.advance(2999)
  await sendFor(sandbox, 201, "POST", configMaps, configMap("quick-2"))
  expect(isAnswered).toBe(false)
  clock.advance(1)
  expect(bodyOf(await slow)).toMatchObject({ code: 500, message: expect.stringContaining("context deadline exceeded") })
})

test("closing the sandbox ends the calls", async () => {
  const { sandbox, server } = await start(() => undefined)
  await mutating(sandbox, webhook(server, "/hang"))
  const waiting = sandbox.request({ method: "POST", path: configMaps, body: configMap("a") })
  await eventually(() => expect(server.reviews).toHaveLength(1))
  await sandbox.close()
  expect((await waiting).status).toBe(500)
})

test("deletions are asked about: with the last state, for each object of a collection, until one is refused", async () => {
  const { sandbox, server } = await start((_path, { oldObject }) =>
    oldObject?.data?.keep === "yes" ? denial({ message: "kept" }) : allowed,
  )
  const names = ["a", "b", "c", "d"]
  for (const name of names)
    await sendFor(sandbox, 201, "POST", configMaps, configMap(name, { data: name === "c" ? { keep: "yes" } : {} }))
  await validating(sandbox, webhook(server, "/delete"))
  expect((await send(sandbox, "DELETE", `${configMaps}/c`)).status).toBe(400)
  await sendFor(sandbox, 200, "DELETE", `${configMaps}/d?gracePeriodSeconds=5`)
  expect(server.reviews.at(-1)?.request).toMatchObject({
    operation: "DELETE",
    name: "d",
    object: null,
    oldObject: { metadata: { name: "d" } },
    options: { kind: "DeleteOptions", gracePeriodSeconds: 5 },
  })
  server.reviews.length = 0
  expect((await send(sandbox, "DELETE", configMaps)).status).toBe(400)
  expect(server.seen).toEqual(Array.from({ length: 3 }, () => "/delete DELETE configmaps -"))
  const left = await sendFor(sandbox, 200, "GET", configMaps)
  expect(left.items.map(({ metadata }) => metadata.name)).toEqual(["c"])
})

test("the response to a deleted collection lists what it was, although each object is deleted as soon as it is allowed", async () => {
  const { sandbox, server } = await start(() => allowed)
  for (const name of ["a", "b"]) await sendFor(sandbox, 201, "POST", pods, pod(name, { finalizers: ["x.io/y"] }))
  const rules = [{ apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["DELETE"] }]
  await mutating(sandbox, webhook(server, "/delete", { rules }))
  const { items } = await sendFor(sandbox, 200, "DELETE", pods)
  expect(items.map(({ metadata }) => [metadata.name, metadata.deletionTimestamp])).toEqual([
    ["a", undefined],
    ["b", undefined],
  ])
  expect(server.reviews).toHaveLength(2)
  expect(sandbox.get("v1.Pod", "default", "b")?.metadata.deletionTimestamp).toBeDefined()
})

test("a mutating webhook has nothing to change in a deletion", async () => {
  const { sandbox, server } = await start(() => patching({ op: "add", path: "/data/x", value: "y" }))
  await sendFor(sandbox, 201, "POST", configMaps, configMap("a"))
  await mutating(sandbox, webhook(server, "/change"))
  const refused = await send(sandbox, "DELETE", `${configMaps}/a`)
  expect([refused.status, bodyOf(refused).reason]).toEqual([500, "InternalError"])
})

test("a dry run is shown as one, and not to a webhook with side effects", async () => {
  const { sandbox, server } = await start(() => allowed)
  await mutating(sandbox, webhook(server, "/one"))
  await sendFor(sandbox, 201, "POST", `${configMaps}?dryRun=All`, configMap("a"))
  expect(server.reviews[0]?.request).toMatchObject({ dryRun: true, options: { dryRun: ["All"] } })
  // The API refuses such a webhook today; older servers have stored some.
  sandbox.put("admissionregistration.k8s.io/v1.ValidatingWebhookConfiguration", {
    ...configuration("old", webhook(server, "/old", { sideEffects: "Some" })),
  })
  const refused = await send(sandbox, "POST", `${configMaps}?dryRun=All`, configMap("a"))
  expect([refused.status, bodyOf(refused).reason]).toEqual([400, "BadRequest"])
  expect(server.seen).not.toContainEqual(expect.stringContaining("/old"))
  await sendFor(sandbox, 201, "POST", configMaps, configMap("a"))
  expect(server.seen).toContainEqual(expect.stringContaining("/old"))
})

test("namespaces are selected by their labels, and themselves by those that they are written with", async () => {
  const { sandbox, server } = await start(() => allowed)
  const rules = [
    { apiGroups: [""], apiVersions: ["v1"], resources: ["namespaces", "configmaps", "nodes"], operations: ["*"] },
  ]
  await mutating(sandbox, webhook(server, "/x", { rules, namespaceSelector: { matchLabels: { team: "a" } } }))
  const namespace = (name: string, team: string) => ({ metadata: { name, labels: { team } } })
  for (const [name, team] of [
    ["ours", "a"],
    ["theirs", "b"],
  ] as const) {
    await sendFor(sandbox, 201, "POST", "/api/v1/namespaces", namespace(name, team))
    await sendFor(sandbox, 201, "POST", `/api/v1/namespaces/${name}/configmaps`, configMap("c"))
  }
  await sendFor(sandbox, 201, "POST", "/api/v1/nodes", { metadata: { name: "n" } })
  await sendFor(sandbox, 200, "DELETE", "/api/v1/namespaces/theirs")
  await sendFor(sandbox, 200, "DELETE", "/api/v1/namespaces/ours")
  expect(
    server.reviews.map(({ request: { operation, resource, namespace: at, name } }) => [
      operation,
      resource.resource,
      at,
      name,
    ]),
  ).toEqual([
    ["CREATE", "namespaces", "ours", "ours"],
    ["CREATE", "configmaps", "ours", "c"],
    ["CREATE", "nodes", undefined, "n"],
    ["DELETE", "namespaces", "ours", "ours"],
  ])
})

test.each([
  [{ resources: ["pods"] }, ["pods"]],
  [{ resources: ["services"] }, []],
  [{ resources: ["*"] }, ["pods"]],
  [{ resources: ["pods/*"] }, ["pods", "pods/status"]],
  [{ resources: ["*/*"] }, ["pods", "pods/status"]],
  [{ resources: ["*/status"] }, ["pods/status"]],
  [{ resources: ["pods/status"], operations: ["CREATE", "DELETE"] }, []],
  [{ resources: ["*/*"], apiGroups: ["apps"] }, []],
  [{ resources: ["*/*"], apiVersions: ["v2"] }, []],
  [{ resources: ["*/*"], scope: "Cluster" }, []],
  [{ resources: ["*/*"], scope: "Namespaced" }, ["pods", "pods/status"]],
])("a rule of %j is for updates of %j", async (rule, expected) => {
  const { sandbox, server } = await start(() => allowed)
  await sendFor(sandbox, 201, "POST", pods, pod("p"))
  const rules = [{ apiGroups: [""], apiVersions: ["v1"], operations: ["UPDATE"], ...rule }]
  await mutating(sandbox, webhook(server, "/x", { rules }))
  await sendFor(sandbox, 200, "PATCH", `${pods}/p`, { metadata: { labels: { a: "b" } } }, mergePatch)
  await sendFor(sandbox, 200, "PATCH", `${pods}/p/status`, { status: { message: "m" } }, mergePatch)
  const asked = server.seen.map((line) => line.split(" ")[2])
  expect(asked).toEqual(expected)
})

test("an object that either state selects is selected", async () => {
  const { sandbox, server } = await start(() => allowed)
  await mutating(
    sandbox,
    webhook(server, "/x", { objectSelector: { matchExpressions: [{ key: "on", operator: "Exists" }] } }),
  )
  await sendFor(sandbox, 201, "POST", configMaps, configMap("a"))
  const relabel = (labels: object) =>
    sendFor(sandbox, 200, "PATCH", `${configMaps}/a`, { metadata: { labels } }, mergePatch)
  await relabel({ other: "yes" })
  expect(server.reviews).toHaveLength(0)
  await relabel({ on: "yes" })
  await relabel({ on: null })
  await relabel({ other: "no" })
  expect(server.reviews).toHaveLength(2)
})

test("configurations of webhooks can always be repaired, and what bypasses the API bypasses webhooks", async () => {
  const { sandbox, server } = await start(() => denial())
  const rules = [{ apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"], operations: ["*"] }]
  await mutating(sandbox, webhook(server, "/no", { rules }))
  await validating(sandbox, webhook(server, "/no", { rules }))
  expect((await send(sandbox, "POST", configMaps, configMap("a"))).status).toBe(400)
  sandbox.put("v1.ConfigMap", { metadata: { name: "a", namespace: "default" } })
  sandbox.delete("v1.ConfigMap", "default", "a")
  await sendFor(
    sandbox,
    200,
    "PATCH",
    `${mutatingConfigurations}/one`,
    { metadata: { labels: { a: "b" } } },
    mergePatch,
  )
  await sendFor(sandbox, 200, "DELETE", `${mutatingConfigurations}/one`)
  await sendFor(sandbox, 200, "DELETE", `${validatingConfigurations}/one`)
  await sendFor(sandbox, 201, "POST", configMaps, configMap("a"))
})

test("the calls of one server share connections", async () => {
  const { sandbox, server } = await start(() => allowed)
  await mutating(sandbox, webhook(server, "/one"), webhook(server, "/two"))
  for (let index = 0; index < 5; index++) await sendFor(sandbox, 201, "POST", configMaps, configMap(`c${index}`))
  expect(server.reviews).toHaveLength(10)
  expect(server.connections).toBe(1)
})
