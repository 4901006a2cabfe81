/** A webhook over its whole life, in a cluster in this process. */

import { afterEach, beforeEach, expect, test } from "vitest"
import { systemClock } from "../../../src/clock.ts"
import { clientConfigOf } from "../../../src/host/index.ts"
import { ApiClient, type ApiObject, ForbiddenError, kinds, type OwnerReference } from "../../../src/kube/index.ts"
import { LocalCluster } from "../../../src/sandbox/index.ts"
import { ownMetadata } from "../../../src/simulation/objects/target-object.ts"
import { PodWebhook, registration, webhookConfigurations } from "../../../src/simulation/webhook/pod-webhook.ts"

let cluster: LocalCluster
beforeEach(async () => {
  cluster = await LocalCluster.start({ nodes: 1 })
})
afterEach(() => cluster.close())

const newRoot = async (): Promise<OwnerReference> => {
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "root" } }
  const { metadata } = await cluster.client.create<ApiObject>(kinds.namespaces, namespace)
  return { apiVersion: "v1", kind: "Namespace", name: "root", uid: metadata.uid ?? "" }
}

test("every pod is reviewed until the webhook is closed, which leaves nothing behind", async () => {
  const { client } = cluster
  const created = await client.create<ApiObject>(kinds.namespaces, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "root", labels: { "kubereel.dev/replay": "test" } },
  })
  const root = { apiVersion: "v1", kind: "Namespace", name: "root", uid: created.metadata.uid ?? "" }
  const own = { replay: "test", root }
  await client.create<ApiObject>(kinds.namespaces, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "virtual-shop", ...ownMetadata(own) },
  })
  const problems: string[] = []
  const webhook = await PodWebhook.start({
    client,
    clock: systemClock,
    own,
    address: { host: "127.0.0.1", listen: { address: "127.0.0.1", port: 0 } },
    review: async () => [{ op: "add", path: "/metadata/labels", value: { reviewed: "yes" } }],
    onProblem: (problem) => problems.push(problem),
  })
  let pods = 0
  const isReviewed = async (): Promise<boolean> => {
    const metadata = { name: `p${pods++}`, namespace: "virtual-shop" }
    const spec = { containers: [{ name: "main", image: "main" }] }
    const pod = await client.create<ApiObject>(kinds.pods, { apiVersion: "v1", kind: "Pod", metadata, spec })
    return pod.metadata.labels?.reviewed === "yes"
  }
  try {
    expect(await isReviewed()).toBe(true)
  } finally {
    await webhook.close()
  }
  expect(problems).toEqual([])
  expect(await isReviewed()).toBe(false)
  expect((await client.list(webhookConfigurations)).items).toEqual([])
})

test("that may not be registered leaves nothing behind", async () => {
  cluster.sandbox.faults.respond("mutatingwebhookconfigurations", 403, { verb: "create", times: 1 })
  const problems: string[] = []
  const root = { apiVersion: "v1", kind: "Namespace", name: "root", uid: "u" }
  const client = new ApiClient({ server: cluster.sandbox.endpoint, userAgent: "kubereel-test" })
  const starting = PodWebhook.start({
    client,
    clock: systemClock,
    own: { replay: "test", root },
    address: { host: "127.0.0.1", listen: { address: "127.0.0.1", port: 0 } },
    review: async () => [],
    onProblem: (problem) => problems.push(problem),
  })
  await expect(starting).rejects.toBeInstanceOf(ForbiddenError)
  expect(problems).toEqual([])
  expect((await cluster.client.list(webhookConfigurations)).items).toEqual([])
  client.close()
})

test("does not wait for an API server that never calls it once the replay is over, and leaves nothing behind", async () => {
  const { sandbox } = cluster
  const root = await newRoot()
  const client = new ApiClient({ server: sandbox.endpoint, userAgent: "kubereel-test" })
  const registered = async (): Promise<number> => (await cluster.client.list(webhookConfigurations)).items.length
  const start = (signal: AbortSignal): Promise<PodWebhook> =>
    PodWebhook.start({
      client,
      // Its time stands still, so that no limit ends the wait.
      clock: { ...systemClock, monotonicMs: () => 0 },
      own: { replay: "test", root },
      address: { host: "127.0.0.1", listen: { address: "127.0.0.1", port: 0 } },
      review: async () => [],
      onProblem: () => undefined,
      signal,
    })
  // Refused, and then without a response.
  for (const fault of ["refuse", "black hole"]) {
    if (fault === "refuse") sandbox.faults.respond("pods", 403, { verb: "create" })
    else sandbox.faults.blackHole("pods")
    const ending = new AbortController()
    const starting = start(ending.signal)
    starting.catch(() => undefined)
    await expect.poll(registered).toBe(1)
    ending.abort()
    await expect(starting).rejects.toThrow()
    expect(await registered()).toBe(0)
  }
  client.close()
})

test("has a URL that cannot be guessed, and tells why the API server has not called it", async () => {
  const { sandbox } = cluster
  const root = await newRoot()
  const client = new ApiClient({ server: sandbox.endpoint, userAgent: "kubereel-test" })
  sandbox.faults.respond("pods", 403, { verb: "create" })
  const paths: string[] = []
  for (let run = 0; run < 2; run++) {
    let nowMs = 0
    const looked = async (): Promise<void> => {
      // Time passes only between two looks.
      nowMs += 1000
      const { webhooks } = await client.get(webhookConfigurations, { name: "kubereel-replay-test" })
      const [{ clientConfig }] = webhooks as [{ clientConfig: { url: string } }]
      paths.push(new URL(clientConfig.url).pathname)
    }
    const starting = PodWebhook.start({
      client,
      clock: {
        ...systemClock,
        monotonicMs: () => nowMs,
        after: (_, action) => systemClock.after(0, () => void looked().then(action)),
      },
      own: { replay: "test", root },
      address: { host: "127.0.0.1", listen: { address: "127.0.0.1", port: 0 } },
      review: async () => [],
      onProblem: () => undefined,
    })
    await expect(starting).rejects.toThrow("within 5 s (the last trial creation of a pod was refused: ")
  }
  client.close()
  expect(paths).toHaveLength(10)
  expect(new Set(paths).size).toBe(2)
  for (const path of paths) expect(path).toMatch(/^\/mutate\/[0-9a-f]{32}$/)
})

test("in the target's own cluster is reached through a Service", async () => {
  // One that does not exist would have the registration collected.
  const root = await newRoot()
  const service = { namespace: "replays", name: "driver", port: 443 }
  const { client } = cluster
  const clientConfig = clientConfigOf(
    { host: "", listen: { address: "::", port: 1 }, service },
    1,
    "/mutate",
    "authority",
  )
  await client.create(webhookConfigurations, registration({ replay: "test", root }, clientConfig))
  const caBundle = Buffer.from("authority").toString("base64")
  expect(await client.get(webhookConfigurations, { name: "kubereel-replay-test" })).toMatchObject({
    webhooks: [{ clientConfig: { service: { ...service, path: "/mutate" }, caBundle } }],
  })
})
