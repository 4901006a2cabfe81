/** A resumable upload to Google through a network that fails, and to a store that keeps less than was sent. Its emulator is tested in test/cluster/targets. */
import { createHash } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import * as Effect from "effect/Effect"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { openTarget, readTargetPath } from "../../../src/blob/index.ts"
import { type Clock, systemClock } from "../../../src/clock.ts"

const mebibyte = 1024 * 1024
const bytes = Buffer.from(Array.from({ length: 17 * mebibyte }, (_, index) => (index * 7919) % 251))

let kept: Buffer
let requests: string[]
let checksum: string | undefined
/** What happens to requests with parts, in turn: only so many of their bytes are kept; the rest of the answer is as if all were. */
let faults: Array<{ readonly keeps: number; readonly isLost: boolean }>
let stop: () => void

const answerPart = (request: IncomingMessage, response: ServerResponse, body: Buffer): void => {
  const [, from, total] = /^bytes (?:(\d+)-\d+|\*)\/(\d+|\*)$/.exec(String(request.headers["content-range"])) ?? []
  const fault = faults.shift()
  // Bytes that have arrived before are ignored.
  const news = from === undefined ? body : body.subarray(kept.length - Number(from))
  kept = Buffer.concat([kept, news.subarray(0, fault?.keeps)])
  if (fault?.isLost === true) return void response.destroy()
  if (String(kept.length) !== total)
    return void response.writeHead(308, kept.length === 0 ? {} : { Range: `bytes=0-${kept.length - 1}` }).end()
  checksum = String(request.headers["x-goog-hash"])
  response.writeHead(200, { "Content-Type": "application/json" }).end("{}")
}

beforeEach(async () => {
  kept = Buffer.alloc(0)
  requests = []
  faults = []
  checksum = undefined
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.headers["content-range"]}`)
    const pieces: Buffer[] = []
    request.on("data", (piece: Buffer) => pieces.push(piece))
    request.on("end", () => {
      if (request.method === "PUT") return answerPart(request, response, Buffer.concat(pieces))
      response.writeHead(200, { Location: `http://${request.headers.host}/session` }).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  vi.stubEnv("STORAGE_EMULATOR_HOST", `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  stop = () => {
    server.closeAllConnections()
    server.close()
  }
})
afterEach(() => {
  vi.unstubAllEnvs()
  stop()
})

/** Pauses between attempts take no time. */
const clock: Clock = {
  ...systemClock,
  after: (delayMs, action) => systemClock.after(delayMs > 10_000 ? delayMs : 0, action),
}

const upload = async (content: Buffer): Promise<void> => {
  const reading = readTargetPath("gs://traces/a")
  if (reading.tag !== "store") throw new Error("it names no object")
  const target = await Effect.runPromise(openTarget(reading.address, { clock }))
  await target.write(content)
  await target.finish()
}

const wholeChecksum = (content: Buffer): string => `md5=${createHash("md5").update(content).digest("base64")}`

test.each([
  ["is kept in part", 3 * mebibyte, false],
  ["is not kept", 0, false],
  ["is kept, and whose answer is lost", 8 * mebibyte, true],
  ["is kept in part, and whose answer is lost", 5 * mebibyte, true],
])("a part that %s is sent again from where the store says", async (_, keeps, isLost) => {
  for (const part of [0, 1, 2]) {
    kept = Buffer.alloc(0)
    faults = Array.from({ length: part + 1 }, (_, index) => ({
      keeps: index === part ? keeps : 8 * mebibyte,
      isLost: index === part && isLost,
    }))
    await upload(bytes)
    expect(kept.equals(bytes)).toBe(true)
    expect(checksum).toBe(wholeChecksum(bytes))
  }
})

test("only the rest of a part that was kept in part is sent again", async () => {
  faults = [{ keeps: 3 * mebibyte, isLost: false }]
  await upload(bytes.subarray(0, 4 * mebibyte))
  expect(requests.slice(1)).toEqual([
    `PUT bytes 0-${4 * mebibyte - 1}/${4 * mebibyte}`,
    `PUT bytes ${3 * mebibyte}-${4 * mebibyte - 1}/${4 * mebibyte}`,
  ])
})

test("an object without bytes has a checksum, too", async () => {
  await upload(Buffer.alloc(0))
  expect([kept.length, checksum]).toEqual([0, wholeChecksum(Buffer.alloc(0))])
})
