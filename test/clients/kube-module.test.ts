/** The operator on kube-rs once more, the same sources but for their main function, as a WebAssembly module of the controller host. */

import { join } from "node:path"
import { beforeAll, expect, test } from "vitest"
import { examples } from "../examples/host/toolchains.ts"
import { lifeOfWebApps } from "../examples/host/webapp-life.ts"
import { hostWithAccounts } from "../host/dispatcher/host-with-accounts.ts"
import { type Program, rustModule } from "./build/compiled-program.ts"
import { keepsCafes } from "./kube-operator.ts"
import { skipBecause } from "./skip-because.ts"
import { withProgram } from "./with-program.ts"

let program: Program

beforeAll(async () => {
  program = await rustModule("kube-module")
})

test("does in a module what it does as a program", async ({ skip }) => {
  if ("missing" in program) return skipBecause(skip, `the module was not built: ${program.missing}`)
  const { path } = program
  await withProgram(
    [],
    async ({ sandbox }) => {
      const endpoints = { endpoint: async () => sandbox.endpoint, onUnauthorized: async () => undefined }
      const { host, add, logOf, notes } = hostWithAccounts({ endpoints })
      await add("cafes", path)
      return {
        output: () => `${logOf("cafes")}\n${notes.join("\n")}`,
        stop: async () => {
          expect(await host.statistics()).toMatchObject([{ phase: "running", restarts: 0 }])
          await host.remove("cafes")
        },
      }
    },
    keepsCafes,
  )
})

test("the WebApp operator does with kube what it does in TypeScript", async ({ skip }) => {
  const module = await rustModule("kube-module", "webapp")
  if ("missing" in module) return skipBecause(skip, `the module was not built: ${module.missing}`)
  await lifeOfWebApps([
    [module.path, "webapp.wasm"],
    [join(examples, "kube/webapp/webapp.yaml"), "webapp.yaml"],
  ])
})
