/** `--include` and `--seed-status` by names that only the trace can explain. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { CommandFailed, exitCodes } from "../../../src/cli/command-line/exit-codes.ts"
import { parseReplayedKind, parseSeededKind } from "../../../src/cli/replay/replay-values.ts"
import { kindsNamed } from "../../../src/cli/replay/trace-kinds.ts"
import { replayCommand } from "../../../src/cli/replay.ts"
import type { ApiObject } from "../../../src/kube/index.ts"
import { kubeconfigOf, Sandbox } from "../../../src/sandbox/index.ts"
import type { TraceItem } from "../../../src/trace/index.ts"
import { ndjson } from "../../cluster/simulation/recorded-trace.ts"
import { patient } from "../../harness/patience.ts"
import { event } from "../../simulation/trace-items.ts"
import { capturedTerminal } from "../captured-terminal.ts"

let folder = ""
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reel-named-"))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const resource = {
  gvk: { group: "ml.example.com", version: "v1", kind: "Training" },
  plural: "trainings",
  namespaced: true,
  custom: true,
  subresources: ["status"],
} as const
const training: ApiObject = {
  apiVersion: "ml.example.com/v1",
  kind: "Training",
  metadata: { namespace: "shop", name: "one" },
  status: { phase: "Done" },
}

describe("a name of a kind of the trace", { timeout: patient(20_000) }, () => {
  const replay = async (sandbox: Sandbox, ...argv: ReadonlyArray<string>) => {
    const trace = join(folder, "trace.ndjson")
    writeFileSync(trace, ndjson([training]))
    writeFileSync(join(folder, "kubeconfig"), kubeconfigOf(sandbox.url))
    const terminal = capturedTerminal()
    const target = ["--kubeconfig", join(folder, "kubeconfig"), "--speed", "max", "--keep", "--name", "demo"]
    const code = await replayCommand().run([trace, ...target, ...argv], terminal)
    return { code, error: terminal.standardError.text() }
  }

  test.each(["trainings", "training", "Training", "trainings.ml.example.com"])(
    "%s gives its objects their status",
    async (name) => {
      await using sandbox = await Sandbox.start({ lifecycle: true })
      sandbox.register(resource)
      expect((await replay(sandbox, "--seed-status", name, "--include", "training,pv")).code).toBe(exitCodes.ok)
      expect(sandbox.get("ml.example.com/v1.Training", "virtual-shop", "one")).toMatchObject({
        status: { phase: "Done" },
      })
    },
  )

  test("that is mistyped is refused with a suggestion before anything is created, also for a dry run", async () => {
    await using sandbox = await Sandbox.start({ lifecycle: true })
    sandbox.register(resource)
    for (const more of [[], ["--dry-run"]]) {
      const version = sandbox.resourceVersion
      const { code, error } = await replay(sandbox, "--seed-status", "trainngs", ...more)
      expect(code).toBe(exitCodes.usage)
      expect(error).toBe('reel replay: unknown kind "trainngs"; did you mean ml.example.com/v1.Training?\n')
      expect(sandbox.resourceVersion).toBe(version)
    }
  })
})

test("names of built-in kinds, exact ones and groups with kinds do not need the trace", () => {
  const kind = (name: string) => ({ _tag: "Value", value: { tag: "kind", kind: name } })
  expect(parseReplayedKind("deploy")).toEqual(kind("apps/Deployment"))
  expect(parseReplayedKind("deployments.apps")).toEqual(kind("apps/Deployment"))
  expect(parseReplayedKind("v1.Node")).toEqual(kind("Node"))
  expect(parseReplayedKind("example.com/Database")).toEqual(kind("example.com/Database"))
  expect(parseSeededKind("custom")).toEqual(kind("custom"))
  expect(parseSeededKind("trainings")).toEqual({ _tag: "Value", value: { tag: "name", name: "trainings" } })
})

describe("the kinds of a trace", () => {
  const items = (...all: ReadonlyArray<TraceItem>) =>
    async function* open() {
      yield all
    }
  const header = { type: "header", cut: 0, incomplete: [] } as const
  test("are those of its header, or of its objects if the format has none there", async () => {
    const meanings = new Map([["widgets", "example.com/v1.Widget"]])
    const kinds = ["v1.Pod", "example.com/v1.Widget"]
    const ofHeader = items({ ...header, kinds })
    expect(await kindsNamed(["widgets"], async () => ofHeader())).toEqual(meanings)
    const ofObjects = items(
      { ...header, kinds: [] },
      event(0, "v1.Pod", "a", {}),
      event(0, "example.com/v1.Widget", "a", {}),
    )
    expect(await kindsNamed(["widgets"], async () => ofObjects())).toEqual(meanings)
  })

  test("are not read for names that are known", async () => {
    const unread = (): Promise<never> => expect.unreachable()
    expect(await kindsNamed(["po", "apps/v1.Deployment"], unread)).toEqual(
      new Map([
        ["po", "v1.Pod"],
        ["apps/v1.Deployment", "apps/v1.Deployment"],
      ]),
    )
    await expect(kindsNamed(["widgets"], async () => items({ ...header, kinds: ["v1.Pod"] })())).rejects.toThrow(
      CommandFailed,
    )
  })
})
