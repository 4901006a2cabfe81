/** A recording with changes that were received late, as a recorder serves it. */
import { afterAll, beforeAll, expect, test } from "vitest"
import { ArchiveWriter } from "../../../src/archive/index.ts"
import type { Coverage } from "../../../src/recorder/export/coverage.ts"
import type { ExportForecast } from "../../../src/recorder/export/forecast.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { encodeFrame, type SampleEvent, START } from "../../archive/sample-frames.ts"
import { everything, type RecorderProcess, Workplace } from "../recorder/recorder-command.ts"

const gvk = "v1.ConfigMap"
const at = (seconds: number): number => START + seconds * 1_000_000

/** Recorded since second 1; between the seconds 10 and 24 no recorder was running. */
const writeOutage = (dataDir: string): void => {
  const writer = ArchiveWriter.open(dataDir)
  const change = (happened: number, received?: number): SampleEvent => ({
    ...{ action: "applied", number: 1, time: at(happened), version: happened, object: `{"data":{"at":"${happened}"}}` },
    ...(received !== undefined && { received: at(received) }),
  })
  const range = {
    ...{ notBefore: at(10), notAfter: at(24), receivedFrom: at(24), receivedTo: at(24), events: 2 },
    ...{ cause: "stopped" as const, namespace: "" },
  }
  const frames = [
    { gvk, newObjects: [1], events: [change(1)], completeThrough: "1" },
    { gvk, events: [change(12, 24), change(18, 24)], lateRanges: [range], completeThrough: "18" },
    { gvk, events: [change(60)], completeThrough: "60" },
  ]
  for (const [index, frame] of frames.entries()) writer.append("watcher", 1, index + 1, encodeFrame(frame))
  writer.commit()
  writer.close()
}

let place: Workplace
let sandbox: Sandbox
let recorder: RecorderProcess
beforeAll(async () => {
  place = new Workplace()
  sandbox = await Sandbox.start()
  const dataDir = place.path("data")
  writeOutage(dataDir)
  recorder = place.record({ cluster: { server: sandbox.url }, kinds: { [gvk]: "{}" }, dataDir })
  await recorder.ready()
})
afterAll(async () => {
  await place.close()
  await sandbox.close()
})

const post = async (from: number, until: number, more: object = {}) => {
  const answer = await recorder.post({ ...everything("ndjson"), start_time: at(from), end_time: at(until), ...more })
  return { status: answer.status, late: answer.headers.get("kubereel-late"), text: await answer.text() }
}

const timesIn = (text: string): ReadonlyArray<number | undefined> =>
  text
    .trimEnd()
    .split("\n")
    .slice(1, -1)
    .map((line) => ((JSON.parse(line) as { time: number }).time - START) / 1_000_000)

test("an export has the changes when they happened, and its header says between which times they may have", async () => {
  const { status, late, text } = await post(2, 30)
  expect([status, timesIn(text)]).toEqual([200, [1, 12, 18]])
  expect(late).toMatch(/^v1\.ConfigMap=2; happened=\S+Z\/\S+Z; received=\S+Z\/\S+Z; cause=stopped$/)
  expect((await post(15, 30)).late).toMatch(/; across=start$/)
  expect((await post(2, 15)).late).toMatch(/; across=end$/)
  expect((await post(30, 70)).late).toBeNull()
})

test("an export by receipt has them when they were received", async () => {
  const { late, text } = await post(20, 30, { times: "received" })
  expect(timesIn(text)).toEqual([1, 24, 24])
  expect(late).toMatch(/cause=stopped$/)
})

test("require=all rejects them with their times, require=complete does not; other windows are accepted by both", async () => {
  const refused = await post(2, 30, { require: "all" })
  expect(refused.status).toBe(409)
  expect(refused.text).toMatch(
    /^2 changes of v1\.ConfigMap between \S+Z and \S+Z were received later than they happened, /,
  )
  expect((await post(2, 30, { require: "complete" })).status).toBe(200)
  for (const require of ["all", "complete"]) expect((await post(30, 50, { require })).status).toBe(200)
})

test("coverage and a dry run name them beside the gaps", async () => {
  const range = {
    ...{ start: at(10), end: at(24), receivedStart: at(24), receivedEnd: at(24), namespace: "", events: 2 },
    cause: "stopped",
  }
  const window = `?start=${at(2)}&end=${at(30)}`
  const coverage = JSON.parse((await recorder.get(`/v1/coverage${window}`)).text) as Coverage
  expect(coverage.kinds.find((kind) => kind.gvk === gvk)).toMatchObject({
    ...{ events: 2, gaps: [], late: [range] },
    ranges: [{ start: at(2), end: at(30) }],
  })
  const dry = JSON.parse((await post(15, 30, { dry_run: true, require: "all" })).text) as ExportForecast
  expect(dry.kinds).toMatchObject([{ gvk, objects: 1, events: 1, late: [{ ...range, across: "start" }] }])
  expect(dry.refusals).toEqual([expect.stringContaining("received later than they happened")])
  const received = JSON.parse((await post(24, 30, { dry_run: true, times: "received" })).text) as ExportForecast
  expect(received.kinds).toMatchObject([{ events: 2, late: [range] }])
})

test("a kind's late changes are counted", async () => {
  expect(await recorder.metric(`kubereel_kind_late_total{kind="${gvk}"}`)).toBe(0)
})

test("reel export says what was late, and ends with 0", async () => {
  const times = ["--start", new Date(at(2) / 1000).toISOString(), "--end", new Date(at(30) / 1000).toISOString()]
  const exported = place.reel("export", "-s", await recorder.listening(), "-o", "-", ...times)
  expect((await exported.ended).code).toBe(0)
  expect(exported.log).toMatch(
    /v1\.ConfigMap: 2 changes between .* were received at .*, because the recorder was not running; their times are estimates\n/,
  )
})
