/** Failures of the server must not affect the workload: the caches catch up and the controllers continue. */

import { expect, test } from "vitest"
import { kinds } from "../../../src/kube/index.ts"
import type { Deployment } from "../../../src/sandbox/workload/deployment-replica-sets.ts"
import { isReady } from "../../../src/sandbox/workload/pods/pods.ts"
import { type LivingCluster, livingClusters } from "./living-cluster.ts"

const starter = livingClusters()
const start = () => starter({ overHttp: true })

const web = (name: string, replicas: number) => ({
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "nginx", image: "nginx:1" }] } },
  },
})

const isComplete = (cluster: LivingCluster, name: string, replicas: number) => (): boolean => {
  const { status, metadata } = cluster.get<Deployment>(kinds.deployments, name) ?? {
    status: undefined,
    metadata: undefined,
  }
  return (
    status?.availableReplicas === replicas &&
    status.observedGeneration === metadata?.generation &&
    status.replicas === replicas
  )
}

const disasters: ReadonlyArray<readonly [string, (cluster: LivingCluster) => void]> = [
  ["all connections drop", (cluster) => cluster.sandbox.faults.dropConnections()],
  [
    "all connections drop and the versions have expired",
    (cluster) => {
      for (const plural of ["pods", "replicasets", "deployments", "nodes"])
        cluster.sandbox.faults.forceExpired(plural, 1)
      cluster.sandbox.faults.dropConnections()
    },
  ],
]

test.each(disasters)("Deployments reach their size though %s in between", async (_name, strike) => {
  const cluster = await start()
  await cluster.create(kinds.deployments, web("one", 5))
  await cluster.sees(() => cluster.pods().length >= 2)
  strike(cluster)
  // The test's own connection must notice, too.
  await cluster.passes(500)
  await cluster.create(kinds.deployments, web("two", 3))
  await cluster.patch(kinds.deployments, "one", { spec: { replicas: 2 } })
  await cluster.sees(() => isComplete(cluster, "one", 2)() && isComplete(cluster, "two", 3)(), 25)
  await cluster.sees(() => cluster.pods().length === 5)
  expect(cluster.pods().every(isReady)).toBe(true)
})

test("A Pod deleted while no watch was open is replaced", async () => {
  const cluster = await start()
  await cluster.create(kinds.deployments, web("one", 2))
  await cluster.sees(isComplete(cluster, "one", 2))
  cluster.sandbox.faults.dropConnections()
  const [pod] = cluster.pods()
  cluster.sandbox.delete("v1.Pod", "default", pod?.metadata.name ?? "")
  await cluster.sees(() => {
    const pods = cluster.pods()
    return pods.length === 2 && pods.every(isReady) && pods.every(({ metadata }) => metadata.uid !== pod?.metadata.uid)
  })
})

test("A Deployment whose deletion the controllers have not heard of yet is no trouble", async () => {
  const cluster = await start()
  await cluster.create(kinds.deployments, web("one", 2))
  await cluster.sees(isComplete(cluster, "one", 2))
  cluster.sandbox.faults.stall("deployments")
  cluster.sandbox.delete("apps/v1.Deployment", "default", "one")
  const [pod] = cluster.pods()
  cluster.sandbox.delete("v1.Pod", "default", pod?.metadata.name ?? "")
  const refused = { resource: "deployments", verb: "update", status: 404 }
  await cluster.sees(() => cluster.sandbox.requests.count(refused) > 0)
  cluster.sandbox.faults.resume("deployments")
  await cluster.passes(5000)
  expect(cluster.troubles).toEqual([])
})

test("After close nothing is written and no timer is left", async () => {
  const cluster = await start()
  await cluster.create(kinds.deployments, web("one", 3))
  await cluster.sees(() => cluster.pods().length === 3)
  await cluster.manager.close()
  const version = cluster.sandbox.resourceVersion
  await cluster.passes(60_000)
  expect(cluster.sandbox.resourceVersion).toBe(version)
  await cluster.close()
  expect(cluster.clock.pending).toBe(0)
})
