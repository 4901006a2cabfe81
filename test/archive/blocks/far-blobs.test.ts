/** BLOBs that lie in an object store, as the thread that reads them sees them. */
import { crc32 } from "node:zlib"
import { expect, onTestFinished, test } from "vitest"
import { nearBlob } from "../../../src/archive/blocks/far-blobs.ts"
import { provideBlobSource, referenceTo } from "../../../src/archive/index.ts"
import { tellProgress } from "../../../src/progress.ts"

test("each read from the store is progress, so that a question of many of them is waited for", () => {
  const bytes = Buffer.from("content")
  provideBlobSource({ read: () => bytes, expect: () => undefined })
  let told = 0
  tellProgress(() => told++)
  onTestFinished(() => tellProgress(() => undefined))
  const reference = referenceTo({ key: "segments/000000000001.segment", at: 8, bytes: bytes.length })
  expect(nearBlob("directory", bytes, crc32(bytes))).toBe(bytes)
  expect(told).toBe(0)
  for (const _ of [1, 2]) expect(nearBlob("directory", reference, crc32(bytes))).toBe(bytes)
  expect(told).toBe(2)
})
