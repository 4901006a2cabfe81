/** Controllers of `kubereel/host` against a real API server, garbage collector and RBAC. */

import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest"
import { parse } from "yaml"
import {
  type ApiObject,
  defineController,
  NotFoundError,
  type Pod,
  rulesOf,
  runControllers,
  setCondition,
  setControllerReference,
} from "../../../src/host/controllers.ts"
import {
  ApiClient,
  type Credentials,
  impersonating,
  type Kind,
  kinds,
  loadCredentials,
  ResourceFinder,
} from "../../../src/kube/index.ts"
import { parseGvk } from "../../../src/kube/offline.ts"
import { eventually } from "../../harness/eventually.ts"
import { patient } from "../../harness/patience.ts"
import { openTestCluster } from "../guard.ts"

const folder = fileURLToPath(new URL("../../../examples/host/typescript", import.meta.url))
const namespace = `host-${process.pid}`
const kind = (group: string, version: string, name: string, plural: string, namespaced: boolean): Kind => ({
  gvk: { group, version, kind: name },
  plural,
  namespaced,
})
const definitions = kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", false)
const clusterRoles = kind("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", false)
const clusterRoleBindings = kind("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", false)
const simplePods = kind("slinky.dev", "v1", "SimplePod", "simplepods", true)

interface SimplePod extends ApiObject {
  readonly spec: { readonly image: string }
  readonly status?: { readonly phase?: string; readonly conditions?: never }
}

let kubeconfig: string
let credentials: Credentials
let client: ApiClient
beforeAll(async () => {
  kubeconfig = (await openTestCluster()).kubeconfig
  credentials = await loadCredentials({ kubeconfig, context: undefined })
  client = new ApiClient({ server: credentials, userAgent: "kubereel-host-test" })
  await client.create(kinds.namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } })
  await client.create(definitions, parse(readFileSync(join(folder, "../simplepod-crd.yaml"), "utf8")))
})
afterAll(async () => {
  await client?.delete(definitions, { name: "simplepods.slinky.dev" })
  await client?.delete(kinds.namespaces, { name: namespace })
  client?.close()
})

const place = (name: string) => ({ namespace, name })
const create = (name: string) =>
  eventually(() =>
    client.create<SimplePod>(simplePods, {
      apiVersion: "slinky.dev/v1",
      kind: "SimplePod",
      metadata: place(name),
      spec: { image: "nginx:1" },
    }),
  )
/** The garbage collector looks for new kinds every 30 s: until then it knows no owner of them. */
const isGone = (of: Kind, name: string): Promise<void> =>
  vi.waitFor(() => expect(client.get(of, place(name))).rejects.toBeInstanceOf(NotFoundError), {
    timeout: patient(45_000),
  })

test("The example keeps a pod for each SimplePod, and the garbage collector removes it with its owner", async () => {
  const example = spawn(process.execPath, [join(folder, "simplepod.ts")], {
    env: { ...process.env, KUBECONFIG: kubeconfig },
    stdio: ["ignore", "inherit", "pipe"],
  })
  onTestFinished(() => void example.kill("SIGKILL"))
  const exited = once(example, "exit")
  let complaints = ""
  example.stderr.on("data", (text) => {
    complaints += String(text)
  })
  await create("web")
  const status = async () => (await client.get<SimplePod>(simplePods, place("web"))).status
  await eventually(async () =>
    expect(await status()).toMatchObject({ conditions: [{ type: "Ready", status: "True" }] }),
  )
  const first = await client.get<Pod>(kinds.pods, place("web"))
  await client.patch(simplePods, place("web"), "merge", { spec: { image: "nginx:2" } })
  await eventually(async () => {
    const pod = await client.get<Pod>(kinds.pods, place("web"))
    expect([pod.spec.containers[0]?.image, pod.metadata.uid === first.metadata.uid]).toEqual(["nginx:2", false])
  })
  await eventually(async () => expect(await status()).toMatchObject({ phase: "Running" }))
  await client.delete(simplePods, place("web"))
  await isGone(kinds.pods, "web")
  example.kill("SIGTERM")
  expect(await exited).toEqual([0, null])
  // Not compared: a difference is cut short, and the rest of the line is what says what happened.
  if (complaints !== "") throw new Error(`the example complained: ${complaints}`)
})

test("A controller needs no permission beyond those of rulesOf: finalizer, owned objects, status, Events, Lease", async () => {
  const cleaned: string[] = []
  const controller = defineController<SimplePod>({
    name: "host-test",
    for: "slinky.dev/v1.SimplePod",
    owns: ["v1.ConfigMap"],
    writes: ["v1.ConfigMap", "slinky.dev/v1.SimplePod/status"],
    finalizer: { name: "slinky.dev/host-test", cleanUp: ({ name }) => void cleaned.push(name) },
    reconcile: async ({ object, cluster }) => {
      if (object === undefined) return
      const data = { image: object.spec.image }
      const map = { apiVersion: "v1", kind: "ConfigMap", metadata: place(object.metadata.name), data }
      await cluster.apply(setControllerReference(object, map))
      const ready = { type: "Ready", status: "True", reason: "Made", message: "" } as const
      await cluster.patchStatus(object, { conditions: setCondition(object.status?.conditions, ready, cluster.now()) })
      cluster.event(object, "Normal", "Made", "The ConfigMap is there")
    },
  })
  const finder = new ResourceFinder(client.connection)
  const [whole, lease] = await rulesOf(
    [controller],
    async (name) => finder.find(parseGvk(name) ?? (Promise.reject(new Error(name)) as never)),
    { leaseNamespace: namespace },
  )
  // The Lease's rule goes into the same role: the test is about rules, not about scopes.
  const metadata = { name: `kubereel-${namespace}` }
  const rules = [...(whole?.rules ?? []), ...(lease?.rules ?? [])]
  const api = "rbac.authorization.k8s.io"
  await client.create(clusterRoles, { apiVersion: `${api}/v1`, kind: "ClusterRole", metadata, rules })
  await client.create(clusterRoleBindings, {
    apiVersion: `${api}/v1`,
    kind: "ClusterRoleBinding",
    metadata,
    roleRef: { apiGroup: api, kind: "ClusterRole", name: metadata.name },
    subjects: [{ apiGroup: api, kind: "User", name: metadata.name }],
  })
  onTestFinished(async () => {
    await client.delete(clusterRoleBindings, metadata)
    await client.delete(clusterRoles, metadata)
  })

  const troubles: string[] = []
  const start = (identity: string) =>
    runControllers([controller], {
      server: impersonating(credentials, { user: metadata.name, uid: undefined, groups: [], extra: [] }),
      leaderElection: {
        name: "host-test",
        namespace,
        identity,
        leaseDurationMs: 3000,
        renewDeadlineMs: 2000,
        retryPeriodMs: 200,
      },
      onTrouble: (detail) => troubles.push(detail),
    })
  const first = await start("first")
  await eventually(() => expect(first.isLeader).toBe(true))
  const second = await start("second")
  await create("limited")
  const made = async (image: string): Promise<void> => {
    await eventually(async () => {
      const { data } = await client.get(kinds.configMaps, place("limited"))
      expect(data).toEqual({ image })
    })
  }
  await made("nginx:1")
  await eventually(() => expect(second.statistics()[0]?.state).toBe("standby"))
  await first.close()
  await client.patch(simplePods, place("limited"), "merge", { spec: { image: "nginx:2" } })
  await made("nginx:2")
  expect(second.isLeader).toBe(true)
  await eventually(async () => {
    const { items } = await client.list(kinds.events, { namespace })
    expect(items).toContainEqual(expect.objectContaining({ reason: "Made", source: { component: "host-test" } }))
  })
  const { metadata: present } = await client.get(simplePods, place("limited"))
  expect(present.finalizers).toEqual(["slinky.dev/host-test"])
  await client.delete(simplePods, place("limited"))
  await isGone(simplePods, "limited")
  await isGone(kinds.configMaps, "limited")
  await second.close()
  expect(cleaned).toEqual(["limited"])
  expect(troubles).toEqual([])
})
