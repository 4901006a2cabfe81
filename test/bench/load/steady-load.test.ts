import { describe, expect, test } from "vitest"
import { dueMs, type LoadOrder } from "../../../bench/load/steady-load.ts"

describe("the moment at which an event is due", () => {
  const orders: ReadonlyArray<LoadOrder> = [
    { from: 1000, events: 500, perSecond: 100, startMs: 10_000 },
    { from: 1500, events: 100, perSecond: 100, startMs: 16_000 },
  ]

  test("is that of its order's schedule, whenever it was written", () => {
    expect(dueMs(orders, 1001)).toBe(10_010)
    expect(dueMs(orders, 1500)).toBe(15_000)
    expect(dueMs(orders, 1501)).toBe(16_010)
    expect(dueMs(orders, 1600)).toBe(17_000)
  })

  test("is unknown for events of no order", () => {
    expect(dueMs(orders, -3)).toBeUndefined()
    expect(dueMs(orders, 1000)).toBeUndefined()
    expect(dueMs(orders, 1601)).toBeUndefined()
  })
})
