/** Bodies of requests over real connections; the time that clients are made to wait is the test's. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { afterEach, expect, test } from "vitest"
import { refuse, text } from "../../../../src/recorder/http/body/http-answer.ts"
import {
  maximumBodyBytes,
  maximumBodyDepth,
  maximumBodyValues,
  mostDiscardedBytes,
  RequestBodies,
  receiveMs,
} from "../../../../src/recorder/http/body/request-bodies.ts"
import { ManualClock } from "../../../runtime/manual-clock.ts"
import { until } from "../../../runtime/until.ts"

const closing: Array<() => void> = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

/** Responds with the body's length; `/forbidden` is rejected before its body is read. */
const serve = async () => {
  const clock = new ManualClock()
  const bodies = new RequestBodies(clock)
  const seen: string[] = []
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.url === "/forbidden") {
      bodies.discard(request, response, "client")
      return text(response, 401, "no\n")
    }
    const body = await bodies.receive(request, response, String(request.headers["x-client"]))
    seen.push(body.tag)
    if (body.tag === "refused") refuse(response, body)
    else if (body.tag === "whole") text(response, 200, `${body.text.length} ${body.text.slice(0, 3)}\n`)
  }
  const server = createServer(handle).on("checkContinue", handle)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { clock, seen, port: (server.address() as AddressInfo).port }
}

class Client {
  readonly socket: Socket
  received = ""
  isClosed = false

  constructor(port: number) {
    this.socket = connect(port, "127.0.0.1")
    this.socket.setEncoding("utf8").on("data", (piece) => {
      this.received += piece
    })
    // A client that still writes when it is cut off.
    this.socket
      .on("error", () => undefined)
      .on("close", () => {
        this.isClosed = true
      })
    closing.push(() => this.socket.destroy())
  }

  /** Sends a head. `headers`: lines. */
  post(path: string, ...headers: ReadonlyArray<string>): this {
    this.socket.write([`POST ${path} HTTP/1.1`, "Host: x", "X-Client: a", ...headers, "", ""].join("\r\n"))
    return this
  }

  whole(path: string, body: string | Buffer, ...headers: ReadonlyArray<string>): this {
    this.post(path, `Content-Length: ${Buffer.byteLength(body)}`, ...headers).socket.write(body)
    return this
  }

  chunk(body: string): void {
    this.socket.write(`${body.length.toString(16)}\r\n${body}\r\n`)
  }

  get statuses(): ReadonlyArray<number> {
    return [...this.received.matchAll(/^HTTP\/1.1 (\d+)/gm)].map(([, status]) => Number(status))
  }

  async answered(count = 1): Promise<ReadonlyArray<number>> {
    await until(() => this.statuses.length >= count)
    return this.statuses
  }
}

test("a body arrives whole, in however many pieces, with characters cut between them", async () => {
  const { port } = await serve()
  const body = Buffer.from('"€"')
  const client = new Client(port).post("/", `Content-Length: ${body.length}`)
  for (const byte of body) {
    client.socket.write(Buffer.of(byte))
    await new Promise((resolve) => setImmediate(resolve))
  }
  await client.answered()
  expect(client.received).toContain('3 "€"')
  expect(await client.whole("/", '"next"').answered(2)).toEqual([200, 200])
})

test("what is no text is rejected", async () => {
  const { port } = await serve()
  const client = new Client(port).whole("/", Buffer.of(0x22, 0xff, 0x22))
  expect(await client.answered()).toEqual([400])
  expect(client.received).toContain("the body is not UTF-8\n")
})

test("a body that is announced as too large is rejected before a byte of it is sent", async () => {
  const { port } = await serve()
  const client = new Client(port).post("/", `Content-Length: ${maximumBodyBytes + 1}`)
  expect(await client.answered()).toEqual([413])
  expect(client.received).toContain(`the body may have at most ${maximumBodyBytes} bytes\n`)
})

test("one that turns out to be too large is rejected at its end, or cut off when there is no end", async () => {
  const { port } = await serve()
  const client = new Client(port).post("/", "Transfer-Encoding: chunked")
  const piece = "x".repeat(maximumBodyBytes / 16)
  for (let sent = 0; sent <= maximumBodyBytes; sent += piece.length) client.chunk(piece)
  client.socket.write("0\r\n\r\n")
  expect(await client.answered()).toEqual([413])
  expect(client.isClosed).toBe(false)

  const { port: other, clock } = await serve()
  const endless = new Client(other).post("/", "Transfer-Encoding: chunked")
  for (let sent = 0; sent <= mostDiscardedBytes + maximumBodyBytes; sent += piece.length) endless.chunk(piece)
  await until(() => {
    clock.advance(10)
    return endless.isClosed
  })
  expect(endless.statuses).toEqual([413])
})

test("more values, or deeper ones, than any request has are rejected without being parsed", async () => {
  const { port } = await serve()
  const many = new Client(port).whole("/", `[${"1,".repeat(maximumBodyValues)}`)
  expect(await many.answered()).toEqual([400])
  expect(many.received).toContain(`more than ${maximumBodyValues} values`)
  const deep = new Client(port).whole("/", "[".repeat(maximumBodyDepth + 1))
  expect(await deep.answered()).toEqual([400])
  expect(deep.received).toContain(`more than ${maximumBodyDepth} arrays and objects in one another`)
})

test("a fifth body of one client is rejected with 429 at once; a client that leaves frees its place", async () => {
  const { port, seen } = await serve()
  const started = Array.from({ length: 4 }, () => {
    const client = new Client(port).post("/", "Content-Length: 10", "Expect: 100-continue")
    return client
  })
  // By then the server waits for their bodies.
  await Promise.all(started.map((client) => client.answered()))
  const fifth = new Client(port).whole("/", "{}")
  expect(await fifth.answered()).toEqual([429])
  expect(fifth.received).toMatch(/^Retry-After: 1\r$/m)
  expect(await new Client(port).whole("/", "{}", "X-Client: b").answered()).toEqual([200])
  started[0]?.socket.destroy()
  await until(() => seen.includes("gone"))
  expect(await new Client(port).whole("/", "{}").answered()).toEqual([200])
  started[1]?.socket.write("[123456,1]")
  expect(await started[1]?.answered(2)).toEqual([100, 200])
})

test("a body that does not arrive gives its place up after 30 s", async () => {
  const { port, clock } = await serve()
  const slow = Array.from({ length: 4 }, () => new Client(port).post("/", "Content-Length: 10", "Expect: 100-continue"))
  await Promise.all(slow.map((client) => client.answered()))
  clock.advance(receiveMs)
  for (const client of slow) expect(await client.answered(2)).toEqual([100, 408])
  await until(() => slow.every(({ isClosed }) => isClosed))
  expect(await new Client(port).whole("/", "{}").answered()).toEqual([200])
})

test("a client that asks first is told before it sends anything", async () => {
  const { port } = await serve()
  const large = new Client(port).post("/", `Content-Length: ${maximumBodyBytes + 1}`, "Expect: 100-continue")
  expect(await large.answered()).toEqual([413])
  await until(() => large.isClosed)
  const fine = new Client(port).post("/", "Content-Length: 2", "Expect: 100-continue")
  expect(await fine.answered()).toEqual([100])
  fine.socket.write("{}")
  expect(await fine.answered(2)).toEqual([100, 200])
})

test("a flood of bodies is slowed down to the client's share, whatever becomes of them, and no other client is", async () => {
  const { port, clock } = await serve()
  const flood = new Client(port)
  const bad = `[${"1,".repeat(maximumBodyBytes / 2 - 1)}`
  let ended = 0
  for (let sent = 0; sent < 12; sent++) {
    flood.whole("/", bad)
    await until(() => flood.statuses.length > sent || clock.pending > 1)
    if (flood.statuses.length > sent) ended = sent + 1
    else break
  }
  // Each costs one mebibyte and 16 KiB of the burst of four.
  expect(ended).toBe(3)
  expect(await new Client(port).whole("/", "{}", "X-Client: b").answered()).toEqual([200])
  expect(flood.statuses.length).toBe(ended)
  await until(() => {
    clock.advance(8)
    return flood.statuses.length > ended
  })
  expect(flood.statuses).toEqual([400, 400, 400, 400])
})

test("the body of a request without permission is discarded, and the next request of the connection is served", async () => {
  const { port, clock } = await serve()
  const client = new Client(port).whole("/forbidden", "x".repeat(maximumBodyBytes))
  expect(await client.answered()).toEqual([401])
  expect(await client.whole("/", "{}").answered(2)).toEqual([401, 200])
  // One that announces more than it sends does not keep its connection for ever.
  const idle = new Client(port).post("/forbidden", "Content-Length: 100")
  expect(await idle.answered()).toEqual([401])
  clock.advance(receiveMs)
  await until(() => idle.isClosed)
})
