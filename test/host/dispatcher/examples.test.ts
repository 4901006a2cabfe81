/** The SimplePod examples in the real host: in its threads, with their own tokens and rights, on a sandbox over real HTTP. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, beforeEach, describe, onTestFinished, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { built, toolchains } from "../../examples/host/toolchains.ts"
import { patient } from "../../harness/patience.ts"
import { keepsPods } from "./simplepod-life.ts"

describe.each(toolchains)("the SimplePod controller in $language", (toolchain) => {
  const missing = toolchain.missing()
  let directory = ""
  let guest = ""

  beforeAll(() => {
    if (missing !== undefined) return
    directory = mkdtempSync(join(tmpdir(), "kubereel-guest-"))
    guest = join(directory, "simplepod.wasm")
    built(toolchain, guest)
  }, patient(120_000))
  afterAll(() => rmSync(directory, { recursive: true, force: true }))
  beforeEach((context) => {
    if (missing !== undefined) context.skip(missing)
  })

  test("keeps one pod per object as its ServiceAccount, through deletions, changes, and a crash of the hub", {
    timeout: patient(80_000),
  }, async () => {
    const sandbox = await Sandbox.start({ lifecycle: true, authorization: "rbac" })
    onTestFinished(() => sandbox.close())
    const administrator = { endpoint: async () => sandbox.endpoint, onUnauthorized: async () => undefined }
    await keepsPods(administrator, "default", guest)
  })
})
