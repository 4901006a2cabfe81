import { existsSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { LoopDevice, noLoopDevice } from "./loop-device.ts"
import { removeWhole } from "./run-directory.ts"
import { temporaryDirectory } from "./temporary-directory.ts"

test("a file system that a killed test has left mounted does not keep its directory", ({ skip }) => {
  const why = noLoopDevice()
  if (why !== undefined) skip(why)
  const directory = join(temporaryDirectory(), "abandoned")
  mkdirSync(directory)
  new LoopDevice(directory, 1024 * 1024)
  removeWhole(directory)
  expect(existsSync(directory)).toBe(false)
})
