/** Items of lists are completed to the object that a watch event would carry, whatever their members, order and white space. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { GroupVersionKind } from "../../../src/kube/gvk.ts"
import { ListItem } from "../../../src/kube/scanner/list-scanner.ts"
import { compileDetectRules } from "../../../src/kube/scanner/object/detect-rules.ts"
import { ObjectScanner } from "../../../src/kube/scanner/object/object-scanner.ts"
import { scanObjectSlowly, UnreadableError } from "../../../src/kube/scanner/slow-path.ts"
import { rounds } from "../../harness/effort.ts"
import { expectFields, type Json } from "./expected-fields.ts"
import { type JsonMembers, members, object, quote, spacing, write } from "./json-text.ts"
import { kubernetesObject, withEscapedKeys } from "./kubernetes-object.ts"

const gvk = { group: "apps", version: "v1", kind: "Deployment" }
const type = { kind: "Deployment", apiVersion: "apps/v1" }
const scannerFor = (detect: "all" | "content" | "spec") =>
  new ObjectScanner(compileDetectRules({ gvk, detect, ignore: [] }))

/** The text in the middle of a buffer, as in a chunk of the response. */
const embedded = (text: string) => {
  const before = '[{"metadata":{"name":"kind"}},'
  const bytes = Buffer.from(`${before}${text},{`)
  return [bytes, before.length, before.length + Buffer.byteLength(text)] as const
}

/** An item as the reader of a page completes it: by the scanner, or without it if the scanner does not understand the object. */
const completed = (text: string, detect: "all" | "content" | "spec" = "content", of: GroupVersionKind = gvk) => {
  const scanner = scannerFor(detect)
  const item = new ListItem(of)
  const [bytes, start, end] = embedded(text)
  if (scanner.scan(bytes, start, end)) {
    item.complete(bytes, start, end, scanner)
    return { json: textOf(item), bytes: item.bytes, start: item.start, end: item.end, scanner, isFast: true }
  }
  item.completeUnscanned(bytes, start, end)
  const json = textOf(item)
  const slow = scanObjectSlowly(scanner, item.bytes, item.start, item.end)
  if (slow instanceof UnreadableError) throw slow
  return { json, ...slow, scanner, isFast: false }
}

const completedUnscanned = (text: string): string => {
  const item = new ListItem(gvk)
  item.completeUnscanned(...embedded(text))
  return textOf(item)
}

const textOf = ({ bytes, start, end }: ListItem): string => bytes.toString("utf8", start, end)

/** Members of any name and place, some of them kind and apiVersion, spelled in any way. */
const anyObject = fc
  .tuple(
    kubernetesObject,
    fc.boolean(),
    members(fc.constantFrom('"kind"', '"apiVersion"', '"a"'), fc.constant('"deep"'), 3),
  )
  .map(([top, isEscaped, nested]): JsonMembers => {
    const all = { members: [...top.members.filter(([key]) => key !== '"spec"'), [quote("spec"), nested] as const] }
    return isEscaped ? withEscapedKeys(all) : all
  })

const expectedOf = (text: string): Json => ({ ...type, ...(JSON.parse(text) as Record<string, Json>) })

describe("an item of a list", () => {
  test("has kind and apiVersion, and all else as it was, whatever its order, white space and spelling", () => {
    const paths = new Set<boolean>()
    fc.assert(
      fc.property(anyObject, spacing, (given, space) => {
        const text = write(given, space)
        const { json, bytes, start, end, scanner, isFast } = completed(text)
        paths.add(isFast)
        expect(JSON.parse(json)).toEqual(expectedOf(text))
        expect(bytes.toString("utf8", start, end)).toBe(json)
        expectFields(bytes, start, end, scanner, JSON.parse(json) as Json)
        expect(JSON.parse(completedUnscanned(text))).toEqual(expectedOf(text))
      }),
      { numRuns: rounds(1500) },
    )
    // Otherwise one of the two ways would be untested.
    expect(paths).toEqual(new Set([true, false]))
  })

  test("counts as the same object as in a watch, however changes are detected", () => {
    fc.assert(
      fc.property(kubernetesObject, fc.constantFrom("all", "content", "spec" as const), (given, detect) => {
        const typeless = { members: given.members.filter(([key]) => key !== '"kind"' && key !== '"apiVersion"') }
        const watched = { members: [[quote("kind"), quote("Deployment")] as const, ...typeless.members] }
        const [bytes, start, end] = embedded(write(watched))
        const inWatch = scannerFor(detect)
        expect(inWatch.scan(bytes, start, end)).toBe(true)
        const { scanner } = completed(write(typeless), detect)
        expect([scanner.fingerprintLow, scanner.fingerprintHigh]).toEqual([
          inWatch.fingerprintLow,
          inWatch.fingerprintHigh,
        ])
      }),
      { numRuns: rounds(500) },
    )
  })

  test("begins as API servers write built-in kinds", () => {
    expect(completed('{"metadata":{"name":"a"},"spec":{}}').json).toBe(
      '{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"a"},"spec":{}}',
    )
    const pod = { group: "", version: "v1", kind: "Pod" }
    expect(completed('{"metadata":{}}', "all", pod).json).toBe('{"kind":"Pod","apiVersion":"v1","metadata":{}}')
  })

  test("keeps what it has, byte for byte, and gets what it lacks", () => {
    const both = '{ "apiVersion":"example.com/v1","kind":"Widget" ,"metadata":{}}'
    expect(completed(both).json).toBe(both)
    expect(completed('{"metadata":{},"kind":"Other"}').json).toBe(
      '{"apiVersion":"apps/v1","metadata":{},"kind":"Other"}',
    )
    expect(completed('{"apiVersion":"","metadata":{}}').json).toBe(
      '{"kind":"Deployment","apiVersion":"","metadata":{}}',
    )
    const escaped = '{"k\\u0069nd":"Other","apiVersion":null,"metadata":{}}'
    expect(completed(escaped).json).toBe(escaped)
  })

  test("may be empty or contain these names further in", () => {
    expect(completedUnscanned("{}")).toBe('{"kind":"Deployment","apiVersion":"apps/v1"}')
    expect(completedUnscanned("{ }")).toBe('{"kind":"Deployment","apiVersion":"apps/v1" }')
    const nested = write(object(['"metadata"', object(['"kind"', '"a"'], ['"apiVersion"', '"b"'])]))
    expect(JSON.parse(completed(nested).json)).toEqual({ ...type, metadata: { kind: "a", apiVersion: "b" } })
  })

  test("that is not JSON stays as it is, so that the message about it is that of the server's bytes", () => {
    for (const text of ['{"metadata":}', '{"a":1]', "{"]) expect(completedUnscanned(text)).toBe(text)
  })
})
