import { expect, test } from "vitest"
import { makeCertificates } from "../certificates.ts"
import { clientFor } from "./client.ts"
import { fetched } from "./recorded-response.ts"
import { startSocksServer } from "./socks-server.ts"
import { startWebServer } from "./web-server.ts"

const { authority: certificateAuthority, server: own } = makeCertificates()
const secure = { cert: own.certificate, key: own.key }

test.each([
  ["socks5", false],
  ["socks5h", false],
  ["socks5", true],
])(
  "a server behind a %s proxy is reached by a name that only the proxy knows; replies in pieces: %s",
  async (scheme, split) => {
    await using server = await startWebServer((request, response) => response.end(request.url), secure)
    await using proxy = await startSocksServer({ split })
    const endpoint = {
      server: `https://beyond.invalid:${server.port}`,
      certificateAuthority,
      tlsServerName: "localhost",
    }
    const { outcome, body } = await fetched(
      clientFor({ ...endpoint, proxy: `${scheme}://127.0.0.1:${proxy.port}` }),
      "/api",
    )
    expect([outcome, body]).toEqual([{ tag: "complete" }, "/api"])
    expect(proxy.asked).toEqual([`name beyond.invalid:${server.port}`])
  },
)

test("addresses are sent as addresses, and plain HTTP as it is", async () => {
  await using plain = await startWebServer((request, response) => response.end(request.url))
  await using six = await startWebServer((request, response) => response.end(request.url), secure, "::1")
  await using proxy = await startSocksServer()
  const through = `socks5://127.0.0.1:${proxy.port}`
  const four = await fetched(clientFor({ server: `http://127.0.0.1:${plain.port}/base`, proxy: through }), "/api")
  expect([four.outcome, four.body]).toEqual([{ tag: "complete" }, "/base/api"])
  const { outcome } = await fetched(
    clientFor({ server: `https://[::1]:${six.port}`, certificateAuthority, proxy: through }),
    "/",
  )
  expect(outcome).toEqual({ tag: "complete" })
  expect(proxy.asked).toEqual([`ipv4 127.0.0.1:${plain.port}`, `ipv6 ${"0".repeat(31)}1:${six.port}`])
})

test("a user name and a password are sent, and never shown", async () => {
  await using server = await startWebServer((request, response) => response.end(request.url))
  await using proxy = await startSocksServer({ password: "me:p@ss %" })
  const at = `127.0.0.1:${proxy.port}`
  const reached = (user: string) =>
    fetched(clientFor({ server: `http://a.example:${server.port}`, proxy: `socks5://${user}${at}` }), "/")
  expect((await reached("me:p%40ss %25@")).outcome).toEqual({ tag: "complete" })
  const wrong = JSON.stringify((await reached("me:wrong-secret@")).outcome)
  expect(wrong).toContain(
    `proxy socks5://${at} did not open a tunnel to a.example:${server.port}: it did not accept the user name`,
  )
  expect(wrong).not.toContain("wrong-secret")
  expect(JSON.stringify((await reached("")).outcome)).toContain("it wants a user name and password")
})

test.each([
  [5, "the connection was refused"],
  [4, "the host is unreachable"],
  [99, "it returned 99"],
])("a refusal with %d says: %s", async (reply, message) => {
  await using proxy = await startSocksServer({ reply })
  const { outcome } = await fetched(
    clientFor({ server: "http://a.example:1", proxy: `socks5://127.0.0.1:${proxy.port}` }),
    "/",
  )
  expect(outcome).toMatchObject({ tag: "connection", message: expect.stringContaining(message) })
})

test("what does not speak SOCKS is named, and so is a proxy that is not there", async () => {
  await using server = await startWebServer((_request, response) => response.end("x"))
  const { outcome } = await fetched(
    clientFor({ server: "http://a.example:1", proxy: `socks5://127.0.0.1:${server.port}` }),
    "/",
  )
  expect(outcome).toMatchObject({
    tag: "connection",
    message: expect.stringMatching(/does not speak SOCKS5|closed the connection/),
  })
  const none = await fetched(clientFor({ server: "http://a.example:1", proxy: "socks5://127.0.0.1:1" }), "/")
  expect(none.outcome).toMatchObject({
    tag: "connection",
    message: expect.stringContaining("a.example:1 through proxy socks5://127.0.0.1:1"),
  })
})
