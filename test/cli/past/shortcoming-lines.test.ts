/** What answers lack, in a line for each kind of warning. */
import { describe, expect, test } from "vitest"
import { incompleteTogether, ShortcomingLines } from "../../../src/cli/past/shortcoming-lines.ts"

const second = (seconds: number): number => Date.UTC(2026, 10, 28, 5, 39, 11 + seconds) * 1000
const nowMs = Date.UTC(2026, 10, 28, 6)

const linesOf = (...ends: ReadonlyArray<Parameters<ShortcomingLines["note"]>[0]>) => {
  const lacks = new ShortcomingLines()
  for (const end of ends) lacks.note(end)
  return [lacks.isIncomplete, lacks.lines(nowMs)]
}

describe("what answers lack", () => {
  test("is one line for fifty kinds whose first lists came within seconds", () => {
    const unrecorded = Array.from({ length: 53 }, (_, number) => ({
      ...{ gvk: `v1.Kind${number}`, namespace: "", why: "before", time: second(number < 50 ? 0 : 2) },
    }))
    expect(linesOf({ unrecorded }, { unrecorded })).toEqual([
      true,
      [
        "incomplete: v1.Kind0, v1.Kind1, v1.Kind2 and 50 more kinds are recorded only from 05:39:11 UTC to 05:39:13 UTC on",
      ],
    ])
  })

  test("is one line for each reason of gaps, with the detail if it is the same", () => {
    const gap = (gvk: string, from: number, reason: string, detail: string) => ({
      ...{ gvk, namespace: "", fromTime: second(from), toTime: second(from + 1), reason, detail },
    })
    const gaps = [
      gap("v1.Pod", 0, "expired", "the server no longer had them"),
      gap("v1.Node", 5, "expired", "the server no longer had them"),
      gap("v1.Pod", 9, "stopped", "it crashed"),
      gap("v1.Node", 9, "stopped", "it was installed"),
      gap("v1.Node", 20, "damaged", ""),
    ]
    expect(linesOf({ gaps })).toEqual([
      true,
      [
        "incomplete: 2 gaps of v1.Pod and v1.Node from 05:39:11 UTC to 05:39:17 UTC: expired (the server no longer had them)",
        "incomplete: 2 gaps of v1.Pod and v1.Node from 05:39:20 UTC to 05:39:21 UTC: stopped; reel coverage names each",
        "incomplete: a gap of v1.Node from 05:39:31 UTC to 05:39:32 UTC: damaged",
      ],
    ])
  })

  test("estimated times and selections are no reason to be incomplete", () => {
    const late = ["v1.Pod", "v1.Node"].map((gvk, index) => ({
      ...{ gvk, namespace: "shop", notBefore: second(index), notAfter: second(index + 4) },
    }))
    const selected = ["v1.Pod", "v1.Secret"].map((gvk) => ({ gvk, selection: "labels app=web" }))
    expect(linesOf({ late, selected, isRestricted: true })).toEqual([
      false,
      [
        "late: changes of v1.Pod in namespace shop and v1.Node in namespace shop between 05:39:11 UTC and 05:39:16 UTC were received later, so their times are estimates",
        "note: of v1.Pod and v1.Secret only these objects are recorded: labels app=web",
        "note: only what you may read in the cluster now is shown",
      ],
    ])
  })

  test("of a trace's header is together where it is the same", () => {
    const parts = [
      { gvk: "v1.Pod", state: "recorded-2026-11-28T05:39:11.001Z/2026-11-28T06:00:00.000Z" },
      { gvk: "v1.Node", state: "recorded-2026-11-28T05:39:11.040Z/2026-11-28T06:00:00.000Z" },
      { gvk: "v1.Secret", namespace: "shop", state: "forbidden" },
    ]
    expect(incompleteTogether(parts)).toEqual([
      { what: "v1.Pod and v1.Node", state: "recorded in part" },
      { what: "v1.Secret in namespace shop", state: "forbidden" },
    ])
  })
})
