/** PodDisruptionBudgets and evictions; the status was compared with Kubernetes 1.34.4. */

import { expect, test } from "vitest"
import { kinds, type Pod } from "../../../src/kube/index.ts"
import type { DisruptionBudget, DisruptionStatus } from "../../../src/sandbox/workload/disruption-controller.ts"
import { isReady } from "../../../src/sandbox/workload/pods/pods.ts"
import { type LivingCluster, livingClusters } from "./living-cluster.ts"

const start = livingClusters()

const labels = { app: "web" }
const statusOf = (cluster: LivingCluster, name: string): DisruptionStatus | undefined =>
  cluster.get<DisruptionBudget>(kinds.disruptionBudgets, name)?.status
const budget = (name: string, spec: object) => ({
  metadata: { name },
  spec: { selector: { matchLabels: labels }, ...spec },
})
const evict = async (cluster: LivingCluster, name: string): Promise<number> => {
  const answer = await fetch(`${cluster.sandbox.url}/api/v1/namespaces/default/pods/${name}/eviction`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ apiVersion: "policy/v1", kind: "Eviction", metadata: { name } }),
  })
  return answer.status
}

test("A budget counts the healthy Pods of a Deployment and allows as many evictions as it can spare", async () => {
  const cluster = await start()
  await cluster.create(kinds.disruptionBudgets, budget("half", { minAvailable: "50%" }))
  await cluster.create(
    kinds.disruptionBudgets,
    budget("none", { minAvailable: 1, selector: { matchLabels: { app: "x" } } }),
  )
  await cluster.sees(() => statusOf(cluster, "none")?.observedGeneration === 1)
  expect(statusOf(cluster, "none")).toMatchObject({
    disruptionsAllowed: 0,
    currentHealthy: 0,
    desiredHealthy: 1,
    expectedPods: 0,
    conditions: [{ type: "DisruptionAllowed", status: "False", reason: "InsufficientPods", observedGeneration: 1 }],
  })
  await cluster.create(kinds.deployments, {
    metadata: { name: "web" },
    spec: {
      replicas: 3,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "web" }] } },
    },
  })
  await cluster.sees(() => statusOf(cluster, "half")?.disruptionsAllowed === 1)
  expect(statusOf(cluster, "half")).toMatchObject({
    currentHealthy: 3,
    desiredHealthy: 2,
    expectedPods: 3,
    conditions: [{ type: "DisruptionAllowed", status: "True", reason: "SufficientPods" }],
  })
  const [first, second] = cluster.pods().map(({ metadata }) => metadata.name)
  expect(await evict(cluster, first ?? "")).toBe(201)
  expect(await evict(cluster, second ?? "")).toBe(429)
  await cluster.sees(() => cluster.pods().every((pod) => isReady(pod) && pod.metadata.name !== first))
  await cluster.sees(() => statusOf(cluster, "half")?.disruptionsAllowed === 1)
  expect(statusOf(cluster, "half")?.disruptedPods).toBeUndefined()
  await cluster.patch(kinds.deployments, "web", { spec: { replicas: 6 } })
  await cluster.sees(() => statusOf(cluster, "half")?.currentHealthy === 6)
  expect(statusOf(cluster, "half")).toMatchObject({ desiredHealthy: 3, disruptionsAllowed: 3, expectedPods: 6 })
  expect(cluster.troubles).toEqual([])
})

test("Of Pods without an owner maxUnavailable spares as many as it says", async () => {
  const cluster = await start()
  await cluster.create(kinds.disruptionBudgets, budget("one", { maxUnavailable: 1 }))
  for (const name of ["a", "b"])
    await cluster.create(kinds.pods, { metadata: { name, labels }, spec: { containers: [{ name: "c", image: "x" }] } })
  await cluster.sees(() => ["a", "b"].every((name) => isReady(cluster.get<Pod>(kinds.pods, name) as Pod)))
  await cluster.sees(() => statusOf(cluster, "one")?.disruptionsAllowed === 1)
  expect(statusOf(cluster, "one")).toMatchObject({ expectedPods: 2, desiredHealthy: 1, currentHealthy: 2 })
})
