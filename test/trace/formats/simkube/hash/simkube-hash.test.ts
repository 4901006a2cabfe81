import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  formatExactJson,
  IntegralFloat,
  isJsonObject,
  type JsonValue,
  NestingTooDeepError,
  parseExactJson,
  simkubeHash,
} from "../../../../../src/trace/index.ts"
import { jsonValue } from "../../../json-values.ts"

const MASK = 2n ** 64n - 1n

/** The same hash, as slow and as plain as possible: a list of bytes, then SipHash-1-3 in 64-bit arithmetic. */
const plainHash = (value: JsonValue): bigint => {
  const bytes: number[] = []
  const word = (integer: bigint): void => {
    for (let shift = 0n; shift < 64n; shift += 8n) bytes.push(Number((integer >> shift) & 0xffn))
  }
  const float = (number: number): void => {
    const view = new DataView(new ArrayBuffer(8))
    view.setFloat64(0, number === 0 ? 0 : number)
    word(view.getBigUint64(0))
  }
  const string = (text: string): void => void bytes.push(...Buffer.from(text), 0xff)
  const walk = (item: JsonValue): void => {
    if (item === null) word(0n)
    else if (typeof item === "boolean") bytes.push(item ? 1 : 0)
    else if (typeof item === "bigint") word(item & MASK)
    else if (item instanceof IntegralFloat) float(item.value)
    else if (typeof item === "number" && Number.isSafeInteger(item)) word(BigInt(item) & MASK)
    else if (typeof item === "number") float(item)
    else if (typeof item === "string") string(item)
    else if (isJsonObject(item)) {
      const keys = Object.keys(item).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      for (const key of keys) {
        string(key)
        walk(item[key] as JsonValue)
      }
    } else for (const element of item) walk(element)
  }
  walk(value)
  return plainSipHash13(bytes)
}

const plainSipHash13 = (bytes: ReadonlyArray<number>): bigint => {
  let [v0, v1, v2, v3] = [0x736f6d6570736575n, 0x646f72616e646f6dn, 0x6c7967656e657261n, 0x7465646279746573n]
  const rotate = (value: bigint, by: bigint): bigint => ((value << by) | (value >> (64n - by))) & MASK
  const round = (): void => {
    v0 = (v0 + v1) & MASK
    v1 = rotate(v1, 13n) ^ v0
    v0 = rotate(v0, 32n)
    v2 = (v2 + v3) & MASK
    v3 = rotate(v3, 16n) ^ v2
    v0 = (v0 + v3) & MASK
    v3 = rotate(v3, 21n) ^ v0
    v2 = (v2 + v1) & MASK
    v1 = rotate(v1, 17n) ^ v2
    v2 = rotate(v2, 32n)
  }
  const compress = (word: bigint): void => {
    v3 ^= word
    round()
    v0 ^= word
  }
  const wordAt = (start: number, end: number): bigint =>
    bytes.slice(start, end).reduceRight((word, byte) => (word << 8n) | BigInt(byte), 0n)
  const whole = bytes.length - (bytes.length % 8)
  for (let start = 0; start < whole; start += 8) compress(wordAt(start, start + 8))
  compress(wordAt(whole, bytes.length) | (BigInt(bytes.length & 0xff) << 56n))
  v2 ^= 0xffn
  round()
  round()
  round()
  return v0 ^ v1 ^ v2 ^ v3
}

describe("SimKube's hash", () => {
  test.each([
    ['{"replicas":42}', 3664028200602729212n],
    ['{"updateStrategy":{"type":"onDelete"}}', 16161139027557399432n],
    ['{"containers":[],"volumes":[]}', 17506812802394981455n],
    ['{"containers":[],"nodeSelector":{"boo":"far"},"volumes":[]}', 18161541283955474812n],
    ["null", 13646096770106105413n],
    ["0", 13646096770106105413n],
    ["{}", 15130871412783076140n],
    ["[]", 15130871412783076140n],
  ])("of %s is the one SimKube computes", (text, hash) => {
    expect(simkubeHash(parseExactJson(text))).toBe(hash)
  })

  test("of an object without spec is that of null", () => {
    expect(simkubeHash(undefined)).toBe(13646096770106105413n)
  })

  test.each([
    "[9007199254740993,18446744073709551615,-9223372036854775808,-3,-1,4294967296,-4294967297]",
    "[0.5,-0.0,1.0,1e3,0.0,1e300,18446744073709551616,5e-324]",
    '{"\u{1d11e}":1,"\uffff":2,"z":"ünï ☃ 𝄞","__proto__":true,"":false}',
    `{"long":"${"x".repeat(100)}","wide":"${"é𝄞".repeat(30)}","list":[null,[],{},""]}`,
  ])("of numbers and characters that are easily lost: %s", (text) => {
    const value = parseExactJson(text)
    expect(simkubeHash(value)).toBe(plainHash(value))
  })

  test("of any value equals the plain definition", () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        expect(simkubeHash(value)).toBe(plainHash(value))
      }),
    )
  })

  test("of values of every length from 0 to 70 bytes equals the plain definition", () => {
    for (let length = 0; length <= 70; length++) {
      const value = "x".repeat(length)
      expect(simkubeHash(value)).toBe(plainHash(value))
    }
  })

  test("of a value larger than the scratch memory, and of small ones afterwards", () => {
    const large = { data: "ü".repeat(400_000), list: Array.from({ length: 1000 }, (_, index) => index) }
    expect(simkubeHash(large)).toBe(plainSipHash13Of(large))
    expect(simkubeHash({ replicas: 42 })).toBe(3664028200602729212n)
  })

  test("ignores types and ends, as SimKube's does (W-44)", () => {
    expect(simkubeHash([1, 2])).toBe(simkubeHash([[1], [2]]))
    expect(simkubeHash(null)).toBe(simkubeHash(0))
  })

  test("of a value nested too deeply is rejected, and hashing still works afterwards", () => {
    const nested = (levels: number): JsonValue => parseExactJson(`${"[".repeat(levels)}${"]".repeat(levels)}`)
    expect(simkubeHash(nested(1000))).toBe(15130871412783076140n)
    expect(() => simkubeHash(nested(1001))).toThrow(NestingTooDeepError)
    expect(() => simkubeHash(nested(100_000))).toThrow(NestingTooDeepError)
    expect(simkubeHash({ replicas: 42 })).toBe(3664028200602729212n)
  })
})

/** Large values: the plain walk's list of bytes would not fit on the stack. */
const plainSipHash13Of = (value: { readonly data: string; readonly list: ReadonlyArray<number> }): bigint => {
  const words = value.list.flatMap((item) => [item & 0xff, item >> 8, 0, 0, 0, 0, 0, 0])
  return plainSipHash13([
    ...Buffer.from("data"),
    0xff,
    ...Buffer.from(value.data),
    0xff,
    ...Buffer.from("list"),
    0xff,
    ...words,
  ])
}

test("the hash does not depend on how the JSON was written", () => {
  fc.assert(
    fc.property(jsonValue, (value) => {
      expect(simkubeHash(parseExactJson(formatExactJson(value)))).toBe(simkubeHash(value))
    }),
  )
})
