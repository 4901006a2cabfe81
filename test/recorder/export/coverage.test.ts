import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type Coverage, coverageOf, type TimeRange, without } from "../../../src/recorder/export/coverage.ts"
import type { ExportForecast } from "../../../src/recorder/export/forecast.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { podLivesKind } from "../../../src/trace/index.ts"
import { everything, type RecorderProcess, Workplace } from "../recorder/recorder-command.ts"

test("the parts of a range outside of all gaps are exactly what no gap covers", () => {
  const range = fc.tuple(fc.nat(30), fc.nat(30)).map(([one, other]) => ({
    start: Math.min(one, other),
    end: Math.max(one, other),
  }))
  const holds = ({ start, end }: TimeRange, moment: number): boolean => start <= moment && moment < end
  fc.assert(
    fc.property(range, fc.array(range, { maxLength: 6 }), (whole, gaps) => {
      const left = without(whole, gaps)
      for (let moment = 0; moment < 31; moment++) {
        const isCovered = left.filter((each) => holds(each, moment)).length
        expect(isCovered).toBe(holds(whole, moment) && !gaps.some((gap) => holds(gap, moment)) ? 1 : 0)
      }
      for (const [index, { start, end }] of left.entries()) {
        expect(start).toBeLessThan(end)
        expect(start).toBeGreaterThanOrEqual(left[index - 1]?.end ?? 0)
      }
    }),
  )
})

test("a kind is recorded up to now only as far as what its open watch brings can be written", () => {
  const namespace = { namespace: "shop", state: "watching", detail: "" } as const
  const status = { gvk: "v1.Pod", state: "watching", detail: "", since: 10, isRefused: false } as const
  const rows = { events: 3, since: 10, completeTime: 20, gaps: [], late: [] }
  const recorded = {
    cut: 3,
    redacted: [],
    kinds: [{ gvk: "v1.Pod", ...rows, namespaces: [{ namespace: "shop", since: 10, completeTime: 20 }] }],
  }
  const kindAt = (knownUntil: number | undefined) =>
    coverageOf(recorded, [{ ...status, namespaces: [namespace] }], { start: 0, end: 100 }, 90, { knownUntil }).kinds[0]
  expect(kindAt(undefined)).toMatchObject({
    ...{ ranges: [{ start: 10, end: 91 }], isComplete: true },
    namespaces: [{ since: 10, until: 90 }],
  })
  expect(kindAt(50)).toMatchObject({
    ...{ ranges: [{ start: 10, end: 50 }], isComplete: false },
    namespaces: [{ since: 10, until: 49 }],
  })
})

describe("of a recording", () => {
  let place: Workplace
  let sandbox: Sandbox
  let recorder: RecorderProcess
  const startMicros = Date.now() * 1000
  beforeAll(async () => {
    place = new Workplace()
    sandbox = await Sandbox.start()
    sandbox.faults.respond("secrets", 403)
    for (const name of ["a", "b", "c"]) sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name } })
    recorder = place.record({
      cluster: { server: sandbox.url },
      kinds: { "v1.ConfigMap": "{}", "apps/v1.Deployment": "{}", "v1.Secret": "{}" },
    })
    await recorder.inState("v1.Secret", /forbidden/)
    await recorder.ready()
  })
  afterAll(async () => {
    await place.close()
    await sandbox.close()
  })

  const coverage = async (query = ""): Promise<Coverage> =>
    JSON.parse((await recorder.get(`/v1/coverage${query}`)).text) as Coverage

  const of = ({ kinds }: Coverage, gvk: string) => kinds.find((kind) => kind.gvk === gvk)

  /** The client's current time: the future is missing from no trace. */
  const untilNow = () => ({ end_time: Date.now() * 1000 })

  const forecast = async (more: object = {}): Promise<ExportForecast> => {
    const answer = await recorder.post({ ...everything("ndjson"), ...untilNow(), ...more, dry_run: true })
    return (await answer.json()) as ExportForecast
  }

  test("each kind has its state, its events, and the time since which it is recorded", async () => {
    const answer = await coverage()
    expect(answer.kinds.map(({ gvk, state, events }) => [gvk, state, events])).toEqual([
      ["v1.ConfigMap", "watching", 3],
      ["apps/v1.Deployment", "watching", 0],
      ["v1.Secret", "forbidden", 0],
    ])
    const [range, ...more] = of(answer, "v1.ConfigMap")?.ranges ?? []
    expect(more).toEqual([])
    expect(range?.start).toBeGreaterThan(startMicros)
    expect(range?.end).toBeGreaterThan(range?.start ?? 0)
    expect(of(answer, "v1.Secret")).toMatchObject({ ranges: [], detail: expect.stringContaining("403") })
  })

  test("a window counts the events received in it, to the microsecond", async () => {
    sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name: "d" } })
    await recorder.until(async () => of(await coverage(), "v1.ConfigMap")?.events === 4, "the fourth")
    const text = await (await recorder.post(everything("ndjson"))).text()
    const times = text
      .split("\n")
      .filter((line) => line.includes('"action"'))
      .map((line) => JSON.parse(line) as { readonly time: number; readonly ts?: number })
      .map(({ time }) => time)
    expect(times).toHaveLength(4)
    const between = async (start: number, end: number) =>
      of(await coverage(`?start=${start}&end=${end}`), "v1.ConfigMap")?.events
    const [first = 0, last = 0] = [times[0], times.at(-1)]
    expect(await between(first, last + 1)).toBe(4)
    expect(await between(first, last)).toBe(times.filter((time) => time < last).length)
    // What the first lists had counts as one moment, up to which a window has it whole.
    expect(await between(last, last + 1)).toBe(times.filter((time) => time === last).length)
    expect(await between(0, first)).toBe(0)
    expect(await between(last + 1, Number.MAX_SAFE_INTEGER)).toBe(0)
  })

  test.each(["?start=5&end=4", "?start=-1", "?end=tomorrow", "?start=1e3", "?from=0"])("%s is a 400", async (query) => {
    expect((await recorder.get(`/v1/coverage${query}`)).status).toBe(400)
  })

  test("a dry run returns what an export would contain, what would be missing, and why it would be rejected", async () => {
    const whole = await forecast()
    expect(whole).toMatchObject({ format: "ndjson", incomplete: ["v1.Secret=forbidden"], leftOut: [], refusals: [] })
    expect(whole.kinds.map(({ gvk }) => gvk)).toEqual(["v1.ConfigMap", "apps/v1.Deployment", "v1.Secret"])
    expect((await forecast({ require: "all" })).refusals).toEqual([
      expect.stringMatching(/^not everything requested is recorded: v1\.Secret is forbidden \(/),
    ])
    expect((await forecast({ format: "simkube" })).leftOut).toEqual(["v1.ConfigMap", "v1.Secret"])
    const filters = { ...everything("ndjson").filters, excluded_kinds: ["v1.S*"] }
    expect(await forecast({ filters, require: "all" })).toMatchObject({ incomplete: [], refusals: [] })
  })

  test("a dry run counts what the export then contains: the objects at the start and the changes, by kind, namespace and name", async () => {
    const times = (await recorder.exported()).map((line) => (line as { readonly time?: number }).time ?? 0)
    const middle = times[2] ?? 0
    const none = { excluded_namespaces: [], excluded_labels: [] }
    for (const filters of [
      none,
      { ...none, names: ["shop/a", "d"] },
      { ...none, excluded_names: ["?"] },
      { ...none, namespaces: ["sh*"], excluded_names: ["b"] },
      { ...none, excluded_namespaces: ["shop"] },
      { ...none, excluded_kinds: ["v1.ConfigMap"] },
    ]) {
      const request = { start_time: middle, filters }
      const dry = await forecast(request)
      const text = await (await recorder.post({ ...everything("ndjson"), ...untilNow(), ...request })).text()
      const { end } = JSON.parse(text.trimEnd().split("\n").at(-1) ?? "") as { readonly end: object }
      const sum = (of: "objects" | "events"): number => dry.kinds.reduce((total, kind) => total + kind[of], 0)
      expect({ snapshot: sum("objects"), events: sum("events") }).toEqual({
        snapshot: (end as { readonly snapshot: number }).snapshot,
        events: (end as { readonly events: number }).events,
      })
      expect(dry.countedBefore).toEqual([])
    }
  })

  test("a dry run names the filters that its counts ignore", async () => {
    const filters = { ...everything("ndjson").filters, labels: ["app=web"] }
    expect((await forecast({ filters })).countedBefore).toEqual(["label filters"])
    expect((await forecast({ filters, format: "kwok" })).countedBefore).toEqual(["label filters", "owner filters"])
    const asked = place.reel("export", "-s", await recorder.listening(), "--dry-run", "--start", "0", "--label", "a=b")
    await asked.ended
    expect(asked.output).toMatch(/^3 objects at the start and 1 event before label filters, the beginning to /)
  })

  test("a dry run does not count kinds that the format cannot represent", async () => {
    const dry = await forecast({ format: "simkube" })
    expect(dry.kinds.map(({ gvk, events }) => [gvk, events])).toContainEqual(["v1.ConfigMap", 0])
    expect(dry.countedBefore).toEqual(["owner filters"])
  })

  test("a dry run of an invalid request is a 400, like the request itself", async () => {
    const filters = { ...everything("ndjson").filters, excluded_labels: ["app in ("] }
    const answer = await recorder.post({ ...everything("ndjson"), filters, dry_run: true })
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining("excluded_labels[0]")])
  })

  test("require=all rejects incomplete kinds and names them, and accepts complete ones", async () => {
    const request = { ...everything("ndjson"), ...untilNow(), require: "all" }
    const refused = await recorder.post(request)
    expect([refused.status, await refused.text()]).toEqual([409, expect.stringContaining("v1.Secret is forbidden")])
    const complete = await recorder.post({ ...request, filters: { ...request.filters, kinds: ["v1.ConfigMap"] } })
    expect([complete.status, complete.headers.get("kubereel-incomplete")]).toEqual([200, null])
    await complete.text()
  })

  test("a window that begins before the recording is reported in header, trace and dry run, and require=all rejects it", async () => {
    const begins = of(await coverage(), "v1.ConfigMap")?.ranges[0]?.start ?? 0
    expect(begins).toBeGreaterThan(startMicros)
    const filters = { ...everything("ndjson").filters, kinds: ["v1.ConfigMap"] }
    const request = { ...everything("ndjson"), filters, ...untilNow() }
    const early = await recorder.post({ ...request, start_time: startMicros })
    const state = /^v1\.ConfigMap=(recorded-\S+Z\/\S+Z)$/.exec(early.headers.get("kubereel-incomplete") ?? "")?.[1]
    expect([early.status, state]).toEqual([200, expect.any(String)])
    const header = JSON.parse((await early.text()).split("\n")[0] ?? "") as object
    expect(header).toMatchObject({ incomplete: [{ gvk: "v1.ConfigMap", state }] })
    const refused = await recorder.post({ ...request, start_time: startMicros, require: "all" })
    expect([refused.status, await refused.text()]).toEqual([
      409,
      expect.stringMatching(/: v1\.ConfigMap is recorded only from \S+Z on\n$/),
    ])
    const dry = await forecast({ ...request, start_time: startMicros, require: "all" })
    expect(dry.incomplete).toEqual([expect.stringMatching(/^v1\.ConfigMap=recorded-/)])
    expect(dry.refusals).toEqual([expect.stringContaining("v1.ConfigMap is recorded only from")])
    const inside = await recorder.post({ ...request, start_time: begins, require: "all" })
    expect([inside.status, inside.headers.get("kubereel-incomplete")]).toEqual([200, null])
    await inside.text()
  })

  test("a misspelt kind does not look like one without objects", async () => {
    const filters = { ...everything("ndjson").filters, kinds: ["v1.ConfigMap", "configmaps"] }
    const request = { ...everything("ndjson"), filters, ...untilNow() }
    const taken = await recorder.post(request)
    expect(taken.headers.get("kubereel-incomplete")).toBe("configmaps=untracked")
    expect(await taken.text()).toContain('"incomplete":[{"gvk":"configmaps","state":"untracked"}]')
    const refused = await recorder.post({ ...request, require: "all" })
    expect([refused.status, await refused.text()]).toEqual([
      409,
      expect.stringContaining("configmaps is not recorded by this recorder"),
    ])
    expect((await forecast(request)).incomplete).toEqual(["configmaps=untracked"])
  })

  test("a kind without objects is recorded since its first list, not since its first object", async () => {
    const answer = await coverage()
    const request = { ...everything("ndjson"), ...untilNow(), require: "all" }
    const filters = { ...request.filters, kinds: ["apps/v1.Deployment"] }
    const start_time = of(answer, "apps/v1.Deployment")?.ranges[0]?.start ?? 0
    expect(start_time).toBeGreaterThan(startMicros)
    const whole = await recorder.post({ ...request, filters, start_time })
    expect([whole.status, await whole.text()]).toEqual([200, expect.stringContaining("kubereel")])
  })

  test("a window that has not ended is rejected by require=all, and otherwise contains what is recorded", async () => {
    const filters = { ...everything("ndjson").filters, kinds: ["v1.ConfigMap"] }
    const refused = await recorder.post({ ...everything("ndjson"), filters, require: "all" })
    expect([refused.status, await refused.text()]).toEqual([409, expect.stringContaining("which is in the future")])
    const taken = await recorder.post({ ...everything("ndjson"), filters })
    expect([taken.status, taken.headers.get("kubereel-incomplete")]).toEqual([200, null])
    await taken.text()
  })

  test("reel export --dry-run prints it", async () => {
    const asked = place.reel("export", "-s", await recorder.listening(), "--dry-run", "--start", "0")
    expect((await asked.ended).code).toBe(3)
    expect(asked.output).toMatch(/^3 objects at the start and 1 event, the beginning to /)
    expect(asked.output).toMatch(
      /^ {2}v1\.ConfigMap: 3 objects at the start and 1 event, recorded \S+ to \S+, watching$/m,
    )
    expect(asked.output).toMatch(
      /^ {2}v1\.Secret: 0 objects at the start and 0 events, nothing recorded, forbidden \(.*\)$/m,
    )
  })

  test("changes that the server no longer had are a gap with its range and reason, and require=all rejects it", async () => {
    await recorder.stop()
    sandbox.faults.forceExpired("configmaps", 1)
    recorder = place.record({
      cluster: { server: sandbox.url },
      kinds: { "v1.ConfigMap": "{}", "apps/v1.Deployment": "{}" },
    })
    await recorder.until(async () => (of(await coverage(), "v1.ConfigMap")?.gaps.length ?? 0) > 0, "the gap")
    await recorder.ready()
    const kind = of(await coverage(), "v1.ConfigMap")
    const [gap] = kind?.gaps ?? []
    expect(gap).toMatchObject({ reason: "expired" })
    expect(kind?.ranges.map(({ start, end }) => [start >= (gap?.end ?? 0), end <= (gap?.start ?? 0)])).toEqual([
      [false, true],
      [true, false],
    ])
    const refused = await recorder.post({ ...everything("ndjson"), ...untilNow(), require: "all" })
    expect([refused.status, await refused.text()]).toEqual([
      409,
      "not everything requested is recorded: the window has 1 gap\n",
    ])
    expect((await forecast({ require: "all" })).refusals).toEqual([expect.stringContaining("the window has 1 gap")])
    const before = { start_time: 0, end_time: gap?.start ?? 0 }
    expect((await recorder.post({ ...everything("ndjson"), ...before, require: "all" })).status).toBe(200)
  })

  test("a kind that is no longer recorded is still listed", async () => {
    await recorder.stop()
    recorder = place.record({ cluster: { server: sandbox.url }, kinds: { "apps/v1.Deployment": "{}" } })
    await recorder.ready()
    expect(Object.fromEntries((await coverage()).kinds.map(({ gvk, state }) => [gvk, state]))).toEqual({
      "apps/v1.Deployment": "watching",
      "v1.ConfigMap": "untracked",
      "v1.Secret": "untracked",
    })
  })
})

test("W-01: while a requested kind is being listed for the first time, an export is a 503 that names it; a dry run says so; other kinds can be exported", async () => {
  await using other = new Workplace()
  await using slow = await Sandbox.start()
  slow.faults.stall("configmaps")
  const starting = other.record({
    cluster: { server: slow.url },
    kinds: { "v1.ConfigMap": "{}", "apps/v1.Deployment": "{}" },
  })
  await starting.inState("apps/v1.Deployment", /watching/)
  const request = everything("ndjson")
  const refused = await starting.post(request)
  expect([refused.status, await refused.text()]).toEqual([
    503,
    expect.stringMatching(/^v1\.ConfigMap: being listed for the first time/),
  ])
  expect(refused.headers.get("retry-after")).toBe("1")
  const dry = (await (await starting.post({ ...request, dry_run: true })).json()) as ExportForecast
  expect(dry.refusals).toEqual([expect.stringMatching(/^v1\.ConfigMap: being listed for the first time/)])
  const filtered = await starting.post({ ...request, filters: { ...request.filters, kinds: ["apps/*"] } })
  expect(filtered.status).toBe(200)
  await filtered.text()
  slow.faults.resume()
  await starting.ready()
  expect((await starting.post(request)).status).toBe(200)
})

test("pod lifecycles on their own stream are covered since its first list", async () => {
  await using place = new Workplace()
  await using sandbox = await Sandbox.start()
  const recorder = place.record({
    cluster: { server: sandbox.url },
    kinds: { "apps/v1.Deployment": "{trackLifecycle: true}" },
  })
  await recorder.ready()
  const { kinds } = JSON.parse((await recorder.get("/v1/coverage")).text) as Coverage
  expect(kinds.map(({ gvk, ranges }) => [gvk, ranges.length])).toEqual([
    ["apps/v1.Deployment", 1],
    [podLivesKind, 1],
  ])
  const start_time = Math.max(...kinds.map(({ ranges }) => ranges[0]?.start ?? 0))
  const request = { ...everything("simkube"), start_time, end_time: Date.now() * 1000, require: "all" }
  const whole = await recorder.post(request)
  expect([whole.status, whole.headers.get("kubereel-incomplete")]).toEqual([200, null])
  await whole.arrayBuffer()
  const early = await recorder.post({ ...request, start_time: start_time - 3_600_000_000 })
  expect([early.status, await early.text()]).toEqual([409, expect.stringContaining(`${podLivesKind} is recorded only`)])
})

test("a kind that is added later is the only one that an earlier window lacks", async () => {
  await using place = new Workplace()
  await using sandbox = await Sandbox.start()
  const record = (kinds: Readonly<Record<string, string>>) => place.record({ cluster: { server: sandbox.url }, kinds })
  const first = record({ "v1.ConfigMap": "{}" })
  await first.ready()
  const { kinds } = JSON.parse((await first.get("/v1/coverage")).text) as Coverage
  await first.stop()
  const second = record({ "v1.ConfigMap": "{}", "apps/v1.Deployment": "{}" })
  await second.inState("v1.ConfigMap", /watching/)
  await second.ready()
  const start_time = kinds[0]?.ranges[0]?.start
  const answer = await second.post({ ...everything("ndjson"), start_time, end_time: Date.now() * 1000 })
  expect(answer.headers.get("kubereel-incomplete")).toMatch(/^apps\/v1\.Deployment=recorded-[^,]*$/)
  await answer.text()
})
