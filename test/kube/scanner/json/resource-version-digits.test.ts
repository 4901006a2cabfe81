import fc from "fast-check"
import { expect, test } from "vitest"
import { parseResourceVersion } from "../../../../src/kube/resource-version.ts"
import { readResourceVersion } from "../../../../src/kube/watch/streams/stream-reader.ts"
import { rounds } from "../../../harness/effort.ts"

const read = (text: string) => {
  const bytes = Buffer.from(`9${text}9`)
  return readResourceVersion(bytes, 1, bytes.length - 1)
}

test("reads the same from bytes as from text: digits of any length and anything else", () => {
  const text = fc.oneof(
    fc.stringMatching(/^\d{0,22}$/),
    fc.bigInt({ min: 0n, max: 2n ** 64n }).map(String),
    fc.string({ maxLength: 21 }),
    fc.constantFrom(
      "",
      "0",
      "007",
      "+1",
      "-1",
      "1.0",
      "1e3",
      " 1",
      "9007199254740991",
      "9007199254740992",
      "18446744073709551615",
      "٣",
    ),
  )
  fc.assert(
    fc.property(text, (version) => {
      expect(read(version)).toBe(parseResourceVersion(version))
    }),
    { numRuns: rounds(2000) },
  )
})

test("reads nothing from an empty or reversed span", () => {
  expect(readResourceVersion(Buffer.from("12"), 1, 1)).toBeUndefined()
  expect(readResourceVersion(Buffer.from("12"), 2, 0)).toBeUndefined()
})
