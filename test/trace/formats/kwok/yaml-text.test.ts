/** Our YAML, read by a reader of YAML 1.2 and by one of 1.1, as in Kubernetes' tools. */

import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { parse } from "yaml"
import { formatYaml } from "../../../../src/trace/formats/kwok/kwok-encoder.ts"
import { YamlDocuments, YamlValueError, yamlValue } from "../../../../src/trace/formats/kwok/yaml-documents.ts"
import { IntegralFloat, type JsonObject } from "../../../../src/trace/json/exact-json.ts"
import { rounds } from "../../../harness/effort.ts"
import { jsonObject, text } from "../../json-values.ts"

describe("an object as YAML", () => {
  test("is read back with every number and key", () => {
    fc.assert(
      fc.property(jsonObject, (object) => {
        fc.pre(Object.keys(object).length > 0)
        expect(yamlValue(formatYaml(object))).toEqual(object)
      }),
      { numRuns: rounds(300) },
    )
  })

  test("reads the same in YAML 1.1, text as text", () => {
    fc.assert(
      fc.property(
        fc.oneof(text, fc.constantFrom("y", "No", "1_000", "0o7", "012", "1:20", "~", "<<", ".5", "=", "1e3")),
        (value) => {
          expect(parse(formatYaml({ value, [`k${value}`]: [value] }), { version: "1.1" })).toEqual({
            value,
            [`k${value}`]: [value],
          })
        },
      ),
    )
  })

  test("has one line per value, so that no line starts a document", () => {
    fc.assert(
      fc.property(jsonObject, (object) => {
        for (const line of formatYaml(object).split(/\r\n|[\n\r\u0085\u2028\u2029]/)) expect(line).not.toMatch(/^---/)
      }),
    )
  })

  test("looks like Kubernetes' own", () => {
    const object: JsonObject = {
      kind: "Pod",
      spec: { containers: [{ name: "a", args: ["-v", "1"], ports: [] }], replicas: 3, share: new IntegralFloat(1) },
    }
    expect(formatYaml(object)).toBe(
      `kind: Pod
spec:
  containers:
  - name: a
    args:
    - "-v"
    - "1"
    ports: []
  replicas: 3
  share: 1.0
`,
    )
  })

  test("with a key too long for a plain one can still be read", () => {
    const key = "k".repeat(5000)
    expect(yamlValue(formatYaml({ [key]: { a: 1 } }))).toEqual({ [key]: { a: 1 } })
  })
})

describe("a document", () => {
  test.each([
    ["a: [1", /flow|sequence|\]/i],
    ["a: &x 1\nb: *x", /alias/],
    ["a: 1\na: 2", /unique/i],
    ["? [1]\n: 2", /key/],
    ["a: .inf", /finite/],
    [`a: ${"9".repeat(400)}`, /^a number of 400 characters/],
    [`a: 0x${"f".repeat(400)}`, /^a number of 482 characters/],
  ])("%j is rejected", (source, reason) => {
    expect(() => yamlValue(source)).toThrow(reason)
    expect(() => yamlValue(source)).toThrow(YamlValueError)
  })

  test.each([2_000, 50_000])("that is nested %i levels deep is rejected", (depth) => {
    expect(() => yamlValue(`${"[".repeat(depth)}${"]".repeat(depth)}`)).toThrow(/nested too deeply/)
  })

  test("of any text is a value or an error of its own", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: fc.constantFrom(..."a:-[]{}&*!|>'\"\n #?,1") })),
        (source) => {
          try {
            yamlValue(source)
          } catch (error) {
            expect(error).toBeInstanceOf(YamlValueError)
          }
        },
      ),
      { numRuns: rounds(1000) },
    )
  })
})

describe("a stream of documents", () => {
  const split = (source: string, size: number): ReadonlyArray<readonly [string, number]> => {
    const documents = new YamlDocuments()
    const bytes = Buffer.from(source)
    const found = []
    for (let start = 0; start < bytes.length; start += size)
      found.push(...documents.push(bytes.subarray(start, start + size)))
    return [...found, ...documents.end()].map(({ text: content, offset }) => [content, offset] as const)
  }

  test.each([1, 2, 3, 1000])("is split at its lines of dashes, in pieces of %i bytes", (size) => {
    expect(split("a: 1\n---\nb: ü\n--- # next\n\n---\nc: 3", size)).toEqual([
      ["a: 1\n", 0],
      ["b: ü\n", 9],
      ["c: 3", 31],
    ])
  })

  test("is split as line by line, whatever it contains and in whatever pieces it comes", () => {
    const byLines = (source: string): ReadonlyArray<readonly [string, number]> => {
      const found: Array<readonly [string, number]> = []
      let [text, start, offset] = ["", 0, 0]
      for (const line of source.split(/(?<=\n)/)) {
        offset += line.length
        if (!line.startsWith("---")) {
          text += line
          continue
        }
        if (text.trim() !== "") found.push([text, start])
        ;[text, start] = ["", offset]
      }
      return text.trim() === "" ? found : [...found, [text, start]]
    }
    const piece = fc.constantFrom("-", "--", "---", "\n", "a", " ", "--- b", "\n---\n", "\n--")
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), fc.integer({ min: 1, max: 7 }), (pieces, size) => {
        expect(split(pieces.join(""), size)).toEqual(byLines(pieces.join("")))
      }),
      { numRuns: rounds(500) },
    )
  })

  test("that is empty has none", () => {
    expect(split("", 1)).toEqual([])
    expect(split("---\n---\n", 3)).toEqual([])
  })
})
