/** Simulations on a cluster whose drivers the test plays. */
import { expect, test } from "vitest"
import { type ApiObject, kinds } from "../../../src/kube/index.ts"
import { simulationKind } from "../../../src/simulation/api/derived-names.ts"
import { definitions, driverNamespace, manifest, openDefinition, SimulatedCluster } from "./simulated.ts"

test("a simulation goes through Initializing, Running and Finished, and leaves its Job and nothing else", async () => {
  const cluster = await SimulatedCluster.simulating("demo", { repetitions: 2 })
  await cluster.until(() => cluster.status("demo").state === "Running")
  expect(cluster.condition("demo", "Ready")).toBe("True Running")
  await cluster.play("demo")
  await cluster.until(() => cluster.status("demo").completedRuns === 1)
  expect(cluster.status("demo").state).toBe("Running")
  await cluster.play("demo")
  await cluster.settles("demo")
  expect(await cluster.left()).toEqual(["Job sk-demo-driver", "Pod", "Pod", "Simulation demo"])
  const { startTime, endTime, ...status } = cluster.status("demo")
  expect(status).toMatchObject({ observedGeneration: 1, state: "Finished", completedRuns: 2 })
  expect(Date.parse(endTime ?? "")).toBeGreaterThanOrEqual(Date.parse(startTime ?? ""))
  expect(["Ready", "Progressing", "Degraded"].map((type) => cluster.condition("demo", type))).toEqual([
    "True Finished",
    "False Finished",
    "False AsExpected",
  ])
  const states = cluster.living
    .history<ApiObject & { readonly status?: { readonly state?: string } }>("simkube.io/v1.Simulation", "demo")
    .map(({ status }) => status?.state)
  expect([...new Set(states)]).toEqual([undefined, "Initializing", "Running", "Finished"])
  await cluster.until(async () => (await cluster.events("demo")).length === 2)
  expect(await cluster.events("demo")).toEqual([
    "sk-ctrl SimulationStarted NewSimulationResourceCreated",
    "sk-ctrl SuccessfulDriverCreate SimulationPrerequisitesCreated",
  ])
  expect(cluster.troubles).toEqual([])
})

test("while it runs it is paused and resumed by its spec, and the Lease is renewed all the time (W-58)", async () => {
  const cluster = await SimulatedCluster.simulating("demo", { pausedTime: "2026-11-23T12:00:00Z" })
  await cluster.until(() => cluster.status("demo").state === "Paused")
  expect(cluster.condition("demo", "Progressing")).toBe("False Paused")
  const renewed = (): string =>
    String((cluster.lease()?.spec as { readonly renewTime?: string } | undefined)?.renewTime)
  const before = renewed()
  await cluster.living.passes(25_000)
  expect(Date.parse(renewed()) - Date.parse(before)).toBeGreaterThanOrEqual(18_000)
  await cluster.edit("demo", { pausedTime: null, speed: 3 })
  await cluster.until(() => cluster.status("demo").state === "Running")
  expect(cluster.condition("demo", "Progressing")).toBe("True Running")
  await cluster.play("demo")
  await cluster.settles("demo")
})

test("the failure of a driver is explained by its last words, and what it left is removed", async () => {
  const cluster = await SimulatedCluster.simulating("demo", { repetitions: 3 })
  await cluster.until(() => cluster.status("demo").state === "Running")
  await cluster.createDriverRoot("demo", "sk-demo-driver-0-abcde-root")
  await cluster.play(
    "demo",
    "Failed",
    "the trace s3://traces/demo.sktrace does not exist; check spec.driver.tracePath\n",
  )
  await cluster.settles("demo", "Failed")
  expect(cluster.condition("demo", "Ready")).toBe("False DriverFailed")
  expect(cluster.message("demo", "Ready")).toMatch(
    /^the pod sk-demo-driver-0-\w+ of the driver has failed: the trace s3:\/\/traces\/demo.sktrace does not exist; check spec.driver.tracePath$/,
  )
  expect(cluster.condition("demo", "Degraded")).toBe("True DriverFailed")
  expect(await cluster.left()).toEqual(["Job sk-demo-driver", "Pod", "Simulation demo"])
  await cluster.until(async () =>
    (await cluster.events("demo")).includes("sk-ctrl SimulationDriverFailed SimulationDriverRunning"),
  )
})

test("the Job of a simulation that has ended may be deleted: it is not run again (W-51)", async () => {
  const cluster = await SimulatedCluster.start()
  const first = await cluster.control()
  await cluster.create("demo")
  await cluster.play("demo")
  await cluster.settles("demo")
  await cluster.living.api.delete(kinds.jobs, { namespace: driverNamespace, name: "sk-demo-driver" })
  await cluster.living.passes(30_000)
  await cluster.closes(first)
  await cluster.control()
  await cluster.living.passes(30_000)
  expect(cluster.job("demo")).toBeUndefined()
  expect(cluster.status("demo").state).toBe("Finished")
})

test("a Job that is deleted while it runs is a failure, and no reason for another driver", async () => {
  const cluster = await SimulatedCluster.simulating("demo")
  await cluster.until(() => cluster.status("demo").state === "Running")
  await cluster.living.api.delete(kinds.jobs, { namespace: driverNamespace, name: "sk-demo-driver" })
  await cluster.settles("demo", "Failed")
  expect(cluster.condition("demo", "Ready")).toBe("False DriverDeleted")
  expect(cluster.created("batch/v1.Job", "sk-demo-driver")).toBe(1)
})

test("an edit of the spec during the run does not touch the Job", async () => {
  const cluster = await SimulatedCluster.simulating("demo")
  await cluster.until(() => cluster.status("demo").state === "Running")
  const before = cluster.job("demo")
  // Stored past the rules of the definition, as a server without them would.
  const present = cluster.simulation("demo") as unknown as ApiObject
  const spec = { driver: { namespace: "elsewhere", image: "other", port: 1, tracePath: "/other" }, repetitions: 7 }
  cluster.living.sandbox.put("simkube.io/v1.Simulation", { ...present, spec } as never)
  await cluster.living.passes(15_000)
  expect(cluster.job("demo")?.spec).toEqual(before?.spec)
  await cluster.play("demo")
  await cluster.settles("demo")
})

test("a driver that no node takes is reported while it waits, and given up after half an hour", async () => {
  const cluster = await SimulatedCluster.simulating("demo")
  const pod = await cluster.awaitPod("demo")
  const conditions = [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/3 nodes fit" }]
  await cluster.becomes(pod, { phase: "Pending", conditions })
  await cluster.until(() => cluster.condition("demo", "Degraded") === "True DriverWaits")
  expect(cluster.message("demo", "Degraded")).toBe(
    `no node takes the pod ${pod.metadata.name} of the driver: 0/3 nodes fit`,
  )
  await cluster.living.sees(() => cluster.status("demo").state === "Failed", 100)
  await cluster.settles("demo", "Failed")
  expect(cluster.message("demo", "Ready")).toMatch(
    /has not started for 30 minutes: no node takes the pod .* 0\/3 nodes fit$/,
  )
  expect(cluster.job("demo")).toBeUndefined()
})

test("a simulation that was stored by an older definition without lifecycleParams runs (W-56)", async () => {
  const cluster = await SimulatedCluster.controlled()
  const { metadata, ...body } = manifest("demo", { lifecycleParams: null, duration: null, hooks: null, metrics: null })
  cluster.living.sandbox.put("simkube.io/v1.Simulation", { ...body, metadata } as never)
  await cluster.play("demo")
  await cluster.settles("demo")
})

test("a simulation that cannot be read has failed with the reason, holds up no other, and runs once it is corrected", async () => {
  const cluster = await SimulatedCluster.start({ withDefinitions: false })
  await cluster.install(openDefinition)
  await cluster.control()
  await cluster.living.api.create(simulationKind, { ...manifest("bad"), spec: { driver: 5 } })
  await cluster.until(() => cluster.condition("bad", "Ready") === "False InvalidSimulation")
  expect(cluster.message("bad", "Degraded")).toContain("correct its manifest and apply it again")
  await cluster.create("good")
  await cluster.play("good")
  await cluster.settles("good")
  await cluster.living.api.patch(simulationKind, { name: "bad" }, "merge", { spec: manifest("bad").spec })
  await cluster.play("bad")
  await cluster.settles("bad")
})

test("what the driver's namespace forbids is said, tried again for a while, and then a failure", async () => {
  const cluster = await SimulatedCluster.start()
  await cluster.createNamespace(driverNamespace)
  await cluster.control()
  cluster.living.sandbox.put("v1.Service", {
    metadata: { namespace: driverNamespace, name: "sk-demo-driver-svc" },
    spec: { ports: [{ port: 1 }] },
  })
  await cluster.create("demo")
  await cluster.until(() => cluster.status("demo").state === "Retrying")
  expect(cluster.condition("demo", "Degraded")).toBe("True NameTaken")
  expect(cluster.message("demo", "Degraded")).toBe(
    "the Service drivers/sk-demo-driver-svc belongs to something else; delete it",
  )
  const since = cluster.living.clock.monotonicMs()
  await cluster.living.sees(() => cluster.status("demo").state === "Failed", 50)
  expect(cluster.living.clock.monotonicMs() - since).toBeGreaterThan(10 * 60_000)
  expect(cluster.troubles.length).toBeLessThan(25)
  await cluster.settles("demo", "Failed")
  expect(cluster.job("demo")).toBeUndefined()
})

test("a controller that is started before the definitions waits for them", async () => {
  const cluster = await SimulatedCluster.start({ withDefinitions: false })
  const controller = await cluster.control()
  await cluster.living.passes(2000)
  expect(controller.statistics()[0]?.state).toBe("waiting")
  await cluster.install()
  await cluster.create("demo")
  await cluster.until(() => cluster.status("demo").state === "Running")
  expect((await cluster.living.api.list(definitions)).items).toHaveLength(2)
})
