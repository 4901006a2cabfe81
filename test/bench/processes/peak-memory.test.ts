import { describe, expect, test } from "vitest"
import { PeakMemory } from "../../../bench/processes/peak-memory.ts"

describe.runIf(process.platform === "linux")("the peak of a process's memory", () => {
  const pages = (megabytes: number): number => {
    const memory = Buffer.alloc(megabytes * 1e6, 1)
    // The bytes go back to the kernel at once.
    return memory.buffer.transfer(0).byteLength
  }

  test("is kept although the memory was given back, and counted from what there was", () => {
    // So much that it does not matter what earlier tests have left to collect in this process: 30 MB were seen.
    pages(800)
    const peak = new PeakMemory(process.pid)
    expect(peak.growth()).toBeLessThan(100e6)
    pages(400)
    expect(peak.growth()).toBeGreaterThan(300e6)
    expect(peak.growth()).toBeLessThan(500e6)
    const later = new PeakMemory(process.pid)
    expect(later.growth()).toBeLessThan(100e6)
  })
})
