/** The parts of a window that no recording contains: the time before a kind's first list, and the future. */
import * as Effect from "effect/Effect"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { ReaderService } from "../../../src/recorder/export/reader-service.ts"
import {
  aheadOfNow,
  clockTolerance,
  describeIncomplete,
  futureOf,
  incompleteKinds,
  missedAtBeginning,
  notBegun,
  partlyRecorded,
  untrackedKinds,
} from "../../../src/recorder/export/window-coverage.ts"
import type { KindStatus } from "../../../src/recorder/status/kind-status.ts"

const second = 1_000_000
const at = (text: string): number => Date.parse(text) * 1000
const now = at("2026-11-21T10:30:00Z")
const since = new Map([
  ["v1.Pod", at("2026-11-21T10:10:00.0005Z") + 500],
  ["v1.Node", at("2026-11-21T10:00:00Z")],
])

const states = (start: string, end: string, kinds = ["v1.Pod"]) =>
  kinds.flatMap((gvk) => {
    const lacking = partlyRecorded({ fromTime: at(start), untilTime: at(end) }, since.get(gvk), now)
    return lacking === undefined ? [] : [[gvk, lacking.state]]
  })

describe("a window", () => {
  test("that begins before a kind was recorded lacks its beginning, regardless of other kinds", () => {
    expect(states("2026-11-21T10:05:00Z", "2026-11-21T10:20:00Z", ["v1.Pod", "v1.Node"])).toEqual([
      // Rounded up to when the kind is complete.
      ["v1.Pod", "recorded-2026-11-21T10:10:00.001Z/2026-11-21T10:20:00.000Z"],
    ])
    expect(states("2026-11-21T10:10:00.002Z", "2026-11-21T10:20:00Z")).toEqual([])
  })

  test("from 0 asks for the recording from its beginning, so nothing is missing before that", () => {
    expect(partlyRecorded({ fromTime: 0, untilTime: now }, since.get("v1.Pod"), now)).toBeUndefined()
  })

  test("from 0 may lack the beginning of a kind that was noticed later", () => {
    const begins = (offset: number, { hasAppeared = false, isLater = true } = {}) =>
      missedAtBeginning(
        { fromTime: 0, untilTime: now },
        {
          since: at("2026-11-21T10:00:00Z") + offset * second,
          recordingSince: at("2026-11-21T10:00:00Z"),
          ...{ hasAppeared, isLater },
        },
        now,
      )
    // The first lists of one start take different times.
    expect(begins(0, { isLater: false })).toBeUndefined()
    expect(begins(600, { isLater: false })).toBeUndefined()
    expect(begins(61)).toEqual({
      state: "recorded-2026-11-21T10:01:01.000Z/2026-11-21T10:30:00.000Z",
      fault:
        "is recorded only from 2026-11-21T10:01:01.000Z on: the recording begins at 2026-11-21T10:00:00.000Z, and what happened to its objects in between is missing",
    })
    expect(begins(5, { hasAppeared: true, isLater: false })?.fault).toContain(
      "on, when its definition was noticed: the recording begins at",
    )
  })

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

  test("that ended before the recording began, or has not begun, contains nothing", () => {
    expect(states("2026-11-21T09:00:00Z", "2026-11-21T10:00:00Z")).toEqual([["v1.Pod", "unrecorded"]])
    expect(states("2026-11-21T11:00:00Z", "2026-11-21T12:00:00Z")).toEqual([["v1.Pod", "unrecorded"]])
  })

  test("that has not ended lacks only what is missing until now", () => {
    expect(states("2026-11-21T10:05:00Z", "2030-01-01T00:00:00Z", ["v1.Pod", "v1.Node"])).toEqual([
      ["v1.Pod", "recorded-2026-11-21T10:10:00.001Z/2026-11-21T10:30:00.000Z"],
    ])
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

  test("without length lacks nothing, at any time", () => {
    for (const moment of ["2020-01-01T00:00:00Z", "2030-01-01T00:00:00Z"]) expect(states(moment, moment)).toEqual([])
  })

  test("of a kind whose first list is not complete lacks everything", () => {
    expect(states("2026-11-21T10:05:00Z", "2026-11-21T10:20:00Z", ["v1.Secret"])).toEqual([["v1.Secret", "unrecorded"]])
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

test("a past window is not incomplete because of what has become of a kind since, only because of what it was then", async () => {
  const status = (state: KindStatus["state"]): KindStatus => ({
    ...{ gvk: "v1.Pod", state, detail: "why", since: 0, namespaces: [], isRefused: false },
  })
  const row = { gvk: "v1.Pod", namespace: "", since: 5 * second, completeTime: 60 * second }
  const reader = { ask: () => Effect.succeed([row]), reader: undefined } as unknown as ReaderService
  const lacking = (state: KindStatus["state"], fromTime: number, untilTime: number, knownUntil?: number) =>
    Effect.runSync(incompleteKinds({ reader, knownUntil }, [status(state)], { fromTime, untilTime }, now)).map(
      (each) => each.state,
    )
  expect(lacking("failing", 10 * second, 60 * second)).toEqual([])
  expect(lacking("failing", 0, 60 * second)).toEqual([])
  expect(lacking("failing", 10 * second, 60 * second + 1)).toEqual(["failing"])
  expect(lacking("forbidden", 1, 60 * second)).toEqual([expect.stringMatching(/^recorded-/)])
  expect(lacking("watching", 10 * second, 70 * second)).toEqual([])
  // Without its recorder, a recording is over at some moment: a watched kind then, another one when it was last complete.
  const end = 65 * second
  const until = (seconds: number) => `recorded-1970-01-01T00:00:10.000Z/1970-01-01T00:01:0${seconds}.000Z`
  expect(lacking("watching", 10 * second, 65 * second, end)).toEqual([])
  expect(lacking("watching", 10 * second, 70 * second, end)).toEqual([until(5)])
  expect(lacking("failing", 10 * second, 60 * second, end)).toEqual([])
  expect(lacking("failing", 10 * second, 65 * second, end)).toEqual([until(0)])
  expect(lacking("watching", 66 * second, 70 * second, end)).toEqual(["unrecorded"])
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

test("a kind is reported exactly if some past moment of the window is not recorded", () => {
  const moment = fc.integer({ min: 1, max: 20 })
  fc.assert(
    fc.property(moment, moment, moment, (one, other, begins) => {
      const [from, until] = [Math.min(one, other), Math.max(one, other)]
      const window = { fromTime: from * second, untilTime: until * second }
      const lacking = partlyRecorded(window, begins * second, 20 * second)
      const moments = Array.from({ length: until - from }, (_, index) => from + index)
      const isHeld = (each: number): boolean => each >= begins
      expect(lacking === undefined).toBe(moments.every(isHeld))
      expect(lacking?.state === "unrecorded").toBe(moments.length > 0 && !moments.some(isHeld))
    }),
  )
})
