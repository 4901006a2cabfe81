/** Whatever state a simulation is deleted in, it is gone then with all that belongs to it. */
import { expect, test } from "vitest"
import { kinds } from "../../../src/kube/index.ts"
import { simulationRootKind } from "../../../src/simulation/api/derived-names.ts"
import { SimulatedCluster } from "./simulated.ts"

const states: ReadonlyArray<readonly [string, (cluster: SimulatedCluster) => Promise<void>]> = [
  [
    "Blocked",
    async (cluster) => {
      await cluster.create("first")
      await cluster.until(() => cluster.status("first").state === "Running")
      await cluster.create("demo", { hooks: { postStopHooks: [{ cmd: "must-not-run" }] } })
      await cluster.until(() => cluster.status("demo").state === "Blocked")
    },
  ],
  [
    "Initializing, in the middle of a hook",
    async (cluster) => {
      const preStartHooks = [{ cmd: "sleep", args: ["100000"], timeout: "1000h" }]
      await cluster.create("demo", { hooks: { preStartHooks } })
      await cluster.until(() => cluster.status("demo").hooks?.length === 1)
    },
  ],
  [
    "Retrying",
    async (cluster) => {
      await cluster.createNamespace("drivers")
      const metadata = { namespace: "drivers", name: "sk-demo-driver-svc" }
      cluster.living.sandbox.put("v1.Service", { metadata, spec: { ports: [{ port: 1 }] } })
      await cluster.create("demo")
      await cluster.until(() => cluster.status("demo").state === "Retrying")
    },
  ],
  [
    "Running, with what its driver has created",
    async (cluster) => {
      await cluster.create("demo")
      await cluster.becomes(await cluster.awaitPod("demo"), { phase: "Running" })
      await cluster.createDriverRoot("demo", "sk-demo-driver-0-abcde-root")
      await cluster.until(() => cluster.status("demo").state === "Running")
    },
  ],
  [
    "Paused",
    async (cluster) => {
      await cluster.create("demo", { pausedTime: "2026-11-23T12:00:00Z" })
      await cluster.until(() => cluster.status("demo").state === "Paused")
    },
  ],
  [
    "Finished",
    async (cluster) => {
      await cluster.create("demo")
      await cluster.play("demo")
      await cluster.settles("demo")
    },
  ],
  [
    "Failed",
    async (cluster) => {
      await cluster.create("demo")
      await cluster.play("demo", "Failed", "no such trace")
      await cluster.settles("demo", "Failed")
    },
  ],
]

test.each(states)("deleted while it is %s", async (state, reach) => {
  const cluster = await SimulatedCluster.controlled()
  await reach(cluster)
  await cluster.delete("demo")
  await cluster.until(() => cluster.simulation("demo") === undefined)
  const left = (await cluster.left()).filter((object) => object.includes("demo"))
  expect(left).toEqual([])
  if (state !== "Blocked") {
    expect(cluster.lease()).toBeUndefined()
    expect(await cluster.left()).toEqual([])
  }
})

test("the clean-up says what it waits for, and goes on when that is gone", async () => {
  const cluster = await SimulatedCluster.simulating("demo")
  await cluster.until(() => cluster.status("demo").state === "Running")
  const { metadata } = await cluster.createDriverRoot("demo", "stubborn-root")
  await cluster.living.api.patch(simulationRootKind, metadata, "merge", {
    metadata: { finalizers: ["example.com/stubborn"] },
  })
  await cluster.delete("demo")
  await cluster.until(() => cluster.message("demo", "Progressing").includes("the driver's root stubborn-root"))
  await cluster.living.passes(30_000)
  expect(cluster.condition("demo", "Ready")).toBe("False Deleting")
  // Its root must outlive what belongs to the driver.
  expect(await cluster.left()).toContain("SimulationRoot sk-demo-metaroot")
  await cluster.living.api.patch(simulationRootKind, metadata, "merge", {
    metadata: { finalizers: null },
  })
  await cluster.until(() => cluster.simulation("demo") === undefined)
  expect(await cluster.left()).toEqual([])
})

test("namespace, account and binding of drivers stay: other simulations use them (W-58)", async () => {
  const cluster = await SimulatedCluster.simulating("demo")
  await cluster.until(() => cluster.status("demo").state === "Running")
  await cluster.delete("demo")
  await cluster.until(() => cluster.simulation("demo") === undefined)
  const account = await cluster.living.api.get(kinds.serviceAccounts, { namespace: "drivers", name: "sk-driver" })
  expect(account.metadata.ownerReferences).toBeUndefined()
  expect(
    cluster.living.sandbox.get("rbac.authorization.k8s.io/v1.ClusterRoleBinding", "", "sk-driver-drivers"),
  ).toMatchObject({
    roleRef: { name: "kubereel-simulation-driver" },
    subjects: [{ kind: "ServiceAccount", name: "sk-driver", namespace: "drivers" }],
  })
})
