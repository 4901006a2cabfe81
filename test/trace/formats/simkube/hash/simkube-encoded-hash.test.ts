import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { hashEncodedValue } from "../../../../../src/trace/formats/simkube/hash/simkube-encoded-hash.ts"
import { encodeMessagePack } from "../../../../../src/trace/formats/simkube/message-pack/message-pack-writer.ts"
import { type JsonValue, simkubeHash } from "../../../../../src/trace/index.ts"
import { rounds } from "../../../../harness/effort.ts"
import { jsonValue } from "../../../json-values.ts"

describe("H of an encoded value", () => {
  test("is H of the value", () => {
    fc.assert(
      fc.property(jsonValue, (value: JsonValue) => {
        expect(hashEncodedValue(encodeMessagePack(value))).toBe(simkubeHash(value))
      }),
      { numRuns: rounds(1000) },
    )
  })

  test("also for long strings, large collections and every size of number", () => {
    const numbers = [
      0,
      1,
      127,
      128,
      255,
      256,
      65535,
      65536,
      2 ** 31,
      2 ** 32 - 1,
      2 ** 32,
      2 ** 53 - 1,
      -0,
      0.5,
      -1e300,
    ]
    const values: JsonValue[] = [
      ...numbers.flatMap((number) => [number, -number]),
      ...[-32, -33, -128, -129, -32768, -32769, -(2 ** 31), -(2 ** 31) - 1, 2n ** 63n, 2n ** 64n - 1n, -(2n ** 63n)],
      ...[31, 32, 47, 48, 255, 256, 65535, 65536, 2_000_000].map((length) => "x".repeat(length)),
      Array.from({ length: 70_000 }, (_, index) => index),
      Object.fromEntries(Array.from({ length: 70_000 }, (_, index) => [`key ${index}`, null])),
    ]
    for (const value of values) expect(hashEncodedValue(encodeMessagePack(value))).toBe(simkubeHash(value))
  })
})
