import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { seededRandomness, VirtualClock } from "../../../src/rehearsal/clock/virtual-clock.ts"

describe("The clock of a rehearsal", () => {
  test("shows the time of the recording, and fires timers in the order of their times and of their making", () => {
    void fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 20 })), (delays) => {
        const clock = new VirtualClock(5_000_000)
        const fired: Array<readonly [ms: number, index: number]> = []
        for (const [index, ms] of delays.entries()) clock.after(ms, () => fired.push([clock.monotonicMs(), index]))
        for (let due = clock.next; due !== undefined; due = clock.next) {
          clock.moveTo(due)
          clock.fire()
        }
        const wanted = delays.map((ms, index) => [ms, index] as const)
        expect(fired).toEqual(wanted.toSorted(([left], [right]) => left - right))
        expect(clock.wallMicros()).toBe(5_000_000 + 1000 * Math.max(0, ...delays))
      }),
    )
  })

  test("never goes back, and fires neither cancelled timers nor those without an end", () => {
    const clock = new VirtualClock(0)
    const fired: string[] = []
    const second = { cancel: (): void => undefined }
    clock.after(1, () => {
      fired.push("first")
      second.cancel()
    })
    second.cancel = clock.after(1, () => fired.push("second")).cancel
    clock.after(2, () => fired.push("third")).cancel()
    clock.after(Number.POSITIVE_INFINITY, () => fired.push("never"))
    clock.moveTo(5000)
    clock.moveTo(1000)
    clock.fire()
    expect([fired, clock.monotonicMs(), clock.next]).toEqual([["first"], 5, undefined])
  })

  test("lets what a timer sets for now wait for the next call", () => {
    const clock = new VirtualClock(0)
    const fired: number[] = []
    clock.after(0, () => {
      fired.push(1)
      clock.after(0, () => fired.push(2))
    })
    clock.fire()
    expect(fired).toEqual([1])
    clock.fire()
    expect(fired).toEqual([1, 2])
  })
})

test("Random values repeat with their seed, differ without, and look like the server's", () => {
  const sequence = (seed: number) => {
    const random = seededRandomness(seed)
    return [random.uid(), random.suffix(5), random.next(), [...new Uint8Array(4).map(() => random.next() * 256)]]
  }
  expect(sequence(1)).toEqual(sequence(1))
  expect(sequence(1)).not.toEqual(sequence(2))
  const { uid, suffix, next } = seededRandomness(7)
  expect(uid()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(suffix(5)).toMatch(/^[bcdfghjklmnpqrstvwxz2456789]{5}$/)
  const numbers = Array.from({ length: 1000 }, next)
  expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true)
  expect(numbers.reduce((sum, number) => sum + number, 0) / 1000).toBeCloseTo(0.5, 1)
})
