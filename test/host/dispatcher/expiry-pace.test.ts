/** A guest that watches from expired versions again and again. */
import { expect, test } from "vitest"
import { ExpiryPace } from "../../../src/host/dispatcher/watch-registry.ts"
import { defaultHostPolicy } from "../../../src/host/host-options.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const start = () => {
  const clock = new ManualClock()
  return { clock, pace: new ExpiryPace(clock, () => 0, defaultHostPolicy.expiredWatch) }
}

test("the first version that expires costs a module nothing", () => {
  const { pace } = start()
  expect(pace.delayMs("m", "41")).toBe(0)
  pace.expired("m")
  expect(pace.delayMs("m", "42")).toBe(0)
})

test("each further one makes it wait longer, up to a minute; others and the present state do not wait", () => {
  const { clock, pace } = start()
  pace.expired("m")
  const delays = Array.from({ length: 8 }, () => {
    pace.expired("m")
    const delay = pace.delayMs("m", "42")
    expect([pace.delayMs("other", "42"), pace.delayMs("m", ""), pace.delayMs("m", "0")]).toEqual([0, 0, 0])
    clock.advance(delay)
    expect(pace.delayMs("m", "42")).toBe(0)
    return delay
  })
  expect(delays).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
})

test("two minutes without one are forgiven, and so is everything of a module that is removed", () => {
  const { clock, pace } = start()
  for (const _ of [1, 2, 3]) pace.expired("m")
  clock.advance(120_001)
  pace.expired("m")
  expect(pace.delayMs("m", "42")).toBe(0)
  pace.expired("m")
  expect(pace.delayMs("m", "42")).toBe(1000)
  pace.forget("m")
  expect(pace.delayMs("m", "42")).toBe(0)
})
