import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  ambiguityOf,
  describeInstant,
  meaningOf,
  parseDuration,
  parseInstant,
} from "../../../src/cli/command-line/instant.ts"
import { formatInstant, formatLocalTime } from "../../../src/local-time.ts"
import { rounds } from "../../harness/effort.ts"

const second = 1_000_000
const now = Date.UTC(2026, 10, 21, 10, 0, 0) * 1000
const before = now - 3600 * second

const instant = (text: string): number => {
  const reading = parseInstant(text, { now, before })
  if (reading._tag === "Refused") throw new Error(`${text}: ${reading.reason}`)
  return reading.value
}
const refusal = (text: string): string => {
  const reading = parseInstant(text, { now, before })
  return reading._tag === "Refused" ? reading.reason : `accepted: ${reading.value}`
}

const forms =
  "must be a time such as 2026-11-21T10:00:00Z, 03:12:05 UTC, yesterday 03:12, 1795255200 (Unix seconds), now, end, now-5m, or a duration such as -10m or 1h30m"

const units = { us: 1, ms: 1000, s: second, m: 60 * second, h: 3600 * second, d: 86_400 * second, w: 604_800 * second }

describe("durations", () => {
  test("are the sum of their parts", () => {
    const part = fc.tuple(fc.nat(10_000), fc.constantFrom(...(Object.keys(units) as (keyof typeof units)[])))
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (parts) => {
        const text = parts.map(([amount, unit]) => `${amount}${unit}`).join("")
        const total = parts.reduce((sum, [amount, unit]) => sum + amount * units[unit], 0)
        expect(parseDuration(text)).toBe(total <= 9_007_199_254 * second ? total : undefined)
      }),
    )
  })

  test.each([
    ["1.5h", 5400 * second],
    ["0.0005s", 500],
    ["0s", 0],
    ["90m", 5400 * second],
  ])("%s", (text, expected) => {
    expect(parseDuration(text)).toBe(expected)
  })

  test.each(["", "10", "m", "-10m", "10 m", "1e3s", "10y", "10M", ".5h", "1h 2m", "99999999999999s", "١m"])(
    "%j is none",
    (text) => {
      expect(parseDuration(text)).toBeUndefined()
    },
  )

  test("any text is either rejected or a non-negative integer", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const duration = parseDuration(text)
        if (duration !== undefined) expect(Number.isSafeInteger(duration) && duration >= 0).toBe(true)
      }),
    )
  })
})

describe("points in time", () => {
  test("every point in time that can be written is read back to the µs", () => {
    fc.assert(
      fc.property(fc.nat({ max: Number.MAX_SAFE_INTEGER - second }), (microseconds) => {
        expect(instant(formatInstant(microseconds))).toBe(microseconds)
      }),
    )
  })

  test("agree with Date for every date and zone", () => {
    const date = fc.date({ min: new Date(0), max: new Date("2250-01-01"), noInvalidDate: true })
    fc.assert(
      fc.property(date, fc.integer({ min: -14 * 60, max: 14 * 60 }), (moment, offset) => {
        fc.pre(moment.getTime() >= offset * 60_000)
        const local = new Date(moment.getTime() + offset * 60_000)
        fc.pre(local.getTime() >= 0)
        const two = (number: number): string => String(Math.floor(number)).padStart(2, "0")
        const zone = `${offset < 0 ? "-" : "+"}${two(Math.abs(offset) / 60)}:${two(Math.abs(offset) % 60)}`
        expect(instant(local.toISOString().replace("Z", zone))).toBe(moment.getTime() * 1000)
      }),
    )
  })

  test.each([
    ["now", now],
    ["-10m", before - 600 * second],
    ["10m", before - 600 * second],
    ["-1h30m", before - 5400 * second],
    ["0s", before],
    ["1795255200", 1_795_255_200 * second],
    ["1795255200.25", 1_795_255_200 * second + 250_000],
    ["0", 0],
    ["end", now],
    ["start", 0],
    ["now-5m", now - 300 * second],
    ["end-1h30m", now - 5400 * second],
    ["start+10s", 10 * second],
    ["2026-11-21 10:00:00.482 UTC", now + 482_000],
    ["2026-11-21 11:00 +01:00", now],
    ["2026-11-21 15:30:00 UTC+05:30", now],
    ["08:59:11.482731 UTC", now - 3600 * second - 48_517_269 + 0],
    ["about 08:00:00 GMT", now - 7200 * second],
    ["11:00:00 CET (2026-11-21T10:00:00.5Z)", now + 500_000],
    ["2026-11-21T10:00:00Z", now],
    ["2026-11-21t10:00:00z", now],
    ["2026-11-21 11:00:00+01:00", now],
    ["2026-11-21T10:00:00.0000019Z", now + 1],
    ["2016-12-31T23:59:60Z", Date.UTC(2017, 0, 1) * 1000],
    ["2024-02-29T00:00:00-00:00", Date.UTC(2024, 1, 29) * 1000],
  ])("%s", (text, expected) => {
    expect(instant(text)).toBe(expected)
  })

  test.each([
    ["-10", "a duration needs a unit, such as -10m or -2h"],
    ["+10m", "the future has not been recorded; durations count back, so omit the +"],
    ["1795255200000", "it is too large for seconds since 1970; is it in milliseconds?"],
    ["now-5", "after now only a duration can follow, such as now-5m"],
    ["end+", forms],
    ["05:39:11 XYZ", "XYZ is not the time zone of this machine then; write an offset such as +01:00, or Z"],
    ["2026-11-21Z", forms],
    ["2026-02-30", "there is no such date or time of day"],
    ["2026-02-30T10:00:00Z", "there is no such date or time of day"],
    ["2026-13-01T10:00:00Z", "there is no such date or time of day"],
    ["2026-11-21T24:00:00Z", "there is no such date or time of day"],
    ["2026-11-21T10:60:00Z", "there is no such date or time of day"],
    ["0026-11-21T10:00:00Z", "it is before 1970"],
    ["2026-11-21T10:00:00+24:00", "its time zone offset is out of range"],
    ["1969-12-31T23:59:59Z", "it is before 1970"],
    ["1970-01-01T00:00:00+00:01", "it is before 1970"],
    ["5000w", "it is before 1970"],
    ["2300-01-01T00:00:00Z", "it is after 2254"],
    ["tomorrow", forms],
    ["", forms],
  ])("%j is refused: %s", (text, reason) => {
    expect(refusal(text)).toBe(reason)
  })

  test("any text is either rejected with a reason or an integer of µs", () => {
    const digits = fc.stringMatching(/^[-+0-9TZ:. ]{0,30}$/)
    const almost = fc.stringMatching(/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{0,8})?(Z|[+-]\d\d:\d\d)$/)
    fc.assert(
      fc.property(fc.oneof(fc.string(), digits, almost), (text) => {
        const reading = parseInstant(text, { now, before })
        if (reading._tag === "Refused") expect(reading.reason.length).toBeGreaterThan(10)
        else expect(Number.isSafeInteger(reading.value) && reading.value >= 0).toBe(true)
      }),
      { numRuns: rounds(1000) },
    )
  })
})

const zone = process.env.TZ
const inZone = (name: string | undefined): void => {
  if (name === undefined) delete process.env.TZ
  else process.env.TZ = name
}

describe("what is printed", () => {
  test.each(["UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York", "Australia/Lord_Howe", "Antarctica/Troll"])(
    "is read back as the same µs, in %s",
    (name) => {
      inZone(name)
      try {
        const micros = fc.integer({ min: Date.UTC(2000) * 1000, max: Date.UTC(2100) * 1000 })
        const age = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3 * 86_400 * second }))
        const isWhole = fc.boolean()
        fc.assert(
          fc.property(micros, age, isWhole, fc.nat(12 * 3600 * second), (given, elapsed, whole, later) => {
            const moment = whole ? given - (given % second) : given
            const printedAt = moment + elapsed
            const read = { now: printedAt + later, before: printedAt + later }
            const text = formatLocalTime(moment / 1000, printedAt / 1000)
            // A time without a date is the last one before it is read, which is the next day's after a day.
            fc.pre(/^\d{4}-/.test(text) || elapsed + later < 86_400 * second - 7200 * second)
            for (const printed of [text, describeInstant(moment, printedAt), `about ${text}`, formatInstant(moment)])
              expect([printed, parseInstant(printed, read)]).toEqual([printed, { _tag: "Value", value: moment }])
          }),
          { numRuns: rounds(1000) },
        )
      } finally {
        inZone(zone)
      }
    },
  )

  test("of both times 02:30 when the clocks are set back, the zone tells which", () => {
    inZone("Europe/Berlin")
    try {
      const first = Date.parse("2026-10-25T00:30:00Z") * 1000
      const now = Date.parse("2026-10-25T10:00:00Z") * 1000
      for (const moment of [first, first + 3600 * second]) {
        const text = formatLocalTime(moment / 1000, now / 1000)
        expect(parseInstant(text, { now, before: now })).toMatchObject({ value: moment })
        expect(ambiguityOf(text, moment)).toBeUndefined()
      }
      expect(meaningOf("02:30", first)).toBe(
        "means 2026-10-25T00:30:00Z, the first of two such moments: the clocks were set back",
      )
    } finally {
      inZone(zone)
    }
  })

  test("of a day that is not over, a moment that is yet to come has a date", () => {
    inZone("UTC")
    try {
      expect(formatLocalTime(now / 1000 + 3600_000, now / 1000)).toBe("2026-11-21 11:00:00 UTC")
    } finally {
      inZone(zone)
    }
  })
})

test.each([
  ["05:39:22", "means 2026-11-21T10:00:00Z"],
  ["05:39:22.5 UTC", "means 2026-11-21T10:00:00Z"],
  ["yesterday", "means 2026-11-21T10:00:00Z"],
  ["2026-11-21", "means 2026-11-21T10:00:00Z"],
  ["2026-11-21 10:00", "means 2026-11-21T10:00:00Z"],
  ["2026-11-21T10:00:00Z", undefined],
  ["2026-11-21 10:00:00 UTC", undefined],
  ["-10m", undefined],
  ["now-10m", undefined],
  ["1795255200", undefined],
])("what is said of %s: %s", (text, expected) => {
  expect(meaningOf(text, now)).toBe(expected)
})

describe("times of day", () => {
  /** Reads it in Berlin, at `from` (UTC), and says it back. */
  const read = (text: string, from: string, until = from): string => {
    inZone("Europe/Berlin")
    try {
      const moment = Date.parse(from) * 1000
      const reading = parseInstant(text, { now: moment, before: Date.parse(until) * 1000 })
      return reading._tag === "Refused" ? reading.reason : describeInstant(reading.value, moment)
    } finally {
      inZone(zone)
    }
  }

  test.each([
    ["03:12", "2026-11-25T10:00:00Z", "03:12:00 CET (2026-11-25T02:12:00Z)"],
    ["3:12:05", "2026-11-25T10:00:00Z", "03:12:05 CET (2026-11-25T02:12:05Z)"],
    ["03:12", "2026-07-25T10:00:00Z", "03:12:00 CEST (2026-07-25T01:12:00Z)"],
    ["yesterday 03:12", "2026-11-25T10:00:00Z", "2026-11-24 03:12:00 CET (2026-11-24T02:12:00Z)"],
    ["today 23:59", "2026-11-25T10:00:00Z", "2026-11-25 23:59:00 CET (2026-11-25T22:59:00Z)"],
    // Just after midnight, the last evening is meant.
    ["23:50", "2026-11-24T23:10:00Z", "2026-11-24 23:50:00 CET (2026-11-24T22:50:00Z)"],
    // The day before the clocks were set back has 25 hours.
    ["yesterday 12:00", "2026-10-26T11:00:00Z", "2026-10-25 12:00:00 CET (2026-10-25T11:00:00Z)"],
    ["02:30", "2026-03-29T10:00:00Z", "there was no such time that day: the clocks were set forward"],
    ["03:12:05.25 CET", "2026-11-25T10:00:00Z", "03:12:05.250 CET (2026-11-25T02:12:05.25Z)"],
    ["03:12 UTC", "2026-11-25T10:00:00Z", "04:12:00 CET (2026-11-25T03:12:00Z)"],
    [
      "03:12 CEST",
      "2026-11-25T10:00:00Z",
      "CEST is not the time zone of this machine then; write an offset such as +01:00, or Z",
    ],
    ["2026-11-24", "2026-11-25T10:00:00Z", "2026-11-24 00:00:00 CET (2026-11-23T23:00:00Z)"],
    ["yesterday", "2026-11-25T10:00:00Z", "2026-11-24 00:00:00 CET (2026-11-23T23:00:00Z)"],
    ["2026-07-24 03:12", "2026-11-25T10:00:00Z", "2026-07-24 03:12:00 CEST (2026-07-24T01:12:00Z)"],
    ["24:00", "2026-11-25T10:00:00Z", "there is no such date or time of day"],
    ["03:60", "2026-11-25T10:00:00Z", "there is no such date or time of day"],
    ["2026-11-25T02:12:00Z", "2026-11-25T10:00:00Z", "03:12:00 CET (2026-11-25T02:12:00Z)"],
  ])("%s at %s is %s", (text, from, expected) => {
    expect(read(text, from)).toBe(expected)
  })

  test("of a start are the last before the end", () => {
    expect(read("23:00", "2026-11-25T10:00:00Z", "2026-11-24T02:12:00Z")).toBe(
      "2026-11-23 23:00:00 CET (2026-11-23T22:00:00Z)",
    )
  })

  test("are named where the zone has no abbreviation", () => {
    inZone("Asia/Kolkata")
    try {
      expect(describeInstant(now, now)).toBe("15:30:00 UTC+05:30 (2026-11-21T10:00:00Z)")
    } finally {
      inZone(zone)
    }
  })
})
