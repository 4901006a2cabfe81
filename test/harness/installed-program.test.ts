import { expect, test } from "vitest"
import { isInstalled } from "./installed-program.ts"
import { temporaryDirectory } from "./temporary-directory.ts"

test("a program that is missing skips its tests, and fails them in CI", () => {
  const environment = { PATH: temporaryDirectory() }
  expect(isInstalled("tmux", "-V", environment)).toBe(false)
  expect(() => isInstalled("tmux", "-V", { ...environment, CI: "true" })).toThrow("tmux is not installed")
  expect(isInstalled(process.execPath, "--version", { ...environment, CI: "true" })).toBe(true)
})
