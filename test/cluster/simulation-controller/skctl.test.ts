/**
 * SimKube's own command line runs, pauses, resumes and deletes a Simulation of our controller (KUBEREEL_SKCTL names its binary), and `reel` does with the same
 * words.
 */
import { execFile } from "node:child_process"
import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, test } from "vitest"
import { SimulatedCluster } from "./simulated-cluster.ts"

const reel = fileURLToPath(new URL("../../../bin/reel.js", import.meta.url))
const skctl = process.env.KUBEREEL_SKCTL ?? ""

let simulated: SimulatedCluster
beforeAll(async () => {
  simulated = await SimulatedCluster.open()
  const controller = await simulated.startController()
  await controller.says(/metrics: http/)
})
afterAll(() => simulated?.[Symbol.asyncDispose]())

test.for([
  ["reel", process.execPath, [reel]],
  ["skctl", skctl, []],
] as const)("%s runs, pauses, resumes and deletes a Simulation", async ([program, path, first], { skip }) => {
  if (path === "") skip("KUBEREEL_SKCTL does not name SimKube's skctl")
  const name = `sim-${process.pid}-${program}`
  const env = { ...process.env, KUBECONFIG: simulated.audited.cluster.kubeconfig }
  const command = (...words: ReadonlyArray<string>) => promisify(execFile)(path, [...first, ...words], { env })
  const hooks = simulated.file("no-hooks.yml")
  writeFileSync(hooks, "preStartHooks: []\npreRunHooks: []\npostRunHooks: []\npostStopHooks: []\n")
  const port = String(simulated.nextPort())
  await command(
    ...["run", name, "-f", "s3://traces/none", "-N", "2", "-I", "kubereel", "--hooks", hooks, "--disable-metrics"],
    ...["--driver-namespace", simulated.drivers, "--driver-port", port, "--virtual-ns-prefix", name],
  )
  await simulated.reaches(name, "Running")
  await simulated.drivesOf(name, 1)
  expect((await simulated.simulation(name)).spec).toMatchObject({ repetitions: 2, driver: { virtualNsPrefix: name } })
  await command("pause", name)
  expect(await simulated.reaches(name, "Paused")).toBeLessThan(1000)
  await command("resume", name)
  expect(await simulated.reaches(name, "Running")).toBeLessThan(1000)
  await command("delete", name)
  await simulated.isClean(name)
  expect(simulated.startsOf(name)).toHaveLength(1)
})
