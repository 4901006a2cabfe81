/** The page of a replay: complete, self-contained, and closed to what a cluster puts into names and messages. */
import { hash } from "node:crypto"
import { describe, expect, test } from "vitest"
import { judgeReplay } from "../../../src/simulation/fidelity/judge-replay.ts"
import { reportPage } from "../../../src/simulation/page/report-page.ts"
import type { FidelityReport, PodFidelity } from "../../../src/simulation/report/fidelity-report.ts"
import type { ReplayReport } from "../../../src/simulation/report/replay-report.ts"
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

/** Start tags, in order: what a text could add to. */
const tagsOf = (text: string): ReadonlyArray<string> => text.match(/<[a-zA-Z!/][a-zA-Z0-9]*/g) ?? []

describe("the page of a replay", () => {
  const hostile = `"><script>alert(1)</script><img src=x onerror='alert(2)'>\u0000</style><!--&`

  test("has the same elements whatever the names are, and no text of a cluster as HTML", () => {
    const page = reportPage(reportOf(hostile))
    expect(tagsOf(page)).toEqual(tagsOf(reportPage(reportOf("plain"))))
    expect(page).not.toContain("<img")
    expect(page).not.toContain("alert(1)</script>")
    expect(page).toContain("&lt;script&gt;alert(1)&lt;/script&gt;")
  })

  test("loads and runs nothing, and forbids it; its own style is allowed by its hash", () => {
    const page = reportPage(reportOf("plain"))
    expect(page).not.toMatch(/(?:src|href)=|@import|url\(|https?:/)
    expect(page).not.toMatch(/ (?:style|on[a-z]+)="/)
    const policy = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(page)?.[1]
    const content = /<style>([\s\S]*?)<\/style>/.exec(page)?.[1] ?? ""
    expect(policy).toContain(`style-src 'sha256-${hash("sha256", content, "base64")}'`)
    expect(policy).toMatch(/^default-src 'none'; /)
    expect(policy).not.toContain("script-src")
  })

  test("shows the shares, what went wrong, and the states of an object with their differences", () => {
    const page = reportPage(reportOf("web"))
    for (const shown of [
      "Objects equal",
      "0.0 %",
      "changed by something else",
      "Not measured: web",
      "virtual-shop/web",
    ])
      expect(page).toContain(shown)
    expect(page).toContain("data.value is &quot;web3&quot; instead of &quot;web2&quot;")
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
      const page = reportPage({ ...report, fidelity: { ...fidelity, timeline, pods: { ...pods, recordedFrom } } })
      expect(page.includes("only when they started and ended")).toBe(recordedFrom === "lives")
      const chart = page.split("</figure>").find((each) => each.includes(`<figcaption>Pods: ${phase}`)) ?? ""
      return [...chart.matchAll(/<path class="([^"]+)"/g)].map(([, label = ""]) => label)
    }
    expect([labelsIn("lives", "Pending"), labelsIn("lives", "Running")]).toEqual([["cluster"], ["trace", "cluster"]])
    expect(labelsIn("objects", "Pending")).toEqual(["trace", "cluster"])
  })

  test("says why there is no comparison", () => {
    const { fidelity: _, ...report } = reportOf("web")
    expect(reportPage(report)).toContain("The cluster was not recorded.")
    expect(reportPage({ ...report, fidelity: { unknown: "the disk is full" } })).toContain("the disk is full")
  })
})
