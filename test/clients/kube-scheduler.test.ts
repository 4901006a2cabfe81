/** The stock kube-scheduler schedules the Pods of a sandbox, by rules that the sandbox's own one does not know. */

import { expect, test } from "vitest"
import { type ApiClient, kinds, type Pod } from "../../src/kube/index.ts"
import { eventually } from "../harness/eventually.ts"
import { controlPlaneBinary, schedulerWords } from "./kube-scheduler.ts"
import { runProgram } from "./running-program.ts"
import { skipBecause } from "./skip-because.ts"
import { withProgram } from "./with-program.ts"

test("Pods that must not share a node get one each, and a device claim is allocated", async ({ skip }) => {
  const scheduler =
    (await controlPlaneBinary()) ??
    skipBecause(skip, "there is no kube-scheduler: test/cluster/control-plane/up builds one")
  await withProgram(
    ["scheduler"],
    ({ kubeconfig }) => runProgram(scheduler, schedulerWords(kubeconfig)),
    async ({ sandbox, api, troubles }) => {
      const labels = { app: "spread" }
      const apart = { labelSelector: { matchLabels: labels }, topologyKey: "kubernetes.io/hostname" }
      const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [apart] } }
      const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "x" }], affinity } }
      await api.create(kinds.deployments, {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "spread", namespace: "default" },
        spec: { replicas: 3, selector: { matchLabels: labels }, template },
      })
      const podsOf = () => sandbox.list("v1.Pod") as unknown as ReadonlyArray<Pod>
      const running = ["Running", "Running", "Running"]
      await eventually(() => expect(podsOf().map((pod) => pod.status?.phase)).toEqual(running))
      expect(new Set(podsOf().map((pod) => pod.spec.nodeName)).size).toBe(3)
      await allocateDevice(api)
      const devices = { results: [{ driver: "gpu.example.com", device: "d0" }] }
      await eventually(() =>
        expect(sandbox.get("resource.k8s.io/v1.ResourceClaim", "default", "gpu")?.status).toMatchObject({
          allocation: { devices },
        }),
      )
      await eventually(() =>
        expect(sandbox.get("v1.Pod", "default", "trainer")?.spec).toMatchObject({ nodeName: "virtual-2" }),
      )
      expect(troubles).toEqual([])
    },
  )
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
