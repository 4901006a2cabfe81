import fc from "fast-check"
import { expect, test } from "vitest"
import {
  fromPlanes,
  indexInPlanes,
  sumOfPlanes,
  toPlanes,
  valueInPlanes,
} from "../../../src/archive/blocks/number-columns.ts"

const number = fc.oneof(
  fc.integer({ min: 0, max: 3 }),
  fc.constantFrom(255, 256, 257, 65_535, 65_536, 0x0102_0304, 2 ** 32 - 1),
  fc.integer({ min: 0, max: 2 ** 32 - 1 }),
)

test("planes have the numbers that they were made of", () => {
  fc.assert(
    fc.property(fc.array(number, { maxLength: 40 }), (numbers) => {
      expect([...fromPlanes(toPlanes(Uint32Array.from(numbers), numbers.length), numbers.length)]).toEqual(numbers)
    }),
  )
})

test("a number and the sum of some are read without unpacking the others", () => {
  fc.assert(
    fc.property(fc.array(number, { minLength: 1, maxLength: 40 }), fc.nat(40), fc.nat(40), (numbers, one, other) => {
      const planes = toPlanes(Uint32Array.from(numbers), numbers.length)
      expect(numbers.map((_, index) => valueInPlanes(planes, numbers.length, index))).toEqual(numbers)
      const [from = 0, to = 0] = [one, other].map((at) => Math.min(at, numbers.length)).sort((low, high) => low - high)
      const sum = numbers.slice(from, to).reduce((all, each) => all + each, 0)
      expect(sumOfPlanes(planes, numbers.length, from, to)).toBe(sum)
    }),
  )
})

test("a number is found in planes where it is in the column", () => {
  fc.assert(
    fc.property(fc.array(number, { maxLength: 40 }), number, fc.nat(45), (numbers, wanted, from) => {
      const planes = toPlanes(Uint32Array.from(numbers), numbers.length)
      expect(indexInPlanes(planes, numbers.length, wanted, from)).toBe(numbers.indexOf(wanted, from))
    }),
  )
})
