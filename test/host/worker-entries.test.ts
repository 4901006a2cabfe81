import { expect, test } from "vitest"
import { hostMemoryLimits, scriptMemoryLimits } from "../../src/host/worker-entries.ts"

const mebibytes = (count: number): number => count * 2 ** 20

test("a script thread may take a part of its container, so that a leak ends the thread before the container", () => {
  expect(scriptMemoryLimits(mebibytes(1000)).oldGenerationMb).toBe(400)
  expect(scriptMemoryLimits(mebibytes(64_000))).toEqual(hostMemoryLimits["script-thread"])
  // With less than that no script can be loaded.
  expect(scriptMemoryLimits(mebibytes(100)).oldGenerationMb).toBe(64)
})
