/** `reel compare`: the table, the page, and what it does with files that cannot be compared. */
import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { compareCommand } from "../../src/cli/compare.ts"
import { checkPage } from "../page/checked-page.ts"
import { commandsIn } from "./commands-in.ts"

const { path, write: writeText, names, run } = commandsIn("reel-compare-")

/** What the page that was written shows, as JSON. */
const writtenPage = (): string => JSON.stringify(checkPage(readFileSync(path("page.html"), "utf8")))

const start = 1_763_700_000_000_000
const spreadOf = (ms: number) => ({ p50: ms, p95: ms * 2, p99: ms * 3, max: ms * 4 })

interface Facts {
  readonly pendingMs?: number
  readonly lagMs?: number
  readonly refused?: number
  readonly start?: number
  readonly stopped?: string
  readonly pending?: ReadonlyArray<number>
  readonly speed?: number | "max"
}

/** A report as reel replay writes it, with the members that a comparison needs. */
const reportOf = ({ pendingMs = 100, lagMs = 5, refused = 0, pending = [0, 3, 1, 0], ...facts }: Facts = {}) => {
  const counts = { total: 10, sent: 10, accepted: 10 - refused, refused, skipped: 0 }
  const traceStart = facts.start ?? start
  return {
    version: 1,
    replay: "abc",
    speed: facts.speed ?? 10,
    startedAt: "2026-11-20T00:00:00.000Z",
    trace: { start: traceStart, end: traceStart + 20_000_000 },
    run: { durationMs: 2000, expectedMs: facts.speed === "max" ? null : 2000, delayedMs: 0 },
    stopped: facts.stopped ?? null,
    seed: { total: 0, sent: 0, accepted: 0, refused: 0, skipped: 0, durationMs: 1 },
    events: counts,
    dispatchErrorMs: spreadOf(1),
    lagMs: spreadOf(lagMs),
    gaps: 0,
    refused: refused === 0 ? [] : [{ gvk: "v1.Pod", reason: "403 Forbidden", count: refused, example: "no" }],
    skipped: [],
    latest: [],
    fidelity: {
      score: { objectsEqual: 1, statesInOrder: 0.9991, gapsWithin: null },
      observedMs: spreadOf(lagMs + 1),
      pods: {
        created: { recorded: 4, replayed: 4 },
        neverStarted: { recorded: 0, replayed: 1 },
        pendingMs: { recorded: spreadOf(10), replayed: spreadOf(pendingMs) },
        runningMs: { recorded: null, replayed: null },
      },
      timeline: {
        pods: { recorded: { Pending: pending }, replayed: { Pending: pending } },
      },
    },
  }
}

const write = (name: string, report: unknown): string =>
  writeText(name, typeof report === "string" ? report : JSON.stringify(report))

const compare = (...argv: ReadonlyArray<string>) => run(compareCommand(), argv)

describe("a comparison", () => {
  test("has a column for each run, and marks the better of two numbers", async () => {
    const before = write("before.json", reportOf())
    const after = write("after.json", reportOf({ pendingMs: 50, lagMs: 7, refused: 2 }))
    const { code, output, error } = await compare(before, after)
    expect([code, error]).toEqual([exitCodes.ok, ""])
    const lines = output.split("\n")
    expect(lines[0]).toMatch(/^ +before +after$/)
    expect(output).toMatch(/^ {2}pending, p50 +100 ms +50\.0 ms \*$/m)
    expect(output).toMatch(/^ {2}answered, p50 +5\.0 ms \* +7\.0 ms$/m)
    expect(output).toMatch(/^ {2}objects equal +100 % +100 %$/m)
    expect(output).toMatch(/^ {2}states in order +99\.9 % +99\.9 %$/m)
    expect(output).toMatch(/^ {2}refused: v1\.Pod 403 Forbidden +0 \* +2$/m)
    expect(output).toMatch(/^ {2}pending at the same time, at most +3 +3$/m)
    expect(output).not.toMatch(/gaps kept|running, p50|ended early/)
  })

  test("is JSON for programs", async () => {
    const runs = [write("a.json", reportOf()), write("b.json", reportOf({ pendingMs: 50 }))]
    const { output } = await compare(...runs, "--output", "json")
    const { version, runs: columns, groups } = JSON.parse(output)
    expect([version, columns.map(({ name }: { name: string }) => name)]).toEqual([1, ["a", "b"]])
    const rows = groups.flatMap((group: { rows: ReadonlyArray<{ label: string }> }) => group.rows)
    expect(rows).toContainEqual({ label: "pending, p99", unit: "ms", better: "lower", values: [300, 150] })
  })

  test("is a page with the same numbers, which replaces no file", async () => {
    const short = write("short.json", reportOf({ pending: [0, 3, 1, 0] }))
    const long = write("long<b>.json", reportOf({ pending: [2, 0, 0] }))
    expect((await compare(short, long, "--html", path("page.html"))).code).toBe(exitCodes.ok)
    const page = writtenPage()
    expect(page).toContain('"title":"Comparison of short, long<b>"')
    expect(page).toContain('["pending at the same time, at most","3","2"]')
    expect((await compare(short, long, "--html", path("page.html"))).code).toBe(exitCodes.usage)
    expect(names()).toHaveLength(3)
  })

  test("of replays at different speeds has durations in the trace's time, on the page too, and none of speed max", async () => {
    const real = write("real.json", reportOf({ speed: 1, pendingMs: 1000, pending: [0, 1, 1, 1] }))
    const fast = write("fast.json", reportOf({ speed: 10, pendingMs: 100, pending: [0, 1, 0, 0] }))
    const max = write("max.json", reportOf({ speed: "max" }))
    const { output, error } = await compare(real, fast, max, "--html", path("page.html"))
    expect(error).toBe(
      "reel compare: the speeds are different: durations are in the trace's time, punctuality is in real time\n" +
        "reel compare: max has no time of the trace, because of its speed: its durations are left out\n",
    )
    expect(output).toMatch(/^Pods, in the trace's time$/m)
    expect(output).toMatch(/^ {2}pending, p50 +1000 ms +1000 ms +–$/m)
    expect(output).toMatch(/^ {2}duration, in the trace's time +2000 ms +20\.0 s +–$/m)
    expect(output).toMatch(/^Punctuality, after due, in real time$/m)
    expect(output).toMatch(/^ {2}answered, p50 +5\.0 ms +5\.0 ms +5\.0 ms$/m)
    expect(writtenPage()).toContain("Pods, in the trace's time")
  })

  test("of runs without a recording has what there is, and says so", async () => {
    const { fidelity: _, ...plain } = reportOf()
    const { code, output, error } = await compare(write("a.json", plain), write("b.json", reportOf()))
    expect(code).toBe(exitCodes.ok)
    expect(error).toBe("reel compare: a has no comparison with its cluster: pods and fidelity are left out\n")
    expect(output).toMatch(/^ {2}pending, p50 +– +100 ms$/m)
  })

  test("of different traces is refused unless forced; a run that was stopped is of the same trace", async () => {
    const files = [write("a.json", reportOf()), write("b.json", reportOf({ start: start + 1_000_000 }))]
    const refused = await compare(...files)
    expect([refused.code, refused.output]).toEqual([exitCodes.failed, ""])
    expect(refused.error).toMatch(
      /^reel compare: a is of the trace from 2025-.* b from .*; --force compares them all the same\n$/,
    )
    expect((await compare(...files, "--force")).code).toBe(exitCodes.ok)
    const stopped = { ...reportOf({ stopped: "interrupted" }), trace: { start, end: start + 1 } }
    expect((await compare(files[0] as string, write("c.json", stopped))).code).toBe(exitCodes.ok)
  })
})

describe("a report with repetitions", () => {
  const repeated = (...runs: ReadonlyArray<object>): object => ({ version: 1, replay: "abc", repetitions: runs })
  const pendings = (...ms: ReadonlyArray<number>): object =>
    repeated(...ms.map((pendingMs) => reportOf({ pendingMs, pending: [0, pendingMs / 10, 0] })))

  test("is one column with the median of its runs and their range", async () => {
    const before = write("before.json", pendings(90, 130, 100))
    const { code, output, error } = await compare(before, write("after.json", reportOf({ pendingMs: 80 })))
    expect([code, error]).toEqual([exitCodes.ok, ""])
    expect(output.split("\n")[0]).toMatch(/^ +before, 3 runs +after$/)
    expect(output).toMatch(/^ {2}pending, p50 +100 ms \(90\.0 ms to 130 ms\) +80\.0 ms \*$/m)
    expect(output).toMatch(/^ {2}answered, p50 +5\.0 ms +5\.0 ms$/m)
    expect(output).toMatch(/^ {2}speed +10× +10×$/m)
  })

  test("is not better if one of its runs was not", async () => {
    const [before, after] = [write("before.json", pendings(90, 130, 100)), write("after.json", pendings(40, 95, 50))]
    expect((await compare(before, after)).output).toMatch(
      /^ {2}pending, p50 +100 ms \(90\.0 ms to 130 ms\) +50\.0 ms \(40\.0 ms to 95\.0 ms\)$/m,
    )
    const apart = write("apart.json", pendings(40, 89, 50))
    expect((await compare(before, apart)).output).toMatch(/^ {2}pending, p50 .+ 50\.0 ms \(40\.0 ms to 89\.0 ms\) \*$/m)
  })

  test("has each of its runs in JSON, also those that ended early, which the column leaves out", async () => {
    const runs = [100, 110].map((pendingMs) => reportOf({ pendingMs }))
    const stopped = { ...reportOf({ pendingMs: 5, stopped: "interrupted" }), trace: { start, end: start + 1 } }
    const files = [write("a.json", repeated(...runs, stopped)), write("b.json", reportOf())]
    const { output } = await compare(...files, "--output", "json")
    const { runs: columns, groups } = JSON.parse(output)
    expect(columns).toMatchObject([
      { name: "a #1", report: "a" },
      { name: "a #2", report: "a" },
      { name: "a #3", report: "a" },
      { name: "b", report: "b" },
    ])
    const rows = groups.flatMap((group: { rows: ReadonlyArray<{ label: string }> }) => group.rows)
    expect(rows).toContainEqual({ label: "pending, p50", unit: "ms", better: "lower", values: [100, 110, 5, 100] })
    const table = await compare(...files)
    expect(table.error).toBe("reel compare: a: 1 of 3 repetitions ended early; only --output json has them\n")
    expect(table.output).toMatch(/^ {2}pending, p50 +100 ms \(100 ms to 110 ms\) +100 ms$/m)
    const [onlyStopped, whole] = [write("c.json", repeated(stopped)), files[1] as string]
    expect((await compare(onlyStopped, whole)).output).toMatch(/^ {2}pending, p50 +5\.0 ms \* +100 ms$/m)
  })

  test("has median and range on the page too", async () => {
    const before = write("before.json", pendings(90, 130, 100))
    const after = write("after.json", reportOf({ pendingMs: 80 }))
    expect((await compare(before, after, "--html", path("page.html"))).code).toBe(exitCodes.ok)
    const page = writtenPage()
    expect(page).toContain('"before, 3 runs"')
    expect(page).toContain('["100 ms",{"text":"90 ms to 130 ms",')
    expect(page).toContain("4 replays of the trace")
  })

  test("of another trace is refused once, however many runs it has", async () => {
    const other = repeated(...[1, 2].map(() => reportOf({ start: start + 1_000_000 })))
    const { code, error } = await compare(write("a.json", reportOf()), write("b.json", other))
    expect([code, error.split("\n")]).toEqual([exitCodes.failed, [expect.stringMatching(/a is of .* b from/), ""]])
  })
})

describe("bad input is one message:", () => {
  test.each([
    ["a file that is not there", undefined, /none\.json does not exist/],
    ["a foreign file", "apiVersion: v1", /x is not a report of reel replay; write one with --report/],
    ["other JSON", "[1]", /is not a report of reel replay/],
    ["a forecast", { version: 1, kinds: [] }, /is not a report of reel replay/],
    ["a newer version", { ...reportOf(), version: 2 }, /has version 2; this release of reel reads version 1/],
    ["no repetitions", { version: 1, replay: "abc", repetitions: [] }, /x has no repetition that ended/],
    ["a damaged repetition", { version: 1, replay: "abc", repetitions: [reportOf(), 7] }, /x is damaged: /],
    ["a damaged report", { ...reportOf(), lagMs: { p50: "a" } }, /x is damaged: /],
  ])("%s", async (_, content, message) => {
    const file = content === undefined ? path("none.json") : write("x", content)
    const { code, output, error } = await compare(write("good.json", reportOf()), file)
    expect([code, output]).toEqual([exitCodes.failed, ""])
    expect(error).toMatch(message)
    expect(error.split("\n")).toHaveLength(2)
  })

  test("a directory, a single report, and too many", async () => {
    const good = write("good.json", reportOf())
    expect((await compare(good, path("."))).error).toMatch(/is a directory/)
    expect((await compare(good)).error).toMatch(/missing argument: expected REPORT REPORT/)
    expect((await compare(...Array.from({ length: 7 }, () => good))).error).toMatch(/at most 6 can be compared/)
  })
})
