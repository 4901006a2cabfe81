import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { canonicalQuantity, quantityOf, thousandths } from "../../src/kube/quantity.ts"

describe("a quantity", () => {
  test.each([
    ["1000m", "1"],
    ["1024Mi", "1Gi"],
    ["1500m", "1500m"],
    ["0.5", "500m"],
    ["1.5Gi", "1536Mi"],
    ["1000k", "1M"],
    ["0", "0"],
    ["0Gi", "0"],
    [2, "2"],
    ["-1", "-1"],
    ["1u", "1m"],
    ["many", "many"],
    ["1e3", "1e3"],
  ])("%j is spelt %j", (given, spelt) => {
    expect(canonicalQuantity(given)).toBe(spelt)
  })

  const written = fc
    .tuple(fc.integer({ min: -9999, max: 9999 }), fc.constantFrom("", "m", "k", "M", "G", "Ki", "Mi", "Gi"))
    .map(([amount, suffix]) => `${amount}${suffix}`)

  test("keeps its amount in its canonical spelling, which is stable", () => {
    fc.assert(
      fc.property(written, (text) => {
        const spelt = canonicalQuantity(text)
        expect(quantityOf(spelt)).toBeCloseTo(quantityOf(text) ?? Number.NaN, 3)
        expect(canonicalQuantity(spelt)).toBe(spelt)
      }),
    )
  })

  test("is only what the pattern allows, and reading never throws", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(quantityOf(text) === undefined || /^[+-]?[\d.]/.test(text)).toBe(true)
      }),
    )
  })

  test("is read as Kubernetes writes it", () => {
    expect(["100m", "2", "0.5", "1e3", "1E3", "64Mi", "1k", ".5", "1Gi", "-1"].map(quantityOf)).toEqual([
      0.1, 2, 0.5, 1000, 1000, 67108864, 1000, 0.5, 1073741824, -1,
    ])
    expect(["", "abc", "1 Gi", "1K", "--1", "1ee3", "Mi"].map(quantityOf)).toEqual(Array(7).fill(undefined))
  })

  test("in thousandths is exact for every number of milli-units", () => {
    fc.assert(
      fc.property(fc.nat({ max: 10_000_000 }), (millis) => {
        expect(thousandths(`${millis}m`)).toBe(millis)
        expect(thousandths((millis / 1000).toFixed(3))).toBe(millis)
      }),
    )
  })
})
