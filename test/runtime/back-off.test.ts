import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { BackOff } from "../../src/runtime/back-off.ts"

const policy = { initialMs: 100, maximumMs: 1000, factor: 2, jitter: 1, resetAfterMs: 5000 }

const clientGo = { initialMs: 800, maximumMs: 30_000, factor: 2, jitter: 1, resetAfterMs: 120_000 }

describe("back-off", () => {
  test("doubles from the first delay to the largest", () => {
    const backOff = new BackOff(policy, () => 0)
    expect([1, 2, 3, 4, 5, 6].map((nowMs) => backOff.next(nowMs))).toEqual([100, 200, 400, 800, 1000, 1000])
  })

  test("adds up to the whole base as jitter", () => {
    const backOff = new BackOff(policy, () => 0.75)
    expect([1, 2].map((nowMs) => backOff.next(nowMs))).toEqual([175, 350])
  })

  test("restarts after a longer quiet than the policy requires, and on reset", () => {
    const backOff = new BackOff(policy, () => 0)
    backOff.next(0)
    expect(backOff.next(5000)).toBe(200)
    expect(backOff.next(10_001)).toBe(100)
    backOff.next(10_002)
    backOff.reset()
    expect(backOff.next(10_003)).toBe(100)
  })

  test("stays within [base, base × (1 + jitter)] at any time and for any random number", () => {
    const failures = fc.array(fc.tuple(fc.nat(300_000), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })))
    fc.assert(
      fc.property(failures, (pauses) => {
        let dice = 0
        let now = 0
        const backOff = new BackOff(clientGo, () => dice)
        for (const [pause, next] of pauses) {
          now += pause
          dice = next
          const delay = backOff.next(now)
          expect(delay).toBeGreaterThanOrEqual(clientGo.initialMs)
          // For the largest random number below 1 the sum is rounded up to the bound.
          expect(delay).toBeLessThanOrEqual(2 * clientGo.maximumMs)
        }
      }),
    )
  })
})
