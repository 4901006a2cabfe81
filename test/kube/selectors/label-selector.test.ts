import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  type LabelRequirement,
  matchesLabels,
  parseLabelSelector,
  selectorMatches,
} from "../../../src/kube/selectors/label-selector.ts"

const requirementsOf = (text: string): readonly LabelRequirement[] => {
  const selector = parseLabelSelector(text)
  if ("problem" in selector) throw new Error(selector.problem)
  return selector
}

const selects = (selector: string, labels: Record<string, string>): boolean =>
  matchesLabels(requirementsOf(selector), labels)

const name = fc.stringMatching(/^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,10}[A-Za-z0-9])?$/)
const key = fc.oneof(
  name.filter((text) => text !== "in" && text !== "notin"),
  fc
    .tuple(fc.stringMatching(/^[a-z0-9]{1,5}(?:\.[a-z]{1,3}){0,2}$/), name)
    .map(([prefix, rest]) => `${prefix}/${rest}`),
)
const value = fc.oneof(fc.constant(""), name)
const requirement: fc.Arbitrary<LabelRequirement> = fc.oneof(
  fc.record({ key, operator: fc.constantFrom("Exists", "DoesNotExist"), values: fc.constant([]) }),
  fc.record({ key, operator: fc.constantFrom("In", "NotIn"), values: fc.array(value, { minLength: 1, maxLength: 4 }) }),
  fc.record({
    key,
    operator: fc.constantFrom("Gt", "Lt"),
    values: fc.integer({ min: 0 }).map((number) => [String(number)]),
  }),
)

/** Every way to write a requirement; `style` picks one. */
const written = ({ key, operator, values }: LabelRequirement, style: number): string => {
  const space = style % 2 === 0 ? "" : " "
  const [first = ""] = values
  const isSingle = values.length === 1 && style % 3 !== 0
  switch (operator) {
    case "Exists":
      return `${space}${key}${space}`
    case "DoesNotExist":
      return `!${space}${key}`
    case "In":
      return isSingle
        ? `${key}${space}${style % 4 < 2 ? "=" : "=="}${space}${first}`
        : `${key} in${space}(${values.join(`${space},${space}`)})`
    case "NotIn":
      return isSingle ? `${key}${space}!=${space}${first}` : `${key} notin${space}(${values.join(`,${space}`)})`
    case "Gt":
      return `${key}${space}>${space}${first}`
    case "Lt":
      return `${key}${space}<${space}${first}`
  }
}

describe("label selectors", () => {
  test("any written selector is read back", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(requirement, fc.nat(11)), { minLength: 1, maxLength: 5 }), (terms) => {
        const text = terms.map(([term, style]) => written(term, style)).join(",")
        expect(requirementsOf(text)).toEqual(terms.map(([term]) => term))
      }),
    )
  })

  test("any text is either read or rejected with a reason", () => {
    const piece = fc.constantFrom("app", "=", "!", "!=", " in ", "(", ")", ",", "a/b", "<", " ", "é", "\u0000", "notin")
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(piece).map((pieces) => pieces.join("")),
        ),
        (text) => {
          const selector = parseLabelSelector(text)
          if ("problem" in selector) expect(selector.problem).toMatch(/^[^\p{Cc}]{5,250}$/u)
          else expect(selector.length > 0).toBe(text.trim() !== "")
        },
      ),
    )
  })

  test.each([
    ["app=web,", "nothing follows the last comma"],
    ["app=web tier=x", 'a comma is missing before "tier=x"'],
    ["=web", "a label name is missing"],
    ["-app=web", '"-app" is not a label name'],
    ["EXAMPLE.com/app=web", 'the prefix of "EXAMPLE.com/app" is not a DNS name'],
    ["app=we b", 'a comma is missing before "b"'],
    ["app>many", 'the label app is compared with "many", which is not an integer'],
    ["app in (a", 'after the label app, expected one of = == != in notin > <, not "in (a"'],
    ["app in (a,b c)", '"b c" is not a label value'],
    [`app=${"x".repeat(64)}`, `"${"x".repeat(60)}…" is not a label value`],
  ])("%j is rejected: %s", (text, problem) => {
    expect(parseLabelSelector(text)).toEqual({ problem })
  })
})

describe("a label selector", () => {
  test.each([
    ["", {}, true],
    [" ", { a: "b" }, true],
    ["a=b", { a: "b" }, true],
    ["a==b", { a: "c" }, false],
    ["a = b , c", { a: "b", c: "" }, true],
    ["a!=b", {}, true],
    ["a!=b", { a: "b" }, false],
    ["a in (b, c)", { a: "c" }, true],
    ["a in (b)", {}, false],
    ["a in ()", { a: "" }, true],
    ["a notin (b,)", { a: "" }, false],
    ["a notin (b)", {}, true],
    ["a", { a: "" }, true],
    ["! a", { a: "" }, false],
    ["!a,b", { b: "x" }, true],
    ["a=", { a: "" }, true],
    ["in in (in)", { in: "in" }, true],
    ["a=in", { a: "in" }, true],
    ["example.com/a-b_c.d=x", { "example.com/a-b_c.d": "x" }, true],
    ["a>5", { a: "6" }, true],
    ["a>5", { a: "5" }, false],
    ["a<5", { a: "x" }, false],
    ["toString", {}, false],
  ])("%j of %j: %s", (selector, labels, expected) => {
    expect(selects(selector, labels)).toBe(expected)
  })

  test.each([
    "a===b",
    "a in web",
    "a in (x y)",
    "!app,",
    "a=x y",
    ",a",
    "(",
    "a exists",
    "a!",
    "a=-b",
    "A/B/C",
    "a>x",
    `a=${"x".repeat(64)}`,
    `${"k".repeat(64)}=x`,
  ])("%j is rejected, as by the real server", (selector) => {
    expect(parseLabelSelector(selector)).toHaveProperty("problem")
  })

  const key = fc.constantFrom("a", "b", "app", "example.com/name", "in", "notin")
  const value = fc.constantFrom("", "x", "y", "in", "v1.2_3")
  const term = fc.oneof(
    fc.record({ key, operator: fc.constantFrom("=", "==", "!="), values: fc.tuple(value) }),
    fc.record({
      key,
      operator: fc.constantFrom("in", "notin"),
      values: fc.array(value, { minLength: 1, maxLength: 3 }),
    }),
    fc.record({ key, operator: fc.constantFrom("exists", "!"), values: fc.constant([]) }),
  )

  test("any combination of terms selects accordingly, whatever the white space", () => {
    const labels = fc.dictionary(key, value)
    const space = fc.constantFrom("", " ", "  ", "\t")
    fc.assert(
      fc.property(fc.array(term, { maxLength: 4 }), labels, space, (terms, given, gap) => {
        const written = terms.map(({ key: name, operator, values }) => {
          if (operator === "exists") return `${gap}${name}`
          if (operator === "!") return `!${gap}${name}`
          if (operator === "in" || operator === "notin") return `${name} ${operator} (${values.join(`${gap},`)})`
          return `${name}${gap}${operator}${gap}${values[0]}`
        })
        const expected = terms.every(({ key: name, operator, values }) => {
          const present = given[name]
          if (operator === "exists") return present !== undefined
          if (operator === "!") return present === undefined
          const listed = present !== undefined && (values as string[]).includes(present)
          return operator === "!=" || operator === "notin" ? !listed : listed
        })
        expect(selects(written.join(`${gap},${gap}`), given)).toBe(expected)
      }),
    )
  })

  test("of an object matches by the same rules; an absent one matches nothing", () => {
    const selector = { matchLabels: { a: "b" }, matchExpressions: [{ key: "c", operator: "NotIn", values: ["d"] }] }
    expect(selectorMatches(selector, { a: "b" })).toBe(true)
    expect(selectorMatches(selector, { a: "b", c: "d" })).toBe(false)
    expect(selectorMatches({ matchExpressions: [{ key: "a", operator: "Later" }] }, { a: "b" })).toBe(false)
    expect([selectorMatches({}, undefined), selectorMatches(undefined, {})]).toEqual([true, false])
  })
})
