import { expect, test } from "vitest"
import { isInstalled, testsThatImport } from "./installed-program.ts"
import { temporaryDirectory } from "./temporary-directory.ts"

test("a program that is missing skips its tests, and fails them in CI", () => {
  const environment = { PATH: temporaryDirectory() }
  expect(isInstalled("tmux", "-V", environment)).toBe(false)
  expect(() => isInstalled("tmux", "-V", { ...environment, CI: "true" })).toThrow("tmux is not installed")
  expect(isInstalled(process.execPath, "--version", { ...environment, CI: "true" })).toBe(true)
})

test("test files that need a module are found, through others too", () => {
  const found = testsThatImport("test/harness/temporary-directory.ts", "test")
  expect(found).toContain("test/harness/installed-program.test.ts")
  expect(found).not.toContain("test/harness/kept-part.test.ts")
  expect(testsThatImport("test/kube/certificates.ts", "test")).toContain("test/kube/credentials/kubeconfig.test.ts")
})
