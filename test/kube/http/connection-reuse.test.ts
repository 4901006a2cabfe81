import { once } from "node:events"
import type { Socket } from "node:net"
import { describe, expect, test } from "vitest"
import type { ApiEndpoint } from "../../../src/kube/endpoint.ts"
import { eventually } from "../../harness/eventually.ts"
import { clientFor } from "./client.ts"
import { ManualTimers } from "./manual-timers.ts"
import { fetched, RecordedResponse } from "./recorded-response.ts"
import { answer, TcpServer } from "./tcp-server.ts"

const complete = { tag: "complete" }

const closed = (socket: Socket | undefined): Promise<unknown> =>
  socket === undefined
    ? Promise.reject(new Error("no such connection"))
    : socket.closed
      ? Promise.resolve()
      : once(socket, "close")

describe("consecutive requests", () => {
  test("share a connection", async () => {
    await using server = await TcpServer.start((socket, request) => socket.write(answer(`${request}`)))
    const client = clientFor(server.url, { timers: new ManualTimers() })
    const bodies: string[] = []
    for (let count = 0; count < 5; count++) bodies.push((await fetched(client)).body)
    expect(bodies).toEqual(["1", "2", "3", "4", "5"])
    expect(server.peers).toHaveLength(1)
  })

  test("share it even when the next one is made within the end of the last", async () => {
    await using server = await TcpServer.start((socket, request) => socket.write(answer(`${request}`)))
    const client = clientFor(server.url, { timers: new ManualTimers() })
    const body = await new Promise<string>((resolve) => {
      const end = (): void => void fetched(client).then((second) => resolve(second.body))
      client.get("/", {}, { head: () => undefined, data: () => undefined, end })
    })
    expect(body).toBe("2")
    expect(server.peers).toHaveLength(1)
  })

  test.each([
    ["the server says it closes", answer("x", "Connection: close\r\n")],
    ["the body ended by closing", "HTTP/1.1 200 OK\r\n\r\nx"],
    ["more came than the answer", `${answer("x")}HTTP`],
    [
      "the framing was ambiguous",
      "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    ],
  ])("do not share it when %s", async (_name, text) => {
    await using server = await TcpServer.start((socket) => {
      socket.write(text)
      if (!/length|chunked/i.test(text)) socket.end()
    })
    const client = clientFor(server.url, { timers: new ManualTimers() })
    for (let count = 0; count < 2; count++)
      expect(await fetched(client)).toMatchObject({ body: "x", outcome: complete })
    expect(server.peers).toHaveLength(2)
  })

  test("at the same time have connections of their own, so that one's failure does not affect another", async () => {
    await using server = await TcpServer.start((socket) =>
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na"),
    )
    const client = clientFor(server.url, { timers: new ManualTimers() })
    const responses = [new RecordedResponse(), new RecordedResponse(), new RecordedResponse()]
    for (const response of responses) client.get("/", {}, response)
    await Promise.all(responses.map((response) => response.received(1)))
    server.peers[0]?.socket.destroy()
    for (const { socket } of server.peers.slice(1)) socket.write("b")
    const outcomes = await Promise.all(responses.map((response) => response.ended))
    expect(outcomes.filter((outcome) => outcome.tag === "complete")).toHaveLength(2)
  })
})

describe("an idle connection", () => {
  test("is closed after 15 s", async () => {
    const timers = new ManualTimers()
    await using server = await TcpServer.start((socket) => socket.write(answer("x")))
    const client = clientFor(server.url, { timers })
    await fetched(client)
    timers.advance(14_999)
    await fetched(client)
    expect(server.peers).toHaveLength(1)
    timers.advance(15_000)
    await closed(server.peers[0]?.socket)
    await fetched(client)
    expect(server.peers).toHaveLength(2)
  })

  test("is closed as the third", async () => {
    const waiting: Socket[] = []
    await using server = await TcpServer.start((socket, request) =>
      request === 1 ? waiting.push(socket) : socket.write(answer("again")),
    )
    const client = clientFor(server.url, { timers: new ManualTimers() })
    const responses = [new RecordedResponse(), new RecordedResponse(), new RecordedResponse()]
    for (const response of responses) client.get("/", {}, response)
    await eventually(() => expect(waiting).toHaveLength(3))
    for (const socket of waiting) socket.write(answer("x"))
    await Promise.all(responses.map((response) => response.ended))
    await eventually(() => expect(waiting.filter((socket) => socket.closed)).toHaveLength(1))
    await Promise.all([fetched(client), fetched(client)])
    expect(server.peers).toHaveLength(3)
  })

  test("that the server closes is forgotten without an error", async () => {
    await using server = await TcpServer.start((socket) => socket.write(answer("x")))
    const timers = new ManualTimers()
    const client = clientFor(server.url, { timers })
    await fetched(client)
    server.peers[0]?.socket.end()
    await eventually(() => expect(timers.pending).toBe(0))
    expect(await fetched(client)).toMatchObject({ body: "x", outcome: complete })
  })

  test("on which the server sends data unasked is not reused", async () => {
    await using server = await TcpServer.start((socket) => socket.write(answer("x")))
    const client = clientFor(server.url, { timers: new ManualTimers() })
    await fetched(client)
    server.peers[0]?.socket.write(answer("forged"))
    await closed(server.peers[0]?.socket)
    expect(await fetched(client)).toMatchObject({ body: "x" })
    expect(server.peers).toHaveLength(2)
  })
})

describe("a reused connection that turns out to be dead", () => {
  test.each([
    ["closed", (socket: Socket) => socket.end()],
    ["reset", (socket: Socket) => socket.resetAndDestroy()],
  ])("(%s) costs the request nothing: it is sent again on a new one", async (_name, kill) => {
    await using server = await TcpServer.start((socket, request) =>
      request === 1 ? socket.write(answer("x")) : kill(socket),
    )
    const client = clientFor(server.url, { timers: new ManualTimers() })
    await fetched(client)
    expect(await fetched(client)).toMatchObject({ body: "x", outcome: complete })
    expect(server.peers).toHaveLength(2)
  })

  test("is retried only once", async () => {
    await using server = await TcpServer.start((socket, request) =>
      request === 1 && server.peers.length === 1 ? socket.write(answer("x")) : socket.end(),
    )
    const client = clientFor(server.url, { timers: new ManualTimers() })
    await fetched(client)
    expect((await fetched(client)).outcome).toMatchObject({ tag: "connection", code: "ERR_NO_RESPONSE" })
    expect(server.peers).toHaveLength(2)
  })

  test("is not retried once a byte of the response has arrived", async () => {
    await using server = await TcpServer.start((socket, request) =>
      request === 1 ? socket.write(answer("x")) : socket.end("H"),
    )
    const client = clientFor(server.url, { timers: new ManualTimers() })
    await fetched(client)
    expect((await fetched(client)).outcome).toEqual({ tag: "truncated" })
    expect(server.peers).toHaveLength(1)
  })

  test("is retried at the server it was meant for, even if the endpoint has changed", async () => {
    await using first = await TcpServer.start((socket, request, peer) => {
      if (request === 1) socket.write(answer("first"))
      else if (peer === first.peers[0]) onSecond(socket)
    })
    await using second = await TcpServer.start((socket) => socket.write(answer("second")))
    const client = clientFor(first.url, { timers: new ManualTimers() })
    const onSecond = (socket: Socket): void => {
      client.updateEndpoint({ server: second.url, headers: [] })
      socket.end()
    }
    await fetched(client)
    expect(await fetched(client)).toMatchObject({ body: "first", outcome: complete })
    expect(await fetched(client)).toMatchObject({ body: "second", outcome: complete })
  })
})

describe("a changed endpoint", () => {
  test("is used by new requests while running ones continue", async () => {
    await using first = await TcpServer.start((socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na"))
    await using second = await TcpServer.start((socket) => socket.write(answer("second")))
    const client = clientFor(first.url, { timers: new ManualTimers() })
    const running = new RecordedResponse()
    client.get("/", {}, running)
    await running.received(1)
    client.updateEndpoint({ server: second.url, headers: [] })
    expect((await fetched(client)).body).toBe("second")
    first.peers[0]?.socket.write("b")
    expect(await running.ended).toEqual(complete)
    expect(running.body).toBe("ab")
    // It was made for the old endpoint and is not kept.
    await closed(first.peers[0]?.socket)
  })

  test("with only a new token keeps using the same connection", async () => {
    await using server = await TcpServer.start((socket) => socket.write(answer("x")))
    const client = clientFor(server.url, { timers: new ManualTimers() })
    await fetched(client)
    client.updateEndpoint({ server: server.url, headers: [["Authorization", "Bearer new"]] })
    await fetched(client)
    expect(server.peers).toHaveLength(1)
    expect(server.peers[0]?.received).toContain("Authorization: Bearer new\r\n")
  })

  test.each<[string, Partial<ApiEndpoint>]>([
    ["proxy", { proxy: "http://127.0.0.1:1" }],
    ["server name", { tlsServerName: "other" }],
    ["verification", { skipTlsVerify: true }],
  ])("with another %s closes all connections of the old one", async (_name, change) => {
    await using server = await TcpServer.start((socket) => socket.write(answer("x")))
    const client = clientFor(server.url, { timers: new ManualTimers() })
    await fetched(client)
    client.updateEndpoint({ server: server.url, headers: [], ...change })
    await closed(server.peers[0]?.socket)
  })
})
