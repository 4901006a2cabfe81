import type { IncomingMessage, RequestListener } from "node:http"
import type { TLSSocket } from "node:tls"
import { describe, expect, onTestFinished, test } from "vitest"
import { discover } from "../../../src/kube/discovery/discovery.ts"
import { HttpClient } from "../../../src/kube/http/http-client.ts"
import { requestOnce } from "../../../src/kube/http/request-once.ts"
import { makeCertificates } from "../certificates.ts"
import { startForwardProxy } from "../http/connect-proxy.ts"
import { startWebServer, type WebServer } from "../http/web-server.ts"
import { recordedAnswer } from "../recorded-answer.ts"
import { kubeconfig, load, ManualClock, Workspace } from "./workspace.ts"

const certificates = makeCertificates()
const authority = { "certificate-authority-data": Buffer.from(certificates.authority).toString("base64") }

const startSecureServer = (listener: RequestListener): Promise<WebServer> => {
  const { certificate: cert, key } = certificates.server
  return startWebServer(listener, {
    cert,
    key,
    ca: certificates.authority,
    requestCert: true,
    rejectUnauthorized: false,
  })
}

/** What the server learnt about the client. */
const whoAsks: RequestListener = (request: IncomingMessage, response) => {
  const socket = request.socket as TLSSocket
  const name = socket.authorized ? socket.getPeerCertificate().subject.CN : undefined
  const groups = request.headersDistinct["impersonate-group"]
  response.end(JSON.stringify({ authorization: request.headers.authorization, name, groups }))
}

const clientFor = async (config: string, environment: Record<string, string> = {}): Promise<HttpClient> => {
  const credentials = await load({ kubeconfig: new Workspace().write("config", config), environment })
  const client = new HttpClient(await credentials.endpoint(), { userAgent: "kubereel/test" })
  onTestFinished(() => client.close())
  return client
}

const ask = async (client: HttpClient): Promise<Record<string, unknown>> => {
  const outcome = await requestOnce(client, "/")
  if (outcome.tag !== "response") throw new Error(JSON.stringify(outcome))
  return JSON.parse(outcome.body.toString()) as Record<string, unknown>
}

describe("credentials of a kubeconfig", () => {
  test("identify the user to a real TLS server: token, certificate, groups", async () => {
    await using server = await startSecureServer(whoAsks)
    const cluster = { server: `https://localhost:${server.port}`, ...authority }
    const { certificate, key } = certificates.client
    const user = {
      token: "secret",
      "client-certificate-data": Buffer.from(certificate).toString("base64"),
      "client-key-data": Buffer.from(key).toString("base64"),
      as: "carol",
      "as-groups": ["a", "b, c"],
    }
    expect(await ask(await clientFor(kubeconfig(user, cluster)))).toEqual({
      authorization: "Bearer secret",
      name: "recorder",
      groups: ["a", "b, c"],
    })
  })

  test("reach the server through the proxy of the environment, unless NO_PROXY or the kubeconfig excludes it", async () => {
    await using server = await startSecureServer(whoAsks)
    await using proxy = await startForwardProxy()
    await using other = await startForwardProxy()
    const cluster = { server: `https://localhost:${server.port}`, ...authority }
    const environment = { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` }
    // A proxy would resolve "localhost" to itself, so the environment's is not used for it.
    await ask(await clientFor(kubeconfig({}, cluster), environment))
    expect(proxy.seen).toEqual([])
    const own = { ...cluster, "proxy-url": `http://127.0.0.1:${other.port}` }
    await ask(await clientFor(kubeconfig({}, own), { ...environment, NO_PROXY: "*" }))
    expect(other.seen.map(({ line }) => line)).toEqual([`CONNECT localhost:${server.port}`])
    const elsewhere = { ...cluster, server: "https://api.invalid:6443" }
    const refused = await requestOnce(await clientFor(kubeconfig({}, elsewhere), environment), "/")
    expect(refused).toMatchObject({ tag: "failed", end: { code: "ERR_PROXY_REFUSED" } })
    expect(proxy.seen.map(({ line }) => line)).toEqual(["CONNECT api.invalid:6443"])
  })

  test("that a server rejects are renewed, and the same client continues with the new ones", async () => {
    const workspace = new Workspace()
    workspace.write("token", "expired")
    await using server = await startWebServer((request, response) => {
      const isKnown = request.headers.authorization === "Bearer fresh"
      const { status, headers, body } = recordedAnswer(isKnown ? "discovery-apps-v1" : "unauthorized")
      response.writeHead(status, Object.fromEntries(headers)).end(body)
    })
    const path = workspace.write(
      "config",
      kubeconfig({ tokenFile: "token" }, { server: `http://127.0.0.1:${server.port}` }),
    )
    const credentials = await load({ kubeconfig: path, clock: new ManualClock() })
    const client = new HttpClient(await credentials.endpoint(), { userAgent: "kubereel/test" })
    onTestFinished(() => client.close())
    const deployment = { group: "apps", version: "v1", kind: "Deployment" }
    expect(await discover(client, deployment)).toMatchObject({ tag: "failed", status: { code: 401 } })
    workspace.write("token", "fresh")
    await credentials.onUnauthorized()
    client.updateEndpoint(await credentials.endpoint())
    expect(await discover(client, deployment)).toMatchObject({ tag: "found" })
    expect(server.connections).toHaveLength(1)
  })
})
