import { describe, expect, test } from "vitest"
import { cutFault } from "../../../bench/exporting/export-live.ts"
import { listedObjects, listedOfKind } from "../../../bench/exporting/export-load.ts"
import type { TraceCount } from "../../../bench/exporting/export-trace-count.ts"
import type { RecordedChange } from "../../../bench/measuring/commit-watch.ts"

/** Change n was received at n × 10 ms and is event 2,000 + n of the recording. */
const changes: ReadonlyArray<RecordedChange> = Array.from({ length: 100 }, (_, index) => ({
  number: index + 1,
  sequence: 2001 + index,
  receivedMicros: (index + 1) * 10_000,
}))
/** Asked between changes 50 and 51; the head came between 60 and 61. */
const moments = { askedMicros: 505_000, headMicros: 605_000 }

const traceUntil = (last: number, differs: Partial<TraceCount> = {}): TraceCount => ({
  changes: last,
  last,
  repeated: 0,
  disordered: 0,
  listed: listedOfKind,
  others: listedObjects - listedOfKind,
  unasked: 0,
  ...differs,
})

const fault = (last: number, differs?: Partial<TraceCount>) => cutFault(traceUntil(last, differs), changes, moments)

describe("a trace against the recording", () => {
  test("may end anywhere between the request and the head of the answer", () => {
    for (const last of [50, 55, 60]) expect(fault(last)).toEqual({ missing: 0, surplus: 0 })
  })

  test("lacks what was received before the request", () => {
    expect(fault(47)).toEqual({ missing: 3, surplus: 0 })
  })

  test("has too much with what was received after the head", () => {
    expect(fault(62)).toEqual({ missing: 0, surplus: 2 })
  })

  test("that names its cut must end there", () => {
    expect(fault(55, { cut: 2055 })).toEqual({ missing: 0, surplus: 0 })
    expect(fault(54, { cut: 2055 })).toEqual({ missing: 1, surplus: 0 })
    expect(fault(56, { cut: 2055 })).toEqual({ missing: 0, surplus: 1 })
  })

  test("with a cut before the request lacks something, however well it keeps to it", () => {
    expect(fault(40, { cut: 2040 }).missing).toBe(10)
  })

  test("has no holes, repetitions, disorder or gaps", () => {
    expect(fault(55, { changes: 53 })).toEqual({ missing: 2, surplus: 0 })
    expect(fault(55, { repeated: 1, disordered: 2, unasked: 3 })).toEqual({ missing: 0, surplus: 6 })
  })

  test("has every listed object once", () => {
    expect(fault(55, { listed: listedOfKind - 1, others: 0 }).missing).toBe(1 + listedObjects - listedOfKind)
    expect(fault(55, { others: listedObjects - listedOfKind + 5 }).surplus).toBe(5)
  })
})
