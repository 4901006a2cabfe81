/** Pins of a recorder as users run it, over HTTP and on the command line. */
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { exitCodes } from "../../../src/cli/command-line/exit-codes.ts"
import { pinCommand } from "../../../src/cli/pin.ts"
import { pinsCommand } from "../../../src/cli/pins.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { ran } from "../../cli/commands-in.ts"
import { notification } from "../pins/alertmanager.ts"
import { type RecorderProcess, Workplace } from "./recorder-command.ts"

interface ShownPin {
  readonly id: string
  readonly from: string
  readonly until: string
  readonly note: string
  readonly source: string
  readonly place: string
  readonly labels: Readonly<Record<string, string>>
}

let place: Workplace
let sandbox: Sandbox
let recorder: RecorderProcess
beforeAll(async () => {
  place = new Workplace()
  sandbox = await Sandbox.start()
  sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name: "prices" }, data: { tea: "1" } })
  recorder = place.record({ cluster: { server: sandbox.url } })
  await recorder.ready()
})
afterAll(async () => {
  await place.close()
  await sandbox.close()
})

const ask = async (path: string, init: RequestInit = {}, of = recorder) => {
  const answer = await fetch((await of.listening()) + path, { redirect: "manual", ...init })
  return { status: answer.status, text: await answer.text(), headers: answer.headers }
}

const post = (body: unknown) =>
  ask("/v1/pins", { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) })

const pins = async (): Promise<ReadonlyArray<ShownPin>> => JSON.parse((await ask("/v1/pins")).text).items

const pinned = async (body: unknown): Promise<ShownPin> => {
  const { status, text } = await post(body)
  expect([status, text]).toEqual([201, expect.any(String)])
  return JSON.parse(text)
}

const minutesAgo = (minutes: number): string => new Date(Date.now() - minutes * 60_000).toISOString()

describe("over HTTP", () => {
  test("a window is pinned, listed, read, and removed", async () => {
    const made = await pinned({ from: "-10m", until: "+5m", note: "slow", labels: { team: "shop" } })
    expect(made).toMatchObject({ note: "slow", source: "command", place: "open", bytes: 0, labels: { team: "shop" } })
    expect(Date.parse(made.until) - Date.parse(made.from)).toBe(15 * 60_000)
    expect(await pins()).toContainEqual(made)
    expect(await recorder.metric("kubereel_pins")).toBe((await pins()).length)
    expect(await recorder.metric("kubereel_pins_bytes")).toBe(0)
    expect(JSON.parse((await ask(`/v1/pins/${made.id}`)).text)).toEqual(made)
    expect((await ask(`/v1/pins/${made.id}`, { method: "DELETE" })).status).toBe(204)
    const gone = await ask(`/v1/pins/${made.id}`, { method: "DELETE" })
    expect([gone.status, gone.text]).toEqual([404, `there is no pin ${made.id}\n`])
    expect((await ask(`/v1/pins/${made.id}`)).status).toBe(404)
    await recorder.says(/removed a pin/)
  })

  test.each([
    ["{", 400, /^the body is not JSON: /],
    ['{"from":"-1h"}', 400, /^not a window to pin: /],
    ['{"from":"now","until":"-1h"}', 400, /^the window ends before it begins$/],
    ['{"from":"-1h","until":"+9999h"}', 400, /at most|within/],
    [`{"from":"-1h","until":"now","note":"${"x".repeat(1025)}"}`, 400, /1024 characters/],
    [`{"from":"-1h","until":"now","note":"${"x".repeat(1024 * 1024)}"}`, 413, /at most 1048576 bytes/],
    [JSON.stringify({ ...notification([{ startsAt: "soon" }]) }), 400, /^startsAt of an alert/],
  ])("%.60s is refused with a sentence", async (body, status, message) => {
    const before = await pins()
    const refused = await post(body)
    expect([refused.status, refused.text.trim()]).toEqual([status, expect.stringMatching(message)])
    expect(await pins()).toEqual(before)
  })

  test("other methods and paths are refused with what is allowed", async () => {
    const put = await ask("/v1/pins", { method: "PUT", body: "{}" })
    expect([put.status, put.headers.get("allow")]).toEqual([405, "GET, HEAD, POST"])
    const patch = await ask("/v1/pins/20261129t0312-1f2e3d4c", { method: "PATCH", body: "{}" })
    expect([patch.status, patch.headers.get("allow")]).toEqual([405, "GET, HEAD, DELETE"])
    expect((await ask("/v1/pins/../../etc")).status).toBe(404)
    expect((await ask("/v1/pins/UPPER_CASE")).status).toBe(404)
  })

  test("a page of another origin can neither pin nor remove", async () => {
    const foreign = { Origin: "http://evil.example.com", "Sec-Fetch-Site": "cross-site" }
    const body = JSON.stringify({ from: "-1h", until: "now" })
    expect((await ask("/v1/pins", { method: "POST", body, headers: foreign })).status).toBe(403)
    expect((await ask("/v1/pins/a-b", { method: "DELETE", headers: foreign })).status).toBe(403)
  })

  test("a pin has an address of its own, where its page and its window are", async () => {
    const made = await pinned({ from: "-10m", until: "now", note: "mine" })
    const [short, slash] = [await ask(`/pins/${made.id}`), await ask(`/pins/${made.id}/`)]
    expect([short.status, short.headers.get("location")]).toEqual([308, `${made.id}/ui/`])
    expect([slash.status, slash.headers.get("location")]).toEqual([308, "ui/"])
    const page = await ask(`/pins/${made.id}/ui/`)
    expect([page.status, page.text]).toEqual([200, expect.stringContaining("page.js")])
    expect((await ask(`/pins/${made.id}/ui/page.js`)).status).toBe(200)
    expect(JSON.parse((await ask(`/pins/${made.id}/v1/pins`)).text)).toEqual({ items: [made] })
    const query = "/v1/objects?kind=configmaps&namespace=shop"
    const [below, own] = [await ask(`/pins/${made.id}${query}`), await ask(query)]
    expect(JSON.parse(below.text).items).toEqual(JSON.parse(own.text).items)
    expect((await ask(`/pins/${made.id}/metrics`)).status).toBe(404)
    expect((await ask(`/pins/${made.id}/v1/audit`, { method: "POST", body: "{}" })).status).toBe(404)
    const none = await ask("/pins/20261129t0312-1f2e3d4c/v1/kinds")
    expect([none.status, none.text]).toEqual([404, "there is no pin 20261129t0312-1f2e3d4c\n"])
  })
})

describe("alerts", () => {
  test("that fire are one pin, however often they are notified of, and it ends when they do", async () => {
    const startsAt = minutesAgo(10)
    const first = await pinned(notification([{ startsAt }]))
    expect(first).toMatchObject({ note: "HighLatency: The shop answers slowly", source: "alert", place: "open" })
    expect(first.labels).toMatchObject({ alertname: "HighLatency", namespace: "shop", severity: "page" })
    expect(Date.parse(first.from)).toBe(Date.parse(startsAt) - 30 * 60_000)
    const again = await pinned(notification([{ startsAt }, { startsAt: minutesAgo(2), instance: "web-1" }]))
    expect([again.id, Date.parse(again.until)]).toEqual([first.id, expect.any(Number)])
    expect(Date.parse(again.until)).toBeGreaterThanOrEqual(Date.parse(first.until))
    const over = await pinned(notification([{ startsAt, endsAt: minutesAgo(0) }]))
    expect(over.id).toBe(first.id)
    expect(Date.parse(over.until) - Date.now()).toBeLessThanOrEqual(30 * 60_000)
    expect((await pins()).filter(({ source }) => source === "alert")).toHaveLength(1)
  })

  test("of a pair of Alertmanagers that notify at once are one pin", async () => {
    const body = notification([{ startsAt: minutesAgo(1) }], "stock")
    const [one, other] = await Promise.all([pinned(body), pinned(body)])
    expect(one.id).toBe(other.id)
  })
})

describe("on the command line", () => {
  test("pin says what it made, and pins lists and removes it", async () => {
    const server = await recorder.listening()
    const made = await ran(pinCommand(), ["--from", "-5m", "--until", "+30m", "--note", "by hand", "-s", server])
    const [, id = ""] = /^pin\/(\S+) created\n$/.exec(made.output) ?? []
    expect([made.code, made.error]).toEqual([exitCodes.ok, `reel pin: its page is ${server}/pins/${id}/ui/\n`])
    const listed = await ran(pinsCommand(), ["-s", server])
    const [head, ...rows] = listed.output.trimEnd().split("\n")
    expect(head).toMatch(/^ID +FROM +UNTIL +PLACE +SIZE +SOURCE +NOTE$/)
    expect(rows.find((row) => row.startsWith(id))).toMatch(/ open +- +command +by hand$/)
    const { output } = await ran(pinsCommand(), ["ls", "-o", "json", "-s", server])
    expect(JSON.parse(output).items).toContainEqual(expect.objectContaining({ id, note: "by hand", source: "command" }))
    const removed = await ran(pinsCommand(), ["rm", id, "no-such", "-s", server])
    expect(removed).toEqual({
      ...{ code: exitCodes.failed, output: `pin/${id} removed\n` },
      error: "reel pins: there is no pin no-such\n",
    })
  })

  test("wrong words are usage errors, and a refusal of the recorder is said", async () => {
    const server = await recorder.listening()
    const usage = async (command: typeof pinCommand | typeof pinsCommand, ...words: ReadonlyArray<string>) => {
      const { code, error } = await ran(command(), [...words, "-s", server])
      expect(code).toBe(exitCodes.usage)
      return error
    }
    expect(await usage(pinCommand, "--from", "now", "--until", "-1h")).toContain("the window ends before it begins")
    expect(await usage(pinCommand, "--until", "+soon")).toContain("only a duration can follow")
    expect(await usage(pinsCommand, "remove")).toContain('"remove" is neither ls nor rm')
    expect(await usage(pinsCommand, "rm")).toContain("rm needs the ID of a pin")
    const { code, error } = await ran(pinCommand(), ["--until", "+9999h", "-s", server])
    expect([code, error]).toEqual([exitCodes.failed, expect.stringMatching(/7 days/)])
  })
})

test("with --auth token nothing of pins is open but the page, which reveals nothing", async () => {
  const token = "a-token-that-nobody-guesses"
  const more = ["--auth", "token", "--token-file", place.write("tokens", `${token}\n`)]
  const guarded = place.record({ cluster: { server: sandbox.url }, more, name: "token", dataDir: place.path("token") })
  await guarded.ready()
  const bearer = { Authorization: `Bearer ${token}` }
  const body = JSON.stringify({ from: "-1h", until: "now" })
  for (const [path, init] of [
    ["/v1/pins", {}],
    ["/v1/pins", { method: "POST", body }],
    ["/v1/pins/20261129t0312-1f2e3d4c", { method: "DELETE" }],
    ["/pins/20261129t0312-1f2e3d4c/v1/pins", {}],
    ["/pins/20261129t0312-1f2e3d4c/v1/kinds", {}],
    ["/pins/20261129t0312-1f2e3d4c/export", { method: "POST", body }],
  ] satisfies ReadonlyArray<readonly [string, RequestInit]>) {
    const refused = await ask(path, init, guarded)
    expect([path, refused.status, refused.headers.get("www-authenticate")]).toEqual([path, 401, "Bearer"])
  }
  expect((await ask("/pins/20261129t0312-1f2e3d4c/ui/", {}, guarded)).status).toBe(200)
  const made = await ask("/v1/pins", { method: "POST", body, headers: bearer }, guarded)
  expect(made.status).toBe(201)
  const { id } = JSON.parse(made.text)
  expect((await ask(`/pins/${id}/v1/kinds`, { headers: bearer }, guarded)).status).toBe(200)
  expect((await ask(`/v1/pins/${id}`, { method: "DELETE", headers: bearer }, guarded)).status).toBe(204)
})
