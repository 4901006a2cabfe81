/** What disturbs a rehearsal, drawn from a seed and as a text. */
import { expect, test } from "vitest"
import { parseSchedule, scheduleOf, textOfSchedule } from "../../../src/rehearsal/stage/schedule.ts"

const disturbable = {
  writes: ["create v1.Pod shop/web-* #1", "patch slinky.dev/v1.SimplePod shop/web/status #2"],
  watched: new Set(["v1.Pod"]),
  changes: 9,
}

test("A seed has one schedule, whose text is read as the same", () => {
  const types = new Set<string>()
  for (let seed = 1; seed <= 200; seed++) {
    const schedule = scheduleOf(seed, disturbable)
    expect(scheduleOf(seed, disturbable)).toEqual(schedule)
    expect(schedule.disturbances.length).toBeLessThanOrEqual(6)
    for (const { type } of schedule.disturbances) types.add(type)
    const shrunk = { ...schedule, changes: [1, 4, 7] }
    expect(parseSchedule(textOfSchedule(seed, shrunk))).toEqual({ seed, schedule: shrunk })
  }
  expect([...types].sort()).toEqual(["conflict", "late", "lost", "race", "restart", "stale"])
})

test("Only what is there is disturbed, and only updates and patches are refused", () => {
  const nothing = { writes: [], watched: new Set<string>(), changes: 0 }
  const created = { ...nothing, writes: ["create v1.Pod shop/web #1"] }
  for (let seed = 1; seed <= 50; seed++) {
    expect(scheduleOf(seed, nothing).disturbances).toEqual([])
    expect(scheduleOf(seed, created).disturbances.every(({ type }) => !/conflict|late|stale/.test(type))).toBe(true)
  }
})

test("A number alone is a seed; other texts are refused", () => {
  expect(parseSchedule("17")).toEqual({ seed: 17 })
  for (const text of ["", "x", "17:", "17: restart", "17: late x", "17: changes 1;2", "-1"])
    expect(parseSchedule(text)).toBeUndefined()
})
