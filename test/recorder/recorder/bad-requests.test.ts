/** Invalid export requests, and clients that disconnect, at a recorder as users run it. */
import { readdirSync, readlinkSync } from "node:fs"
import { createServer } from "node:net"
import { afterAll, beforeAll, expect, test } from "vitest"
import type { ExportForecast } from "../../../src/recorder/export/forecast.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { openDecoder } from "../../../src/trace/index.ts"
import { everything, type RecorderProcess, Workplace } from "./recorder-command.ts"

let place: Workplace
let sandbox: Sandbox
let recorder: RecorderProcess
/** A port without a listener. */
let closedPort = 0

beforeAll(async () => {
  const server = createServer().listen(0, "127.0.0.1")
  await new Promise((resolve) => server.once("listening", resolve))
  const address = server.address()
  closedPort = typeof address === "object" && address !== null ? address.port : 0
  await new Promise((resolve) => server.close(resolve))
  place = new Workplace()
  sandbox = await Sandbox.start()
  for (let number = 0; number < 200; number++) {
    sandbox.put("apps/v1.Deployment", {
      metadata: { namespace: "shop", name: `web-${number}` },
      spec: { template: { metadata: { annotations: { text: `${number} `.repeat(5000) } } } },
    })
  }
  const environment = {
    AWS_ACCESS_KEY_ID: "some",
    AWS_SECRET_ACCESS_KEY: "a-secret",
    AWS_REGION: "eu-west-1",
    AWS_MAX_ATTEMPTS: "1",
    AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${closedPort}`,
  }
  recorder = place.record({
    cluster: { server: sandbox.url },
    kinds: { "apps/v1.Deployment": "{}" },
    more: ["--allow-target", "s3://traces"],
    options: { env: { ...process.env, ...environment } },
  })
  await recorder.ready()
})
afterAll(async () => {
  await place.close()
  await sandbox.close()
})

test.each(["ndjson", "simkube", "kwok"] as const)(
  "an empty window is a valid, empty trace as %s, also where objects existed at that moment",
  async (format) => {
    const moment = Date.now() * 1000
    const request = { ...everything("ndjson"), format, start_time: moment, end_time: moment }
    const answer = await recorder.post(request)
    expect(answer.status).toBe(200)
    const decoder = await openDecoder(format)
    const items = [...decoder.push(Buffer.from(await answer.arrayBuffer())), ...decoder.end()]
    expect(items.map(({ type }) => type)).toContain("header")
    expect(items.filter(({ type }) => type === "event" || type === "index" || type === "lifecycles")).toEqual([])
    const dry = (await (await recorder.post({ ...request, dry_run: true })).json()) as ExportForecast
    expect(dry.kinds).toMatchObject([{ gvk: "apps/v1.Deployment", objects: 0, events: 0 }])
  },
)

test("a body that is not UTF-8 is a 400: its names would match nothing", async () => {
  const text = JSON.stringify(everything("ndjson")).replace('"excluded_namespaces":[]', '"excluded_namespaces":["ä"]')
  const answer = await fetch(`${await recorder.listening()}/export`, {
    method: "POST",
    body: Buffer.from(text, "latin1"),
  })
  expect([answer.status, await answer.text()]).toEqual([400, "the body is not UTF-8\n"])
})

test("W-06: a bucket that cannot be reached is a 502 with the provider's own reason", async () => {
  const answer = await recorder.post({ ...everything("ndjson"), export_path: "s3://traces/monday.ndjson" })
  expect([answer.status, await answer.text()]).toEqual([
    502,
    expect.stringMatching(new RegExp(`^cannot write s3://traces/monday\\.ndjson: .*ECONNREFUSED.*${closedPort}`)),
  ])
  expect(recorder.log).not.toContain("a-secret")
})

test("clients that disconnect leave no open file in the recorder, and their exports are logged as aborted", async (context) => {
  if (process.platform !== "linux") context.skip("counts what is open in /proc")
  /** The open files of the process except its connections, which come and go. */
  const openFiles = (): ReadonlyArray<string> => {
    const directory = `/proc/${recorder.child.pid}/fd`
    return readdirSync(directory).flatMap((name) => {
      try {
        const target = readlinkSync(`${directory}/${name}`)
        return /actors|spool|deleted/.test(target) ? [target] : []
      } catch {
        // It was closed between the two samples.
        return []
      }
    })
  }
  await (await recorder.post(everything("simkube"))).arrayBuffer()
  await recorder.until(() => !openFiles().some((path) => path.includes("spool")), "the first spool to be closed")
  const before = openFiles().length
  for (let number = 0; number < 12; number++) {
    const abort = new AbortController()
    const format = number % 2 === 0 ? "ndjson" : "simkube"
    let answer = await recorder.post(everything(format), abort.signal)
    await recorder.until(async () => {
      if (answer.status === 200) return true
      await answer.text()
      answer = await recorder.post(everything(format), abort.signal)
      return answer.status === 200
    }, "room for another")
    await answer.body?.getReader().read()
    abort.abort()
  }
  await recorder.until(
    () => (recorder.log.match(/outcome="the client disconnected"/g)?.length ?? 0) >= 1,
    "lines of the log",
  )
  await recorder.until(
    () => openFiles().length <= before,
    "all files to be closed",
    15_000,
    () => openFiles().join(", "),
  )
  expect(await recorder.exported()).toHaveLength(200)
})
