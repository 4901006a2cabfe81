import { expect, test } from "vitest"
import { Misasked } from "../../../src/cli/command-line/exit-codes.ts"
import { readMoment, readStretch } from "../../../src/cli/past/moments.ts"
import { inTimeZone } from "../../harness/time-zone.ts"

inTimeZone("Europe/Berlin")

/** µs since the Unix epoch. */
const at = (instant: string): number => Date.parse(instant) * 1000

const read = (given: string, moment: string) => {
  const said: string[] = []
  const taken = readMoment("--at", given, { moment: at(moment), say: (line) => said.push(line) })
  return { taken: new Date(taken / 1000).toISOString(), said }
}

test("a time of day is the last one, and which one is said", () => {
  const { taken, said } = read("03:12", "2026-03-02T01:00:00Z")
  expect(taken).toBe("2026-03-01T02:12:00.000Z")
  expect(said).toEqual(["--at 03:12 means 2026-03-01T02:12:00Z"])
})

test("of a time that there was twice, because the clocks were set back, the first is taken, and that is said", () => {
  const { taken, said } = read("02:30", "2026-10-25T12:00:00Z")
  expect(taken).toBe("2026-10-25T00:30:00.000Z")
  expect(said).toEqual([
    "--at 02:30 means 2026-10-25T00:30:00Z, the first of two such moments: the clocks were set back",
  ])
})

test("a time that there was not, because the clocks were set forward, is refused", () => {
  expect(() => read("02:30", "2026-03-29T12:00:00Z")).toThrow(/no such time that day: the clocks were set forward/)
})

test("exact moments and durations need no words", () => {
  expect(read("2026-03-01T10:00:00+01:00", "2026-03-02T00:00:00Z")).toEqual({
    taken: "2026-03-01T09:00:00.000Z",
    said: [],
  })
  expect(read("-10m", "2026-03-02T00:00:00Z")).toEqual({ taken: "2026-03-01T23:50:00.000Z", said: [] })
})

test("a stretch has two moments, of which the first may count back from the second", () => {
  const stretch = (given: string) => {
    const { from, to } = readStretch("--at", given, { moment: at("2026-03-02T12:00:00Z"), say: () => undefined })
    return [from, to].map((micros) => new Date(micros / 1000).toISOString().slice(11, 16))
  }
  expect(stretch("03:00..03:12")).toEqual(["02:00", "02:12"])
  expect(stretch("-1h..now")).toEqual(["11:00", "12:00"])
  expect(stretch("10m..03:12")).toEqual(["02:02", "02:12"])
  for (const wrong of ["03:12..03:00", "..03:12", "1..2..3", "03:12.."]) expect(() => stretch(wrong)).toThrow(Misasked)
})
