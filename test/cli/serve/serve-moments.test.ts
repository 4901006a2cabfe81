import { expect, test } from "vitest"
import { readMomentInPath } from "../../../src/cli/serve.ts"
import { inTimeZone } from "../../harness/time-zone.ts"

inTimeZone("Europe/Berlin")

/** µs since the Unix epoch. */
const at = (instant: string): number => Date.parse(instant) * 1000

const range = { begin: at("2026-10-24T00:00:00Z"), end: at("2026-10-25T12:00:00Z") }

test("of a time of day that there was twice the first is taken, with a remark", () => {
  expect(readMomentInPath("02:30", range)).toEqual({
    time: at("2026-10-25T00:30:00Z"),
    remark: "02:30 means 2026-10-25T00:30:00Z, the first of two such moments: the clocks were set back",
  })
})

test("other moments have none", () => {
  expect(readMomentInPath("03:30", range)).toEqual({ time: at("2026-10-25T02:30:00Z") })
  expect(readMomentInPath("start", range)).toEqual({ time: range.begin })
})

test("what cannot be read is refused in words", () => {
  expect(readMomentInPath("noon", range)).toMatch(/^must be a time such as 2026-11-21T10:00:00Z/)
})
