import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { fieldSelectorFault } from "../../../src/recorder/configuration/field-selector.ts"
import { type LabelRequirement, parseLabelSelector } from "../../../src/recorder/configuration/label-selector.ts"

const requirementsOf = (text: string): readonly LabelRequirement[] => {
  const reading = parseLabelSelector(text)
  if (reading._tag === "Refused") throw new Error(reading.reason)
  return reading.requirements
}

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
    operator: fc.constantFrom("GreaterThan", "LessThan"),
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
    case "GreaterThan":
      return `${key}${space}>${space}${first}`
    case "LessThan":
      return `${key}${space}<${space}${first}`
  }
}

describe("label selectors", () => {
  test("whatever can be written is read back", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(requirement, fc.nat(11)), { minLength: 1, maxLength: 5 }), (terms) => {
        const text = terms.map(([term, style]) => written(term, style)).join(",")
        expect(requirementsOf(text)).toEqual(terms.map(([term]) => term))
      }),
    )
  })

  test("any text is either read or refused with a reason", () => {
    const piece = fc.constantFrom("app", "=", "!", "!=", " in ", "(", ")", ",", "a/b", "<", " ", "é", "\u0000", "notin")
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(piece).map((pieces) => pieces.join("")),
        ),
        (text) => {
          const reading = parseLabelSelector(text)
          if (reading._tag === "Refused") expect(reading.reason).toMatch(/^[^\p{Cc}]{5,250}$/u)
          else expect(reading.requirements.length).toBeGreaterThan(0)
        },
      ),
    )
  })

  test.each([
    ["", "it is empty"],
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
  ])("%j is refused: %s", (text, reason) => {
    expect(parseLabelSelector(text)).toEqual({ _tag: "Refused", reason })
  })
})

describe("field selectors", () => {
  test.each([
    "metadata.name=web",
    "metadata.name==web,status.phase!=Failed",
    "metadata.name=",
    String.raw`metadata.name=a\,b\=c\\d`,
    " spec.nodeName = node-1 , involvedObject.kind=Pod",
  ])("%j is accepted", (text) => {
    expect(fieldSelectorFault(text.replaceAll(" = ", "="))).toBeUndefined()
  })

  test.each([
    ["", "it is empty"],
    ["metadata.name", '"metadata.name" is not of the form field=value or field!=value'],
    ["metadata.name=a,", "a condition is missing before or after a comma"],
    ["metadata.name=a=b", '"metadata.name=a=b" is not of the form field=value or field!=value'],
    ["=a", '"" is not a field path such as metadata.name'],
    [String.raw`metadata.name=a\b`, String.raw`"metadata.name=a\\b" is not of the form field=value or field!=value`],
    ["metadata name=a", '"metadata name" is not a field path such as metadata.name'],
  ])("%j is refused: %s", (text, fault) => {
    expect(fieldSelectorFault(text)).toBe(fault)
  })

  test("any text is either accepted or refused with a reason", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(fieldSelectorFault(text) ?? "accepted").toMatch(/^[^\p{Cc}]+$/u)
      }),
    )
  })
})
