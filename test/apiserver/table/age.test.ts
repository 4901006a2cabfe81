import fc from "fast-check"
import { expect, test } from "vitest"
import { humanDuration, since } from "../../../src/apiserver/table/columns.ts"

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour
const year = 365 * day

test.each([
  [-2001, "<invalid>"],
  [-1999, "0s"],
  [-500, "0s"],
  [0, "0s"],
  [119 * second + 999, "119s"],
  [2 * minute, "2m"],
  [2 * minute + second, "2m1s"],
  [10 * minute + 59 * second, "10m"],
  [3 * hour - second, "179m"],
  [3 * hour, "3h"],
  [7 * hour + 59 * minute, "7h59m"],
  [8 * hour + minute, "8h"],
  [48 * hour - second, "47h"],
  [2 * day, "2d"],
  [2 * day + hour, "2d1h"],
  [8 * day + hour, "8d"],
  [2 * year - second, "729d"],
  [2 * year, "2y"],
  [2 * year + day, "2y1d"],
  [8 * year + day, "8y"],
])("%d ms are %s, as in apimachinery's HumanDuration", (milliseconds, text) => {
  expect(humanDuration(milliseconds)).toBe(text)
})

test("is never longer than seven characters in eight centuries", () => {
  fc.assert(fc.property(fc.integer({ min: 0, max: 800 * year }), (age) => humanDuration(age).length <= 7))
})

test("without a readable time is unknown", () => {
  expect([since(undefined, 0), since("yesterday", 0), since(null, 0)]).toEqual(Array(3).fill("<unknown>"))
  expect(since("2026-11-21T12:00:00.123456Z", Date.parse("2026-11-21T12:00:05Z"))).toBe("4s")
})
