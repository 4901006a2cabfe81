/** The typed clients of @kubernetes/client-node, over every kind of connection. */

import {
  ApiException,
  AppsV1Api,
  AuthenticationV1Api,
  AuthorizationV1Api,
  BatchV1Api,
  CoordinationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  type KubeConfig,
  PatchStrategy,
  setHeaderOptions,
} from "@kubernetes/client-node"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { Sandbox } from "../../../src/library/sandbox.ts"
import { turn } from "../../runtime/until.ts"
import { connections } from "./connections.ts"

const namespace = "default"
const template = {
  metadata: { labels: { app: "web" } },
  spec: { containers: [{ name: "main", image: "nginx", ports: [{ containerPort: 80 }] }] },
}
const as = (strategy: PatchStrategy) => setHeaderOptions("Content-Type", strategy)
const codeOf = (error: unknown): number | undefined => (error instanceof ApiException ? error.code : undefined)

describe.each(connections)("over $name", ({ open }) => {
  let sandbox: Sandbox
  let config: KubeConfig
  beforeAll(async () => {
    ;({ sandbox, config } = await open({ lifecycle: true }))
  })
  afterAll(() => sandbox.close())

  test("core: create, read, replace, conflict, delete", async () => {
    const core = config.makeApiClient(CoreV1Api)
    const body = { metadata: { name: "settings", labels: { app: "web" } }, data: { a: "1" }, binaryData: { b: "AAE=" } }
    const created = await core.createNamespacedConfigMap({ namespace, body })
    expect(created.metadata?.creationTimestamp).toBeInstanceOf(Date)
    const read = await core.readNamespacedConfigMap({ namespace, name: "settings" })
    expect(read).toEqual(created)
    const replaced = await core.replaceNamespacedConfigMap({
      namespace,
      name: "settings",
      body: { ...read, data: { a: "2" } },
    })
    expect(replaced.data).toEqual({ a: "2" })
    const stale = core.replaceNamespacedConfigMap({ namespace, name: "settings", body: read })
    expect(codeOf(await stale.catch((error: unknown) => error))).toBe(409)
    expect(await core.deleteNamespacedConfigMap({ namespace, name: "settings" })).toMatchObject({ status: "Success" })
    const gone = await core.readNamespacedConfigMap({ namespace, name: "settings" }).catch((error: unknown) => error)
    expect(codeOf(gone)).toBe(404)
  })

  test("core: lists with selectors and continue tokens, delete collection", async () => {
    const core = config.makeApiClient(CoreV1Api)
    for (const [name, tier] of [
      ["a", "edge"],
      ["b", "edge"],
      ["c", "core"],
      ["d", "edge"],
    ] as const) {
      await core.createNamespacedSecret({
        namespace,
        body: { metadata: { name, labels: { tier } }, stringData: { k: name } },
      })
    }
    const labelSelector = "tier in (edge, none)"
    const first = await core.listNamespacedSecret({ namespace, labelSelector, limit: 2 })
    const rest = await core.listNamespacedSecret({
      namespace,
      labelSelector,
      limit: 2,
      ...(first.metadata?._continue === undefined ? {} : { _continue: first.metadata._continue }),
    })
    expect([...first.items, ...rest.items].map(({ metadata }) => metadata?.name)).toEqual(["a", "b", "d"])
    expect(rest.metadata?.resourceVersion).toBe(first.metadata?.resourceVersion)
    const one = await core.listSecretForAllNamespaces({ fieldSelector: "metadata.name=c" })
    expect(one.items.map(({ data }) => data)).toEqual([{ k: Buffer.from("c").toString("base64") }])
    await core.deleteCollectionNamespacedSecret({ namespace, labelSelector: "tier=edge" })
    const left = await core.listNamespacedSecret({ namespace, labelSelector: "tier" })
    expect(left.items.map(({ metadata }) => metadata?.name)).toEqual(["c"])
  })

  test("apps: every kind of patch, scale and status", async () => {
    const apps = config.makeApiClient(AppsV1Api)
    const spec = { replicas: 0, selector: { matchLabels: { app: "web" } }, template }
    const created = await apps.createNamespacedDeployment({ namespace, body: { metadata: { name: "web" }, spec } })
    expect(created.spec?.replicas).toBe(0)
    const target = { namespace, name: "web" }
    const operations = [{ op: "add", path: "/metadata/labels", value: { tier: "edge" } }]
    const byJson = await apps.patchNamespacedDeployment({ ...target, body: operations }, as(PatchStrategy.JsonPatch))
    expect(byJson.metadata?.labels).toEqual({ tier: "edge" })
    const merge = { metadata: { labels: { tier: null, zone: "1" } } }
    const byMerge = await apps.patchNamespacedDeployment({ ...target, body: merge }, as(PatchStrategy.MergePatch))
    expect(byMerge.metadata?.labels).toEqual({ zone: "1" })
    const sidecar = { spec: { template: { spec: { containers: [{ name: "sidecar", image: "envoy" }] } } } }
    const strategic = as(PatchStrategy.StrategicMergePatch)
    const byName = await apps.patchNamespacedDeployment({ ...target, body: sidecar }, strategic)
    expect(byName.spec?.template.spec?.containers.map(({ name }) => name).sort()).toEqual(["main", "sidecar"])
    const applied = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web" }, spec: { paused: true } }
    const byApply = await apps.patchNamespacedDeployment(
      { ...target, body: applied, fieldManager: "tester", force: true },
      as(PatchStrategy.ServerSideApply),
    )
    expect(byApply.spec?.paused).toBe(true)
    expect(byApply.metadata?.managedFields?.some((entry) => entry.operation === "Apply")).toBe(true)
    const scale = await apps.readNamespacedDeploymentScale(target)
    const scaled = await apps.replaceNamespacedDeploymentScale({ ...target, body: { ...scale, spec: { replicas: 3 } } })
    expect(scaled.spec?.replicas).toBe(3)
    const status = { ...(await apps.readNamespacedDeployment(target)), status: { replicas: 3, readyReplicas: 2 } }
    await apps.replaceNamespacedDeploymentStatus({ ...target, body: status })
    const read = await apps.readNamespacedDeploymentStatus(target)
    expect(read).toMatchObject({ spec: { replicas: 3 }, status: { replicas: 3, readyReplicas: 2 } })
  })

  test.each(["Background", "Foreground", "Orphan"] as const)("batch: deletion with propagation %s", async (policy) => {
    const batch = config.makeApiClient(BatchV1Api)
    const core = config.makeApiClient(CoreV1Api)
    const name = policy.toLowerCase()
    const containers = [{ name: "main", image: "busybox" }]
    const spec = { template: { spec: { restartPolicy: "Never", containers } } }
    const job = await batch.createNamespacedJob({ namespace, body: { metadata: { name }, spec } })
    const owner = { apiVersion: "batch/v1", kind: "Job", name, uid: job.metadata?.uid ?? "", blockOwnerDeletion: true }
    const metadata = { name: `of-${name}`, ownerReferences: [owner] }
    await core.createNamespacedConfigMap({ namespace, body: { metadata } })
    await batch.deleteNamespacedJob({ namespace, name, propagationPolicy: policy })
    const jobs = async () => (await batch.listNamespacedJob({ namespace })).items.length
    const owned = async () => {
      const fieldSelector = `metadata.name=of-${name}`
      return (await core.listNamespacedConfigMap({ namespace, fieldSelector })).items
    }
    // The collector works between requests; each request gives it time.
    while ((await jobs()) > 0) await turn()
    if (policy !== "Orphan") while ((await owned()).length > 0) await turn()
    const [left] = await owned()
    expect(left?.metadata?.ownerReferences).toBeUndefined()
    expect(left === undefined).toBe(policy !== "Orphan")
  })

  test("custom objects, from the definition of their kind on", async () => {
    const custom = config.makeApiClient(CustomObjectsApi)
    const group = "shop.example.com"
    const openAPIV3Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true }
    await custom.createClusterCustomObject({
      group: "apiextensions.k8s.io",
      version: "v1",
      plural: "customresourcedefinitions",
      body: {
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        metadata: { name: `carts.${group}` },
        spec: {
          group,
          names: { plural: "carts", kind: "Cart" },
          scope: "Namespaced",
          versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }],
        },
      },
    })
    const carts = { group, version: "v1", plural: "carts", namespace }
    const cart = { apiVersion: `${group}/v1`, kind: "Cart", metadata: { name: "mine" }, spec: { items: 1 } }
    await custom.createNamespacedCustomObject({ ...carts, body: cart })
    const mine = { ...carts, name: "mine" }
    const patched = await custom.patchNamespacedCustomObject(
      { ...mine, body: { spec: { items: 2 } } },
      as(PatchStrategy.MergePatch),
    )
    expect(patched).toMatchObject({ spec: { items: 2 } })
    const replaced = await custom.replaceNamespacedCustomObject({ ...mine, body: { ...patched, spec: { items: 3 } } })
    expect(replaced).toMatchObject({ spec: { items: 3 } })
    const strategic = custom.patchNamespacedCustomObject({ ...mine, body: {} }, as(PatchStrategy.StrategicMergePatch))
    expect(codeOf(await strategic.catch((error: unknown) => error))).toBe(415)
    expect(await custom.listNamespacedCustomObject(carts)).toMatchObject({ items: [{ spec: { items: 3 } }] })
    await custom.deleteNamespacedCustomObject(mine)
    expect(await custom.listNamespacedCustomObject(carts)).toMatchObject({ items: [] })
  })

  test("access reviews: everything is allowed", async () => {
    const authorization = config.makeApiClient(AuthorizationV1Api)
    const spec = { resourceAttributes: { verb: "delete", resource: "namespaces" } }
    expect(await authorization.createSelfSubjectAccessReview({ body: { spec } })).toMatchObject({
      status: { allowed: true },
    })
    const authentication = config.makeApiClient(AuthenticationV1Api)
    const account = { namespace, name: "default" }
    const core = config.makeApiClient(CoreV1Api)
    const request = { ...account, body: { spec: { audiences: [], expirationSeconds: 600 } } }
    const { status } = await core.createNamespacedServiceAccountToken(request)
    const review = await authentication.createTokenReview({ body: { spec: { token: status?.token ?? "" } } })
    expect(review.status?.authenticated).toBe(true)
  })

  test("one of two clients wins a Lease at the same version", async () => {
    const coordination = config.makeApiClient(CoordinationV1Api)
    const name = "leader"
    const spec = { leaseDurationSeconds: 15, leaseTransitions: 0 }
    const lease = await coordination.createNamespacedLease({ namespace, body: { metadata: { name }, spec } })
    const claim = (holderIdentity: string) =>
      coordination
        .replaceNamespacedLease({ namespace, name, body: { ...lease, spec: { ...spec, holderIdentity } } })
        .then(({ spec: won }) => won?.holderIdentity, codeOf)
    const outcomes = await Promise.all([claim("one"), claim("two")])
    expect([...outcomes].sort()).toEqual([409, expect.stringMatching(/one|two/)])
  })
})
