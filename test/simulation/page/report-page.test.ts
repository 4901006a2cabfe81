/** The page of a replay: complete, self-contained, and closed to what a cluster puts into names and messages. */
import { describe, expect, test } from "vitest"
import { judgeReplay } from "../../../src/simulation/fidelity/judge-replay.ts"
import { reportDocument, reportPage } from "../../../src/simulation/page/report-page.ts"
import type { FidelityReport, PodFidelity } from "../../../src/simulation/report/fidelity-report.ts"
import type { ReplayReport } from "../../../src/simulation/report/replay-report.ts"
import { checkPage } from "../../page/checked-page.ts"
import { identity, replayOf, start } from "../fidelity/journal-of.ts"

const spread = { p50: 1, p95: 2, p99: 3, max: 4 }

/** Of a replay in which everything that a cluster can name has this name. */
const reportOf = (text: string): ReplayReport => {
  const { journal, events } = replayOf([
    { name: text, value: text, due: 0 },
    { name: text, value: `${text}2`, due: 500 },
  ])
  const theirs = JSON.stringify({ data: { value: `${text}3` } })
  const recorded = [
    ...events,
    { ...(events[1] as (typeof events)[number]), resourceVersion: "999", object: Buffer.from(theirs) },
  ]
  const fidelity = judgeReplay(
    journal,
    {
      events: recorded,
      unmeasured: [{ gvk: text, reason: text }],
      since: new Map([["v1.ConfigMap", start - 1]]),
      found: { extra: [], unlisted: [] },
      followsLives: false,
      settling: { settlingMs: 10, isSettled: false },
      startMicros: start,
      endMs: 1000,
    },
    identity,
  )
  const cause = { gvk: text, reason: text, count: 1, example: text }
  const counts = { total: 2, sent: 2, accepted: 2, refused: 0, skipped: 0 }
  return {
    version: 1,
    replay: text,
    speed: 1,
    startedAt: "2026-11-20T00:00:00Z",
    trace: { start, end: start + 1_000_000 },
    run: { durationMs: 1000, expectedMs: 1000, delayedMs: 1, pausedMs: 0 },
    stopped: text,
    seed: { ...counts, durationMs: 1 },
    events: counts,
    dispatchErrorMs: spread,
    lagMs: spread,
    gaps: 1,
    incomplete: [],
    refused: [cause],
    skipped: [cause],
    warnings: [],
    latest: [],
    fidelity,
  }
}

describe("the page of a replay", () => {
  test("is one file with the report as data, whatever the names are", () => {
    const report = reportOf(`"><script>alert(1)</script><img src=x onerror='alert(2)'>\u0000</style><!--&`)
    expect(checkPage(reportPage(report))).toEqual({ type: "document", document: reportDocument(report) })
  })

  test("shows the shares, what went wrong, and the states of an object with their differences", () => {
    const page = JSON.stringify(reportDocument(reportOf("web")))
    for (const shown of [
      "Objects equal",
      "0.0 %",
      "changed by something else",
      "Not measured: web",
      "virtual-shop/web",
    ])
      expect(page).toContain(shown)
    expect(page).toContain(JSON.stringify('data.value is "web3" instead of "web2"').slice(1, -1))
  })

  test("of a trace that has only lives of pods draws what they tell, and nothing for the phases that they do not", () => {
    const report = reportOf("web")
    const fidelity = report.fidelity as FidelityReport
    const unknown = { recorded: null, replayed: null }
    const pods: PodFidelity = {
      recordedFrom: "lives",
      created: { recorded: 2, replayed: 1 },
      neverStarted: { recorded: null, replayed: 0 },
      asRecorded: null,
      extra: null,
      missing: null,
      unasked: 0,
      paired: 1,
      pendingMs: unknown,
      runningMs: unknown,
      pendingDifferenceMs: null,
      runningDifferenceMs: null,
      worst: [],
    }
    const overTime = { recorded: { Pending: [0], Running: [1] }, replayed: { Pending: [1], Running: [1] } }
    const labelsIn = (recordedFrom: PodFidelity["recordedFrom"], phase: string): ReadonlyArray<string> => {
      const timeline = { ...fidelity.timeline, pods: overTime }
      const page = reportDocument({ ...report, fidelity: { ...fidelity, timeline, pods: { ...pods, recordedFrom } } })
      expect(JSON.stringify(page).includes("only when they started and ended")).toBe(recordedFrom === "lives")
      const charts = page.blocks.flatMap((block) => (block.type === "charts" ? block.charts : []))
      return charts.find(({ title }) => title === `Pods: ${phase}`)?.lines.map(({ name }) => name) ?? []
    }
    expect([labelsIn("lives", "Pending"), labelsIn("lives", "Running")]).toEqual([["cluster"], ["trace", "cluster"]])
    expect(labelsIn("objects", "Pending")).toEqual(["trace", "cluster"])
  })

  test("says why there is no comparison", () => {
    const { fidelity: _, ...report } = reportOf("web")
    expect(JSON.stringify(reportDocument(report))).toContain("The cluster was not recorded.")
    expect(JSON.stringify(reportDocument({ ...report, fidelity: { unknown: "the disk is full" } }))).toContain(
      "the disk is full",
    )
  })
})
