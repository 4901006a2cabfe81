/** `reel pause`, `resume`, `delete` and `status`. */
import { describe, expect, test } from "vitest"
import { parse } from "yaml"
import { exitCodes } from "../../../src/cli/command-line/exit-codes.ts"
import { simulationKind } from "../../../src/simulation/index.ts"
import { eventually } from "../../harness/eventually.ts"
import { condition, simulationClusters } from "./with-simulations.ts"

const here = simulationClusters()

const ran = async (...argv: string[]): Promise<readonly [code: number, output: string, errors: string]> => {
  const { terminal, code } = here.run(...argv)
  return [await code, terminal.standardOutput.text(), terminal.standardError.text()]
}

describe("reel pause and reel resume", () => {
  test("set and clear the time since when a Simulation is paused", async () => {
    await ran("run", "monday")
    expect(await ran("pause", "monday")).toEqual([0, "", "reel pause: paused the Simulation monday\n"])
    expect(Date.parse((await here.get("monday")).spec.pausedTime ?? "")).toBeGreaterThan(Date.now() - 60_000)
    expect(await ran("resume", "monday")).toEqual([0, "", "reel resume: resumed the Simulation monday\n"])
    expect((await here.get("monday")).spec.pausedTime ?? null).toBeNull()
  })

  test("refuse what would have no effect", async () => {
    expect(await ran("pause", "monday")).toEqual([
      1,
      "",
      "reel pause: there is no Simulation monday; reel status lists those that there are\n",
    ])
    await ran("run", "monday", "--start-paused")
    expect(await ran("pause", "monday")).toEqual([1, "", "reel pause: the Simulation monday is paused already\n"])
    await ran("resume", "monday")
    expect(await ran("resume", "monday")).toEqual([1, "", "reel resume: the Simulation monday is not paused\n"])
    await here.report("monday", { state: "Finished" })
    expect(await ran("pause", "monday")).toEqual([1, "", "reel pause: the Simulation monday has ended (Finished)\n"])
  })
})

describe("reel delete", () => {
  test("deletes a Simulation, and says so if there is none", async () => {
    await ran("run", "monday")
    expect(await ran("delete", "monday")).toEqual([0, "", "reel delete: deleted the Simulation monday\n"])
    expect((await ran("delete", "monday"))[0]).toBe(exitCodes.failed)
  })

  test.each(["d", "del", "rm"])("is also called %s, as in skctl", async (alias) => {
    await ran("r", "monday")
    expect(await ran(alias, "monday")).toEqual([0, "", "reel delete: deleted the Simulation monday\n"])
  })

  test("with --wait waits until the controller has cleaned up", async () => {
    await ran("run", "monday")
    await here.cluster.client.patch(simulationKind, { name: "monday" }, "merge", {
      metadata: { finalizers: ["simkube.io/cleanup"] },
    })
    expect(await ran("delete", "monday")).toEqual([0, "", "reel delete: the Simulation monday is being deleted\n"])
    const { terminal, code } = here.run("delete", "monday", "--wait")
    await eventually(() => expect(terminal.listeners()).toBe(1))
    await here.cluster.client.patch(simulationKind, { name: "monday" }, "merge", { metadata: { finalizers: [] } })
    expect(await code).toBe(exitCodes.ok)
    expect(terminal.standardError.text()).toBe("reel delete: deleted the Simulation monday\n")
  })
})

describe("reel status", () => {
  const report = { repetition: 1, objects: 12, objectsEqual: 0.98, writesRefused: 1, driftP99Ms: 2.34, podsPaired: 1 }

  test("prints a table with the columns of kubectl, and the key figures if it is wide", async () => {
    expect(await ran("status")).toEqual([0, "", "reel status: there are no Simulations\n"])
    await ran("run", "b", "-N", "2", "-s", "2.5")
    await ran("run", "a")
    const conditions = [condition("Ready", "True", "DriverRuns", "it runs")]
    const progress = { repetition: 2, eventsSent: 3, percent: 50 }
    const startTime = "2026-11-23T12:00:00Z"
    await here.report("b", { state: "Running", startTime, completedRuns: 1, progress, reports: [report], conditions })
    const [, table] = await ran("status")
    expect(table).toBe(
      "NAME   START TIME             END TIME   SPEED FACTOR   COMPLETED   TOTAL   STATE     PROGRESS\n" +
        "a      -                      -          1              -           1       -         -\n" +
        "b      2026-11-23T12:00:00Z   -          2.5            1           2       Running   50 %\n",
    )
    const [, wide] = await ran("status", "b", "-o", "wide")
    expect(wide.split("\n")[1]).toContain(
      "50 %       12        98.0 %   1         2.3 ms      100.0 %       DriverRuns",
    )
  })

  test("prints objects for programs", async () => {
    await ran("run", "a")
    expect(JSON.parse((await ran("status", "a", "-o", "json"))[1])).toMatchObject({
      kind: "Simulation",
      metadata: { name: "a" },
    })
    expect(parse((await ran("status", "-o", "yaml"))[1])).toMatchObject({
      kind: "List",
      items: [{ metadata: { name: "a" } }],
    })
    expect((await ran("status", "b"))[0]).toBe(exitCodes.failed)
  })

  test("with --watch shows a Simulation until it has ended", async () => {
    await ran("run", "a", "-N", "2")
    const { terminal, code } = here.run("status", "a", "--watch")
    await eventually(() => expect(terminal.standardOutput.text()).toBe("a: waiting for the controller\n"))
    await here.report("a", {
      state: "Running",
      progress: { repetition: 2, eventsSent: 1, traceTime: "2026-11-20T00:00:00Z" },
    })
    await eventually(() =>
      expect(terminal.standardOutput.text()).toContain(
        "a: Running, repetition 2 of 2, 1 events, 2026-11-20T00:00:00Z\n",
      ),
    )
    await here.report("a", { state: "Finished", completedRuns: 2 })
    expect(await code).toBe(exitCodes.ok)
    expect(terminal.standardOutput.text()).toContain("Finished   2 complete repetitions\n")
  })

  test("with --watch and no name shows each change of all until Ctrl-C", async () => {
    await ran("run", "a")
    const { terminal, code } = here.run("status", "-w")
    await eventually(() => expect(terminal.standardOutput.text()).toContain("\na "))
    await ran("run", "b")
    await here.report("b", { state: "Blocked" })
    await eventually(() => expect(terminal.standardOutput.text()).toMatch(/^b .*Blocked/m))
    terminal.interrupt()
    expect(await code).toBe(exitCodes.ok)
    expect(terminal.listeners()).toBe(0)
  })
})
