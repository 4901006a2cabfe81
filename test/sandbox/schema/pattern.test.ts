/** Patterns in the syntax of Go's regexp: matches, refusals, and bounded time. */

import fc from "fast-check"
import type { RE2JS } from "re2js"
import { describe, expect, test } from "vitest"
import { compilePattern } from "../../../src/sandbox/schema/pattern.ts"
import { rounds } from "../../harness/effort.ts"

const compiled = (pattern: string): RE2JS => {
  const made = compilePattern(pattern)
  if (typeof made === "string") throw new Error(made)
  return made
}

test.each([
  ["^[a-z]([-a-z0-9]*[a-z0-9])?$", ["a", "a-b", "ab9"], ["", "A", "a-", "-a", "a\n"]],
  ["b", ["abc"], ["ac"]],
  ["", ["", "x"], []],
  ["a|b|", ["c"], []],
  ["^(a|bc)$", ["a", "bc"], ["b", "abc"]],
  ["^a{2,3}$", ["aa", "aaa"], ["a", "aaaa"]],
  ["^a{,3}$", ["a{,3}"], ["a"]],
  ["^x{0}$", [""], ["x"]],
  ["(?i)^ab$", ["AB", "aB"], ["abc"]],
  ["^(?i:a)b$", ["Ab", "ab"], ["AB"]],
  ["^a.c$", ["abc", "a😀c"], ["a\nc", "abbc"]],
  ["(?s)^a.c$", ["a\nc"], []],
  ["(?m)^b$", ["a\nb\nc"], ["ab"]],
  [String.raw`\Aab\z`, ["ab"], ["ab\n", "xab"]],
  [String.raw`^\d+\.\s\w\S$`, ["12. a!"], ["12.  a"]],
  [String.raw`^\s$`, [" ", "\f"], ["\v", "\u00a0"]],
  [String.raw`\bcat\b`, ["a cat"], ["concat"]],
  [String.raw`^\p{Greek}\pL\P{Lu}$`, ["αxx"], ["axx", "αxX"]],
  [String.raw`^[^\d[:upper:]-]$`, ["a"], ["1", "A", "-"]],
  ["^[]a]+$", ["]a]"], ["b"]],
  [String.raw`^\x41\x{1F600}\101\Qa.b\E$`, ["A😀Aa.b"], ["A😀Aaxb"]],
  ["^(?P<year>[0-9]{4})-(?<month>[0-9]{2})$", ["2026-11"], ["2026-1"]],
  ["^a*?b+?$", ["aab"], ["aa"]],
  ["^(a*)*$", ["", "aaa"], ["b"]],
])("%s", (pattern, yes, no) => {
  const made = compiled(pattern)
  expect(yes.filter((text) => !made.test(text))).toEqual([])
  expect(no.filter((text) => made.test(text))).toEqual([])
})

describe("refuses what the real server refuses:", () => {
  test.each([
    "(?=a)b",
    "(?!a)",
    String.raw`(a)\1`,
    "a{1001}",
    "(a{100}){100}",
    "[z-a]",
    "(a",
    "a)",
    "[a",
    "*a",
    "a**",
    "a\\",
    String.raw`\p{Nobody}`,
    "(?P<a b>c)",
    "[[:nobody:]]",
  ])("%s", (pattern) => {
    expect(compilePattern(pattern)).toContain("error parsing regexp: ")
  })

  test("what nests too deeply or is too large", () => {
    expect(compilePattern(`${"(".repeat(4000)}a${")".repeat(4000)}`)).toContain("expression nests too deeply")
    expect(compilePattern("[a-z]{1000}".repeat(1000))).toContain("too long")
    expect(compilePattern("[a-z]{1000}".repeat(200))).toContain("too large")
  })
})

/** Patterns that mean the same in both syntaxes. */
const shared = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom("a", "b", ".", "[ab]", "[^a]", String.raw`\d`, String.raw`\b`, "^", "$", "é"),
    fc.tuple(tie("pattern"), tie("pattern")).map((parts) => parts.join("")),
    fc.tuple(tie("pattern"), tie("pattern")).map(([left, right]) => `(?:${left}|${right})`),
    fc
      .tuple(tie("pattern"), fc.constantFrom("*", "+", "?", "{2}", "{1,3}", "*?"))
      .map(([part, sign]) => `(?:${part})${sign}`),
  ),
})).pattern

test("matches what JavaScript matches, where both support the pattern", () => {
  const texts = fc.string({ unit: fc.constantFrom("a", "b", "1", " ", "é", "\n"), maxLength: 8 })
  fc.assert(
    fc.property(shared, texts, (pattern, text) => {
      expect(compiled(pattern).test(text)).toBe(new RegExp(pattern, "u").test(text))
    }),
    { numRuns: rounds(2000) },
  )
})

test("reads or refuses whatever it is given, and throws nothing else", () => {
  const signs = fc.constantFrom(..."ab()[]{}^$|*+?.\\-:,<>P=!1dQEpL\u{1F600}")
  fc.assert(
    fc.property(fc.string({ unit: signs, maxLength: 24 }), fc.string(), (pattern, text) => {
      const made = compilePattern(pattern)
      if (typeof made !== "string") made.test(text)
    }),
    { numRuns: rounds(3000) },
  )
})

test.each(["(a+)+$", "(a|aa)+$", "^(a|a?)+$", "^(([a-z])+.)+[A-Z]([a-z])+$", "(x+x+)+y", "a*a*a*a*a*b"])(
  "a text made to hurt costs %s no more steps than any other",
  (pattern) => {
    // A backtracking engine would have some 2^50 ways to try and practically never end.
    expect(compiled(pattern).test(`${"a".repeat(20_000)}!`)).toBe(false)
  },
)
