import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { fieldSelectorFault } from "../../../src/recorder/configuration/kind-settings.ts"

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

  test("any text is either accepted or rejected with a reason", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(fieldSelectorFault(text) ?? "accepted").toMatch(/^[^\p{Cc}]+$/u)
      }),
    )
  })
})
