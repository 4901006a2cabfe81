import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { fewestCalibrationRounds, floorOf, foundRise, guardFailure } from "../../../bench/measuring/guard-floor.ts"

const ratios = fc.array(fc.double({ min: 1, max: 1.9, noNaN: true }), {
  minLength: fewestCalibrationRounds,
  maxLength: 30,
})

describe("the floor of the guard", () => {
  test("lies half the spread below the smallest round", () => {
    expect(floorOf([3, 2.5, 2, 2.2, 2.4])).toBe(1.5)
    expect(floorOf([2, 2, 2, 2, 2])).toBe(2)
  })

  test("lets every run pass whose rounds are those of the calibration, whichever they are", () => {
    fc.assert(
      fc.property(ratios, (calibration) => {
        const floor = floorOf(calibration)
        for (const ratio of calibration) expect(guardFailure([ratio], floor)).toBeUndefined()
        expect(foundRise(calibration)).toBeGreaterThanOrEqual(0)
      }),
    )
  })

  test("stops a run whose median is below it, and says both numbers", () => {
    expect(guardFailure([1.4, 9, 1.4], 1.5)).toBe(
      "the informer takes 1.40 times our CPU for an event; the floor is 1.50",
    )
    expect(guardFailure([1.4, 1.6, 1.6], 1.5)).toBeUndefined()
  })

  test("stops a run that measured nothing", () => {
    expect(guardFailure([], 1.5)).toContain("nothing is known")
  })

  test("is not derived from a few rounds, or from what is no ratio", () => {
    expect(() => floorOf([2, 2, 2, 2])).toThrow(RangeError)
    expect(() => floorOf([2, 2, 2, 2, Number.NaN])).toThrow(RangeError)
  })

  test("finds a rise that takes the median down to it", () => {
    expect(foundRise([3, 2.5, 2, 2.25, 2.4])).toBeCloseTo(2.4 / 1.5 - 1)
  })
})
