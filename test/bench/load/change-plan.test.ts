import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { ChangePlan } from "../../../bench/load/change-plan.ts"

const orders = fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 8 })

describe("a plan of changes", () => {
  test("counts what it orders: every event is a change or a heartbeat", () => {
    fc.assert(
      fc.property(orders, fc.double({ min: 0, max: 1, noNaN: true }), (counts, share) => {
        const plan = new ChangePlan(share)
        for (const count of counts) plan.order(count)
        const numbers = Array.from({ length: plan.events }, (_, index) => index + 1)
        expect(plan.events).toBe(counts.reduce((sum, count) => sum + count, 0))
        expect(numbers.filter((number) => !plan.isHeartbeat(number))).toHaveLength(plan.changes)
      }),
    )
  })

  test("ends every order with a change, so that its end can be seen", () => {
    fc.assert(
      fc.property(orders, (counts) => {
        const plan = new ChangePlan(1)
        const ends = counts.map((count) => {
          plan.order(count)
          return plan.events
        })
        expect(ends.filter((end) => plan.isHeartbeat(end))).toEqual([])
        expect(plan.changes).toBe(counts.length)
      }),
    )
  })

  test.each([0, 0.1, 0.5, 0.9])("spreads a share of %d evenly, among the changes of each object too", (share) => {
    const plan = new ChangePlan(share)
    plan.order(100_000)
    const heartbeats = (of: (number: number) => boolean): number => {
      const numbers = Array.from({ length: plan.events - 1 }, (_, index) => index + 1).filter(of)
      return numbers.filter((number) => plan.isHeartbeat(number)).length / numbers.length
    }
    expect(heartbeats(() => true)).toBeCloseTo(share, 2)
    for (const object of [0, 1, 500, 999]) {
      expect(Math.abs(heartbeats((number) => number % 1000 === object) - share)).toBeLessThan(0.1)
    }
  })

  test("has no heartbeats when none are asked for", () => {
    const plan = new ChangePlan(0)
    plan.order(1000)
    expect(plan.changes).toBe(1000)
  })
})
