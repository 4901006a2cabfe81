import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { parseSchedule } from "../../src/kube/cron-schedule.ts"

describe("Cron schedules", () => {
  const times = (schedule: string, from: string, count: number, zone?: string): ReadonlyArray<string> => {
    const parsed = parseSchedule(schedule, zone)
    if ("problem" in parsed) throw new Error(parsed.problem)
    const found: string[] = []
    for (let ms: number | undefined = Date.parse(from); found.length < count; ) {
      ms = parsed.next(ms)
      if (ms === undefined) break
      found.push(new Date(ms).toISOString().slice(0, 16))
    }
    return found
  }

  test("yield the same times as robfig/cron", () => {
    expect(times("0 3 * * *", "2026-11-21T09:38:00Z", 2)).toEqual(["2026-11-22T03:00", "2026-11-23T03:00"])
    expect(times("*/15 9-10 * * 1-5", "2026-11-20T10:31:00Z", 2)).toEqual(["2026-11-20T10:45", "2026-11-23T09:00"])
    expect(times("0 0 13 * 5", "2026-11-01T00:00:00Z", 3)).toEqual([
      "2026-11-06T00:00",
      "2026-11-13T00:00",
      "2026-11-20T00:00",
    ])
    expect(times("0 0 29 feb *", "2026-11-21T00:00:00Z", 1)).toEqual(["2028-02-29T00:00"])
    expect(times("@weekly", "2026-11-21T00:00:00Z", 1)).toEqual(["2026-11-22T00:00"])
    expect(times("@every 90m", "2026-11-21T00:00:00Z", 2)).toEqual(["2026-11-21T01:30", "2026-11-21T03:00"])
    expect(times("59 23 31 2 *", "2026-11-21T00:00:00Z", 1)).toEqual([])
  })

  test("follow the clock of their time zone, over its changes too", () => {
    expect(times("30 0 * * *", "2026-03-28T12:00:00Z", 2, "Europe/Berlin")).toEqual([
      "2026-03-28T23:30",
      "2026-03-29T22:30",
    ])
  })

  test("that are invalid are rejected", () => {
    for (const schedule of [
      "",
      "* * * *",
      "60 * * * *",
      "* 24 * * *",
      "* * 0 * *",
      "* * * * 7",
      "*/0 * * * *",
      "5-1 * * * *",
      "@often",
      "a * * * *",
      "CRON_TZ=UTC 0 0 * * *",
      "TZ=UTC 0 0 * * *",
    ]) {
      expect(parseSchedule(schedule), schedule).toHaveProperty("problem")
    }
    expect(parseSchedule("* * * * *", "Mars/Olympus")).toHaveProperty("problem")
    fc.assert(fc.property(fc.string(), (text) => void parseSchedule(text)))
  })

  test("yield exactly the matching minutes", () => {
    const field = (least: number, most: number) =>
      fc.oneof(
        fc.constant("*"),
        fc.integer({ min: least, max: most }).map(String),
        fc.integer({ min: 2, max: 20 }).map((step) => `*/${step}`),
      )
    const holds = (text: string, value: number, least: number): boolean =>
      text === "*" || (text.startsWith("*/") ? (value - least) % Number(text.slice(2)) === 0 : Number(text) === value)
    fc.assert(
      fc.property(field(0, 59), field(0, 23), fc.nat({ max: 500_000 }), (minute, hour, offset) => {
        const from = Date.parse("2026-01-01T00:00:00Z") + offset * 60_000
        let expected = from + 60_000
        for (; ; expected += 60_000) {
          const date = new Date(expected)
          if (holds(minute, date.getUTCMinutes(), 0) && holds(hour, date.getUTCHours(), 0)) break
        }
        const parsed = parseSchedule(`${minute} ${hour} * * *`)
        expect("problem" in parsed ? parsed.problem : parsed.next(from)).toBe(expected)
      }),
    )
  })

  test.each(["*/5 * * * *", "0 0 1 1 *", "@hourly", "@every 1h30m", "1-5,10 * ? jan-mar mon", "0/15\t2 * *  0"])(
    "%j is read",
    (schedule) => {
      expect(parseSchedule(schedule)).not.toHaveProperty("problem")
    },
  )
})
