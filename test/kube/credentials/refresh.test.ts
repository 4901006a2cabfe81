import { rmSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { makeCertificates } from "../certificates.ts"
import { authorizationOf, errorOf, kubeconfig, load, ManualClock, Workspace } from "./workspace.ts"

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
    const config = JSON.parse(kubeconfig({ token: "new" })) as { contexts: object[] }
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
