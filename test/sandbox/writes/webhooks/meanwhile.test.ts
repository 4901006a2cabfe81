/** What other writers do while webhooks are asked, and the writers inside the sandbox's own process. */

import { expect, test } from "vitest"
import { LocalCluster, type Sandbox } from "../../../../src/library/sandbox.ts"
import { eventually } from "../../../harness/eventually.ts"
import { ManualClock } from "../../../runtime/manual-clock.ts"
import { bodyOf, configMaps, deployment, mergePatch, pods, send, sendFor } from "../write-client.ts"
import {
  configuration,
  mutatingConfigurations,
  patching,
  type ReviewAnswer,
  validatingConfigurations,
  WebhookServer,
  webhook,
} from "./webhook-server.ts"
import { configMap, start } from "./with-webhooks.ts"

const allowed: ReviewAnswer = { allowed: true }

/** A webhook whose first answer waits. */
const held = () => {
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let isFirst = true
  const answer = async (): Promise<ReviewAnswer> => {
    if (isFirst) {
      isFirst = false
      await released
    }
    return patching({ op: "add", path: "/metadata/labels", value: { asked: "yes" } })
  }
  return { answer, release }
}

const setUp = async () => {
  const { answer, release } = held()
  const { sandbox, server } = await start(answer)
  await sendFor(sandbox, 201, "POST", configMaps, configMap("a"))
  await sendFor(sandbox, 201, "POST", mutatingConfigurations, configuration("one", webhook(server, "/hold")))
  const asked = () => eventually(() => expect(server.reviews).toHaveLength(1))
  /** Writes as someone whom no webhook is asked about. */
  const interfere = (data: object): void => {
    sandbox.put("v1.ConfigMap", { metadata: { name: "a", namespace: "default" }, data })
  }
  return { sandbox, server, release, asked, interfere }
}

test("a patch is applied to the state of its end, about which webhooks are asked again", async () => {
  const { sandbox, server, release, asked, interfere } = await setUp()
  const patch = sendFor(sandbox, 200, "PATCH", `${configMaps}/a`, { data: { patched: "yes" } }, mergePatch)
  await asked()
  interfere({ k: "other" })
  release()
  expect(await patch).toMatchObject({
    data: { k: "other", patched: "yes" },
    metadata: { labels: { asked: "yes" } },
  })
  expect(server.reviews.map(({ request }) => request.oldObject?.data)).toEqual([{ k: "v" }, { k: "other" }])
})

test("a replacement of a state that is gone meanwhile gets a conflict", async () => {
  const { sandbox, release, asked, interfere } = await setUp()
  const { metadata } = await sendFor(sandbox, 200, "GET", `${configMaps}/a`)
  const body = { metadata: { name: "a", resourceVersion: metadata.resourceVersion }, data: { mine: "yes" } }
  const put = send(sandbox, "PUT", `${configMaps}/a`, body)
  await asked()
  interfere({ k: "other" })
  release()
  expect(bodyOf(await put)).toMatchObject({ code: 409, reason: "Conflict" })
  expect(sandbox.get("v1.ConfigMap", "default", "a")).toMatchObject({ data: { k: "other" } })
})

test("a creation finds that the name is taken meanwhile, or the namespace gone", async () => {
  const { sandbox, release, asked } = await setUp()
  const created = send(sandbox, "POST", configMaps, configMap("b"))
  await asked()
  sandbox.put("v1.ConfigMap", { metadata: { name: "b", namespace: "default" } })
  release()
  expect(bodyOf(await created)).toMatchObject({ code: 409, reason: "AlreadyExists" })
  const elsewhere = await setUp()
  await sendFor(elsewhere.sandbox, 201, "POST", "/api/v1/namespaces", { metadata: { name: "brief" } })
  const late = send(elsewhere.sandbox, "POST", "/api/v1/namespaces/brief/configmaps", configMap("b"))
  await elsewhere.asked()
  elsewhere.sandbox.delete("v1.Namespace", "", "brief")
  elsewhere.release()
  expect((await late).status).toBe(404)
})

test("a patch that is overtaken again and again ends with the server's time limit", async () => {
  const clock = new ManualClock()
  const { sandbox, server } = await start(
    () => {
      sandbox.put("v1.ConfigMap", { metadata: { name: "a", namespace: "default" }, data: { n: String(asked++) } })
      clock.advance(20_000)
      return allowed
    },
    { clock },
  )
  let asked = 0
  await sendFor(sandbox, 201, "POST", configMaps, configMap("a"))
  const slow = webhook(server, "/slow", { timeoutSeconds: 30 })
  await sendFor(sandbox, 201, "POST", mutatingConfigurations, configuration("one", slow))
  const late = await send(sandbox, "PATCH", `${configMaps}/a`, { data: { p: "1" } }, mergePatch)
  expect(bodyOf(late)).toMatchObject({ code: 504, reason: "Timeout" })
  expect(asked).toBe(4)
})

test("writes of an object that webhooks are not asked about do not wait for one that they are", async () => {
  const { sandbox, release, asked } = await setUp()
  const patch = sendFor(sandbox, 200, "PATCH", `${configMaps}/a`, { data: { patched: "yes" } }, mergePatch)
  await asked()
  await sendFor(sandbox, 201, "POST", "/api/v1/namespaces/default/secrets", { metadata: { name: "s" } })
  release()
  await patch
})

test("many writes at once are each asked about, and each stored once", async () => {
  const { sandbox, server } = await start(() => patching({ op: "add", path: "/data/hook", value: "h" }))
  await sendFor(sandbox, 201, "POST", mutatingConfigurations, configuration("one", webhook(server, "/add")))
  const names = Array.from({ length: 40 }, (_, index) => `c${index}`)
  const before = BigInt(sandbox.resourceVersion)
  await Promise.all(names.map((name) => sendFor(sandbox, 201, "POST", configMaps, configMap(name))))
  expect(BigInt(sandbox.resourceVersion) - before).toBe(40n)
  expect(server.reviews).toHaveLength(40)
  const stored = names.map((name) => sandbox.get("v1.ConfigMap", "default", name))
  expect(stored.every((object) => JSON.stringify(object).includes('"hook":"h"'))).toBe(true)
})

test("a request from inside the process is answered by a promise if a webhook is asked, and otherwise at once", async () => {
  const { sandbox, server } = await start(() => ({ allowed: true, warnings: ["careful"] }))
  await sendFor(sandbox, 201, "POST", mutatingConfigurations, configuration("one", webhook(server, "/warn")))
  const asked = sandbox.request({ method: "POST", path: configMaps, body: configMap("a") })
  expect(asked).toBeInstanceOf(Promise)
  expect(await asked).toMatchObject({ status: 201, warnings: ["careful"] })
  expect(sandbox.request({ method: "DELETE", path: "/api/v1/nodes/none" })).toMatchObject({ status: 404 })
})

test("controllers and the client of a local cluster go through webhooks", async () => {
  await using cluster = await LocalCluster.start({ nodes: 1 })
  await using server = await WebhookServer.start(() =>
    patching({ op: "add", path: "/metadata/labels/hooked", value: "yes" }),
  )
  const rules = [{ apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE"] }]
  await sendFor(
    cluster.sandbox,
    201,
    "POST",
    mutatingConfigurations,
    configuration("one", webhook(server, "/pods", { rules })),
  )
  const resource = {
    gvk: { group: "apps", version: "v1", kind: "Deployment" },
    plural: "deployments",
    namespaced: true,
  }
  await cluster.client.create(resource, {
    ...deployment("web", 2),
    metadata: { name: "web", namespace: "default" },
  })
  const made = async () => (await sendFor(cluster.sandbox, 200, "GET", `${pods}?labelSelector=hooked`)).items
  await eventually(async () => expect(await made()).toHaveLength(2))
})

/** Garbage collection and the end of a namespace, as the real controllers do it: by requests. */
const deletions = (sandbox: Sandbox, ...webhooks: ReadonlyArray<object>) =>
  sendFor(sandbox, 201, "POST", validatingConfigurations, configuration("one", ...webhooks))

test("garbage collection asks, and tries again later what is refused", async () => {
  let refusals = 1
  const troubles: string[] = []
  const { sandbox, server } = await start(
    () => (refusals-- > 0 ? { allowed: false, status: { message: "not yet" } } : allowed),
    { lifecycle: true, onTrouble: (detail) => troubles.push(detail) },
  )
  const owner = await sendFor(sandbox, 201, "POST", configMaps, configMap("owner"))
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: owner.metadata.uid }]
  const secrets = "/api/v1/namespaces/default/secrets"
  await sendFor(sandbox, 201, "POST", secrets, { metadata: { name: "owned", ownerReferences } })
  const rules = [{ apiGroups: [""], apiVersions: ["v1"], resources: ["secrets"], operations: ["DELETE"] }]
  await deletions(sandbox, webhook(server, "/gc", { rules }))
  await sendFor(sandbox, 200, "DELETE", `${configMaps}/owner`)
  await eventually(() => expect(sandbox.get("v1.Secret", "default", "owned")).toBeUndefined())
  expect(server.seen).toEqual(["/gc DELETE secrets owned", "/gc DELETE secrets owned"])
  expect(troubles).toEqual([expect.stringContaining("not yet")])
})

test("a namespace is emptied as webhooks allow it, and one refusal keeps nothing else", async () => {
  let refused = false
  const { sandbox, server } = await start(
    (_path, { oldObject }) => {
      if (refused || oldObject?.metadata.name !== "a") return allowed
      refused = true
      return { allowed: false }
    },
    { lifecycle: true, onTrouble: () => undefined },
  )
  await sendFor(sandbox, 201, "POST", "/api/v1/namespaces", { metadata: { name: "brief" } })
  for (const name of ["a", "b"])
    await sendFor(sandbox, 201, "POST", "/api/v1/namespaces/brief/secrets", { metadata: { name } })
  const rules = [{ apiGroups: [""], apiVersions: ["v1"], resources: ["secrets"], operations: ["DELETE"] }]
  await deletions(sandbox, webhook(server, "/end", { rules }))
  await sendFor(sandbox, 200, "DELETE", "/api/v1/namespaces/brief")
  await eventually(() => expect(sandbox.get("v1.Namespace", "", "brief")).toBeUndefined())
  const names = server.reviews.map(({ request }) => request.oldObject?.metadata.name)
  expect(names).toEqual(["a", "b", "a"])
})
