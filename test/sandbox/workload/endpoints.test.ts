/** Endpoints and EndpointSlices of Services; their form was compared with Kubernetes 1.34.4. */

import { expect, test } from "vitest"
import { type ApiObject, kinds, type Pod } from "../../../src/kube/index.ts"
import type { EndpointSlice, Endpoints } from "../../../src/sandbox/workload/endpoints-controller.ts"
import { isReady } from "../../../src/sandbox/workload/pods/pods.ts"
import { type LivingCluster, livingClusters } from "./living-cluster.ts"

const start = livingClusters()

const labels = { app: "web" }
const pod = (name: string, port: number, annotations = {}) => ({
  metadata: { name, labels, annotations },
  spec: { containers: [{ name: "web", image: "web", ports: [{ name: "http", containerPort: port }] }] },
})
const service = (name: string, spec: object) => ({ metadata: { name, labels: { team: "a" } }, spec })
const endpointsOf = (cluster: LivingCluster, name: string): Endpoints | undefined =>
  cluster.get<Endpoints>(kinds.endpoints, name)
const slicesOf = (cluster: LivingCluster, name: string): ReadonlyArray<EndpointSlice> =>
  (cluster.sandbox.list("discovery.k8s.io/v1.EndpointSlice") as unknown as ReadonlyArray<EndpointSlice>).filter(
    ({ metadata }) => metadata.labels?.["kubernetes.io/service-name"] === name,
  )
const addresses = (subsets: Endpoints["subsets"], member: "addresses" | "notReadyAddresses") =>
  (subsets ?? []).flatMap((subset) => subset[member] ?? []).length

test("A Service's Endpoints and slices have the ready Pods that it selects, with the ports that they have", async () => {
  const cluster = await start()
  await cluster.create(kinds.services, service("web", { selector: labels, ports: [{ port: 80, targetPort: "http" }] }))
  await cluster.sees(() => slicesOf(cluster, "web").length === 1)
  expect(slicesOf(cluster, "web")[0]).toMatchObject({ endpoints: null, ports: null })
  await cluster.create(kinds.pods, pod("a", 8080))
  await cluster.create(kinds.pods, pod("b", 8080))
  await cluster.create(kinds.pods, pod("slow", 8080, { "sandbox.kubereel.dev/ready-after": "never" }))
  await cluster.create(kinds.pods, pod("other", 9090))
  await cluster.sees(
    () =>
      addresses(endpointsOf(cluster, "web")?.subsets, "addresses") === 3 &&
      addresses(endpointsOf(cluster, "web")?.subsets, "notReadyAddresses") === 1,
  )
  const { metadata, status, spec } = cluster.get<Pod>(kinds.pods, "other") as Pod
  const targetRef = { kind: "Pod", namespace: "default", name: "other", uid: metadata.uid }
  expect(endpointsOf(cluster, "web")).toMatchObject({
    metadata: { labels: { team: "a", "endpoints.kubernetes.io/managed-by": "endpoint-controller" } },
    subsets: [
      { ports: [{ port: 8080, protocol: "TCP" }] },
      {
        addresses: [{ ip: status?.podIP, nodeName: spec.nodeName, targetRef }],
        ports: [{ port: 9090, protocol: "TCP" }],
      },
    ],
  })
  const sliceOf = (port: number) => slicesOf(cluster, "web").find(({ ports }) => ports?.[0]?.port === port)
  await cluster.sees(() => JSON.stringify(sliceOf(9090)?.endpoints ?? []).includes('"ready":true'))
  expect(sliceOf(9090)).toMatchObject({
    addressType: "IPv4",
    metadata: {
      generateName: "web-",
      labels: { team: "a", "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io" },
      ownerReferences: [{ kind: "Service", name: "web", controller: true }],
    },
    ports: [{ name: "", port: 9090, protocol: "TCP" }],
    endpoints: [
      {
        addresses: [status?.podIP],
        conditions: { ready: true, serving: true, terminating: false },
        nodeName: spec.nodeName,
        targetRef,
      },
    ],
  })
  expect(cluster.troubles).toEqual([])
})

test("They follow Pods that go, Services that change and slices that a client removes", async () => {
  const cluster = await start()
  await cluster.create(kinds.services, service("web", { selector: labels, clusterIP: "None" }))
  for (const name of ["a", "b"]) await cluster.create(kinds.pods, pod(name, 80))
  await cluster.sees(() => addresses(endpointsOf(cluster, "web")?.subsets, "addresses") === 2)
  expect(endpointsOf(cluster, "web")?.metadata.labels).toHaveProperty(["service.kubernetes.io/headless"], "")
  await cluster.sees(() => slicesOf(cluster, "web")[0]?.endpoints?.length === 2)
  const [first] = slicesOf(cluster, "web")
  await cluster.api.delete(kinds.endpointSlices, first?.metadata as ApiObject["metadata"])
  await cluster.sees(() => slicesOf(cluster, "web")[0]?.endpoints?.length === 2)
  await cluster.api.delete(kinds.pods, { namespace: "default", name: "a" })
  await cluster.sees(() => slicesOf(cluster, "web")[0]?.endpoints?.length === 1)
  await cluster.patch(kinds.services, "web", { spec: { selector: { app: "none" } } })
  await cluster.sees(() => slicesOf(cluster, "web")[0]?.endpoints === null)
  await cluster.api.delete(kinds.services, { namespace: "default", name: "web" })
  await cluster.sees(() => endpointsOf(cluster, "web") === undefined)
  expect(cluster.troubles).toEqual([])
})

test("A Service without a selector keeps the Endpoints that a client gave it", async () => {
  const cluster = await start()
  await cluster.create(kinds.services, service("manual", { ports: [{ port: 80 }] }))
  const subsets = [{ addresses: [{ ip: "10.1.2.3" }], ports: [{ port: 80 }] }]
  await cluster.create(kinds.endpoints, { metadata: { name: "manual" }, subsets } as never)
  await cluster.create(kinds.pods, pod("a", 80))
  await cluster.sees(() => isReady(cluster.get<Pod>(kinds.pods, "a") as Pod))
  expect(addresses(endpointsOf(cluster, "manual")?.subsets, "addresses")).toBe(1)
  expect(slicesOf(cluster, "manual")).toEqual([])
})
