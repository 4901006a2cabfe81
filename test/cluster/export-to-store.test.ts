/** Exports that the recorder writes itself to an S3 server: ordinary ones, and failures. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import {
  CreateBucketCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
} from "@aws-sdk/client-s3"
import { afterAll, beforeAll, expect, test } from "vitest"
import { freePort, type ServerProcess, startServer } from "../blob/server-process.ts"
import { everything, type RecorderProcess, Workplace } from "../recorder/recorder/recorder-command.ts"
import { StallingProxy } from "./stalling-proxy.ts"
import { buildMs, buildServers } from "./targets/programs.ts"

const secret = "right-secret"

let directory: string
let server: ServerProcess
let url: string
let proxy: StallingProxy
let client: S3Client
let place: Workplace
let sandbox: string
let recorder: RecorderProcess

const environmentOf = (overrides: Record<string, string> = {}) => ({
  ...process.env,
  AWS_ENDPOINT_URL: proxy.url,
  AWS_ACCESS_KEY_ID: "kubereel",
  AWS_SECRET_ACCESS_KEY: secret,
  AWS_REGION: "us-east-1",
  // The settings of the machine's user must not apply.
  AWS_CONFIG_FILE: "/dev/null",
  AWS_SHARED_CREDENTIALS_FILE: "/dev/null",
  AWS_EC2_METADATA_DISABLED: "true",
  ...overrides,
})

const recordWith = async (name: string, env: NodeJS.ProcessEnv): Promise<RecorderProcess> => {
  const more = ["--allow-target", "s3://traces/shop", "--allow-target", "s3://missing", "--log-format", "json"]
  const dataDir = place.path(name)
  const started = place.record({ cluster: { server: sandbox }, more, name, dataDir, options: { env } })
  await started.ready()
  return started
}

beforeAll(async () => {
  const { versitygw } = await buildServers()
  directory = await mkdtemp(join(tmpdir(), "kubereel-s3-"))
  url = `http://127.0.0.1:${await freePort()}`
  const words = ["--port", url.slice(7), "--access", "kubereel", "--secret", secret, "posix", directory]
  server = await startServer(versitygw, words, /listening on:/)
  proxy = await StallingProxy.start(Number(new URL(url).port))
  const credentials = { accessKeyId: "kubereel", secretAccessKey: secret }
  client = new S3Client({ endpoint: url, region: "us-east-1", forcePathStyle: true, credentials })
  await client.send(new CreateBucketCommand({ Bucket: "traces" }))
  place = new Workplace()
  const serving = place.reel("sandbox", "--listen", "0", "--kubeconfig", place.path("sandbox.kubeconfig"))
  sandbox = (await serving.says(/http:\/\/127\.0\.0\.1:\d+/))[0]
  for (let number = 0; number < 300; number++) {
    const metadata = { namespace: "default", name: `object-${number}` }
    const body = JSON.stringify({ metadata, data: { text: `${number} `.repeat(20_000) } })
    const headers = { "Content-Type": "application/json" }
    const url = `${sandbox}/api/v1/namespaces/default/configmaps`
    const answer = await fetch(url, { method: "POST", headers, body })
    if (answer.status !== 201) throw new Error(`ConfigMap ${number}: ${answer.status} ${await answer.text()}`)
    await answer.text()
  }
  recorder = await recordWith("data", environmentOf())
}, buildMs)
afterAll(async () => {
  await place?.close()
  client?.destroy()
  await proxy?.[Symbol.asyncDispose]()
  await server?.stop()
  await rm(directory, { recursive: true, force: true })
})

const read = async (key: string): Promise<string | undefined> => {
  const answer = await client.send(new GetObjectCommand({ Bucket: "traces", Key: key }))
  return answer.Body?.transformToString()
}

const left = async (): Promise<ReadonlyArray<string | undefined>> => {
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: "traces" }))
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: "traces", Prefix: "shop/gone" }))
  return [...Uploads.map(({ Key }) => Key), ...Contents.map(({ Key }) => Key)]
}

test("reel export writes a trace to a bucket, the same bytes as to a file", async () => {
  const words = ["export", "-s", await recorder.listening(), "--start", "0", "--end", "2030-01-01T00:00:00Z", "-o"]
  const stored = place.reel(...words, "s3://traces/shop/all.ndjson")
  expect([(await stored.ended).code, stored.log]).toEqual([
    0,
    expect.stringMatching(/^s3:\/\/traces\/shop\/all\.ndjson: \d\d MB, the beginning to 2030/m),
  ])
  const answer = await recorder.post({ ...everything("ndjson"), end_ts: 1_893_456_000 })
  expect(await read("shop/all.ndjson")).toBe(await answer.text())
  expect(recorder.log).toMatch(/"target":"s3:\/\/traces\/shop\/all\.ndjson".*"outcome":"whole"/)
})

test("a missing bucket, and a wrong secret, are a 502 with the store's own message", async () => {
  const missing = await recorder.post({ ...everything("ndjson"), export_path: "s3://missing/a" })
  expect([missing.status, await missing.text()]).toEqual([
    502,
    expect.stringMatching(/^cannot write s3:\/\/missing\/a: .*NoSuchBucket.*bucket.*\n$/i),
  ])
  const refused = await recordWith("other", environmentOf({ AWS_SECRET_ACCESS_KEY: "another-secret" }))
  const answer = await refused.post({ ...everything("ndjson"), export_path: "s3://traces/shop/a" })
  expect([answer.status, await answer.text()]).toEqual([502, expect.stringContaining("SignatureDoesNotMatch")])
  expect(refused.log).not.toContain("another-secret")
})

test("nothing is written outside the allowed locations", async () => {
  for (const export_path of ["s3://traces/shopping", "s3://traces/a", "gs://traces/shop/a"]) {
    const answer = await recorder.post({ ...everything("ndjson"), export_path })
    expect([export_path, answer.status]).toEqual([export_path, 403])
    await answer.text()
  }
})

test("an export that is aborted, by the client or a limit, leaves neither object nor parts", async () => {
  const export_path = "s3://traces/shop/gone"
  const limited = await recorder.post({ ...everything("ndjson"), export_path, maximum_bytes: 20_000_000 })
  expect([limited.status, await limited.text()]).toEqual([413, expect.stringContaining("larger than 20000000 bytes")])
  expect(await left()).toEqual([])
  const abort = new AbortController()
  // The upload begins, and none of its parts arrives.
  proxy.stallAfter(1_000_000)
  const answer = recorder.post({ ...everything("ndjson"), export_path }, abort.signal)
  await recorder.until(async () => (await left()).length > 0, "the upload to begin")
  abort.abort()
  await expect(answer).rejects.toThrow()
  await recorder.until(async () => (await left()).length === 0, "nothing to be left")
  await recorder.until(() => recorder.log.includes('"outcome":"the client disconnected"'), "the line")
  proxy.release()
})

test("a recorder that is stopped in the middle of an upload removes the parts", async () => {
  const ending = await recordWith("ending", environmentOf())
  proxy.stallAfter(1_000_000)
  const answer = ending.post({ ...everything("ndjson"), export_path: "s3://traces/shop/gone" })
  answer.catch(() => undefined)
  await ending.until(async () => (await left()).length > 0, "the upload to begin")
  expect(await ending.stop()).toMatchObject({ code: 0 })
  proxy.release()
  expect(await left()).toEqual([])
})
