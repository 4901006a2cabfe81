/** How a running replay is controlled: by keys on a real terminal, by signals, and over HTTP, as users run it. */
import { readFileSync } from "node:fs"
import { afterEach, beforeEach, expect, test } from "vitest"
import type { ReplayState } from "../../../src/cli/replay/control/control-state.ts"
import { patient } from "../../harness/patience.ts"
import { onTerminal, ReelProcess, until, Workplace } from "../../recorder/recorder/recorder-command.ts"
import { configMap, header, ndjsonOf, start } from "../../simulation/trace-items.ts"

/** A state at the start, then a change each second for an hour. */
const trace = ndjsonOf([
  header(3_600_000, { kinds: ["v1.ConfigMap"] }),
  ...Array.from({ length: 3600 }, (_, second) => configMap(second * 1000, "a", String(second))),
])

let place: Workplace
let replay: ReelProcess
beforeEach(() => {
  place = new Workplace()
  place.write("trace.ndjson", trace)
})
afterEach(async () => {
  await replay.kill()
  await place.close()
})

const words = (...more: ReadonlyArray<string>): ReadonlyArray<string> => [
  "replay",
  place.path("trace.ndjson"),
  "--control",
  "0",
  ...more,
]

const url = async (): Promise<string> =>
  (await replay.says(/control and metrics: (http:\/\/127\.0\.0\.1:\d+)\/replay/))[1] ?? ""

const state = async (): Promise<ReplayState> => (await (await fetch(`${await url()}/replay`)).json()) as ReplayState

const put = async (body: unknown): Promise<Response> =>
  fetch(`${await url()}/replay`, { method: "PUT", body: typeof body === "string" ? body : JSON.stringify(body) })

/** Waits until the state has these members. */
const inState = async (wanted: Partial<ReplayState>): Promise<ReplayState> => {
  let last: ReplayState | undefined
  await until(
    async () => {
      last = await state()
      return Object.entries(wanted).every(([name, value]) =>
        Object.entries(last ?? {}).some(([key, found]) => key === name && found === value),
      )
    },
    () => `${JSON.stringify(wanted)}, found ${JSON.stringify(last)}`,
  )
  return last as ReplayState
}

test("over HTTP: state, pause, speed, steps, metrics, and an end with clean-up", {
  timeout: patient(30_000),
}, async () => {
  replay = new ReelProcess([...words("--speed", "0.5", "--name", "mine")], {})
  const first = await inState({ phase: "replaying" })
  expect(first).toMatchObject({ replay: "mine", repetition: 1, repetitions: 1, paused: false, speed: 0.5 })
  expect(first.seed).toMatchObject({ total: 1, accepted: 1 })
  expect(first.position).toBeGreaterThanOrEqual(start)
  const early = await put({ step: 1 })
  expect([early.status, await early.text()]).toEqual([409, expect.stringContaining("not paused")])
  const paused = (await (await put({ paused: true, speed: 100 })).json()) as ReplayState
  expect(paused).toMatchObject({ paused: true, speed: 100 })
  await inState({ pending: 0 })
  const { accepted } = (await state()).events
  expect((await put({ step: 3 })).status).toBe(200)
  await until(
    async () => (await state()).events.accepted === accepted + 3,
    () => "three more events",
  )
  expect((await state()).position).toBe(start + (accepted + 3) * 1_000_000)
  const metrics = await fetch(`${await url()}/metrics`)
  expect(metrics.headers.get("content-type")).toContain("version=0.0.4")
  const text = await metrics.text()
  expect(text).toContain(`kubereel_replay_changes_total{part="events",outcome="accepted"} ${accepted + 3}\n`)
  expect(text).toContain("kubereel_replay_paused 1\n")
  expect(text).toContain("kubereel_replay_speed 100\n")
  await put({ paused: false })
  await until(
    async () => (await state()).events.accepted > accepted + 10,
    () => "the replay to go on",
  )
  await put({ stop: true })
  expect(await replay.ended).toMatchObject({ code: 130 })
  expect(replay.output).toMatch(/^stopped +interrupted$/m)
})

test("while the cluster settles, the replay is at the end of its trace, and can be interrupted", {
  timeout: patient(30_000),
}, async () => {
  const more = ["--duration", "2s", "--speed", "1000", "--settle", "1h", "--repetitions", "2"]
  replay = new ReelProcess([...words(...more, "--report", place.path("report.json"))], {})
  expect((await inState({ phase: "settling" })).position).toBe(start + 2_000_000)
  const metrics = await (await fetch(`${await url()}/metrics`)).text()
  expect(metrics).toContain('kubereel_replay_phase{phase="settling"} 1\n')
  expect(metrics).toContain(`kubereel_replay_position_seconds ${start / 1e6 + 2}\n`)
  replay.child.kill("SIGINT")
  expect((await replay.ended).code).toBe(130)
  expect(replay.output).toMatch(/^stopped +interrupted$/m)
  expect(replay.output).not.toMatch(/^settling/m)
  const { repetitions } = JSON.parse(readFileSync(place.path("report.json"), "utf8"))
  expect(repetitions).toMatchObject([{ stopped: "interrupted", fidelity: { recording: { isSettled: false } } }])
})

test("an interruption while a repetition is removed is told by the exit code", {
  timeout: patient(30_000),
}, async () => {
  replay = new ReelProcess([...words("--duration", "1s", "--speed", "max", "--repetitions", "forever")], {})
  await inState({ phase: "cleaning up" })
  replay.child.kill("SIGINT")
  expect((await replay.ended).code).toBe(130)
})

test("SIGUSR1 pauses and resumes, SIGUSR2 steps", { timeout: patient(30_000) }, async () => {
  replay = new ReelProcess([...words("--speed", "0.01")], {})
  await inState({ phase: "replaying" })
  replay.child.kill("SIGUSR1")
  await inState({ paused: true })
  replay.child.kill("SIGUSR2")
  await inState({ position: start + 1_000_000 })
  replay.child.kill("SIGUSR1")
  await inState({ paused: false })
  replay.child.kill("SIGINT")
  expect((await replay.ended).code).toBe(130)
})

test("keys on a terminal do the same, Ctrl-C works, and the terminal is restored", {
  timeout: patient(30_000),
}, async () => {
  const shell = (program: ReadonlyArray<string>): ReadonlyArray<string> => {
    const [, , command = "", file = ""] = onTerminal(200)(program)
    // The settings of the terminal before and after. The shell gets the signal too, and must outlive it; a trap is not inherited.
    return [
      "script",
      "-qefc",
      `trap : INT; stty -g | md5sum; ${command.replace("exec ", "")}; echo "code $?"; stty -g | md5sum`,
      file,
    ]
  }
  replay = new ReelProcess([...words("--speed", "2")], { wrapped: shell, stdio: ["pipe", "pipe", "pipe"] })
  const press = (keys: string): void => void replay.child.stdin?.write(keys)
  await inState({ phase: "replaying" })
  await replay.says(/keys: space pauses/)
  press("++")
  await inState({ speed: 8 })
  press("-m")
  await inState({ speed: "max" })
  press("- ")
  await inState({ speed: 1000, paused: true })
  await replay.says(/Z, \d+ m?s.*, paused: /)
  press("\u0003")
  await replay.says(/code 130/)
  await replay.ended
  const [before, after] = replay.said.match(/[0-9a-f]{32}/g) ?? []
  expect(before).toBe(after)
})
