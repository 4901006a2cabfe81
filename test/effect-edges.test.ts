/**
 * Effects are run in few places only, and none is detached from a scope: docs/decisions/0015-where-effect-rules.md names the same places.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"

const root = fileURLToPath(new URL("..", import.meta.url))

const edges = [
  "src/cli/driver/run-driver.ts",
  "src/cli/k8s.ts",
  "src/cli/record/loaded-configuration.ts",
  "src/cli/record/run-recorder.ts",
  "src/host/controller/run/reconciler.ts",
  "src/host/dispatcher/actor-calls.ts",
  "src/recorder/embedded/embedded-export.ts",
  "src/recorder/embedded/embedded-recorder.ts",
  "src/recorder/http/body/body-shares.ts",
  "src/recorder/offline-recording.ts",
  "src/recorder/recorder.ts",
  "src/runtime/actor-host.ts",
  "src/runtime/control.ts",
  "src/simulation/fidelity/fidelity.ts",
]

const modules = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .map((file) => join("src", file))

/** Modules with a call of that form outside of comments. */
const calling = (pattern: RegExp): ReadonlyArray<string> =>
  modules
    .filter((file) =>
      readFileSync(join(root, file), "utf8")
        .split("\n")
        .some((line) => !/^\s*(?:\*|\/)/.test(line) && pattern.test(line)),
    )
    .sort()

test("Effects are run at the edges that the decision names, and nowhere else", () => {
  expect(calling(/\bEffect\.run(?:Promise|PromiseExit|Sync|SyncExit)\b/)).toEqual(edges)
  const decision = readFileSync(join(root, "docs/decisions/0015-where-effect-rules.md"), "utf8")
  expect(edges.filter((edge) => !decision.includes(`\`${edge}\``))).toEqual([])
})

test("no fiber is detached from a scope", () => {
  expect(calling(/\bEffect\.(?:runFork|runCallback|forkDetach|forkDaemon)\b/)).toEqual([])
})
