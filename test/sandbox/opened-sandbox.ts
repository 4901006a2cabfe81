/** Sandboxes that are closed when nothing needs them any more. */

import { afterAll, onTestFinished } from "vitest"
import { Sandbox, type SandboxOptions } from "../../src/library/sandbox.ts"

/** For the running test. */
export const open = async (options?: SandboxOptions): Promise<Sandbox> => {
  const sandbox = await Sandbox.start(options)
  onTestFinished(() => sandbox.close())
  return sandbox
}

/** For all tests of a file, which awaits it at its top. */
export const openForFile = async (options?: SandboxOptions): Promise<Sandbox> => {
  const sandbox = await Sandbox.start(options)
  afterAll(() => sandbox.close())
  return sandbox
}
