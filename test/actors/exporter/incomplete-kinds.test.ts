/** Which requested kinds are not recorded in all of a window: the time before a kind's first list, and after its end. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { incompleteKinds, missedAtBeginning, partlyRecorded } from "../../../src/actors/exporter/incomplete-kinds.ts"

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

  test("that ended before the recording began, or has not begun, contains nothing", () => {
    expect(states("2026-11-21T09:00:00Z", "2026-11-21T10:00:00Z")).toEqual([["v1.Pod", "unrecorded"]])
    expect(states("2026-11-21T11:00:00Z", "2026-11-21T12:00:00Z")).toEqual([["v1.Pod", "unrecorded"]])
  })

  test("that has not ended lacks only what is missing until now", () => {
    expect(states("2026-11-21T10:05:00Z", "2030-01-01T00:00:00Z", ["v1.Pod", "v1.Node"])).toEqual([
      ["v1.Pod", "recorded-2026-11-21T10:10:00.001Z/2026-11-21T10:30:00.000Z"],
    ])
  })

  test("without length lacks nothing, at any time", () => {
    for (const moment of ["2020-01-01T00:00:00Z", "2030-01-01T00:00:00Z"]) expect(states(moment, moment)).toEqual([])
  })

  test("of a kind whose first list is not complete lacks everything", () => {
    expect(states("2026-11-21T10:05:00Z", "2026-11-21T10:20:00Z", ["v1.Secret"])).toEqual([["v1.Secret", "unrecorded"]])
  })
})

test("a past window is not incomplete because of what has become of a kind since, only because of what it was then", () => {
  const row = { gvk: "v1.Pod", namespace: "", since: 5 * second, completeTime: 60 * second }
  const lacking = (state: string, fromTime: number, untilTime: number, knownUntil?: number) => {
    const parts = [{ gvk: "v1.Pod", namespace: "", state, detail: "why", hasAppeared: false }]
    const requested = { nowMicros: now, parts, ...(knownUntil !== undefined && { knownUntil }) }
    return incompleteKinds(requested, { fromTime, untilTime }, () => [row]).map((each) => each.state)
  }
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
