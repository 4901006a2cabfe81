import { once } from "node:events"
import type { Socket } from "node:net"
import { describe, expect, test } from "vitest"
import { describeFailure, requestOnce, sendOnce } from "../../../src/kube/http/request-once.ts"
import { eventually } from "../../harness/eventually.ts"
import { clientFor } from "./client.ts"
import { ManualTimers } from "./manual-timers.ts"
import { answer, TcpServer } from "./tcp-server.ts"
import { startWebServer } from "./web-server.ts"

const asked = async (server: TcpServer): Promise<Socket> => {
  await eventually(() => expect(server.peers[0]?.received).toContain("\r\n\r\n"))
  return server.peers[0]?.socket as Socket
}

describe("a one-off request", () => {
  test("collects the response, whatever its status, and asks for JSON", async () => {
    await using server = await TcpServer.start((socket) =>
      socket.write(
        "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n40\r\n1\r\n4\r\n0\r\n\r\n",
      ),
    )
    const outcome = await requestOnce(clientFor(server.url), "/apis/x")
    expect(outcome).toMatchObject({ tag: "response", status: 404, body: Buffer.from("404") })
    expect(outcome.tag === "response" && outcome.headers.get("content-type")).toBe("text/plain")
    expect(server.peers[0]?.received).toContain("\r\nAccept: application/json\r\n")
  })

  test("posts JSON with its length in bytes, under headers that it sets itself", async () => {
    let answers = 0
    await using server = await TcpServer.start((socket) => {
      socket.write(answer(String(++answers)))
    })
    const client = clientFor(server.url)
    const body = JSON.stringify({ token: "grün" })
    const review = { method: "POST", path: "/reviews", body } as const
    expect(await sendOnce(client, review)).toMatchObject({ body: Buffer.from("1") })
    expect(server.peers[0]?.received).toMatch(/^POST \/reviews HTTP\/1\.1\r\n/)
    expect(server.peers[0]?.received).toContain(
      `\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n{"token":`,
    )
    const headers = { "Content-Type": "text/plain" }
    expect(await sendOnce(client, review, { headers })).toMatchObject({
      tag: "failed",
      end: { code: "ERR_INVALID_REQUEST" },
    })
  })

  test("posts bytes as they are, whatever they are", async () => {
    const body = Uint8Array.from({ length: 300 }, (_, index) => index)
    const received: Buffer[] = []
    await using server = await startWebServer((request, response) => {
      request.on("data", (chunk: Buffer) => received.push(chunk)).on("end", () => response.end())
    })
    const client = clientFor(`http://127.0.0.1:${server.port}`)
    const sent = { method: "PUT", path: "/raw", body, contentType: "application/octet-stream" } as const
    expect(await sendOnce(client, sent)).toMatchObject({ status: 200 })
    expect(Buffer.concat(received)).toEqual(Buffer.from(body))
  })

  test("keeps a body of exactly the allowed size and aborts on a larger one without reading it", async () => {
    await using server = await TcpServer.start((socket) => socket.write(answer("x".repeat(100))))
    const client = clientFor(server.url)
    expect(await requestOnce(client, "/", { maximumBytes: 100 })).toMatchObject({ tag: "response" })
    const outcome = await requestOnce(client, "/", { maximumBytes: 99 })
    expect(outcome).toEqual({ tag: "too-large", maximumBytes: 99 })
    const socket = server.peers[0]?.socket as Socket
    if (!socket.closed) await once(socket, "close")
  })

  test("is aborted at its deadline, however active the server", async () => {
    const timers = new ManualTimers()
    await using server = await TcpServer.start((socket) => socket.write("HTTP/1.1 200 OK\r\n\r\nmore"))
    const outcome = requestOnce(clientFor(server.url), "/", { deadlineMs: 500, timers })
    const socket = await asked(server)
    timers.advance(500)
    expect(await outcome).toEqual({ tag: "deadline", deadlineMs: 500 })
    if (!socket.closed) await once(socket, "close")
  })

  test("leaves no timer behind", async () => {
    const timers = new ManualTimers()
    await using server = await TcpServer.start((socket) => socket.write(answer("x")))
    await requestOnce(clientFor(server.url), "/", { timers })
    expect(timers.pending).toBe(0)
  })

  test("is aborted by its signal, before or while it runs", async () => {
    await using server = await TcpServer.start(() => undefined)
    const controller = new AbortController()
    const outcome = requestOnce(clientFor(server.url), "/", { signal: controller.signal })
    await asked(server)
    controller.abort()
    const aborted = { tag: "failed", end: { tag: "aborted" } }
    expect(await outcome).toEqual(aborted)
    expect(await requestOnce(clientFor(server.url), "/", { signal: controller.signal })).toEqual(aborted)
  })

  test.each([
    ["in the middle of the response", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"],
    ["closed the connection without a response", ""],
    ["not valid HTTP: not an HTTP/1 response", "hello"],
  ])("fails with a message for people: %s", async (words, text) => {
    await using server = await TcpServer.start((socket) => socket.end(text))
    const outcome = await requestOnce(clientFor(server.url), "/")
    expect(outcome.tag).toBe("failed")
    expect(outcome.tag === "response" ? "" : describeFailure(outcome)).toContain(words)
  })
})
