/** `reel replay` of a trace that the cluster cannot take: what a person reads, the exit code, and that nothing is left. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { replayCommand } from "../../src/cli/replay.ts"
import type { ApiObject } from "../../src/kube/index.ts"
import { kubeconfigOf, Sandbox } from "../../src/sandbox/index.ts"
import { ndjson } from "../cluster/simulation/recorded-trace.ts"
import { patient } from "../harness/patience.ts"
import { capturedTerminal } from "./captured-terminal.ts"

let folder = ""
let sandbox: Sandbox
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "reel-replay-bad-"))
  sandbox = await Sandbox.start({ lifecycle: true })
  writeFileSync(join(folder, "kubeconfig"), kubeconfigOf(sandbox.url))
})
afterEach(async () => {
  await sandbox.close()
  rmSync(folder, { recursive: true, force: true })
})

const object = (apiVersion: string, kind: string, namespace: string, name: string): ApiObject => ({
  apiVersion,
  kind,
  metadata: { namespace, name },
})

const replay = async (objects: ReadonlyArray<ApiObject>, ...argv: ReadonlyArray<string>) => {
  const trace = join(folder, "trace.ndjson")
  writeFileSync(trace, ndjson(objects))
  const terminal = capturedTerminal()
  const words = [trace, "--kubeconfig", join(folder, "kubeconfig"), "--speed", "max", ...argv]
  const code = await replayCommand().run(words, terminal)
  return { code, output: terminal.standardOutput.text(), error: terminal.standardError.text() }
}

/** Namespaces beyond those of every cluster that anyone ever created. */
const created = (): ReadonlyArray<string> =>
  sandbox.ledger
    .of("v1.Namespace")
    .map(({ object }) => object?.metadata.name ?? "")
    .filter((name) => name.startsWith("virtual-") || name.startsWith("kubereel-"))

const longName = "n".repeat(60)

describe("a replay into a cluster", { timeout: patient(20_000) }, () => {
  test("in which it may create no namespace creates nothing, and says what it may not do", async () => {
    sandbox.faults.respond("namespaces", 403, { verb: "create" })
    const { code, output, error } = await replay([object("v1", "ConfigMap", "shop", "a")])
    expect([code, output, created()]).toEqual([exitCodes.notPermitted, "", []])
    expect(error).toMatch(/^reel replay: cannot replay into this cluster: .*namespaces.*forbidden/m)
  })

  test("that lacks a kind of the trace creates nothing and says which; --partial replays the other kinds", async () => {
    const objects = [object("example.com/v1", "App", "shop", "one"), object("v1", "ConfigMap", "shop", "a")]
    expect(await replay(objects, "--dry-run")).toMatchObject({
      code: exitCodes.incomplete,
      output: expect.stringMatching(/^lacking {2}the cluster: it has no kind example\.com\/v1\.App$/m),
    })
    expect(created()).toEqual([])
    const refused = await replay(objects)
    expect([refused.code, created()]).toEqual([exitCodes.failed, []])
    expect(refused.error).toMatch(
      /the cluster cannot take this trace: it has no kind example\.com\/v1\.App\. Nothing was created/,
    )
    const { code, output } = await replay(objects, "--partial")
    expect(code).toBe(exitCodes.incomplete)
    expect(output).toMatch(/^seed +2 objects: 1 accepted, 1 refused/m)
    expect(output).toMatch(/^refused +1 example\.com\/v1\.App: 404 UnknownKind: the target has no kind/m)
  })

  test("stops before its first event if an object of the start is refused and it is strict", async () => {
    const { code, output } = await replay([object("example.com/v1", "App", "shop", "one")], "--strict", "--partial")
    expect(code).toBe(exitCodes.failed)
    expect(output).toMatch(/^stopped +example\.com\/v1\.App was refused: the target has no kind/m)
  })

  test("never makes a namespace with a name that is too long, and says which one", async () => {
    const objects = [object("v1", "ConfigMap", longName, "a")]
    const message = `${longName} would have more than 63 characters with the prefix; choose a shorter --namespace-prefix`
    expect(await replay(objects, "--dry-run")).toMatchObject({
      code: exitCodes.incomplete,
      output: expect.stringContaining(message),
    })
    expect(created()).toEqual([])
    expect(await replay(objects)).toMatchObject({ code: exitCodes.failed, error: expect.stringContaining(message) })
    expect(created()).toEqual([])
    const { code, output } = await replay(objects, "--partial")
    expect([code, output]).toEqual([exitCodes.incomplete, expect.stringContaining(`NameTooLong: ${message}`)])
    expect(created().filter((name) => name.startsWith("virtual-"))).toEqual([])
    expect((await replay(objects, "--namespace-prefix", "v")).code).toBe(exitCodes.ok)
  })
})

test.each([
  ["speed 0", ["--speed", "0"]],
  ["a negative speed", ["--speed=-2"]],
  ["a speed that is no number", ["--speed", "fast"]],
])("%s is refused before the cluster is asked anything", async (_, argv) => {
  const { code, error } = await replay([object("v1", "ConfigMap", "shop", "a")], ...argv)
  expect([code, sandbox.requests.total]).toEqual([exitCodes.usage, 0])
  expect(error).toMatch(/must be a number from 0\.01 to 1000, or max/)
})
