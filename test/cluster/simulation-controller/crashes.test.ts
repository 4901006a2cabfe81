/** A controller that is killed at random moments never starts a second driver, and each Simulation ends. */
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, expect, test } from "vitest"
import type { ReelProcess } from "../../recorder/recorder/recorder-command.ts"
import { kubectl } from "../command.ts"
import { controllerName, SimulatedCluster } from "./simulated-cluster.ts"

let simulated: SimulatedCluster
beforeAll(async () => {
  simulated = await SimulatedCluster.open()
})
afterAll(() => simulated?.[Symbol.asyncDispose]())

/** ms that a run takes without crashes, from the start of a controller to the end of the Simulation, at least. */
const runMs = 5_000

test("killed ten times, while Simulations begin, run and end", async () => {
  const once = simulated.file("hooks")
  const hooks = { preStartHooks: [{ cmd: "/bin/sh", args: ["-c", `echo "$0" >> ${once}`] }] }
  const names: string[] = []
  let controller: ReelProcess | undefined
  const moments: number[] = []
  for (let kill = 0; kill < 10; kill++) {
    controller = await simulated.startController()
    // Two at a time: one waits for the other.
    if (kill % 2 === 0) {
      const name = await simulated.create({ spec: { hooks } })
      simulated.finish(name)
      names.push(name)
    }
    await controller.says(/metrics: http/)
    const momentMs = Math.random() * runMs
    moments.push(Math.round(momentMs))
    await sleep(momentMs)
    await controller.kill()
    // As if 15 s had passed: otherwise most of the ten would be killed while they wait for the Lease of a dead one.
    const { cluster } = simulated.audited
    await kubectl(cluster, "delete", "lease", controllerName, "-n", simulated.namespace, "--ignore-not-found")
  }
  await simulated.startController()
  for (const name of names) {
    const what = `${name}; killed after ${moments.join(", ")} ms`
    await simulated.until(name, ({ status }) => status?.endTime !== undefined || status?.state === "Failed", 60_000)
    const { status } = await simulated.simulation(name)
    const ready = status?.conditions?.find(({ type }) => type === "Ready")
    // A hook that was running when the controller died is not run again: the Simulation fails with that, and starts no driver.
    if (status?.state === "Failed") expect(ready, what).toMatchObject({ reason: "PreStartHookFailed" })
    else expect(status?.state, what).toBe("Finished")
    expect(simulated.startsOf(name), what).toHaveLength(status?.state === "Finished" ? 1 : 0)
    await simulated.reaches(name, status?.state ?? "")
    await simulated.remove(name)
    await simulated.isClean(name)
  }
  expect(simulated.textOf("hooks").split("\n").length - 1).toBeLessThanOrEqual(names.length)
})
