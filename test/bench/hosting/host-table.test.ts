import { describe, expect, test } from "vitest"
import type { HostRun } from "../../../bench/hosting/host-run.ts"
import { hostMeasures, hostNotes, type MeasuredShape, type Shape } from "../../../bench/hosting/host-table.ts"
import { cellsOf, qualifiedNames, verdictOf } from "../../../bench/report/table.ts"

const mebibyte = 2 ** 20

const shape: Shape = {
  controllers: 10,
  kindsEach: "one",
  bounds: {
    memory: { must: { relation: "at most", value: 180 } },
    wakeUp: { must: { relation: "at most", value: 9 } },
  },
  sorts: ["modules", "controllers", "informers", "managers"],
  paces: [50, 1000],
}

const run = (restMib: number, busyMib: number, p99Ms: number): HostRun => {
  const pace = { p50Ms: 1, p99Ms, cpuMicros: 100, share: 1, lateMs: 2 }
  return {
    pss: restMib * mebibyte,
    idleShare: 0,
    paces: [
      { ...pace, perSecond: 50, pss: restMib * mebibyte },
      { ...pace, perSecond: 1000, p99Ms: p99Ms * 10, pss: busyMib * mebibyte },
    ],
    pssAfter: restMib * mebibyte,
    startedMs: [100, 5, 7],
  }
}
const measured: MeasuredShape = {
  shape,
  runs: { modules: [run(110, 190, 8)], controllers: [], informers: [run(960, 990, 7)], managers: [run(182, 200, 7)] },
}

/** The rows by their full names. */
const rowsOf = (shapes: ReadonlyArray<MeasuredShape>) => {
  const measures = hostMeasures(shapes)
  const names = qualifiedNames(measures)
  return { measures, row: (name: string) => measures[names.indexOf(name)] }
}

describe("the rows of a shape", () => {
  const { measures, row } = rowsOf([measured])

  test("have the peers beside ours, each in a column of its own", () => {
    expect(row("ten modules, a kind each: PSS")).toMatchObject({
      ours: [110],
      informer: [960],
      controllerRuntime: [182],
    })
    expect(cellsOf(measures)[0]).toEqual(
      expect.arrayContaining(["ours (median, min–max)", "client-node informer", "controller-runtime"]),
    )
  })

  test("hold the memory against its budget at rest and while busy, and the wake-up at the budget's pace only", () => {
    const verdict = (name: string) => {
      const measure = row(`ten modules, a kind each: PSS${name}`)
      return measure === undefined ? "no such row" : verdictOf(measure)
    }
    expect(verdict("")).toBe("met")
    expect(verdict(" – PSS at 50 events/s")).toBe("met")
    expect(verdict(" – PSS at 1,000 events/s")).toBe("missed")
    expect(verdict(" – sent → entered at 50 events/s, p99")).toBe("met")
    expect(verdict(" – sent → entered at 1,000 events/s, p99")).toBe("–")
  })

  test("are left out for a sort of ours that did not take part", () => {
    expect(measures.some(({ name }) => name.includes("TypeScript"))).toBe(false)
  })

  test("have no column for a peer that was not built, and a note with the reason", () => {
    const without = rowsOf([{ ...measured, runs: { ...measured.runs, managers: [] } }])
    expect(cellsOf(without.measures)[0]).not.toContain("controller-runtime")
    const conditions = { rounds: 1, kinds: [], loads: [1] }
    expect(hostNotes({ ...conditions, program: { missing: "Go is not on the PATH" } }).at(-1)).toBe(
      "controller-runtime was not measured: Go is not on the PATH.",
    )
    expect(hostNotes({ ...conditions, program: { path: "/program" } }).join()).not.toContain("was not measured")
  })
})

describe("the rows of modules alone", () => {
  test("leave the first out of those started from disk: it waits for the host's threads", () => {
    const { row } = rowsOf([measured])
    expect(row("a module started from disk: order → entered, p50")?.ours).toEqual([5])
    expect(row("a module started from disk: order → entered, p50 – longest")?.ours).toEqual([7])
    expect(
      row("a module started from disk: order → entered, p50 – the first, with the threads of the host")?.ours,
    ).toEqual([100])
  })
})
