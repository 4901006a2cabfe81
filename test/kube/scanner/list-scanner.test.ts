import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { GroupVersionKind } from "../../../src/kube/kinds/gvk.ts"
import { TooLongError } from "../../../src/kube/scanner/line-splitter.ts"
import { ListItem, ListScanner, ListSyntaxError } from "../../../src/kube/scanner/list-scanner.ts"
import { compileDetectRules } from "../../../src/kube/scanner/object/detect-rules.ts"
import { ObjectScanner } from "../../../src/kube/scanner/object/object-scanner.ts"
import { scanObjectSlowly, UnreadableError } from "../../../src/kube/scanner/slow-path.ts"
import { rounds } from "../../harness/effort.ts"
import { expectFields, type Json } from "./expected-fields.ts"
import { anyValue, type JsonMembers, type JsonText, members, object, quote, spacing, write } from "./json-text.ts"
import { kubernetesObject, withEscapedKeys } from "./kubernetes-object.ts"
import { mutated } from "./mutation.ts"
import { cuts, pushInPieces } from "./pieces.ts"

// Items of lists are completed to the object that a watch event would carry, whatever their members, order and white space.

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

const collect = (longest?: number) => {
  const items: string[] = []
  const scanner = new ListScanner(
    (bytes, start, end) => items.push(bytes.toString("utf8", start, end)),
    longest === undefined ? {} : { longest },
  )
  return { items, scanner }
}

const head = fc.record({
  kind: fc.constantFrom("PodList", "ä\n"),
  apiVersion: fc.constantFrom("v1", "apps/v1"),
  metadata: fc.record(
    {
      resourceVersion: fc.nat().map(String),
      continue: fc.constantFrom("", "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ"),
      remainingItemCount: fc.nat(),
      selfLink: fc.constantFrom(""),
    },
    { requiredKeys: ["resourceVersion"] },
  ),
})

const list = fc
  .tuple(head, fc.array(kubernetesObject, { maxLength: 5 }), fc.array(anyValue, { maxLength: 2 }))
  .chain(([own, items, others]) => {
    const members: Array<readonly [string, JsonText]> = [
      ['"kind"', quote(own.kind)],
      ['"apiVersion"', quote(own.apiVersion)],
      ['"metadata"', JSON.stringify(own.metadata)],
      ['"items"', items],
      ...others.map((value, index) => [`"other${index}"`, value] as const),
    ]
    return fc
      .shuffledSubarray(members, { minLength: members.length, maxLength: members.length })
      .map((order) => ({ own, items, text: object(...order) }))
  })

describe("a list scanner", () => {
  test("delivers every item once and in order, and the head, wherever the chunks end", () => {
    fc.assert(
      fc.property(list, spacing, cuts, ({ own, items, text }, space, where) => {
        const { items: seen, scanner } = collect()
        const bytes = Buffer.from(`${space()}${write(text, space)}${space()}`)
        pushInPieces(bytes, where, scanner)
        expect(scanner.isComplete).toBe(true)
        expect(seen.map((item) => JSON.parse(item))).toEqual(items.map((item) => JSON.parse(write(item))))
        expect(scanner.items).toBe(items.length)
        expect(scanner.head).toEqual({
          kind: own.kind,
          apiVersion: own.apiVersion,
          resourceVersion: own.metadata.resourceVersion,
          continueToken: own.metadata.continue === "" ? undefined : own.metadata.continue,
          remainingItemCount: own.metadata.remainingItemCount,
        })
      }),
      { numRuns: rounds(200) },
    )
  })

  test("delivers an item before the response ends, and in place if it is whole in a chunk", () => {
    const chunk = Buffer.from('{"items":[{"a":1},{"b":')
    const seen: Array<readonly [Buffer, number, number]> = []
    const scanner = new ListScanner((bytes, start, end) => seen.push([bytes, start, end]))
    scanner.push(chunk, 0, chunk.length)
    expect(seen).toEqual([[chunk, 10, 17]])
    expect(seen[0]?.[0]).toBe(chunk)
    expect(scanner.isComplete).toBe(false)
  })

  test("never loops, and fails only with its own errors, whatever the damage", () => {
    let refused = 0
    fc.assert(
      fc.property(list, mutated, cuts, ({ text }, mutate, where) => {
        const bytes = mutate(Buffer.from(write(text)))
        const { items, scanner } = collect()
        try {
          pushInPieces(bytes, where, scanner)
        } catch (error) {
          refused++
          expect(error).toBeInstanceOf(ListSyntaxError)
          return
        }
        expect(items.join("").length).toBeLessThanOrEqual(bytes.length)
      }),
      { numRuns: rounds(500) },
    )
    expect(refused).toBeGreaterThan(rounds(50))
  })

  test("is complete only when the list is, wherever it is truncated", () => {
    const text = '{"kind":"L","items":[{"a":"}]"},{}],"metadata":{"resourceVersion":"1"}}'
    for (let length = 0; length < text.length; length++) {
      const { scanner } = collect()
      scanner.push(Buffer.from(text.slice(0, length)), 0, length)
      expect(scanner.isComplete).toBe(false)
    }
  })

  test.each([
    ["[]", 0, "{"],
    ['{"items":[1]}', 10, "an object or ]"],
    ['{"items":[{},]}', 13, "an object"],
    ['{"items":[{} {}]}', 13, ", or ]"],
    ['{"kind" "a"}', 8, ":"],
    ['{"kind":}', 8, "a value"],
    ["{kind:1}", 1, "a key or }"],
    ['{"kind":"a",}', 12, "a key"],
    ['{"a":1 "b":2}', 7, ", or }"],
    ['{"a":1}{', 7, "nothing more"],
  ])("reports where %s is not a list and what it expected", (text, offset, expected) => {
    for (const size of [1, 3, 100]) {
      const { scanner } = collect()
      let caught: unknown
      try {
        for (let at = 0; at < text.length; at += size) {
          const piece = Buffer.from(text.slice(at, at + size))
          scanner.push(piece, 0, piece.length)
        }
      } catch (error) {
        caught = error
      }
      expect(caught).toEqual(new ListSyntaxError({ offset, expected }))
    }
  })

  test("reads null as no items and accepts lists without any, as the server writes both", () => {
    for (const text of ['{"items":null}', '{"items":[]}', '{"items":[ ] }', "{}"]) {
      const { items, scanner } = collect()
      scanner.push(Buffer.from(text), 0, text.length)
      expect(scanner.isComplete).toBe(true)
      expect(items).toEqual([])
    }
  })

  test("rejects an item that is too long, and works again after a reset", () => {
    const { items, scanner } = collect(20)
    const push = (text: string) => scanner.push(Buffer.from(text), 0, text.length)
    push('{"items":[{"a":"0123456789')
    expect(() => push("0123456789")).toThrow(TooLongError)
    scanner.reset()
    push('{"items":[{"a":1}')
    push("]}")
    expect(items).toEqual(['{"a":1}'])
    expect(scanner.isComplete).toBe(true)
  })

  test("rejects a body that goes on for ever without an item", () => {
    for (const [opening, filling] of [
      ["", " "],
      ['{"rows":["', "0"],
      ['{"items":[{"a":1},', "\n"],
      ['{"items":[{"a":1}],"rows":[', "[],"],
    ] as const) {
      const scanner = new ListScanner(() => undefined, { longestBetween: 1000 })
      const push = (text: string) => scanner.push(Buffer.from(text), 0, text.length)
      push(opening)
      expect(() => {
        for (let round = 0; round < 1001; round++) push(filling)
      }).toThrow(TooLongError)
    }
  })

  test("takes any number of items, however long they are together", () => {
    let items = 0
    const scanner = new ListScanner(() => items++, { longestBetween: 100 })
    const push = (text: string) => scanner.push(Buffer.from(text), 0, text.length)
    push('{"items":[{"a":0}')
    for (let item = 1; item < 500; item++) push(`, {"a":${item}}`)
    push('],"metadata":{"resourceVersion":"7"}}')
    expect([items, scanner.isComplete]).toEqual([500, true])
  })

  test("skips members it does not use in constant memory", () => {
    const { scanner } = collect(1000)
    const push = (text: string) => scanner.push(Buffer.from(text), 0, text.length)
    push('{"rows":["')
    for (let index = 0; index < 100; index++) push("0123456789\\")
    push('"","x"],"metadata":{"resourceVersion":"7"}}')
    expect(scanner.isComplete).toBe(true)
    expect(scanner.head.resourceVersion).toBe("7")
  })
})
