/** What an export says of its window: the future, and the kinds that are incomplete. */
import { describe, expect, test } from "vitest"
import { clockTolerance } from "../../../src/actors/index.ts"
import {
  aheadOfNow,
  describeIncomplete,
  futureOf,
  notBegun,
  untrackedKinds,
} from "../../../src/recorder/export/window-coverage.ts"

const at = (text: string): number => Date.parse(text) * 1000
const now = at("2026-11-21T10:30:00Z")

describe("a window", () => {
  test("that has not begun is rejected, and one that has not ended says so", () => {
    const [later, latest] = [at("2026-11-21T11:00:00Z"), at("2026-11-21T12:00:00Z")]
    expect(notBegun({ fromTime: later, untilTime: latest }, now)).toBe(
      "the window starts at 2026-11-21T11:00:00.000Z, which is in the future; it is now 2026-11-21T10:30:00.000Z",
    )
    expect(notBegun({ fromTime: now + clockTolerance, untilTime: latest }, now)).toBeUndefined()
    expect(notBegun({ fromTime: later, untilTime: later }, now)).toBeUndefined()
    expect(futureOf({ fromTime: 0, untilTime: later }, now)).toBe("2026-11-21T10:30:00.000Z/2026-11-21T11:00:00.000Z")
    expect(futureOf({ fromTime: 0, untilTime: now + clockTolerance }, now)).toBeUndefined()
  })

  test("that has not ended is rejected by require=all, unless the clocks differ by only some seconds", () => {
    const ending = (untilTime: number) => aheadOfNow({ fromTime: 0, untilTime }, now)
    expect(ending(now + clockTolerance)).toBeUndefined()
    expect(ending(at("2026-11-21T11:00:00Z"))).toBe(
      "the window ends at 2026-11-21T11:00:00.000Z, which is in the future; it is now 2026-11-21T10:30:00.000Z",
    )
    expect(aheadOfNow({ fromTime: now * 2, untilTime: now * 2 }, now)).toBeUndefined()
    expect(ending(Number.MAX_SAFE_INTEGER)).toContain("which is in the future")
  })
})

test("a kind that is requested by name and not recorded is reported; a pattern only matches recorded kinds", () => {
  const tracked = [{ gvk: "v1.Pod" }]
  expect(
    untrackedKinds(["v1.Pod", "v1.Pods", "apps/*", "v?.Secret", "v1.Pods"], tracked).map(({ gvk, state }) => [
      gvk,
      state,
    ]),
  ).toEqual([["v1.Pods", "untracked"]])
  expect(untrackedKinds(undefined, tracked)).toEqual([])
})

test("the list of incomplete kinds fits into a header for any number of kinds and any names", () => {
  const state = "recorded-2026-11-21T10:10:00.001Z/2026-11-21T10:30:00.000Z"
  const kinds = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      gvk: `example.com/v1.Kind${index}`,
      namespace: "",
      state,
      fault: "",
    }))
  expect(describeIncomplete([])).toBeUndefined()
  expect(describeIncomplete(kinds(2))).toBe(`example.com/v1.Kind0=${state}, example.com/v1.Kind1=${state}`)
  const many = describeIncomplete(kinds(1000)) ?? ""
  expect(many.length).toBeLessThan(4100)
  expect(many).toMatch(/^example\.com\/v1\.Kind0=recorded-.*, 9\d\d more=recorded-in-part$/)
  const forbidden = { gvk: "v1.Secret", namespace: "", state: "forbidden", fault: "" }
  expect(describeIncomplete([...kinds(1000), forbidden])).toMatch(/ more=incomplete$/)
  expect(describeIncomplete([{ ...forbidden, gvk: "v1.Sécret\r\n" }])).toBe("v1.S?cret??=forbidden")
  expect(describeIncomplete([{ ...forbidden, namespace: "stock" }])).toBe("v1.Secret in stock=forbidden")
})
