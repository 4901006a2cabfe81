/** Credentials that the server refuses: a replay and a driver say so in one sentence, create nothing, and exit with 4. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { Command } from "../../src/cli/command-line/command.ts"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { driverCommand } from "../../src/cli/driver.ts"
import { replayCommand } from "../../src/cli/replay.ts"
import { kubeconfigOf, Sandbox } from "../../src/sandbox/index.ts"
import { ndjson } from "../cluster/simulation/recorded-trace.ts"
import { patient } from "../harness/patience.ts"
import { capturedTerminal } from "./captured-terminal.ts"
import { ran } from "./commands-in.ts"

let folder = ""
let sandbox: Sandbox
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "reel-refused-"))
  sandbox = await Sandbox.start({ token: "right" })
  writeFileSync(path("kubeconfig"), kubeconfigOf(sandbox.url, "wrong"))
  writeFileSync(
    path("trace.ndjson"),
    ndjson([{ apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "shop", name: "a" } }]),
  )
})
afterEach(async () => {
  await sandbox.close()
  rmSync(folder, { recursive: true, force: true })
})

const path = (name: string): string => join(folder, name)

const run = (command: Command, argv: ReadonlyArray<string>, environment: Record<string, string> = {}) =>
  ran(command, [...argv, "--kubeconfig", path("kubeconfig")], capturedTerminal({ environment }))

const refusal =
  "the API server does not accept the credentials: .*; log in again, or renew the token or the client certificate in the kubeconfig"

describe("credentials that the server refuses", { timeout: patient(30_000) }, () => {
  test.each([
    ["a replay", ["trace.ndjson"]],
    ["a dry run", ["trace.ndjson", "--dry-run"]],
    ["the removal of a replay", ["--clean", "demo"]],
  ])("end %s with exit code 4 and one line", async (_, [first = "", ...more]) => {
    const writes = sandbox.resourceVersion
    const argv = [first.endsWith(".ndjson") ? path(first) : first, ...more]
    const { code, output, error } = await run(replayCommand(), argv)
    expect([code, output]).toEqual([exitCodes.notPermitted, ""])
    expect(error).toMatch(new RegExp(`^reel replay: ${refusal}\n$`))
    expect(sandbox.resourceVersion).toBe(writes)
  })

  test("end a driver with exit code 4, and its termination message says why", async () => {
    const argv = ["--sim-name", "demo", "--controller-ns", "simkube", "--trace-path", path("trace.ndjson")]
    const files = ["--cert-path", path("none.crt"), "--key-path", path("none.key")]
    const environment = { DRIVER_NAME: "sk-demo-driver-0-abcde", KUBEREEL_TERMINATION_LOG: path("message") }
    const { code, output, error } = await run(driverCommand(), [...argv, ...files], environment)
    expect([code, output]).toEqual([exitCodes.notPermitted, ""])
    expect(error).toMatch(new RegExp(`^reel driver: ${refusal}\n$`))
    expect(readFileSync(path("message"), "utf8")).toMatch(new RegExp(`^${refusal}$`))
  })
})
