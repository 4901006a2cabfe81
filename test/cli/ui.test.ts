/** `reel ui`: the page of a directory, a trace or a recorder, for who started it and nobody else. */
import { once } from "node:events"
import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { serveCommand } from "../../src/cli/serve.ts"
import { openBrowser, opener } from "../../src/cli/ui/open-browser.ts"
import { uiCommand } from "../../src/cli/ui.ts"
import { ndjsonEncoder } from "../../src/trace/formats/ndjson/ndjson-writer.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { until } from "../runtime/until.ts"
import { get } from "../sandbox/client.ts"
import { itemsOf } from "../serve/trace-items.ts"
import { ran, serving } from "./commands-in.ts"
import { recordStory, storyStart } from "./past-recording.ts"

const serve = (words: ReadonlyArray<string>, environment: Record<string, string> = {}) =>
  serving(uiCommand(), ["--no-open", ...words], environment)

const kindsAt = async (page: string, headers: Record<string, string> = {}) => {
  const { status, text } = await get(String(new URL("../v1/kinds", page)), headers)
  return [status, status === 200 ? JSON.parse(text).items.map(({ gvk }: { gvk: string }) => gvk) : text.trim()]
}

const trace = (): string => {
  const path = join(temporaryDirectory(), "day.ndjson")
  const encoder = ndjsonEncoder()
  const step = { gvk: "v1.ConfigMap", name: "a", version: 1, minutes: 1 }
  for (const item of itemsOf({ steps: [step] })) encoder.add(item)
  writeFileSync(path, Buffer.concat([...encoder.finish()]))
  return path
}

describe("reel ui", () => {
  test("shows the recording in a directory, at an address that others do not know", async () => {
    const directory = temporaryDirectory()
    recordStory(directory)
    await using served = await serve([directory])
    const { pathname, origin, hash } = new URL(served.url)
    expect([pathname, hash]).toEqual([expect.stringMatching(/^\/[\w-]{43}\/ui\/$/), ""])
    expect(await get(served.url)).toMatchObject({ status: 200, text: expect.stringContaining('<div id="page">') })
    expect(await kindsAt(served.url)).toEqual([200, expect.arrayContaining(["apps/v1.Deployment", "v1.Pod"])])
    const other = `${origin}/${"x".repeat(43)}/ui/`
    for (const address of [
      other,
      `${origin}/ui/`,
      `${origin}/v1/kinds`,
      `${origin}/`,
      String(new URL("../export", served.url)),
    ])
      expect([address, (await get(address)).status]).toEqual([address, 404])
    expect(await kindsAt(other)).toEqual([404, expect.stringContaining("reel ui has printed the address")])
    // A page whose name was made to resolve to this machine, and one of another port.
    expect((await get(served.url, { Host: "shop.example" })).status).toBe(421)
    expect(await kindsAt(served.url, { "Sec-Fetch-Site": "same-site" })).toEqual([403, "only its own page may ask"])
    expect((await kindsAt(served.url, { "Sec-Fetch-Site": "same-origin" }))[0]).toBe(200)
  })

  test("shows a trace", async () => {
    await using served = await serve([trace()])
    expect(await kindsAt(served.url)).toEqual([200, ["v1.ConfigMap"]])
  })

  test("shows what a moment's permalink says, as µs since 1970", async () => {
    const directory = temporaryDirectory()
    recordStory(directory)
    const words = ["--from", "-2s", "--to", "2026-03-02T03:00:06Z", "--at", "2026-03-02T03:00:05Z"]
    await using served = await serve([directory, ...words])
    const second = (number: number): number => storyStart + number * 1_000_000
    expect(new URL(served.url).hash).toBe(`#from=${second(4)}&to=${second(6)}&at=${second(5)}`)
  })

  test("passes questions on to a recorder with its token, and nothing else of the browser's", async () => {
    const received: Array<{ readonly url: string | undefined; readonly headers: IncomingHttpHeaders }> = []
    const recorder = createServer(({ url, headers }, response) => {
      received.push({ url, headers })
      response.writeHead(429, { "Retry-After": "3", "Set-Cookie": "a=b", "Content-Type": "text/plain" })
      response.end("later\n")
    }).listen(0, "127.0.0.1")
    await once(recorder, "listening")
    const { port } = recorder.address() as AddressInfo
    const token = { KUBEREEL_TOKEN: "let-me-in-please" }
    await using served = await serve([`http://127.0.0.1:${port}/below/`], token)
    const question = new URL("../v1/objects?kind=v1.Pod&name=a%20b", served.url)
    const answer = await fetch(question, { headers: { cookie: "c=d", authorization: "Bearer mine", accept: "a/b" } })
    expect([answer.status, answer.headers.get("retry-after"), await answer.text()]).toEqual([429, "3", "later\n"])
    expect(answer.headers.get("set-cookie")).toBe(null)
    expect(received).toMatchObject([
      {
        url: "/below/v1/objects?kind=v1.Pod&name=a%20b",
        headers: { accept: "a/b", authorization: "Bearer let-me-in-please" },
      },
    ])
    expect(received[0]?.headers.cookie).toBe(undefined)
    recorder.close()
    recorder.closeAllConnections()
    await once(recorder, "close")
    expect(await kindsAt(served.url)).toEqual([
      502,
      expect.stringMatching(/^cannot reach a recorder at .* Start a recorder/),
    ])
  })

  test.each([
    [["--listen", "0.0.0.0:0"], /is served on this machine only/],
    [["-"], /a trace on standard input cannot be shown/],
    [["https://a b", "--in-cluster", "a/b"], /each name a recording/],
    [["--context", "a"], /--context requires --in-cluster/],
    [["http://["], /must be a URL/],
  ])("refuses %j", async (words, message) => {
    const { code, error } = await ran(uiCommand(), words)
    expect([code, error]).toEqual([exitCodes.usage, expect.stringMatching(message)])
  })
})

describe("the browser", () => {
  test("is asked to open a file that only its user can read, because others see the words of a command", async () => {
    const directory = temporaryDirectory()
    recordStory(directory)
    const opened = join(directory, "opened")
    const program = join(directory, "xdg-open")
    writeFileSync(program, `#!/bin/sh\n/bin/cp -p "$1" "${opened}.html"; echo "$*" > "${opened}"\n`)
    chmodSync(program, 0o755)
    const environment = { DISPLAY: ":0", PATH: directory }
    const started = serving(uiCommand(), [directory, "--from", "-1s", "--to", "-0s"], environment)
    await using served = await started
    await until(() => statSync(opened, { throwIfNoEntry: false })?.size !== undefined)
    const words = readFileSync(opened, "utf8").trim()
    expect(words).toMatch(/^\S+\/kubereel-ui-\S+\.html$/)
    expect(statSync(`${opened}.html`).mode & 0o777).toBe(0o600)
    const address = served.url.replace("&", "&amp;")
    expect(readFileSync(`${opened}.html`, "utf8")).toContain(`content="0; url=${address}"`)
    await served.stop()
    expect(statSync(words, { throwIfNoEntry: false })).toBe(undefined)
  })

  test("is the system's, and is not asked for without a display; a failure is said", async () => {
    expect(opener("linux", {})).toBe("there is no display")
    expect(opener("linux", { WAYLAND_DISPLAY: "wayland-0" })).toEqual(["xdg-open"])
    expect([opener("darwin", {}), opener("win32", {})]).toEqual([["open"], ["rundll32", "url.dll,FileProtocolHandler"]])
    await using missing = await openBrowser("http://a/", {}, ["no-such-program"])
    expect(missing.failure).toMatch(/ENOENT/)
    await using failed = await openBrowser("http://a/", {}, ["/bin/false"])
    expect(failed.failure).toBe("/bin/false ended with code 1")
  })
})

describe("the page of reel serve", () => {
  const served = (source: string, ...words: ReadonlyArray<string>) => {
    const kubeconfig = join(temporaryDirectory(), "kubeconfig")
    return serving(serveCommand(), [source, "--listen", "0", "--kubeconfig-out", kubeconfig, ...words])
  }

  test("is that of the directory or the trace that is served", async () => {
    const directory = temporaryDirectory()
    recordStory(directory)
    for (const [source, gvk] of [
      [directory, "v1.Pod"],
      [trace(), "v1.ConfigMap"],
    ] as const) {
      await using history = await served(source)
      expect(history.output).toContain(`page         ${history.url}/ui/\n`)
      expect((await get(`${history.url}/ui/`)).text).toContain('<div id="page">')
      expect(await kindsAt(`${history.url}/ui/`)).toEqual([200, expect.arrayContaining([gvk])])
      expect((await get(`${history.url}/ui/`, { Host: "shop.example" })).status).toBe(421)
      expect((await fetch(`${history.url}/v1/kinds`, { method: "POST" })).status).toBe(405)
      expect((await fetch(`${history.url}/v1/`)).status).toBe(404)
    }
  })

  test("is not there for several recordings, of which it could show one", async () => {
    await using history = await serving(serveCommand(), [
      ...[trace(), trace(), "--listen", "0", "--kubeconfig-out", join(temporaryDirectory(), "kubeconfig")],
    ])
    expect(history.output).not.toContain("/ui/")
    expect((await get(`${history.url}/ui/`)).status).toBe(404)
  })
})
