import { once } from "node:events"
import { type AddressInfo, createServer, type Server, type Socket } from "node:net"
import { createServer as createTlsServer } from "node:tls"
import { describe, expect, onTestFinished, test } from "vitest"
import { HttpClient } from "../../../src/kube/http/http-client.ts"
import type { HttpStream } from "../../../src/kube/http/transport.ts"
import { eventually } from "../../harness/eventually.ts"
import { makeCertificates } from "../certificates.ts"
import { startForwardProxy } from "./connect-proxy.ts"
import { RecordedResponse } from "./recorded-response.ts"

const certificates = makeCertificates()
/** More than the kernel's buffers on both sides hold. */
const size = 16 * 1024 * 1024
const pattern = Buffer.alloc(65_536, "0123456789abcdef\n")

interface Flood {
  readonly port: number
  /** Socket of the only connection. */
  readonly peer: Promise<Socket>
}

/** A server that sends `size` bytes in one chunk and closes, if `end` says so. */
const startFlood = async (isSecure: boolean): Promise<Flood> => {
  const peer = Promise.withResolvers<Socket>()
  const serve = (socket: Socket): void => {
    socket.on("error", () => undefined)
    socket.once("data", () => {
      socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${size.toString(16)}\r\n`)
      for (let sent = 0; sent < size; sent += pattern.length) socket.write(pattern)
      socket.end("\r\n0\r\n\r\n")
      peer.resolve(socket)
    })
  }
  const { certificate: cert, key } = certificates.server
  const server: Server = isSecure ? createTlsServer({ cert, key }, serve) : createServer(serve)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  onTestFinished(async () => {
    ;(await peer.promise).destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, peer: peer.promise }
}

const open = async (way: string, handler: RecordedResponse): Promise<{ stream: HttpStream; flood: Flood }> => {
  const isSecure = way !== "plain"
  const flood = await startFlood(isSecure)
  const proxy = way === "tunnel" ? await startForwardProxy() : undefined
  const endpoint = {
    server: `${isSecure ? "https" : "http"}://127.0.0.1:${flood.port}`,
    certificateAuthority: certificates.authority,
    headers: [],
    ...(proxy === undefined ? {} : { proxy: `http://127.0.0.1:${proxy.port}` }),
  }
  const client = new HttpClient(endpoint, { userAgent: "kubereel/test" })
  onTestFinished(async () => {
    client.close()
    await proxy?.[Symbol.asyncDispose]()
  })
  return { stream: client.get("/", {}, handler), flood }
}

describe.each(["plain", "tls", "tunnel"])("a paused stream (%s)", (way) => {
  test("gets nothing, makes the server wait, and loses no byte when it resumes", async () => {
    const response = new RecordedResponse()
    const { stream, flood } = await open(way, response)
    let isPaused = false
    let pausesLeft = 3
    response.onData = (length) => {
      expect(isPaused, "data while paused").toBe(false)
      if (length < 1_000_000 || pausesLeft-- <= 0) return
      isPaused = true
      stream.pause()
    }
    const peer = await flood.peer
    for (let pauses = 0; pauses < 3; pauses++) {
      await eventually(() => expect(isPaused).toBe(true))
      const before = response.length
      // The server's side fills up: it makes no more progress with bytes left to send.
      let waiting = -1
      while (waiting !== peer.writableLength) {
        waiting = peer.writableLength
        for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
      }
      expect(peer.writableLength).toBeGreaterThan(1_000_000)
      expect(response.length).toBe(before)
      // The bytes read ahead are bounded, whatever the TLS records hold.
      expect(stream.bytesReceived - before).toBeLessThan(200_000)
      isPaused = false
      stream.resume()
      expect(response.length, "resume itself delivers nothing").toBe(before)
    }
    expect(await response.ended).toEqual({ tag: "complete" })
    expect(response.length).toBe(size)
    const bytes = Buffer.concat(response.pieces)
    for (let at = 0; at < size; at += pattern.length) {
      if (bytes.compare(pattern, 0, pattern.length, at, at + pattern.length) !== 0)
        throw new Error(`bytes differ at ${at}`)
    }
  })

  test("is aborted at once, and what was kept is not delivered", async () => {
    const response = new RecordedResponse()
    const { stream } = await open(way, response)
    response.onData = () => stream.pause()
    await response.received(1)
    const before = response.length
    stream.resume()
    stream.abort()
    expect(await response.ended).toEqual({ tag: "aborted" })
    expect(response.length).toBe(before)
  })
})

describe("what a pause kept", () => {
  const start = async (
    serve: (socket: Socket) => void,
  ): Promise<{ response: RecordedResponse; stream: HttpStream }> => {
    const server = createServer((socket) => {
      socket.on("error", () => undefined)
      socket.once("data", () => serve(socket))
    })
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    const port = (server.address() as AddressInfo).port
    const client = new HttpClient({ server: `http://127.0.0.1:${port}`, headers: [] }, { userAgent: "x" })
    onTestFinished(() => {
      client.close()
      server.close()
    })
    const response = new RecordedResponse()
    const stream = client.get("/", {}, response)
    return { response, stream }
  }
  const chunks = (...pieces: string[]): string =>
    pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join("")
  const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

  test("arrives piece by piece if the handler pauses in every one", async () => {
    const { response, stream } = await start((socket) => socket.end(`${head}${chunks("a", "b", "c")}0\r\n\r\n`))
    response.onData = () => {
      stream.pause()
      queueMicrotask(() => stream.resume())
    }
    expect(await response.ended).toEqual({ tag: "complete" })
    expect(response.body).toBe("abc")
  })

  test("arrives before the end of a connection that closed meanwhile", async () => {
    const { response, stream } = await start((socket) => socket.end(`${head}${chunks("a", "b")}`))
    response.onData = (length) => {
      if (length === 1) stream.pause()
    }
    await response.received(1)
    stream.resume()
    expect(await response.ended).toEqual({ tag: "truncated" })
    expect(response.body).toBe("ab")
  })

  test("is nothing when the pause came with the last byte: the end is reported at once", async () => {
    const { response, stream } = await start((socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"))
    response.onData = () => stream.pause()
    expect(await response.ended).toEqual({ tag: "complete" })
  })

  test("is everything when the pause came before the connection was open", async () => {
    const { response, stream } = await start((socket) => socket.write(`${head}${chunks("a")}0\r\n\r\n`))
    stream.pause()
    await eventually(() => expect(stream.bytesReceived).toBeGreaterThan(0))
    expect(response.calls).toEqual([])
    stream.resume()
    expect(await response.ended).toEqual({ tag: "complete" })
    expect(response.body).toBe("a")
  })
})
