import { randomBytes } from "node:crypto"
import { existsSync, lstatSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { imageFile } from "../../../../src/host/dispatcher/worker/image-files.ts"
import type { GuestImage } from "../../../../src/host/guest/guest-image.ts"
import { temporaryDirectory } from "../../../harness/temporary-directory.ts"
import { imageWith } from "../../guest/image-with.ts"

test("an image is read as it was written, and removed without a trace", () => {
  const directory = temporaryDirectory()
  const store = imageFile(directory, { slot: 1, incarnation: 2 })
  const image: GuestImage = {
    ...imageWith(new Uint8Array(2 * 65_536).fill(7)),
    nextId: 2n ** 64n - 1n,
    operations: new Map([
      [0n, "watch"],
      [2n ** 63n, "delay"],
    ]),
    globals: [
      { type: "i64", value: -(2n ** 63n) },
      { type: "f64", value: Number.NaN },
    ],
  }
  store.write(image)
  expect(store.read()).toEqual(image)
  store.remove()
  store.remove()
  expect(existsSync(join(directory, "1-2.image"))).toBe(false)
})

test("an image of which a byte has changed is not read", () => {
  const directory = temporaryDirectory()
  const store = imageFile(directory, { slot: 1, incarnation: 2 })
  store.write(imageWith(randomBytes(65_536)))
  const path = join(directory, "1-2.image")
  const bytes = readFileSync(path)
  bytes.writeUInt8(bytes.readUInt8(30_000) ^ 1, 30_000)
  writeFileSync(path, bytes)
  expect(() => store.read()).toThrow(/checksum/)
})

test.runIf(existsSync("/dev/full"))("of an image that does not fit on the disk no part stays there", () => {
  const directory = temporaryDirectory()
  const path = join(directory, "1-2.image")
  symlinkSync("/dev/full", path)
  expect(() => imageFile(directory, { slot: 1, incarnation: 2 }).write(imageWith())).toThrow(/ENOSPC/)
  expect(lstatSync(path, { throwIfNoEntry: false })).toBeUndefined()
})
