/** Pods whose node is gone, with the same final states as in Kubernetes 1.34.4. */

import { describe, expect, test } from "vitest"
import { kinds, type Pod } from "../../../src/kube/index.ts"
import { livingClusters } from "./living-cluster.ts"

const start = livingClusters()

const pod = (name: string, nodeName: string) => ({
  metadata: { name },
  spec: { nodeName, containers: [{ name: "c", image: "x" }] },
})

describe("A Pod on a node that does not exist", () => {
  test("is marked as failed and removed, after the 40 seconds in which the node may appear", async () => {
    const cluster = await start()
    await cluster.create(kinds.pods, pod("lost", "nowhere"))
    const created = cluster.clock.monotonicMs()
    await cluster.sees(() => cluster.get(kinds.pods, "lost") === undefined)
    expect(cluster.clock.monotonicMs() - created).toBeGreaterThanOrEqual(40_000)
    const marked = cluster.history<Pod>("v1.Pod", "lost").find(({ status }) => status?.phase === "Failed")
    expect(marked?.status?.conditions).toContainEqual(
      expect.objectContaining({
        type: "DisruptionTarget",
        observedGeneration: 1,
        status: "True",
        reason: "DeletionByPodGC",
        message: "PodGC: node no longer exists",
      }),
    )
    expect(cluster.troubles).toEqual([])
  })

  test("stays if the node appears in time", async () => {
    const cluster = await start()
    await cluster.create(kinds.pods, pod("early", "late-node"))
    await cluster.passes(30_000)
    await cluster.create(kinds.nodes, { metadata: { name: "late-node" } })
    await cluster.passes(60_000)
    expect(cluster.get(kinds.pods, "early")).toBeDefined()
  })

  test("is removed too if its node was deleted", async () => {
    const cluster = await start()
    await cluster.create(kinds.nodes, { metadata: { name: "brief" } })
    await cluster.create(kinds.pods, pod("late", "brief"))
    await cluster.passes(60_000)
    expect(cluster.get(kinds.pods, "late")).toBeDefined()
    await cluster.api.delete(kinds.nodes, { name: "brief" })
    await cluster.sees(() => cluster.get(kinds.pods, "late") === undefined)
  })
})
