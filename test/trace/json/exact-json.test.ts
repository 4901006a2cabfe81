import { isDeepStrictEqual } from "node:util"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { MessagePackReader } from "../../../src/trace/formats/simkube/message-pack/message-pack-reader.ts"
import { encodeMessagePack } from "../../../src/trace/formats/simkube/message-pack/message-pack-writer.ts"
import {
  formatExactJson,
  IntegralFloat,
  type JsonObject,
  MalformedJsonError,
  parseExactJson,
  parseStrictJson,
  withProperty,
} from "../../../src/trace/json/exact-json.ts"
import { sanitise } from "../../../src/trace/sanitising/sanitise.ts"
import { rounds } from "../../harness/effort.ts"
import { jsonValue, mutated } from "../json-values.ts"

const failure = (run: () => unknown): MalformedJsonError => {
  try {
    run()
  } catch (error) {
    if (error instanceof MalformedJsonError) return error
    throw error
  }
  throw new Error("nothing was thrown")
}

describe("exact JSON", () => {
  test.each([
    ["0", 0],
    ["42", 42],
    ["-3", -3],
    ["9007199254740991", 9007199254740991],
    ["9007199254740993", 9007199254740993n],
    ["-9007199254740993", -9007199254740993n],
    ["18446744073709551615", 18446744073709551615n],
    ["-9223372036854775808", -9223372036854775808n],
    ["0.5", 0.5],
    ["1e-7", 1e-7],
    ["-0", -0],
    ["-0.0", -0],
    ["1.0", new IntegralFloat(1)],
    ["1e3", new IntegralFloat(1000)],
    ["0.0", new IntegralFloat(0)],
    ["15.0e1", new IntegralFloat(150)],
    ["0.99999999999999999999", new IntegralFloat(1)],
    ["18446744073709551616", 2 ** 64],
    ["-9223372036854775809", -(2 ** 63)],
    ["1e21", 1e21],
  ])("reads the literal %s as serde_json does, at any position", (literal, expected) => {
    expect(parseExactJson(literal)).toStrictEqual(expected)
    expect(parseExactJson(` {"a":\n${literal} }`)).toStrictEqual({ a: expected })
    expect(parseExactJson(`{"a" : [1,${literal},"x"]}`)).toStrictEqual({ a: [1, expected, "x"] })
    expect(parseExactJson(`[${literal}]`)).toStrictEqual([expected])
  })

  test("keeps numbers inside strings as text", () => {
    const text = '{"image":"registry:5000/nginx:1.0","list":"1,2.0,[3.0","id":"12345678901234567890"}'
    expect(parseExactJson(text)).toStrictEqual(JSON.parse(text))
  })

  test("treats a key named __proto__ as a key, with and without suspicious numbers", () => {
    for (const number of ["1", "1.0"]) {
      const value = parseExactJson(`{"__proto__":{"polluted":${number}},"a":1}`) as object
      expect(Object.keys(value)).toEqual(["__proto__", "a"])
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
      expect(formatExactJson(value as never)).toBe(`{"__proto__":{"polluted":${number}},"a":1}`)
    }
  })

  test("keys with escapes are not mistaken for keys with backslashes met before (nodejs/node#63785)", () => {
    const pod = { apiVersion: "v1", kind: "Pod" }
    for (let width = 1; width <= 12; width++)
      for (let place = 0; place < width; place++) {
        const text = (key: string): string => {
          const names = Array.from({ length: width }, (_, at) => (at === place ? key : `${width}-${place}-${at}`))
          return `{${names.map((name) => `${JSON.stringify(name)}:"x"`).join()}}`
        }
        // Every way in which an object with such a key is created: parsed, decoded, copied.
        const met = parseExactJson(text("a\\")) as JsonObject
        expect(formatExactJson(met)).toBe(text("a\\"))
        expect(new MessagePackReader(encodeMessagePack(met)).readJson()).toEqual(met)
        const annotations = withProperty({ "deployment.kubernetes.io/revision": "1" }, "b\\", "x")
        for (const key of Object.keys(met)) withProperty(annotations, key, "x")
        expect(Object.keys(sanitise(pod, { metadata: { annotations } }).metadata.annotations ?? {})).toHaveLength(
          width + 1,
        )
        for (const key of ['a"', "a\n", "b/"]) {
          expect(formatExactJson(parseExactJson(text(key)))).toBe(text(key))
          expect(Object.keys(JSON.parse(text(key)))).toContain(key)
        }
      }
  })

  test("an object with very many keys with backslashes is read in linear time", () => {
    const text = `{${Array.from({ length: 100_000 }, (_, at) => `"\\\\${at}":0`).join()}}`
    expect(formatExactJson(parseExactJson(text))).toBe(text)
  })

  test("accepts exactly what JSON.parse accepts, on the slow path too", () => {
    const texts = fc.oneof(
      mutated(fc.json().map((text) => Buffer.from(text))).map((bytes) => Buffer.from(bytes).toString()),
      fc.string({
        unit: fc.constantFrom(
          "[",
          "]",
          "{",
          "}",
          ",",
          ":",
          '"',
          "\\",
          "a",
          "u0041",
          "1",
          "-",
          "0",
          ".",
          "e",
          " ",
          "\n",
          "\t",
          "true",
          "null",
        ),
        maxLength: 12,
      }),
    )
    const finite = (_: string, value: unknown): unknown => {
      // Rejected by serde_json and by us; JSON.parse makes it Infinity.
      if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) throw new Error("beyond f64")
      return value
    }
    const outcome = (parse: () => unknown): string => {
      try {
        return JSON.stringify(parse())
      } catch {
        return "refused"
      }
    }
    fc.assert(
      fc.property(texts, (text) => {
        const strict = outcome(() => JSON.parse(formatExactJson(parseStrictJson(text))))
        expect(strict).toBe(outcome(() => JSON.parse(text, finite)))
      }),
      { numRuns: rounds(1000) },
    )
  })

  test("the last value of a repeated key wins, with its own literal", () => {
    expect(parseExactJson('{"a":1.0,"a":2}')).toStrictEqual({ a: 2 })
    expect(parseExactJson('{"a":2,"a":1.0}')).toStrictEqual({ a: new IntegralFloat(1) })
  })

  test("every value survives being written and read", () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        const text = formatExactJson(value)
        expect(isDeepStrictEqual(parseExactJson(text), value)).toBe(true)
        expect(isDeepStrictEqual(parseExactJson(Buffer.from(text)), value)).toBe(true)
      }),
    )
  })

  test("what JSON.parse reads without loss is read the same", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(JSON.stringify(JSON.parse(formatExactJson(parseExactJson(text))))).toBe(JSON.stringify(JSON.parse(text)))
      }),
    )
  })

  test("broken bytes fail with its own error or are read", () => {
    const bytes = jsonValue.map((value) => Buffer.from(formatExactJson(value)))
    fc.assert(
      fc.property(mutated(bytes), (broken) => {
        try {
          formatExactJson(parseExactJson(broken))
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedJsonError)
        }
      }),
    )
  })

  test("reports why a text is rejected, and where, but never quotes it", () => {
    expect(failure(() => parseExactJson('{"password":"hunter2",}'))).toMatchObject({ reason: "syntax", position: 22 })
    expect(failure(() => parseExactJson('{"password":"hunter2",}')).message).not.toContain("hunter2")
    expect(failure(() => parseExactJson(Uint8Array.of(0x22, 0xff, 0x22)))).toMatchObject({ reason: "encoding" })
    expect(failure(() => parseExactJson("[1e400]"))).toMatchObject({ reason: "number" })
    expect(failure(() => parseExactJson(`[${"9".repeat(400)}]`))).toMatchObject({ reason: "number" })
    const deep = `${"[".repeat(200_000)}1.0${"]".repeat(200_000)}`
    expect(failure(() => parseExactJson(deep))).toMatchObject({ reason: "depth" })
  })

  test("floats that JSON cannot represent are written as null", () => {
    expect(formatExactJson([Number.NaN, Number.POSITIVE_INFINITY])).toBe("[null,null]")
  })
})
