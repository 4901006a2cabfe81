/** A module that cannot be ended stands in the way of nothing else, and not of its own next change. */
import { expect, test } from "vitest"
import { HostModules } from "../../../src/cli/host/host-modules.ts"
import { systemClock } from "../../../src/clock.ts"
import type { ModuleChanges } from "../../../src/host/index.ts"

const module: ModuleChanges["removed"][number] = {
  file: { name: "sweeper", env: [], limits: {} },
  ...{ path: "sweeper.yaml", codePath: "sweeper.wasm", form: "wasm", codeHash: "", hash: "" },
}
const nothing: ModuleChanges = { added: [], replaced: [], removed: [], refusals: [] }

test("a module that cannot be ended is reported, and its next change is made", async () => {
  const lines: string[] = []
  let isEnding = false
  using modules = new HostModules({
    host: {
      add: async () => undefined,
      loaded: async () => true,
      remove: async () => {
        if (!isEnding) throw new Error("no actor is named sweeper")
      },
      refused: [],
      scripts: { add: async () => undefined, remove: async () => undefined },
    },
    clock: systemClock,
    say: (line) => lines.push(line),
    warn: (line) => lines.push(line),
  })
  await modules.apply({ ...nothing, added: [module] })
  await modules.apply({ ...nothing, removed: [module] })
  isEnding = true
  await modules.apply({ ...nothing, replaced: [{ before: module, after: module }] })
  expect(lines).toEqual([
    "module sweeper started",
    "module sweeper could not be ended: no actor is named sweeper",
    "module sweeper replaced",
    "module sweeper started",
  ])
})

test("the webhooks of a module that is removed go before its last runs have ended", async () => {
  const steps: string[] = []
  using modules = new HostModules({
    host: {
      add: async () => undefined,
      loaded: async () => true,
      remove: async () => undefined,
      refused: [],
      scripts: { add: async () => undefined, remove: async () => void steps.push("ended") },
    },
    clock: systemClock,
    webhooks: { set: (owner, terms) => void steps.push(`${owner} has ${terms.length} webhooks`) },
    say: () => undefined,
    warn: () => undefined,
  })
  await modules.apply({ ...nothing, removed: [module] })
  expect(steps).toEqual(["sweeper has 0 webhooks", "ended"])
})
