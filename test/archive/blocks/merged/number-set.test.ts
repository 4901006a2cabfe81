import fc from "fast-check"
import { expect, test } from "vitest"
import { NumberSet, writeNumberSet } from "../../../../src/archive/blocks/object-index.ts"

const highest = 2 ** 32 - 1

const anyNumbers = fc
  .oneof(
    fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 60 }),
    fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 1, maxLength: 300 }),
    fc.array(fc.oneof(fc.constantFrom(0, highest), fc.integer({ min: 0, max: highest })), {
      minLength: 1,
      maxLength: 20,
    }),
  )
  .map((numbers) => Uint32Array.from([...new Set(numbers)].sort((one, other) => one - other)))

test("a set has the numbers that it was made of, in their places, and no others", () => {
  fc.assert(
    fc.property(anyNumbers, fc.array(fc.integer({ min: 0, max: highest })), (numbers, others) => {
      const set = new NumberSet(writeNumberSet(numbers))
      expect(set.all()).toEqual(numbers)
      expect([...numbers].map((number) => set.rankOf(number))).toEqual([...numbers.keys()])
      expect([...numbers.keys()].map((rank) => set.at(rank))).toEqual([...numbers])
      expect(() => set.at(numbers.length)).toThrow(RangeError)
      for (const number of [...others, ...numbers].flatMap((each) => [each - 1, each, each + 1]))
        expect(set.rankOf(number)).toBe(numbers.indexOf(number))
    }),
  )
})

test("three thousand of a hundred thousand numbers take 7.1 bits each", () => {
  const numbers = Uint32Array.from({ length: 3000 }, (_, index) => 1 + index * 33)
  expect((writeNumberSet(numbers).length * 8) / 3000).toBeLessThan(7.1)
})

test("bytes that are no set are refused, or are a set: nothing else happens", () => {
  const isRefusedOrRead = (bytes: Uint8Array): void => {
    try {
      const set = new NumberSet(bytes)
      for (const number of [0, 1, 77, highest]) set.rankOf(number)
      set.at(set.count - 1)
      expect(set.all()).toHaveLength(set.count)
    } catch (error) {
      expect(error).toBeInstanceOf(RangeError)
    }
  }
  fc.assert(
    fc.property(anyNumbers, fc.nat(), fc.nat(255), (numbers, place, value) => {
      const bytes = writeNumberSet(numbers)
      isRefusedOrRead(bytes.subarray(0, place % bytes.length))
      bytes[place % bytes.length] = value
      isRefusedOrRead(bytes)
    }),
  )
  fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), isRefusedOrRead))
})
