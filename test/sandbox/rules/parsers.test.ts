import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { goJson, goQuote } from "../../../src/sandbox/rules/values/go-value.ts"
import {
  labelComplaints,
  qualifiedNameComplaints,
  subdomainComplaints,
} from "../../../src/sandbox/rules/values/names.ts"
import { canonicalQuantity, quantityOf } from "../../../src/sandbox/rules/values/quantity.ts"
import { scheduleComplaint } from "../../../src/sandbox/rules/workloads/cron-schedule.ts"
import { patient } from "../../harness/patience.ts"

describe("a quantity", () => {
  test.each([
    ["1000m", "1"],
    ["1024Mi", "1Gi"],
    ["1500m", "1500m"],
    ["0.5", "500m"],
    ["1.5Gi", "1536Mi"],
    ["1000k", "1M"],
    ["0", "0"],
    ["0Gi", "0"],
    [2, "2"],
    ["-1", "-1"],
    ["1u", "1m"],
    ["many", "many"],
    ["1e3", "1e3"],
  ])("%j is spelt %j", (given, spelt) => {
    expect(canonicalQuantity(given)).toBe(spelt)
  })

  const written = fc
    .tuple(fc.integer({ min: -9999, max: 9999 }), fc.constantFrom("", "m", "k", "M", "G", "Ki", "Mi", "Gi"))
    .map(([amount, suffix]) => `${amount}${suffix}`)

  test("keeps its amount in its canonical spelling, which is stable", () => {
    fc.assert(
      fc.property(written, (text) => {
        const spelt = canonicalQuantity(text)
        expect(quantityOf(spelt)).toBeCloseTo(quantityOf(text) ?? Number.NaN, 3)
        expect(canonicalQuantity(spelt)).toBe(spelt)
      }),
    )
  })

  test("is nothing else than what the pattern allows, and reading never throws", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(quantityOf(text) === undefined || /^[+-]?[\d.]/.test(text)).toBe(true)
      }),
    )
  })
})

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

  test("takes no time out of proportion to its length: a square of it would outlast the test's limit", {
    timeout: patient(60_000),
  }, () => {
    expect(subdomainComplaints(`${"a-".repeat(1_000_000)}_`)).not.toEqual([])
  })
})

describe("a printed value", () => {
  test("of text is read back by JSON when it is plain", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("a", '"', "\\", "\n", "é", " ") }), (text) => {
        expect(JSON.parse(goQuote(text))).toBe(text)
      }),
    )
  })

  test("escapes what Go escapes", () => {
    expect(goQuote("\u0000\u0007\u200b\u{1f600}")).toBe('"\\x00\\a\\u200b\u{1f600}"')
  })

  test("of an object is the same object with its keys sorted, HTML escaped", () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.string({ minLength: 1 }).filter((key) => key !== "__proto__"),
          fc.jsonValue(),
        ),
        (object) => {
          expect(JSON.parse(goJson(object))).toEqual(JSON.parse(JSON.stringify(object)))
        },
      ),
    )
    expect(goJson({ b: "<&>", a: 1 })).toBe('{"a":1,"b":"\\u003c\\u0026\\u003e"}')
  })
})
