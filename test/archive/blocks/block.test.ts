import { expect, test } from "vitest"
import { pack, requireChecksum, unpack } from "../../../src/archive/blocks/block.ts"
import { MalformedFrameError } from "../../../src/wire/index.ts"

test("what is packed is unpacked; other bytes, or a number that damage has made of them, are malformed", () => {
  const content = Buffer.from("an object, an object, an object")
  const packed = pack(content)
  expect(unpack(packed).equals(content)).toBe(true)
  expect(() => unpack({ ...packed, bytes: packed.bytes.subarray(1) })).toThrow(MalformedFrameError)
  // A bit in the header of a row changes the type of its column: https://www.sqlite.org/fileformat.html#record_format.
  expect(() => requireChecksum(10_421 as unknown as Uint8Array, packed.checksum)).toThrow(MalformedFrameError)
})
