/** JSON text to MessagePack and back without objects in between. */

import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  formatOrderedJson,
  writeOrderedJson,
} from "../../../src/trace/formats/simkube/message-pack/message-pack-json.ts"
import {
  decodeMessagePack,
  encodeMessagePack,
  formatExactJson,
  MAX_DEPTH,
  MalformedJsonError,
  MessagePackError,
  MessagePackWriter,
  parseExactJson,
} from "../../../src/trace/index.ts"
import { rounds } from "../../harness/effort.ts"
import { jsonValue, mutated } from "../json-values.ts"

const encoded = (json: string | Uint8Array): Buffer => {
  const writer = new MessagePackWriter(16)
  writeOrderedJson(writer, typeof json === "string" ? Buffer.from(json) : json)
  return Buffer.from(writer.view())
}

const throughJson = (bytes: Uint8Array): Buffer => encoded(formatOrderedJson(decodeMessagePack(bytes)))

describe("JSON as MessagePack", () => {
  test("keeps the order of entries, even of keys that look like numbers", () => {
    expect(encoded('{"b":1,"10":2,"9":3,"a":4}').toString("hex")).toBe("84a16201a2313002a13903a16104")
    expect(formatOrderedJson(decodeMessagePack(encoded('{"b":1,"10":2,"9":3,"a":4}')))).toBe(
      '{"b":1,"10":2,"9":3,"a":4}',
    )
  })

  test.each([
    ["1", "01"],
    ["1.0", "cb3ff0000000000000"],
    ["1e3", "cb408f400000000000"],
    ["-0", "cb8000000000000000"],
    ["18446744073709551615", "cfffffffffffffffff"],
    ["-9223372036854775808", "d38000000000000000"],
    ["18446744073709551616", "cb43f0000000000000"],
    ["9007199254740993", "cf0020000000000001"],
    ['"\\u0041\\n\\ud834\\udd1e"', "a6410af09d849e"],
    [" [ true , null ] ", "92c3c0"],
    ["{}", "80"],
  ])("%s is %s", (json, hex) => {
    expect(encoded(json).toString("hex")).toBe(hex)
  })

  test("any value is read back, and its text is what exact JSON reads", () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        const bytes = encodeMessagePack(value)
        expect(Buffer.compare(throughJson(bytes), bytes)).toBe(0)
        expect(parseExactJson(formatOrderedJson(decodeMessagePack(bytes)))).toEqual(value)
      }),
    )
  })

  test("broken text is rejected exactly where exact JSON rejects it", () => {
    const texts = jsonValue.map((value) => new Uint8Array(Buffer.from(formatExactJson(value))))
    fc.assert(
      fc.property(mutated(texts), (text) => {
        const isRead = succeeds(() => parseExactJson(text))
        expect(succeeds(() => encoded(text))).toBe(isRead)
      }),
      { numRuns: rounds(2000) },
    )
  })

  test("nesting ends at the limit", () => {
    const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth)
    expect(encoded(nested(MAX_DEPTH)).length).toBe(MAX_DEPTH)
    expect(() => encoded(nested(MAX_DEPTH + 1))).toThrow(MessagePackError)
  })

  test("a key that is not a string is rejected", () => {
    expect(() => formatOrderedJson(new Map([[1, 2]]))).toThrow(MessagePackError)
  })
})

const succeeds = (run: () => unknown): boolean => {
  try {
    run()
    return true
  } catch (error) {
    if (error instanceof MalformedJsonError || error instanceof MessagePackError) return false
    throw error
  }
}
