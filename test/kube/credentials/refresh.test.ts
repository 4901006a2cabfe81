import { rmSync } from "node:fs"
import type { IncomingMessage, RequestListener } from "node:http"
import type { TLSSocket } from "node:tls"
import { describe, expect, onTestFinished, test } from "vitest"
import { CredentialRefresh } from "../../../src/kube/credentials/credential-refresh.ts"
import { discover } from "../../../src/kube/discovery/discovery.ts"
import type { ApiEndpoint, EndpointSource } from "../../../src/kube/endpoint.ts"
import { HttpClient } from "../../../src/kube/http/http-client.ts"
import { requestOnce } from "../../../src/kube/http/request-once.ts"
import { makeCertificates } from "../certificates.ts"
import { startForwardProxy } from "../http/connect-proxy.ts"
import { startWebServer, type WebServer } from "../http/web-server.ts"
import { recordedAnswer } from "../recorded-answer.ts"
import { authorizationOf, errorOf, kubeconfig, load, ManualClock, Workspace } from "./workspace.ts"

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
  return JSON.parse(outcome.body.toString())
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

/** A source that counts its calls, and fails while it is told to. */
class ScriptedSource implements EndpointSource {
  given: ApiEndpoint = { server: "https://one", headers: [] }
  failure: Error | undefined
  problem: { readonly message: string } | undefined
  readonly asked: string[] = []

  async endpoint(): Promise<ApiEndpoint> {
    this.asked.push("endpoint")
    if (this.failure !== undefined) throw this.failure
    return this.given
  }
  async onUnauthorized(): Promise<void> {
    this.asked.push("onUnauthorized")
  }
}

const refreshing = () => {
  const source = new ScriptedSource()
  const heard: Array<ApiEndpoint | string> = []
  const refresh = new CredentialRefresh(source, {
    had: (endpoint) => heard.push(endpoint),
    trouble: (reason) => {
      if (reason !== undefined) heard.push(reason)
    },
  })
  return { source, heard, refresh }
}

test("many concurrent 401s cause one refresh", async () => {
  const { source, heard, refresh } = refreshing()
  refresh.refresh()
  refresh.refresh()
  await refresh.renew()
  expect(source.asked).toEqual(["onUnauthorized", "endpoint"])
  expect(heard).toEqual([source.given])
})

test("a watcher that starts while no credentials can be obtained gets the last ones", async () => {
  const { source, heard, refresh } = refreshing()
  const first = await refresh.current()
  source.failure = new Error("the plugin failed")
  expect(await refresh.current()).toBe(first)
  expect(await refresh.renew()).toBe(false)
  expect(heard).toEqual([first, "the plugin failed", "the plugin failed"])
})

test("without any credentials a watcher cannot start", async () => {
  const { source, refresh } = refreshing()
  source.failure = new Error("the plugin failed")
  await expect(refresh.current()).rejects.toThrow("the plugin failed")
})

test("older credentials that are still used are reported with the reason", async () => {
  const { source, heard, refresh } = refreshing()
  source.problem = { message: "the token file is gone" }
  expect(await refresh.renew()).toBe(false)
  expect(heard).toEqual(["the token file is gone", source.given])
})

const one = makeCertificates()
const other = makeCertificates()

describe("a token file", () => {
  const start = async () => {
    const workspace = new Workspace()
    const clock = new ManualClock()
    workspace.write("token", "one\n")
    const credentials = await load({ kubeconfig: workspace.write("config", kubeconfig({ tokenFile: "token" })), clock })
    return { workspace, clock, credentials }
  }

  test("is read again after a minute (J26), and the endpoint stays the same object while its content is unchanged", async () => {
    const { workspace, clock, credentials } = await start()
    const first = await credentials.endpoint()
    expect(credentials.refreshAfter).toBe(60_000)
    workspace.write("token", "two")
    clock.advance(59_999)
    expect(await credentials.endpoint()).toBe(first)
    clock.advance(1)
    const second = await credentials.endpoint()
    expect(second.headers).toEqual([["Authorization", "Bearer two"]])
    clock.advance(60_000)
    expect(await credentials.endpoint()).toBe(second)
  })

  test("that vanishes later leaves the old token in use, and reports the problem", async () => {
    const { workspace, clock, credentials } = await start()
    const first = await credentials.endpoint()
    rmSync(workspace.path("token"))
    clock.advance(60_000)
    expect(await credentials.endpoint()).toBe(first)
    const message = `token file ${workspace.path("token")} of context "main" does not exist`
    expect(credentials.problem?.message).toBe(message)
    // After a 401 the old token is worthless, and the problem is returned.
    expect((await errorOf(credentials.onUnauthorized())).message).toBe(message)
    workspace.write("token", "two")
    clock.advance(10_000)
    expect(await authorizationOf(credentials)).toBe("Bearer two")
    expect(credentials.problem).toBeUndefined()
  })

  test.each([
    ["", "is empty"],
    ["\n", "is empty"],
    ["two words", "does not contain a token"],
    ["evil\r\nX-Header: 1", "does not contain a token"],
  ])("that contains %j cannot be used", async (text, reason) => {
    const { workspace, credentials } = await start()
    workspace.write("token", text)
    const error = await errorOf(credentials.endpoint())
    expect(error.message).toBe(`token file ${workspace.path("token")} of context "main" ${reason}`)
  })
})

describe("certificate files", () => {
  test("are read again after a minute", async () => {
    const workspace = new Workspace()
    const clock = new ManualClock()
    const write = ({ client, authority }: typeof one): void => {
      workspace.write("client.pem", client.certificate)
      workspace.write("client.key", client.key)
      workspace.write("ca.pem", authority)
    }
    write(one)
    const user = { "client-certificate": "client.pem", "client-key": "client.key" }
    const path = workspace.write("config", kubeconfig(user, { "certificate-authority": "ca.pem" }))
    const credentials = await load({ kubeconfig: path, clock })
    const first = await credentials.endpoint()
    write(other)
    expect(await credentials.endpoint()).toBe(first)
    clock.advance(60_000)
    expect(await credentials.endpoint()).toMatchObject({
      certificateAuthority: other.authority,
      clientCertificate: other.client.certificate,
      clientKey: other.client.key,
    })
  })

  test("do not cause a plugin to run whose token is still valid", async () => {
    const workspace = new Workspace()
    const clock = new ManualClock()
    workspace.write("ca.pem", one.authority)
    const status = { token: "x", expirationTimestamp: clock.timestamp(3_600_000) }
    const answer = JSON.stringify({ kind: "ExecCredential", apiVersion: "v1", status })
    workspace.script("plugin", `cd "$(dirname "$0")" && echo run >> runs && echo '${answer}'`)
    const exec = { apiVersion: "v1", command: "./plugin" }
    const path = workspace.write("config", kubeconfig({ exec }, { "certificate-authority": "ca.pem" }))
    const credentials = await load({ kubeconfig: path, clock })
    for (let minute = 0; minute < 5; minute++) {
      await credentials.endpoint()
      expect(credentials.refreshAfter).toBe(60_000)
      clock.advance(60_000)
    }
    expect(workspace.read("runs")).toBe("run\n")
  })

  test("with other contents are named with their purpose", async () => {
    const workspace = new Workspace()
    workspace.write("ca.pem", "hello")
    const path = workspace.write("config", kubeconfig({}, { "certificate-authority": "ca.pem" }))
    const error = await errorOf((await load({ kubeconfig: path })).endpoint())
    expect(error.message).toBe(
      `certificate authority file ${workspace.path("ca.pem")} of context "main" does not contain PEM data`,
    )
  })
})

describe("a 401", () => {
  const start = async () => {
    const workspace = new Workspace()
    const clock = new ManualClock()
    const answer = JSON.stringify({ kind: "ExecCredential", apiVersion: "v1", status: { token: "T" } })
    workspace.script(
      "plugin",
      `cd "$(dirname "$0")" && echo run >> runs && echo '${answer}' | sed "s/T/$(wc -l < runs | tr -d ' ')/"`,
    )
    const path = workspace.write("config", kubeconfig({ exec: { apiVersion: "v1", command: "./plugin" } }))
    return { workspace, clock, credentials: await load({ kubeconfig: path, clock }) }
  }

  test("causes the plugin to run again, once for all concurrent callers (J25)", async () => {
    const { credentials } = await start()
    expect(await authorizationOf(credentials)).toBe("Bearer 1")
    await Promise.all([credentials.onUnauthorized(), credentials.onUnauthorized(), credentials.onUnauthorized()])
    expect(await authorizationOf(credentials)).toBe("Bearer 2")
  })

  test("reported during a refresh is settled by it", async () => {
    const { credentials } = await start()
    await credentials.endpoint()
    const first = credentials.onUnauthorized()
    // The plugin is a process and is still running then.
    await new Promise((resolve) => setImmediate(resolve))
    await credentials.onUnauthorized()
    expect(await authorizationOf(credentials)).toBe("Bearer 2")
    await first
  })

  test("causes that at most every 10 s, however often it is reported", async () => {
    const { clock, credentials } = await start()
    await credentials.endpoint()
    for (let second = 0; second < 10; second++) {
      await credentials.onUnauthorized()
      clock.advance(999)
    }
    expect(await authorizationOf(credentials)).toBe("Bearer 2")
    clock.advance(10)
    await credentials.onUnauthorized()
    expect(await authorizationOf(credentials)).toBe("Bearer 3")
  })

  test("reported while the first credential is being fetched causes one more refresh", async () => {
    const { workspace, credentials } = await start()
    const first = credentials.endpoint()
    const forced = credentials.onUnauthorized()
    const third = credentials.endpoint()
    await Promise.all([first, forced, third])
    expect(await authorizationOf(credentials)).toBe("Bearer 2")
    expect(workspace.read("runs")).toBe("run\nrun\n")
  })

  test("reads the kubeconfig again: log-in tools write the new token there", async () => {
    const workspace = new Workspace()
    const path = workspace.write("config", kubeconfig({ token: "old" }))
    const credentials = await load({ kubeconfig: path })
    const first = await credentials.endpoint()
    workspace.write("config", kubeconfig({ token: "new" }))
    expect(await credentials.endpoint()).toBe(first)
    await credentials.onUnauthorized()
    expect(await authorizationOf(credentials)).toBe("Bearer new")
  })

  test("keeps the context chosen at the start when the current one changes", async () => {
    const workspace = new Workspace()
    const path = workspace.write("config", kubeconfig({ token: "old" }))
    const credentials = await load({ kubeconfig: path })
    const config: { contexts: object[] } = JSON.parse(kubeconfig({ token: "new" }))
    config.contexts.push({ name: "else", context: { cluster: "gone" } })
    workspace.write("config", JSON.stringify({ ...config, "current-context": "else" }))
    await credentials.onUnauthorized()
    expect(await authorizationOf(credentials)).toBe("Bearer new")
  })

  test("does not follow the context to another cluster: that would be another recording", async () => {
    const workspace = new Workspace()
    const clock = new ManualClock()
    const path = workspace.write("config", kubeconfig({ token: "old" }))
    const credentials = await load({ kubeconfig: path, clock })
    const first = await credentials.endpoint()
    workspace.write("config", kubeconfig({ token: "new" }, { server: "https://127.0.0.1:7443" }))
    expect((await errorOf(credentials.onUnauthorized())).message).toBe(
      'context "main" now points to https://127.0.0.1:7443 instead of https://127.0.0.1:6443; restart to use it',
    )
    expect(await credentials.endpoint()).toBe(first)
  })
})
