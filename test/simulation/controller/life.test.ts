import { expect, test } from "vitest"
import { SimulatedCluster } from "./simulated.ts"

test("a simulation goes through Initializing, Running and Finished, and leaves its Job and nothing else", async () => {
  const cluster = await SimulatedCluster.start()
  await cluster.control()
  await cluster.create("demo", { repetitions: 2 })
  await cluster.until(() => cluster.status("demo").state === "Running")
  expect(cluster.condition("demo", "Ready")).toBe("True Running")
  await cluster.play("demo")
  await cluster.until(() => cluster.status("demo").completedRuns === 1)
  expect(cluster.status("demo").state).toBe("Running")
  await cluster.play("demo")
  await cluster.settles("demo")
  expect(await cluster.left()).toEqual(["Job sk-demo-driver", "Pod", "Pod", "Simulation demo"])
})
