import { get as getOverTls } from "node:https"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { Sandbox } from "../../src/library/sandbox.ts"
import { type Certificates, makeCertificates } from "../kube/certificates.ts"
import { get, Watch } from "./client.ts"

describe("a bearer token", () => {
  test("must be carried by every request, and can change under open watches", async () => {
    await using sandbox = await Sandbox.start({ token: "first" })
    const status = async (token: string): Promise<number> =>
      (await get(`${sandbox.url}/api/v1/pods`, { Authorization: `Bearer ${token}` })).status
    expect([await status("first"), await status("second")]).toEqual([200, 401])
    expect((await get(`${sandbox.url}/version`)).status).toBe(401)
    const watch = await Watch.open(`${sandbox.url}/api/v1/pods?watch=1&resourceVersion=1002`, {
      Authorization: "Bearer first",
    })
    expect(sandbox.endpoint.headers).toEqual([["Authorization", "Bearer first"]])
    sandbox.setToken("second")
    expect([await status("first"), await status("second")]).toEqual([401, 200])
    expect(sandbox.endpoint.headers).toEqual([["Authorization", "Bearer second"]])
    sandbox.put("v1.Pod", { metadata: { name: "a" } })
    expect((await watch.next()).type).toBe("ADDED")
    sandbox.setToken(undefined)
    expect((await get(`${sandbox.url}/version`)).status).toBe(200)
    watch.close()
  })
})

describe("over TLS", () => {
  let certificates: Certificates
  let sandbox: Sandbox
  beforeAll(async () => {
    certificates = makeCertificates()
    const { authority: ca, server } = certificates
    sandbox = await Sandbox.start({ tls: { key: server.key, cert: server.certificate, ca, requestCert: true } })
  })
  afterAll(() => sandbox.close())

  const ask = (options: { key?: string; cert?: string; ca?: string }): Promise<number | string> =>
    new Promise((resolve) => {
      getOverTls(`${sandbox.url}/version`, { ...options, agent: false }, (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      }).on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    })

  test("a client with a certificate of the authority is served; the endpoint names the authority", async () => {
    expect(sandbox.endpoint).toMatchObject({ server: sandbox.url, certificateAuthority: certificates.authority })
    expect(sandbox.url).toMatch(/^https:/)
    const { key, certificate: cert } = certificates.client
    expect(await ask({ key, cert, ca: certificates.authority })).toBe(200)
  })

  test("a client without one is not", async () => {
    expect(await ask({ ca: certificates.authority })).not.toBe(200)
  })

  test("faults reach the connections too", async () => {
    const { key, certificate: cert } = certificates.client
    const asked = ask({ key, cert, ca: certificates.authority })
    sandbox.faults.blackHole()
    await sandbox.requests.waitFor({ path: "/version", status: 0 })
    sandbox.faults.dropConnections()
    expect(await asked).toBe("ECONNRESET")
    sandbox.faults.resume()
  })
})
