import { execFile } from "node:child_process"
import { createServer } from "node:https"
import type { AddressInfo } from "node:net"
import { text as bodyOf } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { ExecPluginFailed } from "../../../src/kube/credentials/errors.ts"
import { readExecCredential } from "../../../src/kube/credentials/exec-plugin.ts"
import { useForMs } from "../../../src/kube/credentials/identity.ts"
import { eventually } from "../../harness/eventually.ts"
import { makeCertificates } from "../certificates.ts"
import { ManualTimers } from "../http/manual-timers.ts"
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

const apiVersion = "client.authentication.k8s.io/v1"

const openPipes = (): number => process.getActiveResourcesInfo().filter((resource) => resource === "PipeWrap").length
/** Before any plugin was started. */
const pipesAtRest = openPipes()

/** The line that a plugin prints. */
const credential = (status: object, more: object = {}): string =>
  JSON.stringify({ kind: "ExecCredential", apiVersion, status, ...more })

const user = (exec: object = {}): object => ({ exec: { apiVersion, command: "./plugin", ...exec } })

/** Counts its runs in `runs`, and prints what is in `answer`. */
const countingPlugin = (workspace: Workspace, answer: string): void => {
  workspace.write("answer", answer)
  workspace.script("plugin", 'cd "$(dirname "$0")" && echo run >> runs && cat answer')
}
const runsOf = (workspace: Workspace): number => workspace.read("runs").split("\n").length - 1

describe("an exec plugin", () => {
  test("returns a token; it is found relative to the kubeconfig and gets its parameters and environment", async () => {
    const workspace = new Workspace()
    workspace.script("plugin", `echo '${credential({ token: "T" })}' | sed "s/T/$1-$TENANT-$INHERITED/"`)
    const exec = { args: ["a b"], env: [{ name: "TENANT", value: "x" }] }
    const path = workspace.write("config", kubeconfig(user(exec)))
    const credentials = await load({ kubeconfig: path, environment: { INHERITED: "yes" } })
    expect(await authorizationOf(credentials)).toBe("Bearer a b-x-yes".replace("a b", "a b"))
    expect(credentials.refreshAfter).toBeUndefined()
  })

  test("returns a client certificate", async () => {
    const { certificate, key } = makeCertificates().client
    const workspace = new Workspace()
    countingPlugin(workspace, credential({ clientCertificateData: certificate, clientKeyData: key }))
    const credentials = await load({ kubeconfig: workspace.write("config", kubeconfig(user())) })
    expect(await credentials.endpoint()).toMatchObject({ clientCertificate: certificate, clientKey: key, headers: [] })
  })

  test("is told about the cluster if it asks, and that no terminal is connected", async () => {
    const workspace = new Workspace()
    const { authority } = makeCertificates()
    workspace.script(
      "plugin",
      `printf '%s' "$KUBERNETES_EXEC_INFO" > "$(dirname "$0")/info"; echo '${credential({ token: "x" })}'`,
    )
    const cluster = {
      "certificate-authority-data": Buffer.from(authority).toString("base64"),
      "tls-server-name": "api.internal",
      "proxy-url": "http://gateway.internal:3128",
      extensions: [{ name: "client.authentication.k8s.io/exec", extension: { audience: "me", level: 3 } }],
    }
    const path = workspace.write("config", kubeconfig(user({ provideClusterInfo: true }), cluster))
    await (await load({ kubeconfig: path })).endpoint()
    expect(JSON.parse(workspace.read("info"))).toEqual({
      apiVersion,
      kind: "ExecCredential",
      spec: {
        interactive: false,
        cluster: {
          server: "https://127.0.0.1:6443",
          "tls-server-name": "api.internal",
          "certificate-authority-data": Buffer.from(authority).toString("base64"),
          "proxy-url": "http://gateway.internal:3128",
          config: { audience: "me", level: 3 },
        },
      },
    })
    await (await load({ kubeconfig: workspace.write("config", kubeconfig(user())) })).endpoint()
    expect(JSON.parse(workspace.read("info")).spec).toEqual({ interactive: false })
  })

  test("is run again when a tenth of the token's life is left, and not before (J25)", async () => {
    const workspace = new Workspace()
    const clock = new ManualClock()
    countingPlugin(workspace, credential({ token: "one", expirationTimestamp: clock.timestamp(3_600_000) }))
    const credentials = await load({ kubeconfig: workspace.write("config", kubeconfig(user())), clock })
    await credentials.endpoint()
    expect(credentials.refreshAfter).toBe(3_240_000)
    clock.advance(3_239_999)
    await credentials.endpoint()
    expect(runsOf(workspace)).toBe(1)
    workspace.write("answer", credential({ token: "two", expirationTimestamp: clock.timestamp(3_600_000) }))
    clock.advance(1)
    expect(credentials.refreshAfter).toBe(0)
    expect(await authorizationOf(credentials)).toBe("Bearer two")
    expect(runsOf(workspace)).toBe(2)
  })

  test("is not run again because the system clock was set", async () => {
    const workspace = new Workspace()
    const clock = new ManualClock()
    countingPlugin(workspace, credential({ token: "one", expirationTimestamp: clock.timestamp(3_600_000) }))
    const credentials = await load({ kubeconfig: workspace.write("config", kubeconfig(user())), clock })
    await credentials.endpoint()
    clock.wall += 86_400_000
    await credentials.endpoint()
    expect(runsOf(workspace)).toBe(1)
  })

  test("is run once for concurrent callers", async () => {
    const workspace = new Workspace()
    countingPlugin(workspace, credential({ token: "x" }))
    const credentials = await load({ kubeconfig: workspace.write("config", kubeconfig(user())) })
    const endpoints = await Promise.all([credentials.endpoint(), credentials.endpoint(), credentials.endpoint()])
    expect(new Set(endpoints).size).toBe(1)
    expect(runsOf(workspace)).toBe(1)
  })

  test("that fails later leaves the old token in use until it expires, and reports why", async () => {
    const workspace = new Workspace()
    const clock = new ManualClock()
    countingPlugin(workspace, credential({ token: "one", expirationTimestamp: clock.timestamp(100_000) }))
    const credentials = await load({ kubeconfig: workspace.write("config", kubeconfig(user())), clock })
    const first = await credentials.endpoint()
    expect(credentials.problem).toBeUndefined()
    workspace.script("plugin", "echo login required >&2; exit 3")
    clock.advance(90_000)
    expect(await credentials.endpoint()).toBe(first)
    expect(credentials.problem?.message).toContain("failed with exit code 3; its output: login required")
    expect(credentials.refreshAfter).toBe(10_000)
    clock.advance(10_000)
    expect((await errorOf(credentials.endpoint()))._tag).toBe("ExecPluginFailed")
    countingPlugin(workspace, credential({ token: "two" }))
    expect(await authorizationOf(credentials)).toBe("Bearer two")
    expect(credentials.problem).toBeUndefined()
  })

  test("is used for most of its credential's lifetime, and never in a loop", () => {
    expect(useForMs(3_600_000)).toBe(3_240_000)
    expect(useForMs(60_000)).toBe(50_000)
    expect(useForMs(21_000)).toBe(11_000)
    expect(useForMs(20_000)).toBe(10_000)
    expect(useForMs(5_000)).toBe(2_500)
    expect(useForMs(0)).toBe(1_000)
    expect(useForMs(-5_000_000)).toBe(1_000)
  })
})

describe("an error of an exec plugin", () => {
  const failureOf = async (script: string, exec: object = {}): Promise<ExecPluginFailed> => {
    const workspace = new Workspace()
    workspace.script("plugin", script)
    const credentials = await load({ kubeconfig: workspace.write("config", kubeconfig(user(exec))) })
    const error = await errorOf(credentials.endpoint())
    if (error._tag !== "ExecPluginFailed") throw error
    return error
  }

  test("names command and context, and says how to install a missing plugin", async () => {
    const { message } = await failureOf("", { command: "no-such-plugin", installHint: "\nget it from example.com\n" })
    expect(message).toBe('credential plugin "no-such-plugin" of context "main" was not found; get it from example.com')
  })

  test("repeats the end of its standard error, on one line", async () => {
    const { stderr } = await failureOf("for i in $(seq 1000); do echo line $i >&2; done; exit 1")
    expect(stderr).toMatch(/^….*line 999 line 1000$/)
    expect(stderr.length).toBeLessThanOrEqual(501)
    const controls = await failureOf("printf '\\033[31mred\\302\\233 2J \\342\\200\\256txt.exe\\007' >&2; exit 1")
    expect(controls.stderr).toBe("[31mred 2J txt.exe")
  })

  test.each([
    ["exit 7", "failed with exit code 7"],
    ["kill -TERM $$", "was terminated by SIGTERM"],
    ["echo secret", "did not write JSON"],
    ['echo \'{"token":"secret"}\'', "did not write an ExecCredential"],
    ["echo null", "did not write an ExecCredential"],
    [`echo '${credential({ token: "secret" }, { apiVersion: "v0" })}'`, `is configured for ${apiVersion} but wrote v0`],
    [`echo '${credential({})}'`, "returned neither a token nor a certificate"],
    [`echo '${credential({ clientCertificateData: "secret" })}'`, "returned a certificate without a key"],
    [
      `echo '${credential({ token: "secret", expirationTimestamp: "soon" })}'`,
      "returned an invalid expirationTimestamp",
    ],
    ["head -c 2000000 /dev/zero", "wrote more than 1048576 bytes"],
  ])("%s: is reported without its output", async (script, reason) => {
    const error = await failureOf(script)
    expect(error.reason).toContain(reason)
    expect(error.message).not.toContain("secret")
  })

  test("is returned for a plugin that does not finish, even if its children hold the pipes open", async () => {
    const workspace = new Workspace()
    const timers = new ManualTimers()
    workspace.script("plugin", 'echo started >&2; echo > "$(dirname "$0")/started"; sleep 3 & sleep 3')
    const credentials = await load({
      kubeconfig: workspace.write("config", kubeconfig(user())),
      timers,
      execDeadlineMs: 5_000,
    })
    const outcome = errorOf(credentials.endpoint())
    await eventually(() => workspace.read("started"))
    timers.advance(5_000)
    expect((await outcome).message).toContain("did not finish within 5 s")
    await eventually(() => expect(openPipes()).toBe(pipesAtRest))
  })

  test("is never an exception of another kind, whatever is written", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.jsonValue().map((status) => credential(status as object)),
        ),
        (text) => {
          expect(["string", "object"]).toContain(typeof readExecCredential(text, apiVersion))
        },
      ),
    )
  })
})
