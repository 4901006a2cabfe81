import { describe, expect, test } from "vitest"
import { systemClock } from "../../src/runtime/clock.ts"

describe("the system clock", () => {
  test("tells whole microseconds of the wall clock, within the millisecond that Date.now() tells", () => {
    for (let count = 0; count < 2000; count++) {
      const before = Date.now()
      const micros = systemClock.wallMicros()
      expect(Number.isSafeInteger(micros)).toBe(true)
      expect(Math.floor(micros / 1000)).toBeGreaterThanOrEqual(before)
      expect(Math.floor(micros / 1000)).toBeLessThanOrEqual(Date.now())
    }
  })

  test("a timer fires once, unless it was called off", async () => {
    const fired: Array<string> = []
    systemClock.after(0, () => fired.push("called off")).cancel()
    await new Promise<void>((resolve) => {
      systemClock.after(0, () => fired.push("first"))
      systemClock.after(1, resolve)
    })
    expect(fired).toEqual(["first"])
  })
})
