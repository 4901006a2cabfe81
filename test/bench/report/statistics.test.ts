import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { interpolate, median, slope } from "../../../bench/report/statistics.ts"

const values = fc.array(fc.integer({ min: -1_000_000, max: 1_000_000 }), { minLength: 1, maxLength: 30 })

describe("the median", () => {
  test("is the middle value, or the mean of the two in the middle", () => {
    expect(median([3, 1, 2])).toBe(2)
    expect(median([10, 1, 2, 4])).toBe(3)
    expect(median([])).toBeNaN()
  })

  test("has as many values at or above it as at or below it", () => {
    void fc.assert(
      fc.property(values, (numbers) => {
        const middle = median(numbers)
        const above = numbers.filter((number) => number >= middle).length
        const below = numbers.filter((number) => number <= middle).length
        expect(Math.min(above, below) * 2).toBeGreaterThanOrEqual(numbers.length)
      }),
    )
  })
})

describe("the slope", () => {
  test("of points on a line is that line's, in whatever order they come", () => {
    void fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: -1000, max: 1000 }), { minLength: 2, maxLength: 20 }),
        fc.integer({ min: -50, max: 50 }),
        fc.integer({ min: -1000, max: 1000 }),
        (xs, rise, start) => {
          expect(slope(xs.map((x) => ({ x, y: start + rise * x })))).toBeCloseTo(rise, 6)
        },
      ),
    )
  })

  test("of scattered points is the least-squares one", () => {
    const points = [
      { x: 1, y: 2 },
      { x: 2, y: 3 },
      { x: 3, y: 7 },
    ]
    expect(slope(points)).toBeCloseTo(2.5)
  })

  test("needs two different places", () => {
    expect(slope([{ x: 1, y: 1 }])).toBeNaN()
    expect(
      slope([
        { x: 1, y: 1 },
        { x: 1, y: 5 },
      ]),
    ).toBeNaN()
  })
})

describe("interpolation", () => {
  const points = [
    { x: 0, y: 100 },
    { x: 10, y: 200 },
    { x: 30, y: 300 },
  ]

  test("goes straight from point to point", () => {
    expect(interpolate(points, 5)).toBe(150)
    expect(interpolate(points, 10)).toBe(200)
    expect(interpolate(points, 20)).toBe(250)
  })

  test("stays at the last value beyond the ends", () => {
    expect(interpolate(points, -5)).toBe(100)
    expect(interpolate(points, 99)).toBe(300)
    expect(interpolate([], 1)).toBeNaN()
  })

  test("never leaves the range of its neighbours", () => {
    void fc.assert(
      fc.property(fc.integer({ min: -10, max: 40 }), (x) => {
        const y = interpolate(points, x)
        expect(y).toBeGreaterThanOrEqual(100)
        expect(y).toBeLessThanOrEqual(300)
      }),
    )
  })
})
