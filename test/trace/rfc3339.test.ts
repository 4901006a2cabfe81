import fc from "fast-check"
import { expect, test } from "vitest"
import { microsOf } from "../../src/trace/rfc3339.ts"

test("a time has its microseconds, and what is below them is cut off", () => {
  const seconds = Date.UTC(2026, 2, 1, 12, 0, 5) * 1000
  expect(microsOf("2026-03-01T12:00:05Z")).toBe(seconds)
  expect(microsOf("2026-03-01T12:00:05.25Z")).toBe(seconds + 250_000)
  expect(microsOf("2026-03-01T12:00:05.123456789Z")).toBe(seconds + 123_456)
})

test("an offset is taken off, and a time without one is UTC", () => {
  expect(microsOf("2026-03-01T13:30:05+01:30")).toBe(microsOf("2026-03-01T12:00:05Z"))
  expect(microsOf("2026-03-01T11:00:05-01:00")).toBe(microsOf("2026-03-01T12:00:05Z"))
  expect(microsOf("2026-03-01 12:00:05.123")).toBe(microsOf("2026-03-01T12:00:05.123Z"))
})

test("may have small letters, and no seconds", () => {
  expect(microsOf("2026-03-01t12:00z")).toBe(microsOf("2026-03-01T12:00:00Z"))
})

test.each([
  undefined,
  5,
  "",
  "now",
  "2026-03-01",
  "2026-02-30T00:00:00Z",
  "2026-03-01T24:00:00Z",
  "2026-13-01T00:00:00Z",
  "1969-12-31T23:59:59Z",
  "2026-03-01T12:00:00+24:00",
  "2300-01-01T00:00:00Z",
])("%j is no time", (text) => {
  expect(microsOf(text)).toBeUndefined()
})

test("what Date writes is read as the same moment", () => {
  fc.assert(
    fc.property(fc.date({ min: new Date(0), max: new Date("2255-01-01"), noInvalidDate: true }), (date) => {
      expect(microsOf(date.toISOString())).toBe(date.getTime() * 1000)
    }),
  )
})
