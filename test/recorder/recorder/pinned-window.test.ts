/** An alert arrives, retention removes everything around it, and its window is still there: the same questions have the same answers at the same address. */
import { expect, test } from "vitest"
import { compactRecording } from "../../../src/archive/index.ts"
import { exitCodes } from "../../../src/cli/command-line/exit-codes.ts"
import { exportCommand } from "../../../src/cli/export.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { ran } from "../../cli/commands-in.ts"
import { notification } from "../pins/alertmanager.ts"
import { type RecorderProcess, Workplace } from "./recorder-command.ts"

const jsonOf = async (recorder: RecorderProcess, path: string) => {
  const { status, text } = await recorder.get(path)
  expect([path, status, text]).toEqual([path, 200, expect.any(String)])
  return JSON.parse(text)
}

const tea = (price: string) => ({ metadata: { namespace: "shop", name: "prices" }, data: { tea: price } })

test("the window of an alert outlives the recording around it", async () => {
  await using place = new Workplace()
  await using sandbox = await Sandbox.start()
  sandbox.put("v1.ConfigMap", tea("1"))
  const record = () =>
    place.record({ cluster: { server: sandbox.url }, more: ["--pin-before", "1m", "--pin-after", "0s"] })
  const before = record()
  await before.ready()
  const isRecorded = (price: string) => async (): Promise<boolean> =>
    (await before.get("/v1/objects?kind=configmaps&namespace=shop")).text.includes(`"tea":"${price}"`)
  sandbox.put("v1.ConfigMap", tea("2"))
  await before.until(isRecorded("2"), "the change in the window")
  const now = new Date().toISOString()
  const url = await before.listening()
  const body = JSON.stringify(notification([{ startsAt: now, endsAt: now }]))
  const { id } = JSON.parse(await (await fetch(`${url}/v1/pins`, { method: "POST", body })).text())
  sandbox.put("v1.ConfigMap", tea("3"))
  await before.until(isRecorded("3"), "the change after the window")
  const pin = await jsonOf(before, `/v1/pins/${id}`)
  expect([pin.source, pin.bytes]).toEqual(["alert", 0])
  const [from, to] = [pin.from, pin.until].map((time) => Date.parse(time) * 1000)
  const questions = [
    `/v1/changes?kind=configmaps&from=${from}&to=${to}`,
    `/v1/objects?kind=configmaps&at=${to}`,
    `/v1/histogram?from=${from}&to=${to}&width=20`,
  ].map((question) => `/pins/${id}${question}`)
  const ask = async (recorder: RecorderProcess) => {
    const answers = []
    for (const question of questions) {
      const { items, counts } = await jsonOf(recorder, question)
      answers.push(items ?? counts)
    }
    return answers
  }
  const exported = async (recorder: RecorderProcess) => {
    const server = await recorder.listening()
    const { code, output } = await ran(exportCommand(), ["--pin", id, "--kind", "configmaps", "-o", "-", "-s", server])
    // The window begins before the recording.
    expect(code).toBe(exitCodes.incomplete)
    return output
  }
  const answered = await ask(before)
  const trace = await exported(before)
  expect(trace).toContain('"tea":"2"')
  expect(JSON.stringify(answered)).toContain('"tea":"2"')
  await before.stop()

  // As a recorder does with its limits, but at once.
  compactRecording(place.path("data"), { forMicros: 1, kinds: new Map() })
  const after = record()
  await after.ready()
  expect(await jsonOf(after, `/v1/pins/${id}`)).toMatchObject({ place: "kept", bytes: expect.any(Number) })
  expect((await jsonOf(after, `/v1/changes?kind=configmaps&from=${from}&to=${to}`)).items).toEqual([])
  expect(await ask(after)).toEqual(answered)
  expect(await exported(after)).toBe(trace)
  expect(await jsonOf(after, `/pins/${id}/v1/pins`)).toEqual({ items: [await jsonOf(after, `/v1/pins/${id}`)] })
  expect(await after.metric("kubereel_pins_bytes")).toBeGreaterThan(0)
  expect(await after.metric("kubereel_pins_lost_total")).toBe(0)
  expect((await after.get(`/pins/${id}/ui/`)).text).toContain("page.js")
  const removed = await fetch(`${await after.listening()}/v1/pins/${id}`, { method: "DELETE" })
  expect(removed.status).toBe(204)
  expect((await after.get(questions[0] ?? "")).status).toBe(404)
})
