/** Sandboxes of a test, whose file calls `afterEach(closeOpened)`. */

import { Sandbox, type SandboxOptions } from "../../src/library/sandbox.ts"

const opened: Sandbox[] = []

export const open = async (options: SandboxOptions): Promise<Sandbox> => {
  const sandbox = await Sandbox.start(options)
  opened.push(sandbox)
  return sandbox
}

export const closeOpened = async (): Promise<void> => {
  await Promise.all(opened.splice(0).map((sandbox) => sandbox.close()))
}
