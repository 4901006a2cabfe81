import { isDeepStrictEqual } from "node:util"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  decodeMessagePack,
  encodeMessagePack,
  IntegralFloat,
  type JsonValue,
  MessagePackError,
  MessagePackReader,
  type MessagePackValue,
  MessagePackWriter,
} from "../../../../../src/trace/index.ts"
import { jsonObject, jsonValue, mutated } from "../../../json-values.ts"
import { realTraces, whyNoPublished } from "../../traces.ts"

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")
const unhex = (text: string): Uint8Array => Buffer.from(text, "hex")

const failure = (run: () => unknown): MessagePackError => {
  try {
    run()
  } catch (error) {
    if (error instanceof MessagePackError) return error
    throw error
  }
  throw new Error("nothing was thrown")
}

const value: fc.Arbitrary<MessagePackValue> = fc.letrec<{ value: MessagePackValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    // Leaves of JSON; its objects are read back as maps and are tested separately.
    jsonValue.filter((leaf) => typeof leaf !== "object" || leaf === null || leaf instanceof IntegralFloat),
    fc.array(tie("value"), { maxLength: 20 }),
    fc.array(fc.tuple(tie("value"), tie("value")), { maxLength: 20 }).map((entries) => new Map(entries)),
  ),
})).value

describe("MessagePack", () => {
  test.each<[string, MessagePackValue]>([
    ["c0", null],
    ["c2", false],
    ["c3", true],
    ["00", 0],
    ["7f", 127],
    ["cc80", 128],
    ["ccff", 255],
    ["cd0100", 256],
    ["cdffff", 65535],
    ["ce00010000", 65536],
    ["ceffffffff", 4294967295],
    ["cf0000000100000000", 4294967296],
    ["cf001fffffffffffff", 9007199254740991],
    ["cf0020000000000000", 9007199254740992n],
    ["cfffffffffffffffff", 18446744073709551615n],
    ["ff", -1],
    ["e0", -32],
    ["d0df", -33],
    ["d080", -128],
    ["d1ff7f", -129],
    ["d18000", -32768],
    ["d2ffff7fff", -32769],
    ["d280000000", -2147483648],
    ["d3ffffffff7fffffff", -2147483649],
    ["d38000000000000000", -9223372036854775808n],
    ["cb3ff0000000000000", new IntegralFloat(1)],
    ["cb3fe0000000000000", 0.5],
    ["cb8000000000000000", -0],
    ["a0", ""],
    ["a2c3bc", "ü"],
    ["90", []],
    ["80", new Map()],
    ["8191a16101", new Map([[["a"], 1]])],
  ])("%s is the smallest form of its value and is read back as it", (expected, item) => {
    expect(hex(encodeMessagePack(item))).toBe(expected)
    expect(decodeMessagePack(unhex(expected))).toStrictEqual(item)
  })

  test.each([
    [31, "bf"],
    [32, "d920"],
    [255, "d9ff"],
    [256, "da0100"],
    [65535, "daffff"],
    [65536, "db00010000"],
  ])("gives %i bytes of text the header %s, even if it has fewer characters", (length, header) => {
    for (const text of ["x".repeat(length), `${"ü".repeat(Math.floor(length / 2))}${length % 2 ? "x" : ""}`]) {
      const encoded = encodeMessagePack(text)
      expect(hex(encoded.subarray(0, encoded.length - length))).toBe(header)
      expect(decodeMessagePack(encoded)).toBe(text)
    }
  })

  test.each([
    [15, "9f", "8f"],
    [16, "dc0010", "de0010"],
    [65535, "dcffff", "deffff"],
    [65536, "dd00010000", "df00010000"],
  ])("gives containers of %i the headers %s and %s", (size, array, map) => {
    const numbers = Array.from({ length: size }, (_, index) => index)
    for (const [item, header] of [
      [numbers, array],
      [new Map(numbers.map((number) => [number, null])), map],
    ] as const) {
      const encoded = encodeMessagePack(item)
      expect(hex(encoded.subarray(0, header.length / 2))).toBe(header)
      expect(isDeepStrictEqual(decodeMessagePack(encoded), item)).toBe(true)
    }
  })

  test("writes the keys of objects in the order of their bytes", () => {
    expect(hex(encodeMessagePack({ b: 1, "\u{1d11e}": 2, "\uffff": 3, a: 4 }))).toBe(
      "84a16104a16201a3efbfbf03a4f09d849e02",
    )
  })

  test.for(realTraces)("encodes %s, once decoded, to the same bytes", ([, read, isPublished], context) => {
    if (isPublished && whyNoPublished !== undefined) context.skip(whyNoPublished)
    const file = read()
    expect(Buffer.compare(encodeMessagePack(decodeMessagePack(file)), file)).toBe(0)
  })

  test("every value is read back", () => {
    fc.assert(
      fc.property(value, (item) => {
        const encoded = encodeMessagePack(item)
        expect(hex(encodeMessagePack(decodeMessagePack(encoded)))).toBe(hex(encoded))
      }),
    )
  })

  test("every JSON value is read back, its own keys and numbers included", () => {
    fc.assert(
      fc.property(jsonValue, (item) => {
        const encoded = encodeMessagePack(item)
        const reader = new MessagePackReader(encoded)
        expect(isDeepStrictEqual(reader.readJson(), item)).toBe(true)
        expect(reader.position).toBe(encoded.length)
        const skipping = new MessagePackReader(encoded)
        skipping.skip()
        expect(skipping.position).toBe(encoded.length)
      }),
    )
  })

  test("every shortened value is truncated", () => {
    fc.assert(
      fc.property(jsonObject, fc.nat(), (item, cut) => {
        const encoded = encodeMessagePack(item)
        const part = encoded.subarray(0, cut % encoded.length)
        expect(failure(() => decodeMessagePack(part)).reason).toBe("truncated")
        expect(failure(() => new MessagePackReader(part).readJson()).reason).toBe("truncated")
        expect(failure(() => new MessagePackReader(part).skip()).reason).toBe("truncated")
      }),
    )
  })

  test("broken bytes fail with its own error or are read, by every reader", () => {
    const encoded = fc.oneof(value, jsonValue).map((item: MessagePackValue | JsonValue) => encodeMessagePack(item))
    const reads = [
      (bytes: Uint8Array) => encodeMessagePack(decodeMessagePack(bytes)),
      (bytes: Uint8Array) => encodeMessagePack(new MessagePackReader(bytes).readJson()),
      (bytes: Uint8Array) => new MessagePackReader(bytes).skip(),
    ]
    fc.assert(
      fc.property(fc.oneof(mutated(encoded), fc.uint8Array({ maxLength: 30 })), (bytes) => {
        for (const read of reads)
          try {
            read(bytes)
          } catch (error) {
            expect(error).toBeInstanceOf(MessagePackError)
          }
      }),
    )
  })

  test.each([
    ["a1ff", "malformed", "text that is not UTF-8"],
    ["c1", "malformed", "the type byte c1, which is never used"],
    ["0000", "malformed", "bytes after the value"],
    ["c40101", "type", "expected a value of JSON, found blob"],
    ["d6ff00000000", "type", "expected a value of JSON, found blob"],
    ["dfffffffff", "truncated", "the bytes end inside a number or type byte"],
    ["dbffffffff61", "truncated", "string of 4294967295 bytes, 1 follow"],
    ["", "truncated", "the bytes end inside a number or type byte"],
  ])("rejects %s as %s", (bytes, reason, detail) => {
    expect(failure(() => decodeMessagePack(unhex(bytes)))).toMatchObject({ reason, detail })
  })

  test("reports the byte at which the problem starts", () => {
    expect(failure(() => decodeMessagePack(unhex("9300a1ff01"))).message).toBe(
      "MessagePack malformed at byte 2: text that is not UTF-8",
    )
  })

  test.each([
    "c403000000",
    "c50003000000",
    "c7020a0000",
    "d40a00",
    "d80a00000000000000000000000000000000",
    "ca3f800000",
  ])("skips %s, which objects may not contain or we never write", (bytes) => {
    const reader = new MessagePackReader(unhex(`${bytes}07`))
    reader.skip()
    expect(reader.readInteger()).toBe(7)
  })

  test("reads encodings larger than necessary", () => {
    expect(decodeMessagePack(unhex("ce00000001"))).toBe(1)
    expect(decodeMessagePack(unhex("d30000000000000001"))).toBe(1)
    expect(decodeMessagePack(unhex("dd00000001da000161"))).toEqual(["a"])
    expect(decodeMessagePack(unhex("ca3fc00000"))).toBe(1.5)
  })

  test("inside objects, keys are strings and floats are finite, as in SimKube's reader", () => {
    expect(failure(() => new MessagePackReader(unhex("810102")).readJson())).toMatchObject({ reason: "type" })
    expect(new MessagePackReader(unhex("cb7ff8000000000000")).readJson()).toBeNull()
    expect(new MessagePackReader(unhex("82a16101a16102")).readJson()).toEqual({ a: 2 })
  })

  test("nesting is limited, in both directions, without reaching the stack's end", () => {
    const nested = (levels: number): Uint8Array => Uint8Array.from([...new Array<number>(levels).fill(0x91), 0])
    const atLimit = decodeMessagePack(nested(1000))
    expect(hex(encodeMessagePack(atLimit))).toBe(hex(nested(1000)))
    for (const levels of [1001, 100_000]) {
      expect(failure(() => decodeMessagePack(nested(levels)))).toMatchObject({ reason: "depth", offset: 1000 })
      expect(failure(() => new MessagePackReader(nested(levels)).readJson())).toMatchObject({ reason: "depth" })
      const reader = new MessagePackReader(nested(levels))
      reader.skip()
      expect(reader.position).toBe(levels + 1)
    }
    expect(failure(() => encodeMessagePack([atLimit]))).toMatchObject({ reason: "depth" })
  })

  test("integers beyond 64 bits are rejected", () => {
    for (const integer of [2n ** 64n, -(2n ** 63n) - 1n, 2 ** 53, 0.5])
      expect(failure(() => new MessagePackWriter().writeInteger(integer))).toMatchObject({ reason: "range" })
  })

  test("peeking moves nothing", () => {
    const reader = new MessagePackReader(unhex("81a16190"))
    expect(reader.peek()).toBe("map")
    expect(reader.readMapHeader()).toBe(1)
    expect(reader.peek()).toBe("string")
    expect(reader.readString()).toBe("a")
    expect(reader.peek()).toBe("array")
    expect(reader.readArrayHeader()).toBe(0)
    expect(reader.peek()).toBeUndefined()
  })

  test("what was written can be truncated", () => {
    const writer = new MessagePackWriter(1)
    writer.writeString("kept")
    const { length } = writer
    writer.writeValue(["not", "kept"])
    writer.truncate(length)
    writer.writeEncoded(Uint8Array.of(0xc0))
    expect(hex(writer.view())).toBe("a46b657074c0")
    writer.clear()
    expect(writer.length).toBe(0)
  })
})
