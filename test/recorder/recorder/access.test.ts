/** Who may access what in a recorder as users run it, and what its log says about them. */
import { request } from "node:http"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { ApiClient, kinds } from "../../../src/kube/index.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { everything, type RecorderProcess, Workplace } from "./recorder-command.ts"

const token = "a-token-that-nobody-guesses"

let place: Workplace
let sandbox: Sandbox
beforeAll(async () => {
  place = new Workplace()
  sandbox = await Sandbox.start()
  sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name: "web" } })
})
afterAll(async () => {
  await place.close()
  await sandbox.close()
})

const ask = async (recorder: RecorderProcess, path: string, headers: Record<string, string> = {}) => {
  const url = (await recorder.listening()) + path
  const body = path === "/export" ? { method: "POST", body: JSON.stringify(everything("ndjson")) } : {}
  const answer = await fetch(url, { ...body, headers })
  return { status: answer.status, text: await answer.text(), headers: answer.headers }
}

/** The facts of a line of the log, by its message. */
const logged = (recorder: RecorderProcess, message: string): ReadonlyArray<Record<string, unknown>> =>
  recorder.log
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => line.message === message)

describe("with --auth token", () => {
  let recorder: RecorderProcess
  beforeAll(async () => {
    const more = ["--auth", "token", "--token-file", place.write("tokens", `${token}\n`), "--log-format", "json"]
    recorder = place.record({ cluster: { server: sandbox.url }, more, name: "token", dataDir: place.path("token") })
    await recorder.ready()
  })

  test("only the health probes are open to anyone", async () => {
    for (const path of ["/healthz", "/readyz", "/readyz?verbose"]) expect((await ask(recorder, path)).status).toBe(200)
    for (const path of ["/metrics", "/v1/coverage", "/export"]) {
      const refused = await ask(recorder, path)
      expect([path, refused.status]).toEqual([path, 401])
      expect(refused.headers.get("www-authenticate")).toBe("Bearer")
      expect((await ask(recorder, path, { Authorization: `Bearer ${token}` })).status).toBe(200)
      expect((await ask(recorder, path, { "Kubereel-Authorization": `Bearer ${token}` })).status).toBe(200)
      expect((await ask(recorder, path, { Authorization: `Bearer ${token}-not` })).status).toBe(401)
    }
  })

  test("each export has a log line with user and outcome, and none contains a token", async () => {
    const headers = { Authorization: `Bearer ${token}`, "Kubereel-Request-Id": "for-the-audit" }
    const { text } = await ask(recorder, "/export", headers)
    const line = () => logged(recorder, "export").find(({ request }) => request === "for-the-audit")
    await recorder.until(() => line() !== undefined, "the line")
    expect(line()).toMatchObject({
      who: "the holder of token 1",
      from: "127.0.0.1",
      start: "1970-01-01T00:00:00.000Z",
      end: "2096-10-02T07:06:40.000Z",
      format: "ndjson",
      filters: '{"excluded_namespaces":[],"excluded_labels":[]}',
      target: "answer",
      bytes: Buffer.byteLength(text),
      outcome: "whole",
    })
    await ask(recorder, "/export", { Authorization: "Bearer stolen-token-of-somebody" })
    await recorder.until(() => logged(recorder, "rejected").some(({ status }) => status === 401), "the other line")
    expect(recorder.log).not.toContain(token)
    expect(recorder.log).not.toContain("stolen-token")
  })

  test("reel export presents the token of a file, and without one exits with 4 and says where to put it", async () => {
    const words = ["export", "-s", await recorder.listening(), "--start", "0", "-o"]
    const shown = place.reel(...words, place.path("with"), "--token-file", place.path("tokens"))
    expect([(await shown.ended).code, shown.log]).toEqual([0, expect.stringMatching(/with: \d+ B, /)])
    const bare = place.reel(...words, place.path("without"))
    expect([(await bare.ended).code, bare.log]).toEqual([4, expect.stringContaining("Pass a token with --token-file")])
  })

  test("a client that sends its body before the rejection receives the rejection nevertheless", async () => {
    const url = new URL(`${await recorder.listening()}/export`)
    const status = await new Promise((resolve, reject) => {
      const sent = request(url, { method: "POST" }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      sent.on("error", reject)
      sent.end("x".repeat(4 * 1024 * 1024))
    })
    expect(status).toBe(401)
  })
})

describe("with --auth kubernetes", () => {
  test("users whom the API server authorises have access, under their own names", async () => {
    const more = ["--auth", "kubernetes", "--log-format", "json"]
    const recorder = place.record({ cluster: { server: sandbox.url }, more, name: "k8s", dataDir: place.path("k8s") })
    await recorder.ready()
    expect((await ask(recorder, "/export")).status).toBe(401)
    const account = { namespace: "shop", name: "ci" }
    sandbox.put("v1.ServiceAccount", { metadata: account })
    const api = new ApiClient({ server: sandbox.endpoint, userAgent: "kubereel-test" })
    const answer = await api.createSubresource<{ status: { token: string } }>(kinds.serviceAccounts, account, "token", {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: {},
    })
    api.close()
    const made = answer.status.token
    expect((await ask(recorder, "/export", { Authorization: `Bearer ${made}` })).status).toBe(200)
    await recorder.until(() => logged(recorder, "export").length > 0, "the line")
    expect(logged(recorder, "export")).toMatchObject([{ who: "system:serviceaccount:shop:ci" }])
    expect(recorder.log).not.toContain(made)
  })
})

describe("W-19: a recorder that would be open to anyone", () => {
  test("does not start on an address that others can reach, without an explicit option", async () => {
    const start = (...more: string[]) =>
      place.record({ cluster: { server: sandbox.url }, more, name: "open", dataDir: place.path("open") })
    const refused = start("--listen", "0.0.0.0:0")
    expect((await refused.ended).code).toBe(2)
    expect(refused.log).toMatch(
      /other machines can reach 0\.0\.0\.0.*--auth kubernetes or --auth token, or allow it with --allow-anonymous/,
    )
    const insisted = start("--listen", "0.0.0.0:0", "--allow-anonymous")
    await insisted.ready()
    expect((await ask(insisted, "/export")).status).toBe(200)
  })

  test("nor with an empty file of tokens", async () => {
    const more = ["--auth", "token", "--token-file", place.write("empty", "\n")]
    const refused = place.record({ cluster: { server: sandbox.url }, more, name: "none", dataDir: place.path("none") })
    expect((await refused.ended).code).toBe(2)
    expect(refused.log).toContain("it contains no token")
  })
})

describe("without --auth", () => {
  let recorder: RecorderProcess
  beforeAll(async () => {
    const more = ["--allow-host", "recorder.example", "--log-format", "json"]
    recorder = place.record({ cluster: { server: sandbox.url }, more, name: "page", dataDir: place.path("page") })
    await recorder.ready()
  })

  /** As a browser may: `fetch` does not let us set `Host`. */
  const asPage = async (path: string, headers: Record<string, string>): Promise<readonly [number, string]> => {
    const url = new URL((await recorder.listening()) + path)
    const { promise, resolve, reject } = Promise.withResolvers<readonly [number, string]>()
    const method = path === "/export" ? "POST" : "GET"
    const sent = request(url, { method, headers }, async (response) => {
      const pieces: Buffer[] = []
      for await (const piece of response) pieces.push(piece as Buffer)
      resolve([response.statusCode ?? 0, Buffer.concat(pieces).toString()])
    })
    sent.on("error", reject)
    sent.end(method === "POST" ? JSON.stringify(everything("ndjson")) : undefined)
    return promise
  }

  test("a page whose name was made to resolve to this machine gets nothing except health", async () => {
    for (const path of ["/metrics", "/v1/coverage", "/export"]) {
      expect(await asPage(path, { Host: "evil.example:7777" })).toEqual([
        421,
        expect.stringMatching(/^the host name "evil\.example:7777" is not allowed: .*--allow-host/),
      ])
    }
    for (const path of ["/healthz", "/readyz"])
      expect(await asPage(path, { Host: "evil.example" })).toEqual([200, "ok\n"])
    await recorder.until(() => logged(recorder, "rejected").length === 3, "the lines")
    expect(logged(recorder, "rejected")[2]).toMatchObject({ wanted: "POST /export", status: 421 })
  })

  test("a page of another origin cannot start an export", async () => {
    const host = new URL(await recorder.listening()).host
    for (const headers of [{ Origin: "https://evil.example" }, { "Sec-Fetch-Site": "cross-site" }]) {
      expect(await asPage("/export", { Host: host, ...headers })).toEqual([403, expect.stringContaining("web pages")])
    }
    expect(logged(recorder, "export")).toEqual([])
  })

  test("it accepts its configured names", async () => {
    for (const Host of ["recorder.example", "localhost:1", "[::1]"]) {
      expect((await asPage("/export", { Host }))[0]).toBe(200)
    }
  })
})
