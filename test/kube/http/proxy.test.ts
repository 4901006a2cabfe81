import type { IncomingMessage } from "node:http"
import type { TLSSocket } from "node:tls"
import { describe, expect, test } from "vitest"
import { makeCertificates } from "../certificates.ts"
import { clientFor } from "./client.ts"
import { startForwardProxy } from "./connect-proxy.ts"
import { fetched, RecordedResponse } from "./recorded-response.ts"
import { TcpServer } from "./tcp-server.ts"
import { startWebServer, type WebServer } from "./web-server.ts"

const certificates = makeCertificates()
const certificateAuthority = certificates.authority
const secret = "me:pa:ss word%"

const startSecureServer = (): Promise<WebServer> => {
  const { certificate: cert, key } = certificates.server
  const serverName = (request: IncomingMessage): string =>
    String((request.socket as TLSSocket & { servername: string | false }).servername)
  return startWebServer((request, response) => response.end(`${request.url} ${serverName(request)}`), { cert, key })
}

describe("an https server behind a proxy", () => {
  test("is reached through a tunnel, with the server's name and certificate checked", async () => {
    await using server = await startSecureServer()
    await using proxy = await startForwardProxy()
    const endpoint = {
      server: `https://localhost:${server.port}`,
      certificateAuthority,
      proxy: `http://127.0.0.1:${proxy.port}`,
    }
    const { outcome, body } = await fetched(clientFor(endpoint), "/api/v1/pods")
    expect(outcome).toEqual({ tag: "complete" })
    expect(body).toBe("/api/v1/pods localhost")
    expect(proxy.seen).toEqual([{ line: `CONNECT localhost:${server.port}`, authorization: undefined }])
    const distrusted = await fetched(clientFor({ ...endpoint, certificateAuthority: makeCertificates().authority }))
    expect(distrusted.outcome).toMatchObject({ tag: "connection" })
  })

  test("is reached by its IPv6 address", async () => {
    await using server = await startWebServer(
      (_request, response) => response.end("x"),
      {
        cert: certificates.server.certificate,
        key: certificates.server.key,
      },
      "::1",
    )
    await using proxy = await startForwardProxy()
    const endpoint = {
      server: `https://[::1]:${server.port}`,
      certificateAuthority,
      proxy: `http://127.0.0.1:${proxy.port}`,
    }
    expect((await fetched(clientFor(endpoint))).outcome).toEqual({ tag: "complete" })
    expect(proxy.seen[0]?.line).toBe(`CONNECT [::1]:${server.port}`)
  })

  test("is reached with the proxy's user and password, whatever characters they have", async () => {
    await using server = await startSecureServer()
    await using proxy = await startForwardProxy(secret)
    const user = `me:${encodeURIComponent("pa:ss word%")}`
    const endpoint = {
      server: `https://localhost:${server.port}`,
      certificateAuthority,
      proxy: `http://${user}@127.0.0.1:${proxy.port}`,
    }
    expect((await fetched(clientFor(endpoint))).outcome).toEqual({ tag: "complete" })
  })

  test("keeps its tunnel for the next request", async () => {
    await using server = await startSecureServer()
    await using proxy = await startForwardProxy()
    const client = clientFor({
      server: `https://localhost:${server.port}`,
      certificateAuthority,
      proxy: `http://127.0.0.1:${proxy.port}`,
    })
    for (let count = 0; count < 3; count++) expect((await fetched(client)).outcome).toEqual({ tag: "complete" })
    expect(proxy.seen).toHaveLength(1)
  })

  test("is not reached when the proxy rejects; the error names proxy and status, and no password", async () => {
    await using proxy = await startForwardProxy(secret)
    const endpoint = {
      server: "https://localhost:1",
      certificateAuthority,
      proxy: `http://me:wrong@127.0.0.1:${proxy.port}`,
    }
    const { outcome } = await fetched(clientFor(endpoint))
    expect(outcome).toEqual({
      tag: "connection",
      code: "ERR_PROXY_REFUSED",
      message: `proxy http://127.0.0.1:${proxy.port} did not open a tunnel to localhost:1: it returned 407 Proxy Authentication Required`,
    })
  })

  test.each([
    ["cannot reach the server", "HTTP/1.1 502 Bad Gateway\r\n\r\n", "502 Bad Gateway"],
    ["speaks something else", "SSH-2.0-OpenSSH\r\n\r\n", "not an HTTP/1 status line"],
    ["sends an endless response head", `HTTP/1.1 200 OK\r\n${"X: y\r\n".repeat(20_000)}`, "longer than 65536 bytes"],
    ["closes", "", "closed the connection without a response"],
    ["says more than it was asked", "HTTP/1.1 200 OK\r\n\r\nhello", "sent data before the tunnel was used"],
  ])("is not reached when the proxy %s", async (_name, text, message) => {
    await using proxy = await TcpServer.start((socket) => socket.end(text))
    const { outcome } = await fetched(
      clientFor({ server: "https://localhost:1", proxy: proxy.url, skipTlsVerify: true }),
    )
    expect(outcome).toMatchObject({
      tag: "connection",
      code: "ERR_PROXY_REFUSED",
      message: expect.stringContaining(message),
    })
  })

  test("is not reached when no server listens at the proxy's address, and the error names it", async () => {
    const proxy = await TcpServer.start(() => undefined)
    const { url } = proxy
    await proxy[Symbol.asyncDispose]()
    const { outcome } = await fetched(clientFor({ server: "https://localhost:1", proxy: url, skipTlsVerify: true }))
    expect(outcome).toMatchObject({
      tag: "connection",
      code: "ECONNREFUSED",
      message: expect.stringContaining(`proxy ${url}`),
    })
  })

  test("can be aborted while the proxy is being asked", async () => {
    await using proxy = await TcpServer.start((_socket) => stream.abort())
    const response = new RecordedResponse()
    const stream = clientFor({ server: "https://localhost:1", proxy: proxy.url, skipTlsVerify: true }).get(
      "/",
      {},
      response,
    )
    expect(await response.ended).toEqual({ tag: "aborted" })
  })
})

describe("an http server behind a proxy", () => {
  test("is requested by its whole URL, with the proxy's credentials kept from the server", async () => {
    await using server = await startWebServer((request, response) =>
      response.end(JSON.stringify([request.url, request.headers.host, request.headers["proxy-authorization"]])),
    )
    await using proxy = await startForwardProxy("me:secret")
    const client = clientFor({
      server: `http://127.0.0.1:${server.port}/prefix`,
      proxy: `http://me:secret@127.0.0.1:${proxy.port}`,
    })
    const { body } = await fetched(client, "/api?x=1")
    expect(JSON.parse(body)).toEqual(["/prefix/api?x=1", `127.0.0.1:${server.port}`, null])
    expect(proxy.seen[0]?.line).toBe(`GET http://127.0.0.1:${server.port}/prefix/api?x=1`)
  })

  test("is distinguished from the proxy that asks for credentials", async () => {
    await using proxy = await startForwardProxy("me:secret")
    const response = await fetched(clientFor({ server: "http://127.0.0.1:1", proxy: `http://127.0.0.1:${proxy.port}` }))
    expect(response.calls).toEqual(["end"])
    expect(response.outcome).toMatchObject({
      tag: "connection",
      code: "ERR_PROXY_REFUSED",
      message: expect.stringContaining("407"),
    })
  })
})
