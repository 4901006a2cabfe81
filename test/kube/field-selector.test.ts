import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { parseFieldSelector, selectedName } from "../../src/kube/field-selector.ts"

describe("A field selector", () => {
  test("has the requirements of its terms, with values that may contain escaped characters", () => {
    expect(parseFieldSelector("metadata.name=web,,status.phase!=Running,spec.nodeName==")).toEqual([
      { field: "metadata.name", isEqual: true, value: "web" },
      { field: "status.phase", isEqual: false, value: "Running" },
      { field: "spec.nodeName", isEqual: true, value: "" },
    ])
    expect(parseFieldSelector("")).toEqual([])
    const escaped = fc.string().map((value) => ({ value, text: value.replaceAll(/[\\,=]/g, String.raw`\$&`) }))
    fc.assert(
      fc.property(escaped, fc.boolean(), ({ value, text }, isEqual) => {
        const selector = `metadata.name${isEqual ? "=" : "!="}${text},a=b`
        expect(parseFieldSelector(selector)).toEqual([
          { field: "metadata.name", isEqual, value },
          { field: "a", isEqual: true, value: "b" },
        ])
      }),
    )
  })

  test.each(["metadata.name", "a=b=c", String.raw`a=b\c`, "a=b\\"])("is refused with a reason: %s", (text) => {
    expect(parseFieldSelector(text)).toHaveProperty("problem")
  })

  test.each([
    ["metadata.name=web,status.phase!=Running", "web"],
    [String.raw`a=b\,metadata.name\=c,metadata.name=web`, "web"],
    ["metadata.name!=web", ""],
    ["metadata.name=web,a", ""],
  ])("selects one name: %s", (text, name) => {
    expect(selectedName(text)).toBe(name)
  })
})
