import { gzipSync } from "node:zlib"
import { describe, expect, onTestFinished, test } from "vitest"
import { getGunzipped } from "../../../src/kube/http/gunzipped.ts"
import { HttpClient } from "../../../src/kube/http/http-client.ts"
import type { HttpStream } from "../../../src/kube/http/transport.ts"
import { eventually } from "../../harness/eventually.ts"
import { RecordedResponse } from "./recorded-response.ts"
import { TcpServer } from "./tcp-server.ts"

const text = Array.from({ length: 20_000 }, (_, index) => `{"line":${index}}`).join("\n")
const gzipped = gzipSync(text)

const head = (length: number, coding = "gzip"): Buffer =>
  Buffer.from(`HTTP/1.1 200 OK\r\nContent-Encoding: ${coding}\r\nContent-Length: ${length}\r\n\r\n`)

interface Answered {
  readonly response: RecordedResponse
  readonly stream: HttpStream
  readonly server: TcpServer
}

/** Asks a server that sends these pieces, each by itself, and then hangs up. */
const ask = async (
  pieces: ReadonlyArray<Uint8Array>,
  prepare: (response: RecordedResponse, stream: () => HttpStream) => void = () => undefined,
  response = new RecordedResponse(),
): Promise<Answered> => {
  const server = await TcpServer.start((socket) => {
    const send = (index: number): void => {
      const piece = pieces[index]
      if (piece === undefined) socket.end()
      else socket.write(piece, () => send(index + 1))
    }
    send(0)
  })
  const client = new HttpClient({ server: server.url, headers: [] }, { userAgent: "kubereel/test" })
  onTestFinished(async () => {
    client.close()
    await server[Symbol.asyncDispose]()
  })
  let stream: HttpStream | undefined
  prepare(response, () => stream as HttpStream)
  stream = getGunzipped(client, "/", { Accept: "application/json" }, response)
  return { response, stream, server }
}

describe("a response that may be compressed", () => {
  test("is asked for by name and handed over uncompressed, without the header that says otherwise", async () => {
    const { response, server } = await ask([head(gzipped.length), gzipped])
    expect(await response.ended).toEqual({ tag: "complete" })
    expect(response.body).toBe(text)
    expect(response.headers.has("content-encoding")).toBe(false)
    expect(response.calls.slice(-3)).toEqual(["data", "readDone", "end"])
    expect(server.peers[0]?.received).toContain("\r\nAccept-Encoding: gzip\r\n")
  })

  test("is the same wherever it was cut on its way", async () => {
    for (const size of [1, 7, 1000]) {
      const body = gzipSync("x".repeat(50) + size)
      const bytes = Buffer.concat([head(body.length), body])
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      )
      const { response } = await ask(pieces)
      expect(await response.ended).toEqual({ tag: "complete" })
      expect(response.body).toBe("x".repeat(50) + size)
    }
  })

  test.each(["identity", ""])("passes through if the server does not compress it (%s)", async (coding) => {
    const { response } = await ask([head(text.length, coding), Buffer.from(text)])
    expect(await response.ended).toEqual({ tag: "complete" })
    expect(response.body).toBe(text)
  })

  test("is truncated if its compressed data stops early, even if the HTTP response is complete", async () => {
    const half = gzipped.subarray(0, gzipped.length >> 1)
    for (const announced of [half.length, gzipped.length]) {
      const { response } = await ask([head(announced), half])
      expect(await response.ended).toEqual({ tag: "truncated" })
      expect(text.startsWith(response.body)).toBe(true)
      expect(response.length).toBeGreaterThan(0)
    }
  })

  test("is malformed if it is not what its header says, and nothing of it counts as complete", async () => {
    const damaged = Buffer.from(gzipped)
    damaged.writeUInt32LE(0, damaged.length - 8)
    const cases = [
      [Buffer.from(text), "gzip", /cannot be read: incorrect header check/],
      [damaged, "gzip", /cannot be read: incorrect data check/],
      [gzipped, "br", /^content coding "br" was not requested$/],
      [gzipped, "gzip, gzip", /was not requested$/],
    ] as const
    for (const [body, coding, message] of cases) {
      const { response } = await ask([head(body.length, coding), body])
      const outcome = await response.ended
      expect(outcome.tag).toBe("malformed")
      expect(outcome).toHaveProperty("message", expect.stringMatching(message))
    }
  })

  test("is malformed if other bytes follow the compressed data and never end", async () => {
    const { response, server } = await ask([head(1_000_000), gzipSync("short"), Buffer.from("garbage")])
    expect((await response.ended).tag).toBe("malformed")
    await eventually(() => expect(server.peers[0]?.socket.destroyed).toBe(true))
  })
})

describe("a response that expands a thousandfold", () => {
  const size = 128 * 1024 * 1024
  const bomb = gzipSync(Buffer.alloc(size), { level: 1 })

  test("waits, like any other, until its reader goes on, and takes no memory", async () => {
    let [length, most] = [0, 0]
    const before = process.memoryUsage().arrayBuffers
    const response = new (class extends RecordedResponse {
      // Copies nothing, so that only the client's own memory counts.
      override data(_: Buffer, start: number, end: number): void {
        if (length === 0) opened().pause()
        length += end - start
        most = Math.max(most, process.memoryUsage().arrayBuffers - before)
      }
    })()
    let opened: () => HttpStream = () => expect.unreachable()
    await ask(
      [head(bomb.length), bomb],
      (_, stream) => {
        opened = stream
      },
      response,
    )
    await eventually(() => expect(length).toBeGreaterThan(0))
    const early = length
    for (let turns = 0; turns < 200; turns++) await new Promise<void>((turned) => setImmediate(turned))
    expect(length).toBe(early)
    expect(early).toBeLessThanOrEqual(64 * 1024)
    opened().resume()
    expect(await response.ended).toEqual({ tag: "complete" })
    expect(length).toBe(size)
    expect(most).toBeLessThan(8 * 1024 * 1024)
  })

  test("can be aborted in its midst and after its last byte has come, and ends once", async () => {
    for (const pieces of [
      [head(bomb.length), bomb],
      [head(bomb.length + 1), bomb],
    ]) {
      const { response } = await ask(pieces, (handler, opened) => {
        handler.onData = () => {
          opened().abort()
          opened().abort()
        }
      })
      expect(await response.ended).toEqual({ tag: "aborted" })
      expect(response.calls).toEqual(["head", "data", "end"])
    }
  })
})
