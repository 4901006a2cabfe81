import { execFile } from "node:child_process"
import { createServer } from "node:https"
import type { AddressInfo } from "node:net"
import { text as bodyOf } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { describe, expect, test } from "vitest"
import { makeCertificates } from "../certificates.ts"
import { authorizationOf, errorOf, kubeconfig, load, ManualClock, Workspace } from "./workspace.ts"

const module = fileURLToPath(new URL("../../../src/kube/credentials/credentials.ts", import.meta.url))

const jwt = (claims: object, alg = "none"): string =>
  [{ alg }, claims, "signature"].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")

const withProvider = (name: string, config: object, clock = new ManualClock()) => {
  const path = new Workspace().write("config", kubeconfig({ "auth-provider": { name, config } }))
  return load({ kubeconfig: path, clock })
}

describe("a legacy auth provider", () => {
  test("oidc returns its token, until just after it expires", async () => {
    const clock = new ManualClock()
    // client-node compares with the machine's own clock.
    clock.wall = Date.now()
    const token = jwt({ exp: Math.floor(clock.wall / 1000) + 600 })
    const credentials = await withProvider("oidc", { "id-token": token }, clock)
    expect(await authorizationOf(credentials)).toBe(`Bearer ${token}`)
    expect(credentials.refreshAfter).toBeGreaterThan(600_000)
    expect(credentials.refreshAfter).toBeLessThanOrEqual(601_000)
  })

  test("gcp returns its token, and is called again each minute", async () => {
    const credentials = await withProvider("gcp", { "access-token": "opaque.but.dotted" })
    expect(await authorizationOf(credentials)).toBe("Bearer opaque.but.dotted")
    expect(credentials.refreshAfter).toBe(60_000)
  })

  test.each([
    ["oidc", { "id-token": jwt({ exp: 1 }) }, "returned no token"],
    ["openstack", {}, "returned no token"],
    ["gcp", { "access-token": "x", expiry: "2001-01-01T00:00:00Z" }, "failed: Token is expired!"],
  ])("%s with %j is an error that names it", async (name, config, reason) => {
    const credentials = await withProvider(name, config)
    const { message } = await errorOf(credentials.endpoint())
    expect(message).toContain(`auth provider "${name}" of context "main" ${reason}`)
  })
})

describe("of the bundle that is shipped", () => {
  test("gcp runs its command and takes token and expiry out of the output", async () => {
    const answer = JSON.stringify({ credential: { access_token: "fresh", token_expiry: "2999-01-01T00:00:00Z" } })
    const program = new Workspace().write("gcloud.cjs", `console.log(${JSON.stringify(answer)})`)
    const credentials = await withProvider("gcp", {
      "cmd-path": process.execPath,
      "cmd-args": program,
      "token-key": "{.credential.access_token}",
      "expiry-key": "{.credential.token_expiry}",
    })
    expect(await authorizationOf(credentials)).toBe("Bearer fresh")
  })

  test("oidc renews an expired token with its issuer", async () => {
    const { authority, server: keys } = makeCertificates()
    const granted: Array<string> = []
    const renewed: Array<string> = []
    const issuer = createServer({ cert: keys.certificate, key: keys.key }, async (request, response) => {
      const url = `https://localhost:${(issuer.address() as AddressInfo).port}`
      response.setHeader("Content-Type", "application/json")
      if (request.url !== "/token")
        return response.end(JSON.stringify({ issuer: url, token_endpoint: `${url}/token`, jwks_uri: `${url}/keys` }))
      granted.push(await bodyOf(request))
      const iat = Math.floor(Date.now() / 1000)
      // openid-client expects this algorithm unless the issuer names others; it leaves the signature to the API server.
      const claims = { iss: url, aud: "reel", sub: "anna", iat, exp: iat + 600 }
      renewed.push(jwt(claims, "RS256"))
      response.end(
        JSON.stringify({
          access_token: "a",
          token_type: "bearer",
          id_token: renewed[0],
          refresh_token: "b",
          expires_in: 600,
        }),
      )
    })
    await new Promise<void>((resolve) => issuer.listen(0, "localhost", resolve))
    try {
      const workspace = new Workspace()
      const config = {
        "id-token": jwt({ exp: 1 }),
        "refresh-token": "again",
        "client-id": "reel",
        "idp-issuer-url": `https://localhost:${(issuer.address() as AddressInfo).port}`,
      }
      const path = workspace.write("config", kubeconfig({ "auth-provider": { name: "oidc", config } }))
      const program = `
        const { loadCredentials } = await import(${JSON.stringify(module)})
        const credentials = await loadCredentials({ kubeconfig: process.argv[1], environment: {} })
        console.log((await credentials.endpoint()).headers.join())`
      // In a process of its own, because the issuer's certificate has to be one that Node trusts from its start.
      const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program, path], {
        env: { ...process.env, NODE_EXTRA_CA_CERTS: workspace.write("authority.pem", authority) },
      })
      expect(stdout.trim()).toBe(`Authorization,Bearer ${renewed[0]}`)
      expect(new URLSearchParams(granted[0]).get("refresh_token")).toBe("again")
    } finally {
      issuer.close()
      issuer.closeAllConnections()
    }
  })
})

test("without a legacy provider only one small module of client-node is loaded, not its API types", async () => {
  const program = `
    import { registerHooks } from "node:module"
    const loaded = []
    const load = (url, context, next) => {
      if (url.includes("client-node/dist/")) loaded.push(url.replace(/.*\\/dist\\//, ""))
      return next(url, context)
    }
    registerHooks({ load })
    const { loadCredentials } = await import(${JSON.stringify(module)})
    const credentials = await loadCredentials({ kubeconfig: process.argv[1], environment: {} })
    await credentials.endpoint()
    console.log(loaded.join())`
  const path = new Workspace().write("config", kubeconfig({ token: "x" }))
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program, path])
  expect(stdout.trim()).toBe("config_types.js")
})
