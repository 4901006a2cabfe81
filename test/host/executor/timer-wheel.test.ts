import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { Clock } from "../../../src/clock.ts"
import { systemClock } from "../../../src/clock.ts"
import { type Delay, TimerWheel } from "../../../src/host/executor/timer-wheel.ts"
import { eventually } from "../../harness/eventually.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const start = () => {
  const clock = new ManualClock()
  const ended: string[] = []
  const wheel = new TimerWheel<string, string>(clock, (values) => {
    for (const value of values) ended.push(`${value}@${clock.monotonicMs()}`)
  })
  return { clock, ended, wheel }
}

describe("A timer wheel", () => {
  test("ends delays in the order of their times, equal ones in the order of adding", () => {
    const { clock, ended, wheel } = start()
    wheel.add("m", 5000, "c")
    wheel.add("m", 70, "a")
    clock.advance(10)
    wheel.add("m", 4990, "d")
    wheel.add("m", 60n, "b")
    clock.advance(10_000)
    expect(ended).toEqual(["a@70", "b@70", "c@5000", "d@5000"])
    expect([wheel.size, clock.pending]).toEqual([0, 0])
  })

  test("never ends a delay of 0 within the call that adds it, nor in the turn in which it was added", () => {
    const { clock, wheel } = start()
    const ended: number[] = []
    const loop = new TimerWheel<string, number>(clock, ([value = 0]) => {
      ended.push(value)
      if (value < 3) loop.add("m", 0, value + 1)
    })
    loop.add("m", 0, 1)
    expect(ended).toEqual([])
    clock.advance(0)
    expect(ended).toEqual([1, 2, 3])
    expect(wheel.size).toBe(0)
  })

  test("uses one timer of the clock at a time, and none once everything is cancelled", () => {
    const { clock, ended, wheel } = start()
    const delays = Array.from({ length: 1000 }, (_, index) => wheel.add(`m${index % 7}`, (index * 7919) % 100_000, "x"))
    expect(clock.pending).toBe(1)
    expect(wheel.sizeOf("m0")).toBe(143)
    expect(wheel.cancelAll("m0")).toBe(143)
    expect(wheel.cancelAll("m0")).toBe(0)
    for (const delay of delays) delay.cancel()
    expect([wheel.size, clock.pending]).toEqual([0, 0])
    clock.advance(1_000_000)
    expect(ended).toEqual([])
  })

  test("wakes the thread at most once per level for a long delay", () => {
    const { clock, ended, wheel } = start()
    const year = 365 * 24 * 3600 * 1000
    wheel.add("m", year, "a year")
    let wakes = 0
    while (clock.untilNext !== undefined) {
      clock.advance(clock.untilNext)
      wakes++
    }
    expect(ended).toEqual([`a year@${year}`])
    expect(wakes).toBeLessThanOrEqual(7)
  })

  test("keeps delays of 2^63 - 1 ms and longer until they are cancelled, without a timer", () => {
    const { clock, ended, wheel } = start()
    const longest = wheel.add("m", 2n ** 63n - 1n, "never")
    wheel.add("m", 2n ** 64n - 1n, "never")
    expect([wheel.size, clock.pending]).toEqual([2, 0])
    clock.advance(2 ** 52)
    expect([ended, wheel.size]).toEqual([[], 2])
    longest.cancel()
    longest.cancel()
    expect(wheel.size).toBe(1)
    expect(wheel.cancelAll("m")).toBe(1)
  })

  test("continues after its listener threw", () => {
    const clock = new ManualClock()
    const ended: string[] = []
    const wheel = new TimerWheel<string, string>(clock, ([value = ""]) => {
      ended.push(value)
      if (value === "a") throw new Error("a defect")
    })
    wheel.add("m", 1, "a")
    wheel.add("m", 2, "b")
    expect(() => clock.advance(5)).toThrow("a defect")
    clock.advance(5)
    expect(ended).toEqual(["a", "b"])
  })

  test("does not end a delay early on the machine's clock, whose milliseconds have fractions", async () => {
    const early: number[] = []
    let ended = 0
    const wheel = new TimerWheel<string, number>(systemClock, (dues) => {
      ended += dues.length
      for (const due of dues) if (systemClock.monotonicMs() < due) early.push(due)
    })
    for (let ms = 0; ms < 50; ms++) wheel.add("m", ms, systemClock.monotonicMs() + ms)
    await eventually(() => expect(ended).toBe(50))
    expect(early).toEqual([])
  })
})

/** What a wheel promises, with a list that is searched. */
class ListModel {
  #delays: Array<{ due: number; sequence: number; owner: string; value: number }> = []
  #sequence = 0

  add(now: number, owner: string, delayMs: bigint, value: number): void {
    this.#delays.push({ due: Math.ceil(now + Number(delayMs)), sequence: this.#sequence++, owner, value })
  }
  cancel(value: number): void {
    this.#delays = this.#delays.filter((delay) => delay.value !== value)
  }
  cancelAll(owner: string): void {
    this.#delays = this.#delays.filter((delay) => delay.owner !== owner)
  }
  endedBy(now: number): number[] {
    const ended = this.#delays.filter(({ due }) => due <= now).sort((a, b) => a.due - b.due || a.sequence - b.sequence)
    this.#delays = this.#delays.filter(({ due }) => due > now)
    return ended.map(({ value }) => value)
  }
  get size(): number {
    return this.#delays.length
  }
}

const magnitudes = fc.oneof(
  fc.bigInt({ min: 0n, max: 200n }),
  fc.bigInt({ min: 0n, max: 300_000n }),
  fc.bigInt({ min: 2n ** 31n - 2n, max: 2n ** 31n + 2n }),
  fc.bigInt({ min: 0n, max: 2n ** 50n }),
  fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
  fc.integer({ min: 0, max: 62 }).map((bits) => 2n ** BigInt(bits)),
)
const owners = fc.constantFrom("a", "b", "c")
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant("add" as const), owner: owners, delayMs: magnitudes }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("cancel" as const), index: fc.nat(40) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("cancel all" as const), owner: owners }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("advance" as const),
      ms: fc.oneof(
        fc.nat(10),
        fc.nat(5000),
        fc.nat(2 ** 31 - 1),
        fc.double({ min: 0, max: 100, noNaN: true }),
        fc.constant(2 ** 45),
      ),
    }),
  },
)

/** A clock whose timers fire only when the test says so, so that the wheel may be late by any amount. */
class LateClock implements Pick<Clock, "monotonicMs" | "after"> {
  now: number
  timer: (() => void) | undefined
  at = 0
  constructor(now: number) {
    this.now = now
  }
  monotonicMs(): number {
    return this.now
  }
  after(delayMs: number, action: () => void): Delay {
    expect(this.timer).toBeUndefined()
    this.timer = action
    this.at = this.now + delayMs
    return {
      cancel: () => {
        this.timer = undefined
      },
    }
  }
  advance(ms: number): void {
    this.now += ms
    // Late: everything that became due meanwhile is found in as few turns as possible.
    while (this.timer !== undefined && this.at <= this.now) {
      const { timer } = this
      this.timer = undefined
      timer()
    }
  }
}

test("A timer wheel is a sorted list, for any delays, cancellations and lateness", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.nat(2 ** 31), (steps, begin) => {
      const clock = new LateClock(begin / 8)
      const model = new ListModel()
      const ended: number[] = []
      const wheel = new TimerWheel<string, number>(clock, (values) => ended.push(...values))
      const delays: Delay[] = []
      for (const one of steps) {
        if (one.type === "add") {
          model.add(clock.now, one.owner, one.delayMs, delays.length)
          delays.push(wheel.add(one.owner, one.delayMs, delays.length))
        } else if (one.type === "cancel") {
          model.cancel(one.index)
          delays[one.index]?.cancel()
        } else if (one.type === "cancel all") {
          model.cancelAll(one.owner)
          wheel.cancelAll(one.owner)
        } else {
          clock.advance(one.ms)
          expect(ended.splice(0)).toEqual(model.endedBy(clock.now))
        }
        expect(wheel.size).toBe(model.size)
      }
      wheel.close()
      expect(clock.timer).toBeUndefined()
    }),
    { numRuns: 500 },
  )
})
