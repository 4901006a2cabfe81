import { existsSync, lstatSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { imageFile } from "../../../../src/host/dispatcher/worker/image-files.ts"
import { temporaryDirectory } from "../../../harness/temporary-directory.ts"
import { imageWith } from "../../guest/image-with.ts"

test("an image is read as it was written, and removed without a trace", () => {
  const directory = temporaryDirectory()
  const store = imageFile(directory, { slot: 1, incarnation: 2 })
  const image = imageWith(Buffer.alloc(2 * 65_536, "abc"))
  store.write(image)
  expect(store.read()).toEqual(image)
  store.remove()
  store.remove()
  expect(existsSync(join(directory, "1-2.image"))).toBe(false)
})

test.runIf(existsSync("/dev/full"))("of an image that does not fit on the disk no part stays there", () => {
  const directory = temporaryDirectory()
  const path = join(directory, "1-2.image")
  symlinkSync("/dev/full", path)
  expect(() => imageFile(directory, { slot: 1, incarnation: 2 }).write(imageWith())).toThrow(/ENOSPC/)
  expect(lstatSync(path, { throwIfNoEntry: false })).toBeUndefined()
})
