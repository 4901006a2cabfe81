import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { RetryPace, TokenBucket } from "../../../src/host/queue/rate-limiter.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const never = (): number => 0

describe("the back-off of a key", () => {
  test("doubles from 5 ms with each failure, up to 1,000 s, as in client-go", () => {
    const limiter = new RetryPace(new ManualClock(), never)
    const delays = Array.from({ length: 20 }, () => limiter.delayMs("a"))
    expect(delays.slice(0, 5)).toEqual([5, 10, 20, 40, 80])
    expect(delays.slice(-2)).toEqual([1_000_000, 1_000_000])
    expect(limiter.failures("a")).toBe(20)
  })

  test("is per key, and starts over when the key is forgotten", () => {
    const limiter = new RetryPace(new ManualClock(), never)
    limiter.delayMs("a")
    limiter.delayMs("a")
    expect(limiter.delayMs("b")).toBe(5)
    limiter.forget("a")
    expect([limiter.failures("a"), limiter.delayMs("a")]).toEqual([0, 5])
  })

  test("is randomly longer by at most a tenth, and never longer than the maximum", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), fc.nat(40), (chance, failures) => {
        const limiter = new RetryPace(new ManualClock(), () => chance)
        for (let count = 0; count < failures; count++) limiter.delayMs("a")
        const bare = 5 * 2 ** failures
        const delay = limiter.delayMs("a")
        expect(delay).toBeLessThanOrEqual(Math.min(1_000_000, bare * 1.1))
        expect(delay).toBeGreaterThanOrEqual(Math.min(1_000_000, bare))
      }),
    )
  })
})

describe("the token bucket of all keys", () => {
  test("lets a burst through at once and the rest at its rate, as Go's rate.Limiter reserves them", () => {
    const clock = new ManualClock()
    const bucket = new TokenBucket(clock, { perSecond: 10, burst: 3 })
    expect(Array.from({ length: 6 }, () => bucket.delayMs())).toEqual([0, 0, 0, 100, 200, 300])
    clock.advance(300)
    expect(bucket.delayMs()).toBe(100)
    clock.advance(60_000)
    expect(Array.from({ length: 4 }, () => bucket.delayMs())).toEqual([0, 0, 0, 100])
  })

  test("never lets more than the burst and the rate through in any stretch of time", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(400), { minLength: 1, maxLength: 60 }), (pauses) => {
        const clock = new ManualClock()
        const bucket = new TokenBucket(clock, { perSecond: 10, burst: 5 })
        const moments: number[] = []
        for (const pause of pauses) {
          clock.advance(pause)
          moments.push(clock.monotonicMs() + bucket.delayMs())
        }
        moments.sort((one, other) => one - other)
        for (const [index, from] of moments.entries())
          for (const [further, to] of moments.slice(index).entries())
            expect(further + 1).toBeLessThanOrEqual(5 + (to - from) / 100 + 1e-6)
      }),
    )
  })
})

test("a retry waits for the longer of both", () => {
  const clock = new ManualClock()
  const limiter = new RetryPace(clock, never)
  const first = Array.from({ length: 101 }, (_, index) => limiter.delayMs(`key-${index}`))
  expect([first[0], first[99], first[100]]).toEqual([5, 5, 100])
  expect(limiter.failures("key-7")).toBe(1)
  limiter.forget("key-7")
  expect(limiter.failures("key-7")).toBe(0)
})
