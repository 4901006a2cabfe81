/** What an export says of changes that were received later than they happened. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { describeLateFacts, describeLateHeader } from "../../../src/cli/export/late-sentences.ts"
import { formatLocalTime } from "../../../src/local-time.ts"
import { describeLate, type LateFacts, lateFactsOf, lateFault } from "../../../src/recorder/export/late-changes.ts"
import type { ExportRequest } from "../../../src/recorder/export/request.ts"
import { missingOf } from "../../../src/recorder/export/start.ts"
import type { LateChanges } from "../../../src/trace/index.ts"

const second = 1_000_000
const at = (text: string): number => Date.parse(`2026-11-25T${text}Z`) * 1000
const now = at("19:00:00")

const outage: LateChanges = {
  ...{ gvk: "v1.Pod", namespace: "", notBefore: at("18:10:00"), notAfter: at("18:10:24") },
  ...{ receivedFrom: at("18:10:24"), receivedTo: at("18:10:24"), events: 37, cause: "stopped" },
}
const window = { fromTime: at("18:00:00"), untilTime: at("18:30:00") }
const facts = lateFactsOf(outage, window, "happened")

describe("late changes", () => {
  test("may belong across an end of the window that their range reaches across, and no other", () => {
    const moment = fc.nat(20)
    fc.assert(
      fc.property(fc.tuple(moment, moment, moment), fc.tuple(moment, moment), (times, [one, other]) => {
        const [notBefore = 0, notAfter = 0, receivedTo = 0] = times.toSorted((left, right) => left - right)
        const range = { ...outage, notBefore, notAfter, receivedTo }
        const limits = { fromTime: Math.min(one, other), untilTime: Math.max(one, other) }
        const moments = Array.from({ length: notAfter - notBefore + 1 }, (_, index) => notBefore + index)
        const across = [
          ...(moments.some((each) => each < limits.fromTime) ? ["start"] : []),
          ...(moments.some((each) => each >= limits.untilTime) ? ["end"] : []),
        ].join("+")
        expect(lateFactsOf(range, limits, "happened").across ?? "").toBe(across)
        expect(lateFactsOf(range, limits, "received").across).toBeUndefined()
      }),
    )
  })

  test("did not happen after they were received, whatever their range says", () => {
    const early = lateFactsOf({ ...outage, notAfter: at("19:10:00") }, window, "happened")
    expect(early).toMatchObject({ happened: [at("18:10:00"), at("18:10:24")], across: undefined })
  })

  test("are named in a header of bounded length, for any number of ranges and any names", () => {
    expect(describeLate([])).toBeUndefined()
    const across = lateFactsOf({ ...outage, namespace: "shop" }, { ...window, fromTime: at("18:10:10") }, "happened")
    expect(describeLate([facts, across])).toBe(
      "v1.Pod=37; happened=2026-11-25T18:10:00.000000Z/2026-11-25T18:10:24.000000Z; " +
        "received=2026-11-25T18:10:24.000000Z/2026-11-25T18:10:24.000000Z; cause=stopped, " +
        "v1.Pod in shop=37; happened=2026-11-25T18:10:00.000000Z/2026-11-25T18:10:24.000000Z; " +
        "received=2026-11-25T18:10:24.000000Z/2026-11-25T18:10:24.000000Z; cause=stopped; across=start",
    )
    const many = describeLate(Array.from({ length: 1000 }, () => facts)) ?? ""
    expect(many.length).toBeLessThan(2200)
    expect(many).toMatch(/, 9\d\d more$/)
    expect(describeLate([{ ...facts, gvk: "v1.Pöd\r\n" }])).toMatch(/^v1\.P\?d\?\?=37; /)
  })

  test("are printed as sentences with times of this machine", () => {
    const time = (text: string): string => formatLocalTime(at(text) / 1000, now / 1000)
    expect(describeLateFacts(facts, now / 1000)).toBe(
      `v1.Pod: 37 changes between ${time("18:10:00")} and ${time("18:10:24")} were received at ${time("18:10:24")}, ` +
        "because the recorder was not running; their times are estimates",
    )
    const one: LateFacts = {
      ...{ ...facts, namespace: "shop", events: 1, cause: "delayed", across: "start+end" },
      received: [at("18:10:24"), at("18:10:26")],
    }
    expect(describeLateFacts(one, now / 1000)).toBe(
      `v1.Pod in namespace shop: 1 change between ${time("18:10:00")} and ${time("18:10:24")} was received between ` +
        `${time("18:10:24")} and ${time("18:10:26")}, because the API server's stream was silent or behind; ` +
        "its time is an estimate and may lie before or after the window",
    )
  })

  test("in a header are read as they were written, to the second; what is not understood is shown as it is", () => {
    const name = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?$/)
    const moment = fc.nat(4_000_000_000).map((seconds) => seconds * second)
    const any: fc.Arbitrary<LateFacts> = fc.record({
      gvk: name.map((kind) => `example.com/v1.${kind}`),
      namespace: fc.oneof(fc.constant(""), name),
      events: fc.nat(),
      happened: fc.tuple(moment, moment),
      received: fc.tuple(moment, moment),
      cause: fc.constantFrom("stopped", "disconnected", "delayed"),
      across: fc.constantFrom(undefined, "start", "end", "start+end"),
    })
    fc.assert(
      fc.property(fc.array(any, { minLength: 1, maxLength: 4 }), (late) => {
        const sentences = describeLateHeader(describeLate(late) ?? "", now / 1000)
        expect(sentences).toEqual(late.map((each) => describeLateFacts(each, now / 1000)))
      }),
    )
    expect(describeLateHeader("v1.Pod=many, 7 more", now / 1000)).toEqual([
      "received late: v1.Pod=many",
      "7 more ranges of changes were received late",
    ])
  })
})

describe("a request that requires", () => {
  const requested = (require: "all" | "complete" | undefined) =>
    ({ start_ts: 0, end_ts: 1, ...(require && { require }) }) as ExportRequest
  const nothing = { incomplete: [], gaps: 0, late: [] }
  const sentence =
    "37 changes of v1.Pod between 2026-11-25T18:10:00.000000Z and 2026-11-25T18:10:24.000000Z were received later than they happened, " +
    "so the times are estimates (require: complete accepts that)"

  test("all is refused late changes; complete is satisfied with nothing missing", () => {
    const late = { ...nothing, late: [facts] }
    expect(missingOf(requested("all"), late, now)).toBe(sentence)
    expect(missingOf(requested("complete"), late, now)).toBeUndefined()
    expect(missingOf(requested(undefined), late, now)).toBeUndefined()
    expect(missingOf(requested("all"), nothing, now)).toBeUndefined()
  })

  test.each(["all", "complete"] as const)(
    "%s is refused gaps, incomplete kinds and windows that have not ended",
    (require) => {
      expect(missingOf(requested(require), { ...nothing, gaps: 2 }, now)).toContain("the window has 2 gaps")
      const forbidden = { gvk: "v1.Secret", namespace: "", state: "forbidden", fault: "is forbidden" }
      expect(missingOf(requested(require), { ...nothing, incomplete: [forbidden] }, now)).toContain(
        "v1.Secret is forbidden",
      )
      const future = { ...requested(require), end_ts: now / second + 3600 }
      expect(missingOf(future, nothing, now)).toContain("which is in the future")
    },
  )

  test("all names what is missing and what is late", () => {
    expect(missingOf(requested("all"), { ...nothing, gaps: 1, late: [facts] }, now)).toBe(
      `not everything requested is recorded: the window has 1 gap; ${sentence}`,
    )
  })

  test("all names some of many ranges", () => {
    const text = lateFault(Array.from({ length: 9 }, () => facts)) ?? ""
    expect(text).toContain("and 6 more ranges were received later than they happened")
    expect(lateFault([{ ...facts, events: 1 }])).toMatch(
      /^1 change of v1\.Pod between .* was received later than it happened/,
    )
  })
})
