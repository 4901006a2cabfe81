import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import type { IncomingMessage } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TLSSocket } from "node:tls"
import { describe, expect, onTestFinished, test } from "vitest"
import type { ApiEndpoint } from "../../../src/kube/endpoint.ts"
import { HttpClient } from "../../../src/kube/http/http-client.ts"
import { makeCertificates } from "../certificates.ts"
import { fetched, type RecordedResponse } from "./recorded-response.ts"
import { startWebServer, type WebServer } from "./web-server.ts"

const certificates = makeCertificates()

/** What the server saw of the connection. */
const report = (request: IncomingMessage): string => {
  const socket = request.socket as TLSSocket
  const peer = socket.getPeerCertificate()
  return JSON.stringify({
    sni: (socket as TLSSocket & { servername: string | false }).servername,
    protocol: socket.alpnProtocol,
    client: socket.authorized ? peer.subject.CN : undefined,
  })
}

const startServer = (pair = certificates.server, asksForClient = false, host = "127.0.0.1"): Promise<WebServer> => {
  const { certificate: cert, key } = pair
  const client = asksForClient ? { requestCert: true, rejectUnauthorized: false, ca: certificates.authority } : {}
  const protocols = { ALPNProtocols: ["h2", "http/1.1"] }
  return startWebServer(
    (request, response) => response.end(report(request)),
    { cert, key, ...client, ...protocols },
    host,
  )
}

const fetchFrom = (endpoint: Omit<ApiEndpoint, "headers">): Promise<RecordedResponse & { outcome: unknown }> => {
  const client = new HttpClient({ ...endpoint, headers: [] }, { userAgent: "kubereel/test" })
  onTestFinished(() => client.close())
  return fetched(client)
}

const certificateAuthority = certificates.authority

describe("TLS", () => {
  test("is trusted when the endpoint's authority signed the server's certificate", async () => {
    await using server = await startServer()
    const { outcome, body } = await fetchFrom({ server: `https://localhost:${server.port}`, certificateAuthority })
    expect(outcome).toEqual({ tag: "complete" })
    expect(JSON.parse(body)).toEqual({ sni: "localhost", protocol: "http/1.1" })
  })

  test.each([
    ["127.0.0.1", "127.0.0.1"],
    ["::1", "[::1]"],
  ])("to the address %s names no server (RFC 6066) and checks the address", async (host, inUrl) => {
    await using server = await startServer(certificates.server, false, host)
    const { outcome, body } = await fetchFrom({ server: `https://${inUrl}:${server.port}`, certificateAuthority })
    expect(outcome).toEqual({ tag: "complete" })
    expect(JSON.parse(body).sni).toBe(false)
  })

  test("is rejected when an unknown authority signed, even without an authority in the endpoint", async () => {
    await using server = await startServer()
    const url = `https://localhost:${server.port}`
    const outcome = {
      tag: "connection",
      code: "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
      message: expect.stringContaining("localhost"),
    }
    expect(await fetchFrom({ server: url })).toMatchObject({ outcome })
    expect(await fetchFrom({ server: url, certificateAuthority: makeCertificates().authority })).toMatchObject({
      outcome: { tag: "connection" },
    })
  })

  test.each(["https://localhost", "https://127.0.0.1"])(
    "is refused when the certificate is not for %s",
    async (url) => {
      await using server = await startServer(certificates.elsewhere)
      const { outcome } = await fetchFrom({ server: `${url}:${server.port}`, certificateAuthority })
      expect(outcome).toMatchObject({ tag: "connection", code: "ERR_TLS_CERT_ALTNAME_INVALID" })
    },
  )

  test("checks and names the endpoint's server name instead of the host", async () => {
    await using server = await startServer(certificates.elsewhere)
    const url = `https://127.0.0.1:${server.port}`
    const { outcome, body } = await fetchFrom({ server: url, certificateAuthority, tlsServerName: "api.internal" })
    expect(outcome).toEqual({ tag: "complete" })
    expect(JSON.parse(body).sni).toBe("api.internal")
    const wrong = await fetchFrom({ server: url, certificateAuthority, tlsServerName: "api.external" })
    expect(wrong.outcome).toMatchObject({ tag: "connection", code: "ERR_TLS_CERT_ALTNAME_INVALID" })
  })

  test("accepts an address as the server name to check, without sending it", async () => {
    await using server = await startServer()
    const url = `https://localhost:${server.port}`
    const { body } = await fetchFrom({ server: url, certificateAuthority, tlsServerName: "127.0.0.1" })
    expect(JSON.parse(body).sni).toBe(false)
  })

  test("trusts any server when verification is skipped", async () => {
    await using server = await startServer(certificates.elsewhere)
    const { outcome } = await fetchFrom({ server: `https://localhost:${server.port}`, skipTlsVerify: true })
    expect(outcome).toEqual({ tag: "complete" })
  })

  test("presents the client certificate", async () => {
    await using server = await startServer(certificates.server, true)
    const { certificate: clientCertificate, key: clientKey } = certificates.client
    const endpoint = { server: `https://localhost:${server.port}`, certificateAuthority, clientCertificate, clientKey }
    expect(JSON.parse((await fetchFrom(endpoint)).body).client).toBe("recorder")
  })

  test("reports when the server does not speak it, and the reverse", async () => {
    await using plain = await startWebServer((_request, response) => response.end("x"))
    expect(await fetchFrom({ server: `https://localhost:${plain.port}`, certificateAuthority })).toMatchObject({
      outcome: { tag: "connection", message: expect.stringContaining("localhost") },
    })
    await using secure = await startServer()
    expect((await fetchFrom({ server: `http://127.0.0.1:${secure.port}` })).outcome).not.toEqual({ tag: "complete" })
  })

  test("expected by a port that was addressed with http:// is reported as such, and so is the reverse", async () => {
    await using secure = await startServer()
    expect((await fetchFrom({ server: `http://localhost:${secure.port}` })).outcome).toEqual({
      tag: "connection",
      code: "ERR_TLS_EXPECTED",
      message: `localhost:${secure.port}: the server speaks TLS, but was addressed with http://`,
    })
    await using plain = await startWebServer((_request, response) => response.end())
    expect(
      (await fetchFrom({ server: `https://localhost:${plain.port}`, certificateAuthority })).outcome,
    ).toMatchObject({
      tag: "connection",
      message: `localhost:${plain.port}: the server does not speak TLS, but was addressed with https://`,
    })
  })

  test.each([
    ["that has expired", certificates.expiredClient, "the server refused the client certificate: it has expired"],
    ["of another authority", makeCertificates().client, "the server refused the client certificate"],
    ["that is missing", undefined, "the server requires a client certificate"],
  ])("with a client certificate %s is refused in words", async (_name, pair, words) => {
    await using server = await startStrictServer()
    const client = pair && { clientCertificate: pair.certificate, clientKey: pair.key }
    const { outcome } = await fetchFrom({ server: `https://localhost:${server.port}`, certificateAuthority, ...client })
    expect(outcome).toMatchObject({ tag: "connection", message: `localhost:${server.port}: ${words}` })
  })
})

/** OpenSSL's own server, which sends an alert when it refuses a client's certificate, as servers in Go do and Node does not. */
const startStrictServer = async (): Promise<{ readonly port: number } & AsyncDisposable> => {
  const directory = mkdtempSync(join(tmpdir(), "kubereel-strict-"))
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text)
    return join(directory, name)
  }
  const { certificate, key } = certificates.server
  const identity = ["-cert", file("server.pem", certificate), "-key", file("server.key", key)]
  const clients = ["-CAfile", file("ca.pem", certificates.authority), "-Verify", "1", "-verify_return_error"]
  const child = spawn("openssl", ["s_server", "-4", "-accept", "127.0.0.1:0", ...identity, ...clients, "-www"], {
    stdio: ["pipe", "pipe", "pipe"],
  })
  child.stderr.resume()
  let said = ""
  const port = await new Promise<number>((resolve, reject) => {
    child.once("error", reject)
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text
      const [, listening] = /ACCEPT [^\n]*:(\d+)\n/.exec(said) ?? []
      if (listening !== undefined) resolve(Number(listening))
    })
  })
  return {
    port,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL")
      await once(child, "exit")
      rmSync(directory, { recursive: true })
    },
  }
}

test("any certificate of a bundle is trusted, as Go does it: also the server's own, which another authority signed", async () => {
  await using server = await startServer()
  const endpoint = { server: `https://localhost:${server.port}`, certificateAuthority: certificates.server.certificate }
  expect((await fetchFrom(endpoint)).outcome).toEqual({ tag: "complete" })
  const others = makeCertificates().server.certificate
  expect((await fetchFrom({ ...endpoint, certificateAuthority: others })).outcome).toMatchObject({ tag: "connection" })
})
