import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { ExecPluginFailed } from "../../../src/kube/credentials/errors.ts"
import { readExecCredential } from "../../../src/kube/credentials/exec-plugin.ts"
import { useForMs } from "../../../src/kube/credentials/identity.ts"
import { eventually } from "../../harness/eventually.ts"
import { makeCertificates } from "../certificates.ts"
import { ManualTimers } from "../http/manual-timers.ts"
import { authorizationOf, errorOf, kubeconfig, load, ManualClock, Workspace } from "./workspace.ts"

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
