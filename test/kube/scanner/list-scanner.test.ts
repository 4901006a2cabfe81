import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { TooLongError } from "../../../src/kube/scanner/line-splitter.ts"
import { ListScanner, ListSyntaxError } from "../../../src/kube/scanner/list-scanner.ts"
import { rounds } from "../../harness/effort.ts"
import { anyValue, type JsonText, object, quote, spacing, write } from "./json-text.ts"
import { kubernetesObject } from "./kubernetes-object.ts"
import { mutated } from "./mutation.ts"
import { cuts, pushInPieces } from "./pieces.ts"

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
