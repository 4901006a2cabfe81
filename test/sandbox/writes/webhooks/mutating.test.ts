/** Mutating admission webhooks: what they change, in which order, and what follows from it. */

import { expect, test } from "vitest"
import type { Sandbox } from "../../../../src/library/sandbox.ts"
import {
  applyPatch,
  bodyOf,
  configMaps,
  deployment,
  deployments,
  jsonPatch,
  mergePatch,
  pod,
  pods,
  send,
  sendFor,
} from "../write-client.ts"
import { configuration, mutatingConfigurations, patching, type ReviewAnswer, webhook } from "./webhook-server.ts"
import { configMap, start } from "./with-webhooks.ts"

const labelled = (key: string): ReviewAnswer =>
  patching({ op: "add", path: "/metadata/labels", value: { [key]: "yes" } })
const register = (sandbox: Sandbox, name: string, ...webhooks: ReadonlyArray<object>) =>
  sendFor(sandbox, 201, "POST", mutatingConfigurations, configuration(name, ...webhooks))

test("a webhook sees a creation as the client and the defaults made it, and what it changes is stored", async () => {
  const { sandbox, server } = await start(() => labelled("seen"))
  await register(sandbox, "one", webhook(server, "/label"))
  const made = await sendFor(sandbox, 201, "POST", `${configMaps}?fieldManager=me`, configMap("a"))
  expect(made.metadata).toMatchObject({ name: "a", labels: { seen: "yes" } })
  expect(await sendFor(sandbox, 200, "GET", `${configMaps}/a`)).toEqual(made)
  const [review] = server.reviews
  expect(server.reviews).toHaveLength(1)
  expect(review?.path).toBe("/label?timeout=10s")
  expect(review?.request).toEqual({
    uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
    kind: { group: "", version: "v1", kind: "ConfigMap" },
    resource: { group: "", version: "v1", resource: "configmaps" },
    requestKind: { group: "", version: "v1", kind: "ConfigMap" },
    requestResource: { group: "", version: "v1", resource: "configmaps" },
    name: "a",
    namespace: "default",
    operation: "CREATE",
    userInfo: { username: "sandbox", uid: "sandbox", groups: ["system:masters", "system:authenticated"] },
    object: {
      kind: "ConfigMap",
      apiVersion: "v1",
      metadata: { name: "a", namespace: "default", managedFields: [expect.objectContaining({ manager: "me" })] },
      data: { k: "v" },
    },
    oldObject: null,
    dryRun: false,
    options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1", fieldManager: "me" },
  })
})

test("without a matching webhook nothing is called", async () => {
  const { sandbox, server } = await start(() => labelled("seen"))
  await register(sandbox, "one", webhook(server, "/label", { objectSelector: { matchLabels: { a: "b" } } }))
  const made = await sendFor(sandbox, 201, "POST", configMaps, configMap("a"))
  expect(made.metadata).not.toHaveProperty("labels")
  expect(server.seen).toEqual([])
})

test("what a webhook changes gets its defaults, is validated, and belongs to no field manager", async () => {
  const container = { name: "added", image: "y" }
  const { sandbox, server } = await start((path) =>
    path === "/good"
      ? patching({ op: "add", path: "/spec/containers/-", value: container }, { op: "add", path: "/unknown", value: 1 })
      : patching({ op: "replace", path: "/spec/restartPolicy", value: "Sometimes" }),
  )
  const rules = [{ apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE"] }]
  await register(sandbox, "one", webhook(server, "/good", { rules }))
  const made = await sendFor(sandbox, 201, "POST", pods, pod("a"))
  expect(made).not.toHaveProperty("unknown")
  expect(made.spec.containers).toEqual([
    expect.objectContaining({ name: "c" }),
    expect.objectContaining({ ...container, imagePullPolicy: "Always", terminationMessagePolicy: "File" }),
  ])
  expect(JSON.stringify(made.metadata.managedFields)).not.toContain("added")
  await register(sandbox, "two", webhook(server, "/bad", { rules }))
  const refused = await send(sandbox, "POST", pods, pod("b"))
  expect([refused.status, bodyOf(refused).reason]).toEqual([422, "Invalid"])
  expect(refused.text).toContain("spec.restartPolicy")
})

test("updates, patches and applies are asked about with the state before and the state after", async () => {
  const { sandbox, server } = await start((_path, { operation }) => labelled(operation.toLowerCase()))
  await sendFor(sandbox, 201, "POST", configMaps, configMap("a"))
  await register(sandbox, "one", webhook(server, "/label"))
  const path = `${configMaps}/a`
  await sendFor(sandbox, 200, "PUT", path, configMap("a", { data: { k: "put" } }))
  await sendFor(sandbox, 200, "PATCH", path, { data: { k: "merge" } }, mergePatch)
  await sendFor(sandbox, 200, "PATCH", path, [{ op: "add", path: "/data/k", value: "json" }], jsonPatch)
  const applied = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { k: "applied" } }
  const last = await sendFor(sandbox, 200, "PATCH", `${path}?fieldManager=me&force=true`, applied, applyPatch)
  expect(last).toMatchObject({ metadata: { labels: { update: "yes" } }, data: { k: "applied" } })
  const shown = server.reviews.map(({ request: { operation, oldObject, object } }) =>
    [operation, oldObject?.data?.k, object?.data?.k].join(" "),
  )
  expect(shown).toEqual(["UPDATE v put", "UPDATE put merge", "UPDATE merge json", "UPDATE json applied"])
  const born = { ...applied, metadata: { name: "b" } }
  await sendFor(sandbox, 201, "PATCH", `${configMaps}/b?fieldManager=me`, born, applyPatch)
  expect(server.reviews.at(-1)?.request).toMatchObject({
    operation: "CREATE",
    options: { kind: "CreateOptions", fieldManager: "me" },
  })
})

test("a patch may come as a list of bytes", async () => {
  const { sandbox, server } = await start(() => {
    const patch = [...Buffer.from('[{"op":"add","path":"/data/by","value":"bytes"}]')]
    return { allowed: true, patchType: "JSONPatch", patch }
  })
  await register(sandbox, "one", webhook(server, "/bytes"))
  expect((await sendFor(sandbox, 201, "POST", configMaps, configMap("a"))).data).toEqual({ k: "v", by: "bytes" })
})

test("webhooks are called by the names of their configurations, then in their order there, each about the result so far", async () => {
  const { sandbox, server } = await start((path) =>
    patching({ op: "add", path: `/data/${path.slice(1)}`, value: "called" }),
  )
  await register(sandbox, "b", webhook(server, "/third"))
  await register(sandbox, "a", webhook(server, "/second"), webhook(server, "/first"))
  const { data } = await sendFor(sandbox, 201, "POST", configMaps, configMap("x"))
  expect(Object.keys(data).sort()).toEqual(["first", "k", "second", "third"])
  expect(server.reviews.map(({ request }) => Object.keys(request.object?.data ?? {}).length)).toEqual([1, 2, 3])
  expect(server.seen.map((line) => line.split(" ")[0])).toEqual(["/second", "/first", "/third"])
})

test("a webhook that allows it is called once more when a later one has changed the object", async () => {
  const { sandbox, server } = await start((path, { object }) =>
    path === "/changes" && object?.data?.changed === undefined
      ? patching({ op: "add", path: "/data/changed", value: "yes" })
      : { allowed: true },
  )
  await register(
    sandbox,
    "one",
    webhook(server, "/again", { reinvocationPolicy: "IfNeeded" }),
    webhook(server, "/never"),
    webhook(server, "/changes", { reinvocationPolicy: "IfNeeded" }),
  )
  await sendFor(sandbox, 201, "POST", configMaps, configMap("a"))
  const called = () => server.seen.map((line) => line.split(" ")[0])
  expect(called()).toEqual(["/again", "/never", "/changes", "/again"])
  server.reviews.length = 0
  await sendFor(sandbox, 201, "POST", configMaps, configMap("b", { data: { changed: "before" } }))
  expect(called()).toEqual(["/again", "/never", "/changes"])
})

test("built-in admission follows once more after a change", async () => {
  const { sandbox, server } = await start(() => patching({ op: "remove", path: "/spec/tolerations" }))
  const rules = [{ apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE"] }]
  await register(sandbox, "one", webhook(server, "/strip", { rules }))
  const { spec } = await sendFor(sandbox, 201, "POST", pods, pod("a"))
  expect(spec.tolerations).toHaveLength(2)
})

test("an equivalent kind is shown as the one that the rules name, and changed as such", async () => {
  const { sandbox, server } = await start(() =>
    patching({ op: "replace", path: "/spec/metrics/0/resource/target/averageUtilization", value: 70 }),
  )
  const rules = [
    {
      apiGroups: ["autoscaling"],
      apiVersions: ["v2"],
      resources: ["horizontalpodautoscalers"],
      operations: ["CREATE"],
    },
  ]
  await register(
    sandbox,
    "one",
    webhook(server, "/equivalent", { rules }),
    webhook(server, "/exact", { rules, matchPolicy: "Exact" }),
  )
  const made = await sendFor(sandbox, 201, "POST", "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers", {
    metadata: { name: "h" },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
      maxReplicas: 3,
      targetCPUUtilizationPercentage: 50,
    },
  })
  expect(made).toMatchObject({ apiVersion: "autoscaling/v1", spec: { targetCPUUtilizationPercentage: 70 } })
  expect(server.reviews).toHaveLength(1)
  expect(server.reviews[0]).toMatchObject({
    path: "/equivalent?timeout=10s",
    request: {
      kind: { version: "v2" },
      requestKind: { version: "v1" },
      resource: { version: "v2" },
      requestResource: { version: "v1" },
      object: { apiVersion: "autoscaling/v2" },
    },
  })
})

test("a generated name is not known to mutating webhooks", async () => {
  const { sandbox, server } = await start(() => labelled("seen"))
  await register(sandbox, "one", webhook(server, "/label"))
  const made = await sendFor(sandbox, 201, "POST", configMaps, { metadata: { generateName: "c-" } })
  expect(made.metadata.name).toMatch(/^c-.{5}$/)
  expect(server.reviews).toHaveLength(1)
  expect(server.reviews[0]?.request).not.toHaveProperty("name")
  expect(server.reviews[0]?.request.object?.metadata).not.toHaveProperty("uid")
})

test("the owner of a field is who wrote it, also when a webhook was asked about the update", async () => {
  const { sandbox, server } = await start(() => patching({ op: "add", path: "/data/hook", value: "h" }))
  await sendFor(sandbox, 201, "POST", configMaps, configMap("a"), { userAgent: "first/1" })
  await register(sandbox, "one", webhook(server, "/add"))
  const after = await sendFor(
    sandbox,
    200,
    "PATCH",
    `${configMaps}/a`,
    { data: { mine: "m" } },
    {
      ...mergePatch,
      userAgent: "second/1",
    },
  )
  expect(after.data).toEqual({ k: "v", mine: "m", hook: "h" })
  const entries = after.metadata.managedFields as ReadonlyArray<{ manager: string; fieldsV1: object }>
  expect(entries.map(({ manager, fieldsV1 }) => [manager, JSON.stringify(fieldsV1)])).toEqual([
    ["first", '{"f:data":{".":{},"f:k":{}}}'],
    ["second", '{"f:data":{"f:mine":{}}}'],
  ])
})

test("a webhook that moves the object elsewhere is refused", async () => {
  const { sandbox, server } = await start(() =>
    patching({ op: "replace", path: "/metadata/namespace", value: "other" }),
  )
  await register(sandbox, "one", webhook(server, "/move"))
  expect((await send(sandbox, "POST", configMaps, configMap("a"))).status).toBe(400)
})

test.each([
  ["not applicable", patching({ op: "remove", path: "/data/absent" })],
  ["of another kind", patching({ op: "replace", path: "/kind", value: "Secret" })],
  ["that leaves no object", patching({ op: "replace", path: "", value: [] })],
  ["that makes a field of the wrong type", patching({ op: "replace", path: "/data", value: 7 })],
])("a patch that is %s is an internal error even if failures are ignored", async (_what, answer) => {
  const { sandbox, server } = await start(() => answer)
  await register(sandbox, "one", webhook(server, "/broken", { failurePolicy: "Ignore" }))
  const refused = await send(sandbox, "POST", configMaps, configMap("a"))
  expect([refused.status, bodyOf(refused).reason]).toEqual([500, "InternalError"])
  expect((await send(sandbox, "GET", `${configMaps}/a`)).status).toBe(404)
})

test("a kind that several subresources belong to: status, scale, binding, eviction", async () => {
  const { sandbox, server } = await start(() => ({ allowed: true }))
  await sendFor(sandbox, 201, "POST", pods, pod("a"))
  await sendFor(sandbox, 201, "POST", deployments, deployment("d", 1))
  const rules = [{ apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"], operations: ["*"] }]
  await register(sandbox, "one", webhook(server, "/all", { rules }))
  await sendFor(sandbox, 200, "PATCH", `${pods}/a/status`, { status: { message: "m" } }, mergePatch)
  await sendFor(sandbox, 200, "PATCH", `${deployments}/d/scale`, { spec: { replicas: 3 } }, mergePatch)
  await sendFor(sandbox, 201, "POST", `${pods}/a/binding`, { metadata: { name: "a" }, target: { name: "n" } })
  await sendFor(sandbox, 201, "POST", `${pods}/a/eviction`, { metadata: { name: "a" } })
  expect(server.seen).toEqual([
    "/all UPDATE pods/status a",
    "/all UPDATE deployments/scale d",
    "/all CREATE pods/binding a",
    "/all CREATE pods/eviction a",
  ])
  expect(server.reviews.map(({ request }) => [request.kind.kind, request.oldObject?.kind])).toEqual([
    ["Pod", "Pod"],
    ["Scale", "Scale"],
    ["Binding", undefined],
    ["Eviction", undefined],
  ])
  expect(server.reviews[1]?.request).toMatchObject({
    object: { kind: "Scale", spec: { replicas: 3 } },
    oldObject: { kind: "Scale", spec: { replicas: 1 } },
  })
})

test("a Scale that a webhook changes sets what it was changed to, also when it was applied", async () => {
  const { sandbox, server } = await start(() => patching({ op: "replace", path: "/spec/replicas", value: 5 }))
  await sendFor(sandbox, 201, "POST", deployments, deployment("d", 1))
  const rules = [{ apiGroups: ["apps"], apiVersions: ["v1"], resources: ["deployments/scale"], operations: ["UPDATE"] }]
  await register(sandbox, "one", webhook(server, "/scale", { rules }))
  const replicas = async () => (await sendFor(sandbox, 200, "GET", `${deployments}/d`)).spec.replicas
  await sendFor(sandbox, 200, "PATCH", `${deployments}/d/scale`, { spec: { replicas: 3 } }, mergePatch)
  expect(await replicas()).toBe(5)
  const scale = { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "d" }, spec: { replicas: 4 } }
  await sendFor(sandbox, 200, "PATCH", `${deployments}/d/scale?fieldManager=me&force=true`, scale, applyPatch)
  expect(await replicas()).toBe(5)
})
