/** Objects of a store as streams, against a server that speaks the part of S3's protocol that reading needs. The emulators of all three stores are in test/cluster/targets. */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { readTargetPath } from "../../../src/blob/addresses/target-address.ts"
import { openSource, type StoredObject } from "../../../src/blob/objects/open-source.ts"
import { type Clock, systemClock } from "../../../src/clock.ts"
import { s3Environment } from "../s3-environment.ts"

let server: Server
/** What the bucket has; the version changes when an object is replaced. */
let objects: Map<string, { readonly bytes: Buffer; readonly version: number }>
let requests: string[]
/** Requests to break off after half of their bytes, and to answer with half of them. */
let broken = 0
let short = 0

beforeEach(async () => {
  objects = new Map()
  requests = []
  broken = 0
  short = 0
  server = createServer((request, response) => {
    const key = decodeURIComponent(URL.parse(request.url ?? "", "http://localhost")?.pathname ?? "")
    requests.push(`${request.method} ${key} ${request.headers.range}`)
    const refuse = (status: number, code: string): void => {
      response.writeHead(status, { "Content-Type": "application/xml" })
      response.end(`<Error><Code>${code}</Code><Message>${code} of ${key}</Message></Error>`)
    }
    const object = objects.get(key)
    if (object === undefined) return refuse(404, key.startsWith("/traces/") ? "NoSuchKey" : "NoSuchBucket")
    const tag = `"v${object.version}"`
    if ((request.headers["if-match"] ?? tag) !== tag) return refuse(412, "PreconditionFailed")
    if (request.method === "HEAD")
      return response.writeHead(200, { ETag: tag, "Content-Length": object.bytes.length }).end()
    const [, first = 0, last = 0] = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? "")?.map(Number) ?? []
    if (first >= object.bytes.length) return refuse(416, "InvalidRange")
    const part = object.bytes.subarray(first, short-- > 0 ? first + (last + 1 - first) / 2 : last + 1)
    const range = `bytes ${first}-${first + part.length - 1}/${object.bytes.length}`
    response.writeHead(206, { ETag: tag, "Content-Range": range, "Content-Length": part.length })
    if (broken-- <= 0) return response.end(part)
    response.write(part.subarray(0, part.length / 2), () => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const environment = { ...s3Environment(url), AWS_REGION: "eu-west-1" }
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const bytesOf = (length: number): Buffer => Buffer.from(Array.from({ length }, (_, index) => (index * 7919) % 251))

const open = (key: string, bucket = "traces", clock = systemClock): Promise<StoredObject> => {
  const reading = readTargetPath(`s3://${bucket}/${key}`)
  if (reading.tag !== "store") throw new Error(`${key} names no object`)
  return openSource(reading.address, { signal: new AbortController().signal, clock, rangeBytes: 1000 })
}

const all = async (object: StoredObject): Promise<Buffer> => {
  const pieces: Uint8Array[] = []
  for await (const piece of object.read()) pieces.push(piece)
  return Buffer.concat(pieces)
}

test.each([0, 1, 999, 1000, 1001, 4500])(
  "an object of %d bytes arrives whole, again for each reader",
  async (length) => {
    objects.set("/traces/a b", { bytes: bytesOf(length), version: 1 })
    const object = await open("a b")
    expect(object.size).toBe(length)
    for (let reader = 0; reader < 2; reader++) expect((await all(object)).equals(bytesOf(length))).toBe(true)
    object.close()
  },
)

test.each(["whose connection broke", "that is too short"])("a range %s is requested again", async (how) => {
  objects.set("/traces/a", { bytes: bytesOf(2500), version: 1 })
  const object = await open("a")
  if (how === "that is too short") short = 1
  else broken = 1
  expect((await all(object)).equals(bytesOf(2500))).toBe(true)
  object.close()
})

test("a reader that is closed does not wait until it would request a range again", async () => {
  objects.set("/traces/a", { bytes: bytesOf(2500), version: 1 })
  let isStopped = false
  const paused = Promise.withResolvers<void>()
  const clock: Clock = {
    ...systemClock,
    after: (delayMs, action) => {
      // Deadlines are longer than a minute.
      if (delayMs > 10_000) return systemClock.after(delayMs, action)
      paused.resolve()
      return { cancel: () => (isStopped = true) }
    },
  }
  const object = await open("a", "traces", clock)
  broken = 1
  const read = all(object)
  await paused.promise
  object.close()
  await expect(read).rejects.toMatchObject({ code: "aborted" })
  expect(isStopped).toBe(true)
})

test("an object that is replaced meanwhile is an error, never a mixture", async () => {
  objects.set("/traces/a", { bytes: bytesOf(4500), version: 1 })
  const object = await open("a")
  const bytes = object.read()
  await bytes.next()
  objects.set("/traces/a", { bytes: bytesOf(4500), version: 2 })
  const rest = async (): Promise<void> => {
    for await (const _ of bytes);
  }
  await expect(rest()).rejects.toMatchObject({ _tag: "TargetError", access: "read", code: "failed" })
  object.close()
})

test("reads at most one range ahead", async () => {
  objects.set("/traces/a", { bytes: bytesOf(9000), version: 1 })
  const object = await open("a")
  const bytes = object.read()
  await bytes.next()
  await bytes.next()
  await new Promise(setImmediate)
  expect(requests.length).toBeLessThanOrEqual(4)
  object.close()
})

test("what is missing is named", async () => {
  await expect(open("none")).rejects.toMatchObject({
    code: "no-object",
    message: "cannot read s3://traces/none: there is no such object",
  })
  await expect(open("none", "nowhere")).rejects.toMatchObject({ code: "no-bucket" })
})
