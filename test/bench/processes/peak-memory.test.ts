import { spawn } from "node:child_process"
import { once } from "node:events"
import { describe, expect, test } from "vitest"
import { PeakMemory } from "../../../bench/processes/peak-memory.ts"

/** Fills as many megabytes as it is told, gives them back to the kernel at once, and says so. */
const fillsAndGivesBack = `process.stdin.setEncoding("utf8").on("data", (megabytes) => {
  Buffer.alloc(megabytes * 1e6, 1).buffer.transfer(0)
  console.log("given back")
})`

describe.runIf(process.platform === "linux")("the peak of a process's memory", () => {
  // A process of its own: in this one earlier tests have left garbage, whose collection hides growth.
  test("is kept although the memory was given back, and counted from what there was", async () => {
    const child = spawn(process.execPath, ["-e", fillsAndGivesBack], { stdio: ["pipe", "pipe", "inherit"] })
    const pages = async (megabytes: number): Promise<void> => {
      child.stdin.write(String(megabytes))
      await once(child.stdout, "data")
    }
    await pages(200)
    const pid = child.pid as number
    const peak = new PeakMemory(pid)
    expect(peak.growth()).toBeLessThan(30e6)
    await pages(100)
    expect(peak.growth()).toBeGreaterThan(80e6)
    expect(peak.growth()).toBeLessThan(150e6)
    expect(new PeakMemory(pid).growth()).toBeLessThan(30e6)
    child.stdin.end()
    await once(child, "exit")
  })
})
