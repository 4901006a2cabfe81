import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { ReorderWindow } from "../../../src/audit/reading/reorder-window.ts"

const passed = (times: ReadonlyArray<number>, windowMicros: number, mostBytes = Number.POSITIVE_INFINITY) => {
  const window = new ReorderWindow<{ readonly time: number; readonly index: number }>(windowMicros, mostBytes)
  const items = times.flatMap((time, index) => {
    window.push(time, 1, { time, index })
    return [...window.ready()]
  })
  return [...items, ...window.ready(true)]
}

describe("items", () => {
  test("come out in order if they are out of order by no more than the window", () => {
    const jittered = fc
      .array(fc.tuple(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 10 })), { maxLength: 200 })
      .map((steps) => {
        let now = 0
        return steps.map(([step, late]) => {
          now += step
          return now - late
        })
      })
    fc.assert(
      fc.property(jittered, (times) => {
        expect(passed(times, 10).map(({ time }) => time)).toEqual(times.toSorted((one, other) => one - other))
      }),
    )
  })

  test("are all there, whatever their order", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -50, max: 50 })), fc.integer({ min: 0, max: 20 }), (times, bytes) => {
        const indices = passed(times, 10, bytes).map(({ index }) => index)
        expect(indices.toSorted((one, other) => one - other)).toEqual(times.map((_, index) => index))
      }),
    )
  })

  test("of one time keep their order", () => {
    expect(passed([5, 5, 1, 5, 5], 10).map(({ index }) => index)).toEqual([2, 0, 1, 3, 4])
  })

  test("wait only until there are too many bytes", () => {
    const window = new ReorderWindow<number>(1000, 3)
    const ready: number[] = []
    for (const time of [3, 1, 2, 4, 5]) {
      window.push(time, 1, time)
      ready.push(...window.ready())
    }
    expect(ready).toEqual([1, 2])
  })
})
