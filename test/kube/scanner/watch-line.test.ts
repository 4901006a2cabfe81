import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { compileDetectRules, defaultIgnore } from "../../../src/kube/scanner/object/detect-rules.ts"
import { scanWatchLineSlowly, UnreadableError } from "../../../src/kube/scanner/slow-path.ts"
import { WatchEventType, WatchLineScanner } from "../../../src/kube/scanner/watch-line.ts"
import { rounds } from "../../harness/effort.ts"
import { expectFields, type Json } from "./expected-fields.ts"
import { anyValue, type JsonText, object, spacing, write } from "./json-text.ts"
import { kubernetesObject } from "./kubernetes-object.ts"
import { mutated } from "./mutation.ts"

const gvk = { group: "", version: "v1", kind: "ConfigMap" }
const rules = compileDetectRules({ detect: "content", ignore: defaultIgnore(gvk, "content"), gvk })
const scanner = new WatchLineScanner(rules)
const slowScanner = new WatchLineScanner(rules)

const types = { ADDED: 1, MODIFIED: 2, DELETED: 3, BOOKMARK: 4, ERROR: 5 } as const

const line = fc
  .tuple(fc.constantFrom(...(Object.keys(types) as Array<keyof typeof types>)), kubernetesObject, fc.option(anyValue))
  .chain(([type, content, other]) => {
    const members: Array<readonly [string, JsonText]> = [
      ['"type"', `"${type}"`],
      ['"object"', content],
      ...(other === null ? [] : [['"other"', other] as const]),
    ]
    return fc
      .shuffledSubarray(members, { minLength: members.length, maxLength: members.length })
      .map((order) => ({ type, content, text: object(...order) }))
  })

const scan = (text: string): boolean => {
  const bytes = Buffer.from(text)
  return scanner.scan(bytes, 0, bytes.length)
}

const slowly = (text: string) => {
  const bytes = Buffer.from(text)
  return scanWatchLineSlowly(slowScanner, bytes, 0, bytes.length)
}

describe("a watch line", () => {
  test("is read in any order of its members and with any white space", () => {
    fc.assert(
      fc.property(line, spacing, ({ type, content, text }, space) => {
        const written = `${space()}${write(text, space)}${space()}`
        const bytes = Buffer.from(written)
        expect(scanner.scan(bytes, 0, bytes.length)).toBe(true)
        expect(scanner.type).toBe(types[type])
        const own = bytes.toString("utf8", scanner.objectStart, scanner.objectEnd)
        expect(JSON.parse(own)).toEqual(JSON.parse(write(content)))
        expectFields(bytes, scanner.objectStart, scanner.objectEnd, scanner.object, JSON.parse(own) as Json)
      }),
      { numRuns: 150 },
    )
  })

  test("is never accepted when JSON.parse rejects it, and the slow path agrees about accepted lines", () => {
    let accepted = 0
    fc.assert(
      fc.property(line, mutated, fc.boolean(), ({ text }, mutate, intact) => {
        const written = Buffer.from(write(text))
        const bytes = intact ? written : mutate(written)
        const alone = Buffer.from(new Uint8Array(bytes).buffer)
        const understood = scanner.scan(alone, 0, alone.length)
        const slow = scanWatchLineSlowly(slowScanner, bytes, 0, bytes.length)
        if (!understood) return
        accepted++
        const value: { readonly type: keyof typeof types; readonly object: Json } = JSON.parse(bytes.toString())
        expect(scanner.type).toBe(types[value.type])
        if (slow instanceof UnreadableError) throw slow
        expect(slowScanner.type).toBe(scanner.type)
        expect(slow.bytes.subarray(slow.start, slow.end)).toEqual(
          bytes.subarray(scanner.objectStart, scanner.objectEnd),
        )
        if (scanner.type === WatchEventType.error) return
        expectFields(alone, scanner.objectStart, scanner.objectEnd, scanner.object, value.object)
        expectFields(slow.bytes, slow.start, slow.end, slowScanner.object, value.object)
        expect(slowScanner.object.fingerprintLow).toBe(scanner.object.fingerprintLow)
        expect(slowScanner.object.fingerprintHigh).toBe(scanner.object.fingerprintHigh)
      }),
      { numRuns: rounds(1000) },
    )
    expect(accepted).toBeGreaterThan(rounds(300))
  })

  test("depends on no byte outside the given span", () => {
    const text = '{"type":"ADDED","object":{"metadata":{"name":"a"}}}'
    const bytes = Buffer.from(`"}${text}}},"type":"DELETED"}`)
    expect(scanner.scan(bytes, 2, 2 + text.length)).toBe(true)
    expect(scanner.type).toBe(WatchEventType.added)
    for (let length = 0; length < text.length; length++) expect(scanner.scan(bytes, 2, 2 + length)).toBe(false)
    expect(scanner.scan(bytes, 2, bytes.length + 1)).toBe(false)
  })

  test("of an ERROR is read even though a Status is not an object like others", () => {
    for (const status of ['{"kind":"Status","code":410}', '{"metadata":{},"code":410}', '{"metadata":1}', "{}"]) {
      for (const text of [`{"type":"ERROR","object":${status}}`, ` {"object": ${status}, "type":"ERROR"}`]) {
        expect(scan(text)).toBe(true)
        expect(scanner.type).toBe(WatchEventType.error)
        expect(text.slice(scanner.objectStart, scanner.objectEnd)).toBe(status)
        const slow = slowly(text)
        if (slow instanceof UnreadableError) throw slow
        expect(slow.bytes.toString("utf8", slow.start, slow.end)).toBe(status)
      }
    }
  })

  test("is one JSON text and nothing more", () => {
    const text = '{"type":"ADDED","object":{"metadata":{"name":"a"}}}'
    expect(scan(text)).toBe(true)
    for (const more of ["}", text, ",{}", "{}", ',"a":1}', "x}"]) {
      expect(scan(text + more)).toBe(false)
      expect(slowly(text + more)).toMatchObject({ reason: expect.stringMatching(/^not JSON: /) })
    }
  })

  test.each([
    ['{"type":"ADDED"}', "a watch event without an object"],
    ['{"type":"ADDED","object":null}', "a watch event without an object"],
    ['{"type":"ADDED","object":{"kind":"Status"}}', "an object without metadata"],
    ['{"type":"SYNCED","object":{"metadata":{}}}', 'a watch event of unknown type "SYNCED"'],
    // Not quoted: it cannot be a type, and may be anything of an object.
    ['{"type":"added","object":{"metadata":{}}}', "a watch event of unknown type"],
    ['{"object":{"metadata":{}}}', "a watch event of unknown type undefined"],
    ["[]", "not a JSON object"],
  ])("%s is rejected by both paths, with a reason", (text, reason) => {
    expect(scan(text)).toBe(false)
    expect(slowly(text)).toEqual(new UnreadableError({ reason }))
  })

  test("that is truncated is rejected by both paths", () => {
    const text = '{"type":"ADDED","object":{"metadata":{"name":"a"}}}'
    for (let length = 0; length < text.length; length++) {
      expect(scan(text.slice(0, length))).toBe(false)
      expect(slowly(text.slice(0, length))).toMatchObject({ reason: expect.stringMatching(/^not JSON: /) })
    }
  })

  test.each([
    ['{"type":"AD\\u0044ED","object":{"metadata":{"name":"a"}}}', "an escape in the type"],
    ['{"\\u0074ype":"ADDED","object":{"metadata":{"name":"a"}}}', "an escape in a key"],
    ['{"type":"DELETED","type":"ADDED","object":{"metadata":{"name":"a"}}}', "two types"],
    ['{"type":"ADDED","object":{"metadata":{"name":"b"}},"object":{"metadata":{"name":"a"}}}', "two objects"],
    ['{"type":"ADDED","object":{"metadata":{"name":"\\u0061"}}}', "an escape in the name"],
  ])("%s needs the slow path: %s", (text) => {
    expect(scan(text)).toBe(false)
    const slow = slowly(text)
    if (slow instanceof UnreadableError) throw slow
    expect(slowScanner.type).toBe(WatchEventType.added)
    expect(slowScanner.objectStart).toBe(slow.start)
    expect(slowScanner.objectEnd).toBe(slow.end)
    const { nameStart, nameEnd } = slowScanner.object
    expect(slow.bytes.toString("utf8", nameStart, nameEnd)).toBe("a")
  })
})
