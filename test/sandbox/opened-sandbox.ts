/** Sandboxes that are closed at the end of the test that opened them. */

import { afterEach } from "vitest"
import { Sandbox, type SandboxOptions } from "../../src/sandbox/index.ts"

const opened: Sandbox[] = []

export const open = async (options: SandboxOptions): Promise<Sandbox> => {
  const sandbox = await Sandbox.start(options)
  opened.push(sandbox)
  return sandbox
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map((sandbox) => sandbox.close()))
})
