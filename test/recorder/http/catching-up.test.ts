/** A recorder that was stopped while changes happened, and the answers that it gives before they have arrived. */
import { afterAll, beforeAll, expect, test } from "vitest"
import type { Coverage, KindCoverage } from "../../../src/recorder/export/coverage.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { everything, type RecorderProcess, Workplace } from "../recorder/recorder-command.ts"

let place: Workplace
let sandbox: Sandbox
/** µs since the Unix epoch, when everything was recorded up to then, and when the last change was made. */
let [recordedMicros, changedMicros] = [0, 0]

const record = (): RecorderProcess =>
  place.record({ cluster: { server: sandbox.url }, kinds: { "v1.ConfigMap": "{}", "v1.Secret": "{}" } })

const configMapsIn = (text: string): KindCoverage | undefined =>
  (JSON.parse(text) as Coverage).kinds.find(({ gvk }) => gvk === "v1.ConfigMap")

beforeAll(async () => {
  place = new Workplace()
  sandbox = await Sandbox.start()
  sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name: "a" } })
  const first = record()
  await first.ready()
  await first.kill()
  recordedMicros = Date.now() * 1000
  for (let change = 0; change < 200; change++)
    sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name: `b${change % 20}` }, data: { n: `${change}` } })
  changedMicros = Date.now() * 1000
  sandbox.faults.stall("configmaps")
})
afterAll(async () => {
  await place.close()
  await sandbox.close()
})

test("coverage, readiness, metrics and exports say that it is catching up, and how far", async () => {
  const recorder = record()
  const state = await recorder.inState("v1.ConfigMap", /catching-up: at version \d+ of \d+ \(0 %\)/)
  expect(state).toContain("v1.ConfigMap catching-up")
  // A kind without changes is told so within seconds.
  await recorder.inState("v1.Secret", /watching/)
  const ready = await recorder.get("/readyz")
  expect([ready.status, ready.text]).toEqual([
    503,
    expect.stringMatching(/catching up with what happened while nothing was recording: v1\.ConfigMap at version \d+/),
  ])
  expect(await recorder.metric('kubereel_kind_state{kind="v1.ConfigMap",state="catching-up"}')).toBe(1)
  expect(await recorder.metric("kubereel_ready")).toBe(0)
  const kind = configMapsIn((await recorder.get("/v1/coverage")).text)
  expect(kind).toMatchObject({ state: "catching-up", isComplete: false, events: 1 })
  expect(kind?.ranges.at(-1)?.end).toBeLessThanOrEqual(recordedMicros)
  const required = await recorder.post({ ...everything("ndjson"), require: "complete" })
  expect([required.status, await required.text()]).toEqual([
    409,
    expect.stringMatching(
      /not everything requested is recorded: v1\.ConfigMap is catching up \(at version \d+ of \d+ \(0 %\)\)/,
    ),
  ])
  const plain = await recorder.post(everything("ndjson"))
  expect(plain.headers.get("kubereel-incomplete")).toBe("v1.ConfigMap=catching-up")
  await plain.text()
  await recorder.kill()
})

test("a recording whose recorder died meanwhile is complete up to the end of the recorder before, with its events", async () => {
  const coverage = place.reel("coverage", "--data-dir", place.path("data"), "-o", "json")
  const { code } = await coverage.ended
  expect(code).toBe(3)
  const kind = configMapsIn(coverage.output)
  expect(kind?.isComplete).toBe(false)
  expect(kind?.ranges.at(-1)?.end).toBeLessThanOrEqual(recordedMicros)
})

test("once everything has arrived, it is complete and has every change", async () => {
  const recorder = record()
  await recorder.inState("v1.ConfigMap", /catching-up/)
  sandbox.faults.resume()
  await recorder.ready()
  const kind = configMapsIn((await recorder.get("/v1/coverage")).text)
  expect(kind).toMatchObject({ state: "watching", isComplete: true, events: 201, gaps: [] })
  expect(kind?.ranges[0]?.end).toBeGreaterThan(changedMicros)
  const upToNow = { ...everything("ndjson"), end_time: Date.now() * 1000 }
  const required = await recorder.post({ ...upToNow, require: "complete" })
  expect(required.status).toBe(200)
  await required.text()
  expect((await recorder.stop()).code).toBe(0)
})
