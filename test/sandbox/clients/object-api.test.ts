/** KubernetesObjectApi of @kubernetes/client-node, which finds the path of a kind by discovery. */

import { CoreV1Api, KubeConfig, KubernetesObjectApi, PatchStrategy } from "@kubernetes/client-node"
import { expect, test } from "vitest"
import { kubeconfigOf } from "../../../src/sandbox/local-cluster.ts"
import { overHttp } from "./connections.ts"

test("objects of any kind are created, applied, patched, read, listed, replaced and deleted", async () => {
  const { sandbox, config } = await overHttp.open()
  await using _closed = sandbox
  const api = KubernetesObjectApi.makeApiClient(config)
  const service = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "web", namespace: "default" },
    spec: { selector: { app: "web" }, ports: [{ port: 80 }], sessionAffinity: "None" },
  }
  const created = await api.create(service)
  expect(created.spec).toMatchObject({ type: "ClusterIP", ports: [{ port: 80, targetPort: 80, protocol: "TCP" }] })
  const apply = { ...service, spec: { ports: [{ port: 80, name: "http" }] } }
  const applied = await api.patch(apply, undefined, undefined, "tester", true, PatchStrategy.ServerSideApply)
  expect(applied.spec.ports).toMatchObject([{ port: 80, name: "http" }])
  const labels = { ...service, metadata: { ...service.metadata, labels: { app: "web" } } }
  await api.patch(labels, undefined, undefined, undefined, undefined, PatchStrategy.MergePatch)
  const read = await api.read(service)
  expect(read.metadata).toMatchObject({ labels: { app: "web" } })
  const listed = await api.list("v1", "Service", "default", undefined, undefined, undefined, undefined, "app=web")
  expect(listed.items.map(({ metadata }) => metadata?.name)).toEqual(["web"])
  const { metadata = service.metadata } = read
  const replacement = { ...service, metadata, spec: { ...created.spec, sessionAffinity: "ClientIP" } }
  await api.replace(replacement)
  expect(sandbox.get("v1.Service", "default", "web")?.spec).toMatchObject({ sessionAffinity: "ClientIP" })
  await api.delete(service)
  await expect(api.read(service)).rejects.toMatchObject({ code: 404 })
  const cluster = { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name: "high" }, value: 10 }
  expect(await api.create(cluster)).toMatchObject({ value: 10 })
})

test.each([undefined, "let-me-in"])(
  "the kubeconfig that a sandbox writes is one that client-node takes, token %s",
  async (token) => {
    const { sandbox } = await overHttp.open(token === undefined ? {} : { token })
    await using _closed = sandbox
    const config = new KubeConfig()
    config.loadFromString(kubeconfigOf(sandbox.url, token))
    const { items } = await config.makeApiClient(CoreV1Api).listNamespace()
    expect(items.map(({ metadata }) => metadata?.name)).toEqual(["default", "kube-system"])
  },
)
