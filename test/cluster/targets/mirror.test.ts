/** A stream in S3, read by the built command: it prints what it prints of the directory, and reads what is there once. */
import { spawn } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3"
import { expect, onTestFinished, test, vi } from "vitest"
import { openStore, readStorePlace } from "../../../src/blob/index.ts"
import { s3Environment } from "../../blob/s3-environment.ts"
import { freePort, startServer } from "../../blob/server-process.ts"
import { recordLarge } from "../../fleet/mirror/large-recording.ts"
import { shipAll } from "../../fleet/shipping-recorder.ts"
import { patient } from "../../harness/patience.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { buildMs, buildServers } from "./programs.ts"

const bin = fileURLToPath(new URL("../../../bin/reel.js", import.meta.url))

/** Of a process of its own. */
const history = (
  where: string,
  environment: NodeJS.ProcessEnv,
): Promise<readonly [code: number | null, text: string]> =>
  new Promise((resolve) => {
    const words = ["history", "configmap/object-1", "-n", "ns-1", "-o", "json", "--data-dir", where]
    const env = { PATH: process.env.PATH, ...environment }
    const child = spawn(process.execPath, [bin, ...words], { env, stdio: ["ignore", "pipe", "pipe"] })
    let text = ""
    child.stdout.setEncoding("utf8").on("data", (more: string) => (text += more))
    child.stderr.setEncoding("utf8").on("data", (more: string) => (text += more))
    child.on("close", (code) => resolve([code, text]))
  })

test("reel history reads a stream in S3, and reads on without it", {
  timeout: buildMs + patient(120_000),
}, async () => {
  const { versitygw } = await buildServers()
  const directory = await mkdtemp(join(tmpdir(), "kubereel-s3-"))
  const url = `http://127.0.0.1:${await freePort()}`
  const words = ["--port", url.slice(7), "--access", "kubereel", "--secret", "right-secret", "posix", directory]
  const server = await startServer(versitygw, words, /listening on:/)
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    await server.stop()
    await rm(directory, { recursive: true, force: true })
  })
  const environment = { ...s3Environment(url, ["kubereel", "right-secret"]), KUBEREEL_CACHE: temporaryDirectory() }
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
  const credentials = { accessKeyId: "kubereel", secretAccessKey: "right-secret" }
  const client = new S3Client({ endpoint: url, region: "us-east-1", forcePathStyle: true, credentials })
  await client.send(new CreateBucketCommand({ Bucket: "recordings" }))
  client.destroy()

  const original = temporaryDirectory()
  await recordLarge(original, 120)
  const address = "s3://recordings/clusters/one"
  const reading = readStorePlace(address)
  if (reading.tag === "refused") throw new Error(reading.message)
  const store = await openStore(reading.place)
  await shipAll(store, original, 1_000_000)
  store.close()

  const expected = await history(original, {})
  expect(expected[0]).toBe(0)
  expect(await history(address, environment)).toEqual(expected)
  await server.stop()
  // Within 20 s the store is not asked, and everything that the question needs has been fetched.
  expect(await history(address, environment)).toEqual(expected)
})
