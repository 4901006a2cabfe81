import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  labelComplaints,
  qualifiedNameComplaints,
  subdomainComplaints,
} from "../../../src/kube/names.ts"
import { scheduleComplaint } from "../../../src/sandbox/rules/workloads/cron-schedule.ts"

describe("a schedule", () => {
  test.each(["*/5 * * * *", "0 0 1 1 *", "@hourly", "@every 1h30m", "1-5,10 * ? jan-mar mon", "0/15 2 * * 0"])(
    "%j is read",
    (schedule) => {
      expect(scheduleComplaint(schedule)).toBeUndefined()
    },
  )

  test.each([
    ["60 * * * *", "end of range (60) above maximum (59): 60"],
    ["* * 0 * *", "beginning of range (0) below minimum (1): 0"],
    ["5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"],
    ["*/0 * * * *", "step of range should be a positive number: */0"],
    ["x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'],
    ["@often", "unrecognized descriptor: @often"],
  ])("%j is refused", (schedule, complaint) => {
    expect(scheduleComplaint(schedule)).toBe(complaint)
  })

  test("of numbers in range is read, whatever the white space", () => {
    const numbers = fc.tuple(
      fc.integer({ min: 0, max: 59 }),
      fc.integer({ min: 0, max: 23 }),
      fc.integer({ min: 1, max: 31 }),
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 0, max: 6 }),
    )
    fc.assert(
      fc.property(numbers, fc.constantFrom(" ", "  ", "\t"), (fields, gap) => {
        expect(scheduleComplaint(fields.join(gap))).toBeUndefined()
      }),
    )
  })
})

describe("a name", () => {
  const part = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/)

  test("of good parts is a label, and with dots a subdomain", () => {
    fc.assert(
      fc.property(fc.array(part, { minLength: 2, maxLength: 5 }), (parts) => {
        expect(labelComplaints(parts[0] ?? "")).toEqual([])
        expect(subdomainComplaints(parts.join("."))).toEqual([])
        expect(labelComplaints(parts.join(".")).at(-1)).toBe("must not contain dots")
        expect(qualifiedNameComplaints(`${parts.join(".")}/${parts[0]}`)).toEqual([])
      }),
    )
  })

  test("takes no time out of proportion to its length: a square of it would outlast the test's limit", () => {
    expect(subdomainComplaints(`${"a-".repeat(1_000_000)}_`)).not.toEqual([])
  }, 60_000)
})
