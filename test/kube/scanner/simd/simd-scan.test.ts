import { createHash } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import fc from "fast-check"
import { beforeAll, describe, expect, test } from "vitest"
import { compileDetectRules, type Detect } from "../../../../src/kube/scanner/object/detect-rules.ts"
import { compileMemberTrie } from "../../../../src/kube/scanner/object/member-trie.ts"
import { encodeRules, ObjectScanner } from "../../../../src/kube/scanner/object/object-scanner.ts"

import { simdSource } from "../../../../src/kube/scanner/simd/simd-module.ts"
import { SimdResult, SimdScan } from "../../../../src/kube/scanner/simd/simd-scan.ts"

import { scanObjectSlowly } from "../../../../src/kube/scanner/slow-path.ts"
import { WatchLineScanner } from "../../../../src/kube/scanner/watch-line.ts"
import { rounds } from "../../../harness/effort.ts"
import { write } from "../json-text.ts"
import { kubernetesObject } from "../kubernetes-object.ts"
import { mutated } from "../mutation.ts"

const gvk = { group: "apps", version: "v1", kind: "Deployment" }
const rulesOf = (detect: Detect, ignore: ReadonlyArray<string> = []) => compileDetectRules({ detect, ignore, gvk })
const encoded = (detect: Detect, ignore: ReadonlyArray<string> = []): Uint8Array => {
  const of = rulesOf(detect, ignore)
  const rules = encodeRules(of, compileMemberTrie(of))
  if (rules === undefined) throw new Error("no room for the rules")
  return rules
}
const content = encoded("content")
let simd: SimdScan

beforeAll(() => {
  const created = SimdScan.create()
  if (created === undefined) throw new Error("this machine has no WebAssembly SIMD")
  simd = created
})

/** Whether the pass accepts the object, with `before` bytes of something else in front and a quote after it. */
const takes = (text: string | Uint8Array, before = 0): boolean => {
  const own = Buffer.from(text)
  const bytes = Buffer.concat([Buffer.alloc(before, "x"), own, Buffer.from('"}')])
  return simd.scanObject(content, bytes, before, before + own.length)
}

/** An object with `value` as its spec. */
const around = (value: string): string => `{"metadata":{},"spec":${value}}`

const isJson = (bytes: Uint8Array): boolean => {
  try {
    JSON.parse(new TextDecoder("utf-8").decode(bytes))
    return true
  } catch {
    return false
  }
}

describe("the WebAssembly pass", () => {
  test("is built from the sources beside it", () => {
    const folder = new URL("../../../../src/kube/scanner/simd/assembly/", import.meta.url)
    const hash = createHash("sha256")
    for (const name of readdirSync(folder).toSorted()) hash.update(readFileSync(new URL(name, folder)))
    expect(simdSource).toBe(hash.digest("hex"))
  })

  test("accepts every compact object, at any position", () => {
    fc.assert(
      fc.property(kubernetesObject, fc.nat({ max: 40 }), (object, before) => {
        expect(takes(write(object), before)).toBe(true)
      }),
      { numRuns: rounds(1000) },
    )
  })

  test("never accepts invalid bytes, however they were changed", () => {
    let taken = 0
    let refused = 0
    fc.assert(
      fc.property(kubernetesObject, mutated, (object, mutate) => {
        const bytes = mutate(Buffer.from(write(object)))
        if (takes(bytes)) {
          taken++
          expect(isJson(bytes)).toBe(true)
        } else refused++
      }),
      { numRuns: rounds(2000) },
    )
    // How many are taken is chance: 79 of 2000 were, once.
    expect([taken > rounds(40), refused > rounds(40)]).toEqual([true, true])
  })

  test("computes the same fingerprint as the pass in TypeScript", () => {
    let taken = 0
    const pointers = [
      "/spec/a",
      "/metadata/labels",
      "/metadata/labels/a",
      "/metadata/annotations/a",
      "/status/x",
      "/a/b",
    ]
    fc.assert(
      fc.property(
        kubernetesObject,
        fc.subarray(pointers),
        fc.constantFrom<Detect>("all", "content", "spec"),
        (object, ignore, detect) => {
          const bytes = Buffer.from(write(object))
          const scanner = new ObjectScanner(rulesOf(detect, ignore))
          const slow = scanObjectSlowly(scanner, bytes, 0, bytes.length)
          if (slow instanceof Error) throw slow
          // Not where a rule would reach into an array.
          if (!simd.scanObject(encoded(detect, ignore), bytes, 0, bytes.length)) return
          taken++
          const { results } = simd
          expect([results[SimdResult.low], results[SimdResult.high]]).toEqual([
            scanner.fingerprintLow,
            scanner.fingerprintHigh,
          ])
        },
      ),
      { numRuns: rounds(1000) },
    )
    expect(taken).toBeGreaterThan(rounds(500))
  })

  test("reads escape sequences at every position of a block", () => {
    const escapes = ['\\"', "\\\\", '\\\\\\"', "\\n", "\\u00e9", "\\\\\\\\", '\\"\\"\\"']
    for (const sequence of escapes) {
      for (let before = 0; before < 140; before++) {
        const text = `"${"x".repeat(before)}${sequence}"`
        expect(takes(around(`{"a":${text},"b":[${text}]}`))).toBe(true)
        expect(takes(around(`{"a":${text.slice(0, -1)},"b":1}`))).toBe(false)
      }
    }
    for (const bad of ["\\x", "\\u12g4", "\\u123", "\\", "\\U0041"]) {
      for (let before = 0; before < 70; before++) expect(takes(around(`"${"x".repeat(before)}${bad}"`))).toBe(false)
    }
  })

  test.each(["1.5", "-0", "0.10", "1e3", "2.50E-300", "true", "false", "null", "[]", "{}", '""', "[[],{}]"])(
    "takes %s",
    (value) => {
      expect(takes(around(value))).toBe(true)
    },
  )

  test.each([
    '{ "a":1}',
    '{"a": 1}',
    '["a" ]',
    "1.",
    "1e",
    ".5",
    "01",
    "-",
    "+1",
    '"\u0001"',
    "",
    "tru",
    "nul",
    "fals",
    "{",
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    "{1:2}",
    "[1,]",
    "[1 2]",
    "[1}",
    '{"a":1]',
    '"a"b',
    '\\"',
  ])("leaves %j to the other pass", (value) => {
    expect(takes(around(value))).toBe(false)
  })

  test.each([
    '{"metadata":{"na\\u006de":"x"}}',
    '{"metadata":{"name":"a\\"b"}}',
    '{"metadata":{"name":"a","name":"b"}}',
    '{"metadata":{"name":1}}',
    '{"metadata":null}',
    '{"metadata":{},"metadata":{}}',
    '{"metadata":{"ownerReferences":{}}}',
    '{"spec":{}}',
    "[]",
  ])("leaves %s to the other pass", (text) => {
    expect(takes(text)).toBe(false)
  })

  test("leaves objects nested deeper than its stack to the other pass", () => {
    const nested = (depth: number): string => around("[".repeat(depth) + "]".repeat(depth))
    expect(takes(nested(4097))).toBe(true)
    expect(takes(nested(4098))).toBe(false)
  })

  test("leaves objects larger than its memory to the other pass, and is not confused by them afterwards", () => {
    const limit = 1024 * 1024
    const large = (length: number): string => around(JSON.stringify("x".repeat(length - around('""').length)))
    expect(takes(large(limit + 1))).toBe(false)
    expect(takes(around("1"))).toBe(true)
    expect(takes(large(limit))).toBe(true)
    // As many quotes as valid JSON can have.
    const quotes = around(`[${'"",'.repeat((limit - 40) / 3)}""]`)
    expect(takes(quotes)).toBe(true)
    expect(takes(quotes.slice(0, -1))).toBe(false)
  })

  test("ignores what an earlier, longer span left after its own", () => {
    expect(takes(around(JSON.stringify({ text: "y".repeat(100) })))).toBe(true)
    expect(takes('{"metadata":{},"spec":{"text":"yyyy')).toBe(false)
    expect(takes('{"metadata":{},"spec":{"text":"yyyy"')).toBe(false)
  })

  test.each([
    ['{"type":"ADDED","object":{"metadata":{}}}', 1],
    ['{"type":"MODIFIED","object":{"metadata":{}}}', 2],
    ['{"type":"DELETED","object":{"metadata":{}}}', 3],
    ['{"type":"BOOKMARK","object":{"metadata":{}}}', 4],
    ['{"type":"ERROR","object":{"metadata":{}}}', 0],
    ['{"type":"MODIFIEd","object":{"metadata":{}}}', 0],
    ['{"type":"ADDED","object":{"metadata":{}},"more":1}', 0],
    ['{"object":{"metadata":{}},"type":"ADDED"}', 0],
    ['{"type":"ADDED","object":{"metadata":{}}}}', 0],
    ['{"type":"ADDED","object":{"metadata":{}}', 0],
    ['{"type":"ADDED","object":[]}', 0],
    ['{"type":"ADDED"}', 0],
    ['{"type":"', 0],
  ])("reads the line %s as type %i, 0 being for the other pass", (line, type) => {
    const bytes = Buffer.from(`xx${line}\n`)
    const isTaken = simd.scanLine(content, bytes, 2, 2 + line.length)
    expect(isTaken ? simd.results[SimdResult.type] : 0).toBe(type)
    if (isTaken) {
      const { objectStart, objectEnd } = SimdResult
      expect(bytes.toString("utf8", simd.results[objectStart], simd.results[objectEnd])).toBe('{"metadata":{}}')
    }
  })
})

describe("scanners that share the pass", () => {
  test("each use their own rules", () => {
    const one = new ObjectScanner(rulesOf("content", ["/spec/a"]))
    const other = new WatchLineScanner(rulesOf("content", ["/spec/b"]))
    const prints = (a: number, b: number) => {
      const text = around(`{"a":${a},"b":${b}}`)
      const object = Buffer.from(text)
      const line = Buffer.from(`{"type":"ADDED","object":${text}}`)
      expect([one.scan(object, 0, object.length), other.scan(line, 0, line.length)]).toEqual([true, true])
      return [one.fingerprintLow, other.object.fingerprintLow]
    }
    const [first, second] = prints(1, 1)
    expect(prints(2, 1)[0]).toBe(first)
    expect(prints(2, 1)[1]).not.toBe(second)
    expect(prints(1, 2)[0]).not.toBe(first)
    expect(prints(1, 2)[1]).toBe(second)
  })

  test.each([
    ["reach too deep", `/spec${"/a".repeat(80)}`],
    ["name a key that is too long", `/spec/${"k".repeat(300)}`],
  ])("work without it when their rules %s", (_what, pointer) => {
    const rules = rulesOf("content", [pointer])
    expect(encodeRules(rules, compileMemberTrie(rules))).toBeUndefined()
    const bytes = Buffer.from(around('{"a":1}'))
    expect(new ObjectScanner(rules).scan(bytes, 0, bytes.length)).toBe(true)
  })
})
