/** Deployments and their ReplicaSets. */

import { describe, expect, test } from "vitest"
import { kinds } from "../../../src/kube/index.ts"
import type { Deployment } from "../../../src/sandbox/workload/deployment-replica-sets.ts"
import { isActive, isReady } from "../../../src/sandbox/workload/pods/pods.ts"
import type { ReplicaSet } from "../../../src/sandbox/workload/replica-set-controller.ts"
import { type LivingCluster, livingClusters } from "./living-cluster.ts"

const start = livingClusters()

const web = (replicas: number, image = "nginx:1", more: object = {}) => ({
  metadata: { name: "web" },
  spec: {
    replicas,
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "nginx", image }] } },
    ...more,
  },
})

const image = (value: string) => ({ spec: { template: { spec: { containers: [{ name: "nginx", image: value }] } } } })

const isRolledOut = (cluster: LivingCluster, replicas: number) => (): boolean => {
  const deployment = cluster.get<Deployment>(kinds.deployments, "web")
  const { status } = deployment ?? {}
  return (
    status?.observedGeneration === deployment?.metadata.generation &&
    status?.updatedReplicas === replicas &&
    status.replicas === replicas &&
    status.availableReplicas === replicas
  )
}

const progress = (deployment: Deployment): string | undefined =>
  deployment.status?.conditions?.find(({ type }) => type === "Progressing")?.reason

describe("A Deployment", () => {
  test("gets a ReplicaSet, Pods on nodes and the real controller's conditions", async () => {
    const cluster = await start()
    await cluster.create(kinds.deployments, web(3))
    await cluster.sees(isRolledOut(cluster, 3))
    const pods = cluster.pods()
    expect(pods).toHaveLength(3)
    expect(pods.every(isReady)).toBe(true)
    expect(new Set(pods.map(({ spec }) => spec.nodeName))).toEqual(new Set(["virtual-1", "virtual-2"]))
    const [replicaSet] = cluster.list<ReplicaSet>(kinds.replicaSets)
    expect(replicaSet?.metadata.annotations).toEqual({
      "deployment.kubernetes.io/desired-replicas": "3",
      "deployment.kubernetes.io/max-replicas": "4",
      "deployment.kubernetes.io/revision": "1",
    })
    const reasons = cluster.history<Deployment>("apps/v1.Deployment", "web").map(progress)
    expect([...new Set(reasons)]).toEqual([
      undefined,
      "NewReplicaSetCreated",
      "ReplicaSetUpdated",
      "NewReplicaSetAvailable",
    ])
    expect(cluster.troubles).toEqual([])
  })

  test("that was put into the sandbox without defaults has one ReplicaSet and comes to rest", async () => {
    const cluster = await start()
    const metadata = { name: "web", namespace: "default" }
    cluster.sandbox.put("apps/v1.Deployment", { ...web(2), metadata })
    await cluster.sees(() => cluster.get<Deployment>(kinds.deployments, "web")?.status?.availableReplicas === 2)
    await cluster.passes(1000)
    const changes = cluster.history("apps/v1.Deployment", "web").length
    await cluster.passes(60_000)
    expect(cluster.history("apps/v1.Deployment", "web")).toHaveLength(changes)
    expect(cluster.list(kinds.replicaSets)).toHaveLength(1)
    expect(cluster.pods()).toHaveLength(2)
    expect(cluster.troubles).toEqual([])
  })

  test("rolls out within the surge and the unavailability it allows, and records each step", async () => {
    const cluster = await start()
    await cluster.create(kinds.deployments, web(6))
    await cluster.sees(isRolledOut(cluster, 6))
    const before = cluster.history<Deployment>("apps/v1.Deployment", "web").length
    await cluster.patch(kinds.deployments, "web", image("nginx:2"))
    await cluster.sees(isRolledOut(cluster, 6))
    const states = cluster.history<Deployment>("apps/v1.Deployment", "web").slice(before)
    expect(Math.max(...states.map(({ status }) => status?.replicas ?? 0))).toBeLessThanOrEqual(8)
    expect(Math.min(...states.map(({ status }) => status?.availableReplicas ?? 0))).toBeGreaterThanOrEqual(5)
    expect(
      cluster.get<Deployment>(kinds.deployments, "web")?.metadata.annotations?.["deployment.kubernetes.io/revision"],
    ).toBe("2")
    expect(cluster.reasons("web")).toContain("ScalingReplicaSet")
    const living = cluster.pods().filter(isActive)
    expect(living.map(({ spec }) => spec.containers[0]?.image)).toEqual(Array(6).fill("nginx:2"))
  })

  test("rolls back to a known template under a new revision, with the same ReplicaSet", async () => {
    const cluster = await start()
    await cluster.create(kinds.deployments, web(2))
    await cluster.sees(isRolledOut(cluster, 2))
    const [first] = cluster.list<ReplicaSet>(kinds.replicaSets)
    await cluster.patch(kinds.deployments, "web", image("nginx:2"))
    await cluster.sees(isRolledOut(cluster, 2))
    await cluster.patch(kinds.deployments, "web", image("nginx:1"))
    await cluster.sees(isRolledOut(cluster, 2))
    const active = cluster.list<ReplicaSet>(kinds.replicaSets).find(({ spec }) => spec.replicas === 2)
    expect(active?.metadata.name).toBe(first?.metadata.name)
    expect(active?.metadata.annotations).toMatchObject({
      "deployment.kubernetes.io/revision": "3",
      "deployment.kubernetes.io/revision-history": "1",
    })
  })

  test("is rolled back by what `kubectl rollout undo` sends", async () => {
    const cluster = await start()
    await cluster.create(kinds.deployments, web(2))
    await cluster.sees(isRolledOut(cluster, 2))
    const [first] = cluster.list<ReplicaSet>(kinds.replicaSets)
    await cluster.patch(kinds.deployments, "web", image("nginx:2"))
    await cluster.sees(isRolledOut(cluster, 2))
    const { metadata, spec } = first?.spec.template ?? {}
    const { "pod-template-hash": _hash, ...labels } = metadata?.labels ?? {}
    await cluster.api.patch(kinds.deployments, { namespace: "default", name: "web" }, "json", [
      { op: "replace", path: "/spec/template", value: { metadata: { ...metadata, labels }, spec } },
      { op: "replace", path: "/metadata/annotations", value: { "deployment.kubernetes.io/revision": "2" } },
    ])
    await cluster.sees(isRolledOut(cluster, 2))
    const active = cluster.list<ReplicaSet>(kinds.replicaSets).find(({ spec: { replicas } }) => replicas === 2)
    expect(active?.metadata.uid).toBe(first?.metadata.uid)
    const annotations = cluster.get<Deployment>(kinds.deployments, "web")?.metadata.annotations
    expect(annotations?.["deployment.kubernetes.io/revision"]).toBe("3")
  })

  test("with the strategy Recreate never has old and new Pods at once", async () => {
    const cluster = await start()
    await cluster.create(kinds.deployments, web(2, "nginx:1", { strategy: { type: "Recreate" } }))
    await cluster.sees(isRolledOut(cluster, 2))
    await cluster.patch(kinds.deployments, "web", image("nginx:2"))
    let mostImages = 0
    await cluster.sees(() => {
      mostImages = Math.max(mostImages, new Set(cluster.pods().map(({ spec }) => spec.containers[0]?.image)).size)
      return isRolledOut(cluster, 2)() && cluster.pods().every(({ spec }) => spec.containers[0]?.image === "nginx:2")
    })
    expect(mostImages).toBe(1)
  })

  test("that makes no progress in time reports it", async () => {
    const cluster = await start()
    const never = { annotations: { "sandbox.kubereel.dev/ready-after": "never" }, labels: { app: "web" } }
    const template = { metadata: never, spec: { containers: [{ name: "nginx", image: "broken" }] } }
    await cluster.create(kinds.deployments, web(1, "broken", { progressDeadlineSeconds: 20, template }))
    const isLate = (): boolean =>
      progress(cluster.get<Deployment>(kinds.deployments, "web") as Deployment) === "ProgressDeadlineExceeded"
    await cluster.sees(isLate)
    expect(cluster.pods().some(isReady)).toBe(false)
  })

  test("while paused takes a new size but no new template", async () => {
    const cluster = await start()
    await cluster.create(kinds.deployments, web(2))
    await cluster.sees(isRolledOut(cluster, 2))
    await cluster.patch(kinds.deployments, "web", { spec: { paused: true, replicas: 4, ...image("nginx:2").spec } })
    await cluster.sees(() => cluster.pods().filter(isReady).length === 4)
    expect(cluster.list(kinds.replicaSets)).toHaveLength(1)
    expect(progress(cluster.get<Deployment>(kinds.deployments, "web") as Deployment)).toBe("DeploymentPaused")
  })

  test("keeps no more old ReplicaSets than its history limit", async () => {
    const cluster = await start()
    await cluster.create(kinds.deployments, web(1, "nginx:1", { revisionHistoryLimit: 1 }))
    for (const version of ["2", "3", "4"]) {
      await cluster.sees(isRolledOut(cluster, 1))
      await cluster.patch(kinds.deployments, "web", image(`nginx:${version}`))
    }
    await cluster.sees(() => isRolledOut(cluster, 1)() && cluster.list(kinds.replicaSets).length === 2)
  })
})

describe("A ReplicaSet", () => {
  test("replaces a deleted Pod, adopts an orphan and releases Pods that no longer match", async () => {
    const cluster = await start()
    await cluster.create(kinds.deployments, web(2))
    await cluster.sees(isRolledOut(cluster, 2))
    const [first, second] = cluster.pods()
    await cluster.api.delete(kinds.pods, first?.metadata ?? { name: "" })
    await cluster.sees(
      () =>
        cluster.pods().filter(isReady).length === 2 &&
        !cluster.pods().some(({ metadata }) => metadata.uid === first?.metadata.uid),
    )
    await cluster.patch(kinds.pods, second?.metadata.name ?? "", { metadata: { labels: { app: "freed" } } })
    await cluster.sees(() => cluster.pods().length === 3)
    const freed = () => cluster.pods().find(({ metadata }) => metadata.uid === second?.metadata.uid)
    await cluster.sees(() => freed()?.metadata.ownerReferences === undefined)
    // Matching the selector again, it is one too many: it is adopted, and one of the three is deleted.
    await cluster.patch(kinds.pods, second?.metadata.name ?? "", { metadata: { labels: { app: "web" } } })
    await cluster.sees(() => cluster.pods().length === 2)
  })

  test("continues where it was after a restart of the manager", async () => {
    const cluster = await start()
    await cluster.create(kinds.deployments, web(3))
    await cluster.sees(() => cluster.pods().length === 3)
    await cluster.restartManager()
    await cluster.sees(isRolledOut(cluster, 3))
    expect(cluster.pods()).toHaveLength(3)
  })
})
