/** The stock kube-scheduler schedules the Pods of a sandbox, by rules that the sandbox's own one does not know. */

import { expect, test } from "vitest"
import { ApiClient } from "../../../src/kube/client/api-client.ts"
import { kinds } from "../../../src/kube/client/kinds.ts"
import type { Pod } from "../../../src/kube/client/objects.ts"
import { controllerNames } from "../../../src/sandbox/workload/workload-manager.ts"
import { eventually } from "../../harness/eventually.ts"
import { startKubeScheduler } from "./kube-scheduler.ts"
import { startSandboxCluster } from "./sandbox-cluster.ts"

test("Pods that must not share a node get one each, and a device claim is allocated", async () => {
  const controllers = controllerNames.filter((name) => name !== "scheduler")
  const { sandbox, cluster, troubles, close } = await startSandboxCluster({ nodes: 3, controllers })
  const scheduler = await startKubeScheduler(cluster.kubeconfig)
  const api = new ApiClient({ server: sandbox.endpoint, userAgent: "test" })
  try {
    const labels = { app: "spread" }
    const apart = {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { labelSelector: { matchLabels: labels }, topologyKey: "kubernetes.io/hostname" },
      ],
    }
    await api.create(kinds.deployments, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "spread", namespace: "default" },
      spec: {
        replicas: 3,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [{ name: "c", image: "x" }], affinity: { podAntiAffinity: apart } },
        },
      },
    })
    const podsOf = () => sandbox.list("v1.Pod") as unknown as ReadonlyArray<Pod>
    await eventually(() => expect(podsOf().map((pod) => pod.status?.phase)).toEqual(["Running", "Running", "Running"]))
    expect(new Set(podsOf().map((pod) => pod.spec.nodeName)).size).toBe(3)
    await allocateDevice(api)
    await eventually(() => {
      const claim = sandbox.get("resource.k8s.io/v1.ResourceClaim", "default", "gpu")
      expect(claim?.status).toMatchObject({
        allocation: { devices: { results: [{ driver: "gpu.example.com", device: "d0" }] } },
      })
    })
    expect(sandbox.get("v1.Pod", "default", "trainer")?.spec).toMatchObject({ nodeName: "virtual-2" })
    expect(troubles).toEqual([])
  } catch (error) {
    throw new Error(`${String(error)}\nThe scheduler's log:\n${scheduler.log().slice(-4000)}`, { cause: error })
  } finally {
    await scheduler.stop()
    api.close()
    await close()
  }
})

const device = (plural: string, kind: string, isNamespaced = true) => ({
  gvk: { group: "resource.k8s.io", version: "v1", kind },
  plural,
  namespaced: isNamespaced,
})

/** A device on one node, and a Pod that claims it. */
const allocateDevice = async (api: ApiClient): Promise<void> => {
  const apiVersion = "resource.k8s.io/v1"
  await api.create(device("deviceclasses", "DeviceClass", false), {
    apiVersion,
    kind: "DeviceClass",
    metadata: { name: "gpu" },
    spec: { selectors: [{ cel: { expression: 'device.driver == "gpu.example.com"' } }] },
  })
  await api.create(device("resourceslices", "ResourceSlice", false), {
    apiVersion,
    kind: "ResourceSlice",
    metadata: { name: "two" },
    spec: {
      driver: "gpu.example.com",
      nodeName: "virtual-2",
      pool: { name: "virtual-2", generation: 1, resourceSliceCount: 1 },
      devices: [{ name: "d0" }],
    },
  })
  await api.create(device("resourceclaims", "ResourceClaim"), {
    apiVersion,
    kind: "ResourceClaim",
    metadata: { name: "gpu", namespace: "default" },
    spec: { devices: { requests: [{ name: "one", exactly: { deviceClassName: "gpu" } }] } },
  })
  await api.create(kinds.pods, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "trainer", namespace: "default" },
    spec: {
      containers: [{ name: "c", image: "x", resources: { claims: [{ name: "gpu" }] } }],
      resourceClaims: [{ name: "gpu", resourceClaimName: "gpu" }],
    },
  })
}
