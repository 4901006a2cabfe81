/** One simulation at a time. */
import { expect, test } from "vitest"
import { kinds } from "../../../src/kube/index.ts"
import { simulationKind } from "../../../src/simulation/api/derived-names.ts"
import { SimulatedCluster } from "./simulated.ts"

test("a second simulation waits, says for which, and begins by itself; then the third, in the order of creation", async () => {
  const cluster = await SimulatedCluster.simulating("zebra")
  await cluster.until(() => cluster.status("zebra").state === "Running")
  await cluster.living.passes(2000)
  await cluster.create("second")
  await cluster.living.passes(2000)
  await cluster.create("aardvark")
  await cluster.until(() => ["second", "aardvark"].every((name) => cluster.status(name).state === "Blocked"))
  expect(cluster.message("second", "Progressing")).toContain("waits for the simulation zebra")
  expect(cluster.lease()?.spec).toMatchObject({ holderIdentity: "zebra" })
  for (const [name, next] of [
    ["zebra", "second"],
    ["second", "aardvark"],
  ] as const) {
    await cluster.play(name)
    await cluster.until(() => cluster.status(next).state === "Running")
    expect(cluster.condition(name, "Progressing")).toBe("False Finished")
    expect(cluster.lease()?.spec).toMatchObject({ holderIdentity: next })
  }
  await cluster.play("aardvark")
  await cluster.settles("aardvark")
  expect(cluster.lease()).toBeUndefined()
  await cluster.until(async () => (await cluster.events("second")).includes("sk-ctrl Blocked OtherSimulationRunning"))
})

test("a simulation that is deleted while it runs lets the next one begin", async () => {
  const cluster = await SimulatedCluster.simulating("first")
  await cluster.until(() => cluster.status("first").state === "Running")
  await cluster.create("second")
  await cluster.until(() => cluster.status("second").state === "Blocked")
  await cluster.delete("first")
  await cluster.until(() => cluster.status("second").state === "Running")
  expect(cluster.simulation("first")).toBeUndefined()
})

test.each([
  ["that is gone", "gone", undefined],
  ["of the same name that is gone", "demo", "another-uid"],
])("the Lease of a holder %s is taken over", async (_, holderIdentity, uid) => {
  const cluster = await SimulatedCluster.start()
  await cluster.living.api.create(kinds.leases, {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: {
      namespace: "kubereel",
      name: "sk-lease",
      ...(uid !== undefined && { annotations: { "kubereel.dev/simulation-uid": uid } }),
    },
    spec: { holderIdentity, leaseDurationSeconds: 3600 },
  })
  await cluster.control()
  await cluster.create("demo")
  await cluster.until(() => cluster.status("demo").state === "Running")
  expect(cluster.lease()?.metadata.annotations).toEqual({
    "kubereel.dev/simulation-uid": cluster.simulation("demo")?.metadata.uid,
  })
})

test("the Lease of a holder whose finalizer was removed by hand is free", async () => {
  const cluster = await SimulatedCluster.start()
  const controller = await cluster.control()
  await cluster.create("first")
  await cluster.until(() => cluster.status("first").state === "Running")
  await cluster.create("second")
  await cluster.until(() => cluster.status("second").state === "Blocked")
  await cluster.closes(controller)
  await cluster.living.api.patch(simulationKind, { name: "first" }, "merge", { metadata: { finalizers: null } })
  await cluster.delete("first")
  await cluster.control()
  await cluster.until(() => cluster.status("second").state === "Running")
})

test("a running simulation whose Lease is deleted takes it again before any other", async () => {
  const cluster = await SimulatedCluster.simulating("first")
  await cluster.until(() => cluster.status("first").state === "Running")
  await cluster.create("second")
  await cluster.until(() => cluster.status("second").state === "Blocked")
  const before = cluster.lease()?.metadata.uid
  await cluster.living.api.delete(kinds.leases, { namespace: "kubereel", name: "sk-lease" })
  await cluster.until(() => ![undefined, before].includes(cluster.lease()?.metadata.uid))
  expect(cluster.lease()?.spec).toMatchObject({ holderIdentity: "first" })
  expect(cluster.status("second").state).toBe("Blocked")
})

test("of two controllers one works, and the other goes on when it ends", async () => {
  const cluster = await SimulatedCluster.start()
  const first = await cluster.control({ leaderElection: { identity: "first" } })
  await cluster.until(() => first.isLeader)
  const second = await cluster.control({ leaderElection: { identity: "second" } })
  await cluster.create("demo")
  await cluster.until(() => cluster.status("demo").state === "Running")
  expect(second.isLeader).toBe(false)
  await cluster.closes(first)
  await cluster.play("demo")
  await cluster.settles("demo")
  expect(second.isLeader).toBe(true)
})
