/** `reel coverage`: a table for people and JSON for programs, of a recorder and of a directory. */
import { afterAll, beforeAll, expect, test } from "vitest"
import { DATABASE_FILE } from "../../src/archive/index.ts"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { type CoverageAnswer, coverageLines } from "../../src/cli/export/coverage-table.ts"
import { Sandbox } from "../../src/sandbox/index.ts"
import { type RecorderProcess, Workplace } from "../recorder/recorder/recorder-command.ts"
import { copyOf, filesOf, reelCoverage } from "./recorded-directory.ts"

let place: Workplace
let sandbox: Sandbox
let recorder: RecorderProcess
beforeAll(async () => {
  place = new Workplace()
  sandbox = await Sandbox.start()
  sandbox.faults.respond("secrets", 403)
  for (const name of ["a", "b"]) sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name } })
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

const kindsOf = ({ output }: { readonly output: string }): CoverageAnswer["kinds"] =>
  (JSON.parse(output) as CoverageAnswer).kinds

const columns = /^v1\.ConfigMap +2 +\d\d:\d\d:\d\d[.\d]* \S+ +\d\d:\d\d:\d\d[.\d]* \S+ +yes +watching$/m

test("a recorder's is a table with times of this machine, and exits with 3 because a kind is missing", async () => {
  const { code, output } = await reelCoverage("--server", await recorder.listening())
  expect(code).toBe(exitCodes.incomplete)
  expect(output).toMatch(/^KIND +EVENTS +SINCE +UNTIL +COMPLETE +STATE$/m)
  expect(output).toMatch(columns)
  expect(output).toMatch(/^v1\.Secret +0 +- +- +no +forbidden: .*403/m)
})

test("of a directory, while the recorder writes and of a copy, it knows the same, and the copy does not change", async () => {
  const server = await recorder.listening()
  const online = kindsOf(await reelCoverage("-o", "json", "--server", server))
  const states = online.map(({ gvk, state, events, isComplete }) => ({ gvk, state, events, isComplete }))
  const data = place.path("data")
  const copy = copyOf(data, place.path("copy"))
  const before = filesOf(copy)
  for (const directory of [data, copy]) {
    const offline = await reelCoverage("-o", "json", "--data-dir", directory)
    expect(offline.code).toBe(exitCodes.incomplete)
    expect(kindsOf(offline)).toMatchObject(states)
    expect(kindsOf(offline)[0]?.ranges[0]?.start).toBe(online[0]?.ranges[0]?.start)
    expect((await reelCoverage("--data-dir", directory)).output).toMatch(columns)
  }
  expect(filesOf(copy)).toEqual(before)
})

test("a copy without its log says up to when it reaches", async () => {
  const copy = copyOf(place.path("data"), place.path("without-log"), [`${DATABASE_FILE}-wal`, `${DATABASE_FILE}-shm`])
  const { code, error } = await reelCoverage("--data-dir", copy)
  expect([code, error]).toEqual([exitCodes.incomplete, expect.stringContaining("recording.db-wal is missing")])
})

test("a window before the recording is not complete, one within it is", async () => {
  const server = await recorder.listening()
  const isComplete = async (...words: ReadonlyArray<string>) =>
    kindsOf(await reelCoverage("-o", "json", "--server", server, ...words))[0]?.isComplete
  expect(await isComplete("--start", "-2h", "--end", "-1h")).toBe(false)
  expect(await isComplete("--start", "-2h")).toBe(false)
  expect(await isComplete("--start", "0")).toBe(true)
})

test("what cannot be asked has an exit code, and a sentence that says what to do", async () => {
  const missing = await reelCoverage("--data-dir", place.path("none"))
  expect([missing.code, missing.error]).toEqual([exitCodes.failed, expect.stringMatching(/there is no such directory/)])
  const gone = await reelCoverage("--server", "http://127.0.0.1:1")
  expect([gone.code, gone.error]).toEqual([exitCodes.failed, expect.stringContaining("cannot reach a recorder")])
  const both = await reelCoverage("--data-dir", "x", "--in-cluster", "a/b")
  expect(both.code).toBe(exitCodes.usage)
  const wrong = await reelCoverage("--data-dir", place.path("data"), "--start", "soon")
  expect(wrong.code).toBe(exitCodes.usage)
})

test("gaps have their reasons, and namespaces have lines only if they differ", () => {
  const at = Date.UTC(2026, 10, 21, 10) * 1000
  const minute = 60_000_000
  const kind = {
    ...{ gvk: "v1.Pod", state: "failing", detail: "no connection", events: 1234, isComplete: false, late: [] },
    ranges: [
      { start: at, end: at + minute },
      { start: at + 2 * minute, end: at + 9 * minute },
    ],
    gaps: [{ start: at + minute, end: at + 2 * minute, namespace: "shop", reason: "expired", detail: "" }],
  }
  const namespace = (name: string, state: string) => ({
    namespace: name,
    state,
    detail: "",
    since: at,
    until: at + minute,
  })
  const lines = (namespaces: ReadonlyArray<ReturnType<typeof namespace>>) =>
    coverageLines({ kinds: [{ ...kind, namespaces }] }, at / 1000).map((line) => line.replaceAll(/ {2,}/g, "  "))
  expect(lines([namespace("shop", "watching"), namespace("stock", "watching")]).slice(1)).toEqual([
    expect.stringMatching(/^v1\.Pod {2}1,234 {2}.* {2}no {2}failing: no connection$/),
    expect.stringMatching(/^ {2}gap from .* to .* in namespace shop: expired$/),
  ])
  expect(lines([namespace("shop", "watching"), namespace("stock", "forbidden")])).toHaveLength(5)
})
