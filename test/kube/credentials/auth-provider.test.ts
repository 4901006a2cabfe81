import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { describe, expect, test } from "vitest"
import { authorizationOf, errorOf, kubeconfig, load, ManualClock, Workspace } from "./workspace.ts"

const jwt = (claims: object): string =>
  [{ alg: "none" }, claims, "signature"]
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".")

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

test("without a legacy provider only one small module of client-node is loaded, not its API types", async () => {
  const module = fileURLToPath(new URL("../../../src/kube/credentials/credentials.ts", import.meta.url))
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
