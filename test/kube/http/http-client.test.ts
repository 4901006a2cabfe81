import { execFile } from "node:child_process"
import { once } from "node:events"
import { Socket } from "node:net"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { describe, expect, onTestFinished, test, vi } from "vitest"
import type { ApiEndpoint } from "../../../src/kube/endpoint.ts"
import { eventually } from "../../harness/eventually.ts"
import { patient } from "../../harness/patience.ts"
import { clientFor } from "./client.ts"
import { ManualTimers } from "./manual-timers.ts"
import { fetched, RecordedResponse } from "./recorded-response.ts"
import { answer, TcpServer } from "./tcp-server.ts"
import { startWebServer } from "./web-server.ts"

const userAgent = "kubereel/test"

const complete = { tag: "complete" }

describe("a request", () => {
  test("goes to the path behind the server's own, with its query, host and user agent", async () => {
    await using server = await startWebServer((request, response) => {
      response.end(JSON.stringify([request.method, request.url, request.headers.host, request.headers["user-agent"]]))
    })
    const client = clientFor(`http://127.0.0.1:${server.port}/k8s/clusters/c-1/`)
    const response = await fetched(client, "/api/v1/pods?watch=1&fieldSelector=a%3Db")
    expect(response.outcome).toEqual(complete)
    const path = "/k8s/clusters/c-1/api/v1/pods?watch=1&fieldSelector=a%3Db"
    expect(JSON.parse(response.body)).toEqual(["GET", path, `127.0.0.1:${server.port}`, userAgent])
  })

  test("carries each header of the endpoint on a line of its own, so that groups of impersonation survive (J28)", async () => {
    await using server = await startWebServer((request, response) => response.end(JSON.stringify(request.rawHeaders)))
    const headers: ApiEndpoint["headers"] = [
      ["Authorization", "Bearer secret"],
      ["Impersonate-User", "jörg"],
      ["Impersonate-Group", "one"],
      ["Impersonate-Group", "two, three"],
    ]
    const client = clientFor({ server: `http://127.0.0.1:${server.port}`, headers })
    const { body } = await fetched(client, "/", { Accept: "application/json" })
    const lines = Buffer.from(body, "latin1").toString()
    const pairs = Array.from(Map.groupBy((JSON.parse(lines) as string[]).entries(), ([index]) => index >> 1).values())
    const sent = pairs.map(([name, value]) => [name?.[1], value?.[1]])
    expect(sent).toEqual(
      expect.arrayContaining([
        ["Authorization", "Bearer secret"],
        ["Impersonate-Group", "one"],
        ["Impersonate-Group", "two, three"],
        ["Accept", "application/json"],
        ["Accept-Encoding", "identity"],
      ]),
    )
    // Node's server reads header bytes as latin1; UTF-8 was sent, as Go's client does.
    expect(sent.find(([name]) => name === "Impersonate-User")?.[1]).toBe(Buffer.from("jörg").toString("latin1"))
  })

  test.each<[string, string, Record<string, string>, ApiEndpoint["headers"]]>([
    ["a line end in the path", "/a\r\nX-Evil: 1", {}, []],
    ["a space in the path", "/a HTTP/1.1", {}, []],
    ["a fragment in the path", "/a#b", {}, []],
    ["letters beyond ASCII in the path", "/ä", {}, []],
    ["a path without slash", "a", {}, []],
    ["a line end in a value", "/", { Accept: "a\r\nX-Evil: 1" }, []],
    ["a bare line feed in a value", "/", { Accept: "a\nX-Evil: 1" }, []],
    ["a NUL in a value", "/", { Accept: "a\0" }, []],
    ["a line end in a name", "/", { "Accept: x\r\nX-Evil": "1" }, []],
    ["an empty name", "/", { "": "1" }, []],
    ["a line end in a token", "/", {}, [["Authorization", "Bearer x\r\nX-Evil: 1"]]],
    ["a host of the caller's", "/", { Host: "elsewhere" }, []],
    ["a length", "/", { "content-length": "5" }, []],
    ["a second authorization", "/", { authorization: "Bearer mine" }, [["Authorization", "Bearer theirs"]]],
  ])("with %s is rejected before anything is sent", async (_name, path, headers, endpointHeaders) => {
    await using server = await TcpServer.start((socket) => socket.write(answer("")))
    const { outcome, calls } = await fetched(clientFor({ server: server.url, headers: endpointHeaders }), path, headers)
    expect(outcome).toMatchObject({ tag: "connection", code: "ERR_INVALID_REQUEST" })
    expect(JSON.stringify(outcome)).not.toMatch(/theirs|mine|\\r|\\n/)
    expect(calls).toEqual(["end"])
    expect(server.peers).toEqual([])
  })

  test.each([
    ["server", { server: "not a url" }],
    ["server", { server: "ftp://host" }],
    ["proxy", { proxy: "ftp://me:secret@proxy:1080" }],
    ["certificate", { server: "https://host", clientCertificate: "nonsense", clientKey: "secret" }],
    [
      "certificate",
      { server: "https://host", certificateAuthority: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----" },
    ],
  ])("to an endpoint whose %s cannot be used reports that, without its secrets", async (_name, endpoint) => {
    const { outcome } = await fetched(clientFor({ server: "http://127.0.0.1:1", ...endpoint }))
    expect(outcome).toMatchObject({ tag: "connection", code: "ERR_INVALID_ENDPOINT" })
    expect(JSON.stringify(outcome)).not.toContain("secret")
  })

  test("reaches a server that has an IPv6 address", async () => {
    await using server = await startWebServer(
      (request, response) => response.end(request.headers.host),
      undefined,
      "::1",
    )
    const { body } = await fetched(clientFor(`http://[::1]:${server.port}`))
    expect(body).toBe(`[::1]:${server.port}`)
  })

  test("uses a socket that sends at once and probes a quiet peer every 15 s", async () => {
    const keepAlive = vi.spyOn(Socket.prototype, "setKeepAlive")
    const noDelay = vi.spyOn(Socket.prototype, "setNoDelay")
    onTestFinished(() => {
      vi.restoreAllMocks()
    })
    await using server = await TcpServer.start((socket) => socket.write(answer("")))
    await fetched(clientFor(server.url))
    expect(keepAlive).toHaveBeenCalledWith(true, 15_000)
    expect(noDelay).toHaveBeenCalledWith(true)
  })
})

describe("a response", () => {
  test.each([
    ["with a length", (body: string) => answer(body)],
    ["in chunks", (body: string) => `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n${body}\r\n0\r\n\r\n`],
    ["after interim responses", (body: string) => `HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${answer(body)}`],
  ])("%s is delivered completely", async (_name, text) => {
    await using server = await TcpServer.start((socket) => socket.write(text("body")))
    const response = await fetched(clientFor(server.url))
    expect(response).toMatchObject({ status: 200, body: "body", outcome: complete })
    expect(response.calls).toEqual(["head", "data", "readDone", "end"])
  })

  test("that ends by closing is delivered completely", async () => {
    await using server = await TcpServer.start((socket) => socket.end("HTTP/1.1 200 OK\r\n\r\nbody"))
    expect(await fetched(clientFor(server.url))).toMatchObject({ body: "body", outcome: complete })
  })

  test("is in one buffer that every read reuses", async () => {
    const line = `${"x".repeat(2900)}\n`
    await using server = await startWebServer((_request, response) => {
      for (let count = 0; count < 200; count++) response.write(line)
      response.end()
    })
    const response = await fetched(clientFor(`http://127.0.0.1:${server.port}`))
    expect(response.body).toBe(line.repeat(200))
    expect([...response.buffers].map((buffer) => buffer.length)).toEqual([65_536])
  })

  test.each([
    ["in its head", "HTTP/1.1 200 OK\r\nContent-", { tag: "truncated" }],
    ["in a body with a length", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbody", { tag: "truncated" }],
    ["in a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nbody", { tag: "truncated" }],
    [
      "before the last chunk",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n",
      { tag: "truncated" },
    ],
  ])("truncated %s is not taken for a complete one", async (_name, text, expected) => {
    await using server = await TcpServer.start((socket) => socket.end(text))
    const { outcome } = await fetched(clientFor(server.url))
    expect(outcome).toMatchObject(expected)
    expect(server.peers).toHaveLength(1)
  })

  test("that never begins is a failure, after the question whether the port speaks TLS", async () => {
    await using server = await TcpServer.start((socket) => socket.end())
    const { outcome } = await fetched(clientFor(server.url))
    expect(outcome).toMatchObject({ tag: "connection", code: "ERR_NO_RESPONSE" })
    expect(server.peers).toHaveLength(2)
  })

  test("broken by a reset ends once, as a broken connection (J4, J7)", async () => {
    await using server = await TcpServer.start((socket) =>
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbody"),
    )
    const response = new RecordedResponse()
    clientFor(server.url).get("/", {}, response)
    await response.received(4)
    server.peers[0]?.socket.resetAndDestroy()
    expect(await response.ended).toMatchObject({ tag: "connection", code: "ECONNRESET" })
    expect(response.calls).toEqual(["head", "data", "readDone", "end"])
  })

  test("that is not HTTP is malformed, without waiting for its end", async () => {
    await using server = await TcpServer.start((socket) => socket.write("SSH-2.0-OpenSSH_9.6\r\n"))
    const { outcome } = await fetched(clientFor(server.url))
    expect(outcome).toMatchObject({ tag: "malformed", message: expect.stringContaining("SSH-2.0") })
  })

  test("counts the bytes of its framing, for detecting stalled connections", async () => {
    const text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"
    await using server = await TcpServer.start((socket) => socket.write(text))
    const response = new RecordedResponse()
    const stream = clientFor(server.url).get("/", {}, response)
    expect(stream.bytesReceived).toBe(0)
    await response.ended
    expect(stream.bytesReceived).toBe(text.length)
  })

  test("names address and cause when no server listens", async () => {
    const server = await TcpServer.start(() => undefined)
    const { port } = server
    await server[Symbol.asyncDispose]()
    const { outcome } = await fetched(clientFor(`http://127.0.0.1:${port}`))
    expect(outcome).toMatchObject({
      tag: "connection",
      code: "ECONNREFUSED",
      message: expect.stringContaining(`127.0.0.1:${port}`),
    })
  })

  test("names every address tried when a name has several", async () => {
    const server = await TcpServer.start(() => undefined)
    const { port } = server
    await server[Symbol.asyncDispose]()
    const { outcome } = await fetched(clientFor(`http://localhost:${port}`))
    expect(outcome).toMatchObject({
      tag: "connection",
      code: "ECONNREFUSED",
      message: expect.stringContaining("127.0.0.1"),
    })
  })
})

describe("aborting", () => {
  test.each(["head", "data"] as const)("in %s stops everything else and ends once", async (where) => {
    await using server = await TcpServer.start((socket) => socket.write(answer("body").repeat(2)))
    const response = new RecordedResponse()
    const stream = clientFor(server.url).get("/", {}, response)
    if (where === "head") response.onHead = () => stream.abort()
    else response.onData = () => stream.abort()
    expect(await response.ended).toEqual({ tag: "aborted" })
    expect(response.calls).toEqual(where === "head" ? ["head", "end"] : ["head", "data", "end"])
    stream.abort()
    stream.pause()
    stream.resume()
    await once(server.peers[0]?.socket as Socket, "close")
    expect(response.calls.filter((call) => call === "end")).toHaveLength(1)
  })

  test("before the connection is open ends it too, after the call has returned (J20)", async () => {
    await using server = await TcpServer.start((socket) => socket.write(answer("body")))
    const response = new RecordedResponse()
    clientFor(server.url).get("/", {}, response).abort()
    expect(response.calls).toEqual([])
    expect(await response.ended).toEqual({ tag: "aborted" })
  })

  test("a request to a server that accepts and never responds ends at once (J3)", async () => {
    await using server = await TcpServer.start(() => undefined)
    const response = new RecordedResponse()
    const stream = clientFor(server.url).get("/", {}, response)
    await eventually(() => expect(server.peers[0]?.received).toContain("GET /"))
    stream.abort()
    expect(await response.ended).toEqual({ tag: "aborted" })
  })

  test("a rejected request ends as aborted, once", async () => {
    const response = new RecordedResponse()
    const client = clientFor("not a url")
    client.get("/", {}, response).abort()
    await response.ended
    expect(response.calls).toEqual(["end"])
  })
})

describe("connecting", () => {
  test("ends with a timeout that names the address and how long it took", async () => {
    const timers = new ManualTimers()
    const silent = (): void => undefined
    await using server = await TcpServer.start(silent, "127.0.0.1", silent, silent)
    const response = new RecordedResponse()
    clientFor({ server: `https://127.0.0.1:${server.port}`, skipTlsVerify: true }, { timers }).get("/", {}, response)
    await eventually(() => expect(server.peers).toHaveLength(1))
    timers.advance(9_999)
    expect(response.calls).toEqual([])
    timers.advance(1)
    const message = `no connection to 127.0.0.1:${server.port} within 10000 ms`
    expect(await response.ended).toEqual({ tag: "timeout", afterMs: 10_000, message })
  })

  test("leaves no timer behind once connected: heads and bodies may take as long as they need", async () => {
    const timers = new ManualTimers()
    await using server = await TcpServer.start(() => undefined)
    const response = new RecordedResponse()
    clientFor(server.url, { timers, connectTimeoutMs: 50 }).get("/", {}, response)
    await eventually(() => expect(server.peers[0]?.received).toContain("GET /"))
    expect(timers.pending).toBe(0)
    server.peers[0]?.socket.write(answer("late"))
    expect(await response.ended).toEqual(complete)
  })
})

describe("a closed client", () => {
  test("aborts running requests and rejects new ones", async () => {
    await using server = await TcpServer.start((socket) =>
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbody"),
    )
    const client = clientFor(server.url)
    const response = new RecordedResponse()
    client.get("/", {}, response)
    await response.received(4)
    client.close()
    expect(await response.ended).toEqual({ tag: "aborted" })
    expect((await fetched(client)).outcome).toMatchObject({ tag: "connection", code: "ERR_CLIENT_CLOSED" })
    expect(server.peers).toHaveLength(1)
  })
})

test("an idle connection does not keep a process alive", async () => {
  await using server = await TcpServer.start((socket) => socket.write(answer("done")))
  const module = fileURLToPath(new URL("../../../src/kube/http/http-client.ts", import.meta.url))
  const program = `
    const { HttpClient } = await import(${JSON.stringify(module)})
    const client = new HttpClient({ server: "${server.url}", headers: [] }, { userAgent: "x" })
    client.get("/", {}, { head() {}, data(b, s, e) { process.stdout.write(b.toString("latin1", s, e)) }, end() {} })`
  const run = promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], { timeout: patient(5_000) })
  expect((await run).stdout).toBe("done")
  // The server never closed it.
  expect(server.peers).toHaveLength(1)
})
