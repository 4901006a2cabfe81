import { describe, expect, test } from "vitest"
import { type CpuLook, restBegins, restMs } from "../../../bench/subjects/rest.ts"

/** Looks every 25 ms at a process that works at `share` of a CPU until `workMs` and at `idle` afterwards. */
const looksAt = (workMs: number, untilMs: number, share: number, idle = 0): ReadonlyArray<CpuLook> =>
  Array.from({ length: untilMs / 25 + 1 }, (_, index) => {
    const atMs = index * 25
    const seconds = (Math.min(atMs, workMs) * share + Math.max(0, atMs - workMs) * idle) / 1000
    return { atMs, cpuSeconds: Math.floor(seconds * 100) / 100 }
  })

describe("a rest", () => {
  test("is not seen while there is work, nor before it has lasted", () => {
    expect(restBegins([], 0)).toBeUndefined()
    expect(restBegins(looksAt(1000, 1000, 0.8), 0)).toBeUndefined()
    expect(restBegins(looksAt(1000, 1000 + restMs - 100, 0.8), 0)).toBeUndefined()
  })

  test("begins when the work ended, give or take what the tolerance lets pass", () => {
    const at = restBegins(looksAt(1000, 1000 + restMs, 0.8), 0)
    expect(at).toBeGreaterThanOrEqual(950)
    expect(at).toBeLessThanOrEqual(1000)
  })

  test("is of a process that uses its usual share of a CPU", () => {
    const looks = looksAt(1000, 2000, 1, 0.3)
    expect(restBegins(looks, 0)).toBeUndefined()
    expect(restBegins(looks, 0.3)).toBe(2000 - restMs)
  })
})
