import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { onTestFinished } from "vitest"

/**
 * A directory that is removed when the test has ended, however it ended. Not in concurrent tests: Vitest cannot tell which test it belongs
 * to.
 */
export const temporaryDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), "kubereel-"))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}
