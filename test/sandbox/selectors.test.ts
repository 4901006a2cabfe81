import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { matchesFields, parseFieldSelector } from "../../src/sandbox/field-selector.ts"
import { matchesLabels, parseLabelSelector, SelectorError } from "../../src/sandbox/label-selector.ts"

const selects = (selector: string, labels: Record<string, string>): boolean =>
  matchesLabels(parseLabelSelector(selector), labels)

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
    ["a===b", "unable to parse requirement: found '=', expected: identifier"],
    ["a in web", "unable to parse requirement: found 'web' expected: '('"],
    ["a in (x y)", "unable to parse requirement: found 'y', expected: ',' or ')'"],
    ["!app,", "found '', expected: identifier after ','"],
    ["a=x y", "found 'y', expected: ',' or 'end of string'"],
    [",a", "found ',', expected: !, identifier, or 'end of string'"],
    ["(", "found '(', expected: !, identifier, or 'end of string'"],
    ["a exists", "unable to parse requirement: found 'exists', expected: in, notin, =, ==, !=, gt, lt"],
    ["a!", "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt"],
  ])("%j is refused in the real server's words", (selector, problem) => {
    expect(() => parseLabelSelector(selector)).toThrow(new SelectorError({ problem }))
  })

  test.each(["a=-b", "A/B/C", "a>x", `a=${"x".repeat(64)}`, `${"k".repeat(64)}=x`])("%j is refused", (selector) => {
    expect(() => parseLabelSelector(selector)).toThrow(SelectorError)
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

  test("any combination of terms selects what its terms say, whatever the white space", () => {
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

  test("no text makes the parser fail in another way than by saying so", () => {
    const text = fc.string({
      unit: fc.constantFrom("a", "b", " ", "=", "!", "(", ")", ",", "<", ">", "in", "notin", "1"),
    })
    fc.assert(
      fc.property(text, (selector) => {
        try {
          parseLabelSelector(selector)
        } catch (error) {
          expect(error).toBeInstanceOf(SelectorError)
        }
      }),
    )
  })
})

describe("a field selector", () => {
  const object = { name: "web", namespace: "a" }
  test.each([
    ["", true],
    ["metadata.name=web", true],
    ["metadata.name==web,metadata.namespace!=b", true],
    ["metadata.name!=web", false],
    ["metadata.namespace=b,", false],
  ])("%j: %s", (selector, expected) => {
    expect(matchesFields(parseFieldSelector(selector), object)).toBe(expected)
  })

  test.each([
    ["abc", "invalid selector: 'abc'; can't understand 'abc'"],
    ["spec.foo=x", '"spec.foo" is not a known field selector: only "metadata.name", "metadata.namespace"'],
  ])("%j is refused in the real server's words", (selector, problem) => {
    expect(() => parseFieldSelector(selector)).toThrow(new SelectorError({ problem }))
  })
})
