import { afterEach, describe, expect, test, vi } from "vitest"
import { backgroundClock, systemClock } from "../src/clock.ts"

describe("the system clock", () => {
  test("returns whole microseconds of the wall clock, within the millisecond of Date.now()", () => {
    for (let count = 0; count < 2000; count++) {
      const before = Date.now()
      const micros = systemClock.wallMicros()
      expect(Number.isSafeInteger(micros)).toBe(true)
      expect(Math.floor(micros / 1000)).toBeGreaterThanOrEqual(before)
      expect(Math.floor(micros / 1000)).toBeLessThanOrEqual(Date.now())
    }
  })

  test("a timer fires once, unless it was cancelled", async () => {
    const fired: Array<string> = []
    systemClock.after(0, () => fired.push("called off")).cancel()
    await new Promise<void>((resolve) => {
      systemClock.after(0, () => fired.push("first"))
      systemClock.after(1, resolve)
    })
    expect(fired).toEqual(["first"])
  })

  test("in the background, a timer fires without keeping the process alive", async () => {
    const kept: Array<boolean> = []
    const setTimeoutOfNode = globalThis.setTimeout
    vi.stubGlobal("setTimeout", (action: () => void, delayMs: number) => {
      const handle = setTimeoutOfNode(action, delayMs)
      queueMicrotask(() => kept.push(handle.hasRef()))
      return handle
    })
    backgroundClock.after(0, () => kept.push(true)).cancel()
    await new Promise<void>((resolve) => {
      backgroundClock.after(0, resolve)
      // The first one keeps nothing alive, so something else must.
      systemClock.after(5, () => undefined)
    })
    vi.unstubAllGlobals()
    expect(kept).toEqual([false, false, true])
  })

  describe("with a delay beyond the maximum of setTimeout", () => {
    const year = 365 * 24 * 3_600_000
    afterEach(() => {
      vi.useRealTimers()
    })

    test("fires when the delay is over, not at once", () => {
      vi.useFakeTimers()
      const fired: string[] = []
      systemClock.after(year, () => fired.push("year"))
      vi.advanceTimersByTime(year - 1)
      expect(fired).toEqual([])
      vi.advanceTimersByTime(1)
      expect(fired).toEqual(["year"])
      expect(vi.getTimerCount()).toBe(0)
    })

    test("can be cancelled at any time", () => {
      vi.useFakeTimers()
      const fired: string[] = []
      const timer = systemClock.after(year, () => fired.push("year"))
      vi.advanceTimersByTime(year / 2)
      timer.cancel()
      expect(vi.getTimerCount()).toBe(0)
      vi.advanceTimersByTime(year)
      expect(fired).toEqual([])
    })

    test("never passes a longer delay to Node than it supports", () => {
      vi.useFakeTimers()
      const delays: number[] = []
      // By hand: after a spy of a fake timer was restored, the timers of this process no longer fired.
      const fake = globalThis.setTimeout
      globalThis.setTimeout = Object.assign((action: () => void, delay = 0) => {
        delays.push(delay)
        return fake(action, delay)
      }, fake)
      systemClock.after(year, () => undefined)
      systemClock.after(Infinity, () => undefined).cancel()
      vi.advanceTimersByTime(year)
      globalThis.setTimeout = fake
      expect(delays.length).toBeGreaterThan(2)
      expect(Math.max(...delays)).toBe(2 ** 31 - 1)
    })
  })
})
