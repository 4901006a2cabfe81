/** What a request over HTTP does to a replay, and when it does nothing. */
import { writeFileSync } from "node:fs"
import { request } from "node:http"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { follow, serveControl } from "../../../src/cli/replay/control/control-server.ts"
import type { ReplayState } from "../../../src/cli/replay/control/control-state.ts"
import type { ReplayControl } from "../../../src/cli/replay/control/replay-control.ts"
import { replayCommand } from "../../../src/cli/replay.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { capturedTerminal } from "../captured-terminal.ts"

const controlled = (facts: Pick<ReplayControl["run"], "isPaused" | "isOver">) => {
  const calls: string[] = []
  const control: ReplayControl = {
    run: {
      ...facts,
      speed: 1,
      pause: () => calls.push("pause"),
      resume: () => calls.push("resume"),
      setSpeed: (speed) => calls.push(`speed ${speed}`),
      step: (moments) => calls.push(`step ${moments}`),
    },
    stop: () => calls.push("stop"),
  }
  return { control, calls }
}

test("speed takes effect first, then pause, step and stop", () => {
  const { control, calls } = controlled({ isPaused: false, isOver: false })
  expect(follow({ stop: true, step: 2, paused: true, speed: 10 }, control)).toBeUndefined()
  expect(calls).toEqual(["speed 10", "pause", "step 2", "stop"])
})

test("a step that cannot be made is a conflict with its reason, and nothing else is done", () => {
  for (const [isPaused, isOver, message] of [
    [false, false, /not paused/],
    [true, true, /end of its trace/],
  ] as const) {
    const { control, calls } = controlled({ isPaused, isOver })
    expect(follow({ step: 1, speed: 10 }, control)).toMatchObject({
      status: 409,
      message: expect.stringMatching(message),
    })
    expect(calls).toEqual([])
  }
})

const none = { total: 0, sent: 0, accepted: 0, refused: 0, skipped: 0 }
const state: ReplayState = {
  ...{ replay: "mine", repetition: 1, repetitions: 1, paused: false, speed: 1, phase: "replaying" },
  ...{ position: 0, elapsedMs: 0, delayedMs: 0, pending: 0, lagMs: 0, seed: none, events: none },
}

/** The interface of a replay that runs, on a port of this machine. */
const served = async (tokenFile?: string, port = 0) => {
  const { control, calls } = controlled({ isPaused: false, isOver: false })
  const sources = { control, state: () => state, metrics: () => [], onTrouble: () => undefined }
  const server = await serveControl({ host: "127.0.0.1", port, tokenFile }, sources)
  onTestFinished(() => server[Symbol.asyncDispose]())
  return { url: server.url, calls }
}

test("what is wrong changes nothing", async () => {
  const { url, calls } = await served()
  const members = [
    '"paused":1',
    '"speed":0',
    '"speed":1e9',
    '"speed":"fast"',
    '"step":0',
    '"stop":false',
    '"pause":true',
  ]
  for (const body of ["", "[]", "{}", ...members.map((member) => `{${member}}`)]) {
    const answer = await fetch(`${url}/replay`, { method: "PUT", body })
    expect([answer.status, (await answer.text()).trimEnd().includes("\n")]).toEqual([400, false])
  }
  const page = { method: "POST", body: '{"stop":true}', headers: { origin: "http://evil" } }
  expect((await fetch(`${url}/replay`, page)).status).toBe(403)
  expect((await fetch(`${url}/replay`, { method: "DELETE" })).status).toBe(405)
  expect((await fetch(`${url}/`)).status).toBe(404)
  expect(await (await fetch(`${url}/healthz`)).text()).toBe("ok\n")
  expect(calls).toEqual([])
  await expect(served(undefined, Number(new URL(url).port))).rejects.toThrow(
    /cannot listen on 127\.0\.0\.1:\d+: it is in use/,
  )
})

test("a page whose host name resolves to this machine reads nothing", async () => {
  const { port } = new URL((await served()).url)
  const statusOf = (path: string, host: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const sent = request({ host: "127.0.0.1", port, path, headers: { host } }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      sent.on("error", reject).end()
    })
  expect(await statusOf("/replay", `evil.example:${port}`)).toBe(421)
  expect(await statusOf("/metrics", "evil.example")).toBe(421)
  expect(await statusOf("/replay", `localhost:${port}`)).toBe(200)
  expect(await statusOf("/replay", `[::1]:${port}`)).toBe(200)
})

test("an address of other machines needs a token, and without one nothing starts", async () => {
  const terminal = capturedTerminal()
  expect(await replayCommand().run(["trace.ndjson", "--control", "0.0.0.0:0"], terminal)).toBe(2)
  expect(terminal.standardError.text()).toMatch(
    /other machines can reach --control 0\.0\.0\.0:0 .*--control-token-file/,
  )
})

test("with a token file its tokens are asked for, the ones that it has at that moment", async () => {
  const file = join(temporaryDirectory(), "tokens")
  writeFileSync(file, "short\n")
  await expect(served(file)).rejects.toThrow(
    /the token file .*tokens cannot be used: line 1 is shorter than 16 characters/,
  )
  const [first, second] = ["first-0123456789abcdef", "second-0123456789abcdef"]
  writeFileSync(file, `${first}\n`)
  const { url, calls } = await served(file)
  const statusOf = async (path: string, token?: string, init: RequestInit = {}): Promise<number> =>
    (await fetch(`${url}${path}`, { ...init, ...(token && { headers: { authorization: `Bearer ${token}` } }) })).status
  const stop = { method: "PUT", body: '{"stop":true}' }
  expect(await statusOf("/healthz")).toBe(200)
  for (const path of ["/replay", "/metrics"]) {
    expect(await statusOf(path)).toBe(401)
    expect(await statusOf(path, second)).toBe(401)
    expect(await statusOf(path, first)).toBe(200)
  }
  expect(await statusOf("/replay", undefined, stop)).toBe(401)
  writeFileSync(file, `${second}\n`)
  expect([await statusOf("/replay", first, stop), calls]).toEqual([401, []])
  expect([await statusOf("/replay", second, stop), calls]).toEqual([200, ["stop"]])
})
