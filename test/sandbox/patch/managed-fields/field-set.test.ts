import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  canonicalSet,
  difference,
  type FieldSet,
  forEachPath,
  hasPath,
  intersection,
  union,
  withoutPaths,
} from "../../../../src/sandbox/patch/managed-fields/field-set.ts"
import { rounds } from "../../../harness/effort.ts"

/** The meaning of a set: its paths. */
const pathsOf = (set: FieldSet): Set<string> => {
  const paths = new Set<string>()
  forEachPath(set, (path) => paths.add(JSON.stringify(path)))
  return paths
}

const element = fc.constantFrom(
  "f:a",
  "f:b",
  "f:c",
  'k:{"n":1}',
  'k:{"n":10}',
  'k:{"n":9}',
  'v:"x"',
  "v:3",
  "v:20",
  "i:2",
)
const path = fc.array(element, { minLength: 1, maxLength: 4 })

/** Built in any order, then made canonical. */
const setOf = (paths: ReadonlyArray<ReadonlyArray<string>>): FieldSet => {
  const root: Record<string, unknown> = {}
  for (const steps of paths) {
    let node = root
    for (const step of steps) {
      node[step] ??= {}
      node = node[step] as Record<string, unknown>
    }
    node["."] = {}
  }
  const set = canonicalSet(JSON.parse(JSON.stringify(root)))
  if (set === undefined) throw new Error("not a set")
  return set
}
const set = fc.array(path, { maxLength: 8 }).map(setOf)

const expectPaths = (actual: FieldSet, expected: Iterable<string>): void => {
  expect([...pathsOf(actual)].sort()).toEqual([...expected].sort())
  // Every result is canonical itself.
  expect(JSON.stringify(canonicalSet(JSON.parse(JSON.stringify(actual))))).toBe(JSON.stringify(actual))
}

describe("field sets", () => {
  it("are unions, differences and intersections of their paths", () => {
    fc.assert(
      fc.property(set, set, (left, right) => {
        const ours = pathsOf(left)
        const theirs = pathsOf(right)
        expectPaths(union(left, right), [...new Set([...ours, ...theirs])])
        expectPaths(
          difference(left, right),
          [...ours].filter((item) => !theirs.has(item)),
        )
        expectPaths(
          intersection(left, right),
          [...ours].filter((item) => theirs.has(item)),
        )
      }),
      { numRuns: rounds(500) },
    )
  })

  it("are returned themselves where nothing changes", () => {
    fc.assert(
      fc.property(set, set, (left, right) => {
        const both = union(left, right)
        expect(union(both, right)).toBe(both)
        expect(difference(left, difference(right, left))).toBe(left)
      }),
    )
  })

  it("lose whole subtrees", () => {
    fc.assert(
      fc.property(set, path, (whole, gone) => {
        const prefix = JSON.stringify(gone).slice(0, -1)
        const kept = [...pathsOf(whole)].filter((text) => text !== `${prefix}]` && !text.startsWith(`${prefix},`))
        expectPaths(withoutPaths(whole, [gone]), kept)
      }),
    )
  })

  it("enumerate their paths", () => {
    fc.assert(
      fc.property(set, path, (whole, asked) => {
        expect(hasPath(whole, asked)).toBe(pathsOf(whole).has(JSON.stringify(asked)))
      }),
    )
  })

  it("are sorted in the server's order: fields, keys by value, values by type and size, indices", () => {
    const sent = {
      "i:10": {},
      "i:9": {},
      "v:true": {},
      'v:"a"': {},
      "v:10": {},
      "v:9": {},
      'k:{"b":1,"a":"<"}': {},
      'k:{"a":"x"}': { ".": {}, "f:y": {} },
      "f:b": {},
      "f:a": { ".": {} },
      "x:future": {},
      "v:3.0": {},
    }
    expect(JSON.stringify(canonicalSet(sent))).toBe(
      JSON.stringify({
        "f:a": {},
        "f:b": {},
        'k:{"a":"\\u003c","b":1}': {},
        'k:{"a":"x"}': { ".": {}, "f:y": {} },
        "v:3": {},
        "v:9": {},
        "v:10": {},
        'v:"a"': {},
        "v:true": {},
        "i:9": {},
        "i:10": {},
      }),
    )
  })

  it.each([{ f: {} }, { "k:[": {} }, { "v:{": {} }, { "i:x": {} }, { "f:a": 1 }, [], "x", 3])(
    "cannot be read from %j",
    (sent) => {
      expect(canonicalSet(sent as never)).toBeUndefined()
    },
  )
})
