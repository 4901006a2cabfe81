import fc from "fast-check"
import { expect, test } from "vitest"
import { formatExactJson } from "../../../src/trace/index.ts"
import { withMember, withoutMember } from "../../../src/trace/json/members.ts"
import { jsonObject, jsonValue } from "../json-values.ts"

test("a member is set at its place, or after the others, and no other member changes", () => {
  fc.assert(
    fc.property(jsonObject, fc.constantFrom("a", "__proto__", "\\"), jsonValue, (given, name, value) => {
      const before = formatExactJson(given)
      const copy = withMember(given, name, value)
      expect(formatExactJson(given)).toBe(before)
      const keys = Object.keys(given)
      expect(new Set(Object.keys(copy))).toEqual(new Set([...keys, name]))
      for (const key of keys) if (key !== name) expect(copy[key]).toBe(given[key])
      expect(Object.getOwnPropertyDescriptor(copy, name)?.value).toBe(value)
    }),
  )
})

test("a copy without a member has all others, and nothing is copied if there is no such member", () => {
  fc.assert(
    fc.property(jsonObject, fc.constantFrom("a", "__proto__", "\\"), jsonValue, (given, name, value) => {
      const before = formatExactJson(given)
      const without = withoutMember(given, name)
      expect(formatExactJson(given)).toBe(before)
      expect(Object.keys(without)).toEqual(Object.keys(given).filter((key) => key !== name))
      expect(withoutMember(without, name)).toBe(without)
      expect(formatExactJson(withoutMember(withMember(without, name, value), name))).toBe(formatExactJson(without))
    }),
  )
})
