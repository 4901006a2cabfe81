/** Hashes, numbers, schedules: what has one right answer for every input. */

import { readFileSync } from "node:fs"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { revisionData, revisionHash } from "../../../src/sandbox/workload/controller-revisions.ts"
import { parseSchedule } from "../../../src/sandbox/workload/cron-job/cron-schedule.ts"
import { scaledValue } from "../../../src/sandbox/workload/int-or-percent.ts"
import { formatIndexes, parseIndexes } from "../../../src/sandbox/workload/job/index-intervals.ts"
import { parseDuration } from "../../../src/sandbox/workload/node/delays.ts"
import { microTime } from "../../../src/sandbox/workload/node/virtual-nodes.ts"
import type { StatefulSet } from "../../../src/sandbox/workload/stateful-set/stateful-set-object.ts"
import { fnv32a, hashTemplate, safeEncode } from "../../../src/sandbox/workload/template-hash.ts"

describe("Hashes", () => {
  test("name the recorded StatefulSet's revision as the real controller did", () => {
    const file = new URL("../../data/recording/statefulsets.watch", import.meta.url)
    const states = readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line.includes('"name":"db"'))
      .map((line) => (JSON.parse(line.slice(line.indexOf(" ") + 1)) as { object: StatefulSet }).object)
    const recorded = states.find(({ status }) => status?.currentRevision !== undefined)?.status?.currentRevision
    expect(`db-${revisionHash(revisionData(states[0]?.spec.template as StatefulSet["spec"]["template"]), 0)}`).toBe(
      recorded,
    )
  })

  test("are FNV-1a, in the letters of generated names", () => {
    expect(fnv32a(Buffer.from(""))).toBe(0x811c9dc5)
    expect(fnv32a(Buffer.from("foobar"))).toBe(0xbf9cf968)
    expect(safeEncode("0123456789")).toBe("456789bcdf")
  })

  test("do not depend on the order of members, and do on the collision count", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (template) => {
        const reversed = Object.fromEntries(Object.entries(template).reverse())
        expect(hashTemplate(reversed)).toBe(hashTemplate(template))
        expect(hashTemplate(template)).toMatch(/^[bcdfghjklmnpqrstvwxz2456789]+$/)
      }),
    )
    expect(hashTemplate({ a: 1 }, 1)).not.toBe(hashTemplate({ a: 1 }))
  })
})

describe("Amounts", () => {
  test("as percentages round up for a surge and down for what may be missing", () => {
    expect([scaledValue("25%", 6, true), scaledValue("25%", 6, false), scaledValue(3, 6, true)]).toEqual([2, 1, 3])
    expect(scaledValue(undefined, 6, true)).toBe(0)
  })
})

describe("Completed indexes", () => {
  test("are written and read back", () => {
    expect(formatIndexes([0, 2, 3, 5, 6, 7])).toBe("0,2,3,5-7")
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat({ max: 60 })), (indexes) => {
        const sorted = [...indexes].sort((left, right) => left - right)
        expect(parseIndexes(formatIndexes(indexes), 61)).toEqual(sorted)
        expect(parseIndexes(formatIndexes(indexes), 30)).toEqual(sorted.filter((index) => index < 30))
      }),
    )
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(parseIndexes(text, 10).every(Number.isInteger)).toBe(true)
      }),
    )
  })
})

describe("Durations and times", () => {
  test("are Go's", () => {
    expect(["3s", "1h2m3.5s", "200ms", "0", "1.5m", "10µs"].map(parseDuration)).toEqual([
      3000, 3_723_500, 200, 0, 90_000, 0.01,
    ])
    expect(["", "3", "s", "-1s", "1d", "never", "1s "].map(parseDuration)).toEqual(Array(7).fill(undefined))
    expect(microTime(1_700_000_000_000_042)).toBe("2023-11-14T22:13:20.000042Z")
  })
})

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

  test("name the times that robfig/cron names", () => {
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

  test("that mean nothing are refused", () => {
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
    ]) {
      expect(parseSchedule(schedule), schedule).toHaveProperty("problem")
    }
    expect(parseSchedule("* * * * *", "Mars/Olympus")).toHaveProperty("problem")
    fc.assert(fc.property(fc.string(), (text) => void parseSchedule(text)))
  })

  test("name every matching minute and no other", () => {
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
})
