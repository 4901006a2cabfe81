/** StatefulSets and DaemonSets. */

import { describe, expect, test } from "vitest"
import { type ApiObject, kinds } from "../../../src/kube/index.ts"
import type { DaemonSet } from "../../../src/sandbox/workload/daemon-set-controller.ts"
import { isReady } from "../../../src/sandbox/workload/pods/pods.ts"
import type { StatefulSet } from "../../../src/sandbox/workload/stateful-set-controller.ts"
import { type LivingCluster, livingClusters } from "./living-cluster.ts"

const start = livingClusters()

const template = (image: string) => ({
  metadata: { labels: { app: "db" } },
  spec: { containers: [{ name: "pg", image }] },
})
const set = (replicas: number, more: object = {}) => ({
  metadata: { name: "db" },
  spec: { serviceName: "db", replicas, selector: { matchLabels: { app: "db" } }, template: template("pg:1"), ...more },
})
const image = (value: string) => ({ spec: { template: { spec: { containers: [{ name: "pg", image: value }] } } } })

const names = (cluster: LivingCluster): ReadonlyArray<string> => cluster.pods().map(({ metadata }) => metadata.name)
const images = (cluster: LivingCluster): ReadonlyArray<string | undefined> =>
  cluster.pods().map(({ spec }) => spec.containers[0]?.image)
const areReady = (cluster: LivingCluster, count: number) => (): boolean => {
  const pods = cluster.pods()
  return pods.length === count && pods.every((pod) => isReady(pod) && pod.metadata.deletionTimestamp === undefined)
}

describe("A StatefulSet", () => {
  test("starts its Pods in order, each when the previous one is ready", async () => {
    const cluster = await start()
    await cluster.create(kinds.statefulSets, set(3))
    const seen: string[] = []
    await cluster.sees(() => {
      const pods = cluster.pods()
      seen.push(pods.map((pod) => (isReady(pod) ? "R" : "-")).join(""))
      return areReady(cluster, 3)()
    })
    expect([...new Set(seen)]).toEqual(["", "-", "R", "R-", "RR", "RR-", "RRR"].filter((state) => seen.includes(state)))
    expect(names(cluster)).toEqual(["db-0", "db-1", "db-2"])
    const [pod] = cluster.pods()
    expect(pod?.spec).toMatchObject({ hostname: "db-0", subdomain: "db" })
    expect(pod?.metadata.labels).toMatchObject({
      "apps.kubernetes.io/pod-index": "0",
      "statefulset.kubernetes.io/pod-name": "db-0",
    })
    expect(cluster.troubles).toEqual([])
  })

  test("updates from the last Pod down to the partition, and deletes the last first", async () => {
    const cluster = await start()
    await cluster.create(
      kinds.statefulSets,
      set(3, { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } } }),
    )
    await cluster.sees(areReady(cluster, 3))
    await cluster.patch(kinds.statefulSets, "db", image("pg:2"))
    await cluster.sees(() => images(cluster).join() === "pg:1,pg:2,pg:2" && areReady(cluster, 3)())
    await cluster.sees(() => cluster.get<StatefulSet>(kinds.statefulSets, "db")?.status?.updatedReplicas === 2)
    const status = cluster.get<StatefulSet>(kinds.statefulSets, "db")?.status
    expect(status).toMatchObject({ replicas: 3, currentReplicas: 1, updatedReplicas: 2 })
    expect(status?.currentRevision).not.toBe(status?.updateRevision)
    await cluster.patch(kinds.statefulSets, "db", { spec: { updateStrategy: { rollingUpdate: { partition: 0 } } } })
    await cluster.sees(() => {
      const now = cluster.get<StatefulSet>(kinds.statefulSets, "db")?.status
      return now?.currentRevision === now?.updateRevision && now?.currentReplicas === 3
    })
    await cluster.patch(kinds.statefulSets, "db", { spec: { replicas: 1 } })
    await cluster.sees(() => names(cluster).join() === "db-0")
  })

  test("with OnDelete updates only the Pods that a client deletes", async () => {
    const cluster = await start()
    await cluster.create(
      kinds.statefulSets,
      set(2, { updateStrategy: { type: "OnDelete" }, podManagementPolicy: "Parallel" }),
    )
    await cluster.sees(areReady(cluster, 2))
    await cluster.patch(kinds.statefulSets, "db", image("pg:2"))
    await cluster.sees(() => cluster.get<StatefulSet>(kinds.statefulSets, "db")?.status?.observedGeneration === 2)
    await cluster.api.delete(kinds.pods, { namespace: "default", name: "db-1" })
    await cluster.sees(() => images(cluster).join() === "pg:1,pg:2" && areReady(cluster, 2)())
  })

  test("gives each Pod a claim of its own, which gets a volume and outlives the Pod", async () => {
    const cluster = await start()
    const claim = {
      metadata: { name: "data" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    }
    await cluster.create(kinds.statefulSets, set(2, { volumeClaimTemplates: [claim] }))
    await cluster.sees(areReady(cluster, 2))
    type Claim = ApiObject & {
      readonly status?: { readonly phase?: string }
      readonly spec: { readonly volumeName?: string }
    }
    await cluster.sees(() => cluster.list<Claim>(kinds.claims).every(({ status }) => status?.phase === "Bound"))
    const claims = cluster.list<Claim>(kinds.claims)
    expect(claims.map(({ metadata }) => metadata.name).sort()).toEqual(["data-db-0", "data-db-1"])
    expect(claims.every(({ spec }) => spec.volumeName?.startsWith("pvc-"))).toBe(true)
    const [pod] = cluster.pods()
    expect(pod?.spec.volumes).toContainEqual({ name: "data", persistentVolumeClaim: { claimName: "data-db-0" } })
    await cluster.patch(kinds.statefulSets, "db", { spec: { replicas: 0 } })
    await cluster.sees(() => cluster.pods().length === 0)
    expect(cluster.list(kinds.claims)).toHaveLength(2)
  })
})

describe("A DaemonSet", () => {
  const daemon = (more: object = {}) => ({
    metadata: { name: "agent" },
    spec: { selector: { matchLabels: { app: "db" } }, template: template("agent:1"), ...more },
  })
  const status = (cluster: LivingCluster) => cluster.get<DaemonSet>(kinds.daemonSets, "agent")?.status

  test("runs one Pod on every node, by the scheduler and an affinity to the node's name", async () => {
    const cluster = await start({ nodes: 3 })
    await cluster.create(kinds.daemonSets, daemon())
    await cluster.sees(() => status(cluster)?.numberAvailable === 3)
    const pods = cluster.pods()
    expect(pods.map(({ spec }) => spec.nodeName).sort()).toEqual(["virtual-1", "virtual-2", "virtual-3"])
    for (const { spec, metadata } of pods) {
      expect(spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution).toEqual({
        nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: [spec.nodeName] }] }],
      })
      expect(metadata.labels).toHaveProperty("controller-revision-hash")
    }
    expect(status(cluster)).toMatchObject({
      desiredNumberScheduled: 3,
      updatedNumberScheduled: 3,
      numberMisscheduled: 0,
    })
    expect(cluster.reasons("agent")).toEqual(["SuccessfulCreate", "SuccessfulCreate", "SuccessfulCreate"])
  })

  test("updates one node after the other", async () => {
    const cluster = await start({ nodes: 3 })
    await cluster.create(kinds.daemonSets, daemon())
    await cluster.sees(() => status(cluster)?.numberAvailable === 3)
    await cluster.patch(kinds.daemonSets, "agent", image("agent:2"))
    let least = 3
    await cluster.sees(() => {
      least = Math.min(least, cluster.pods().filter(isReady).length)
      return images(cluster).join() === "agent:2,agent:2,agent:2" && areReady(cluster, 3)()
    })
    expect(least).toBe(2)
  })

  test("leaves a tainted node, and respects its node selector", async () => {
    const cluster = await start({ nodes: 2 })
    await cluster.create(kinds.daemonSets, daemon())
    await cluster.sees(() => status(cluster)?.numberAvailable === 2)
    const taints = [{ key: "maintenance", effect: "NoExecute" }]
    await cluster.api.patch(kinds.nodes, { name: "virtual-1" }, "merge", { spec: { taints } })
    await cluster.sees(
      () =>
        cluster
          .pods()
          .map(({ spec }) => spec.nodeName)
          .join() === "virtual-2",
    )
    await cluster.patch(kinds.daemonSets, "agent", { spec: { template: { spec: { nodeSelector: { none: "such" } } } } })
    await cluster.sees(() => cluster.pods().length === 0)
  })
})
