import { expect, test } from "vitest"
import { isEmptyObject, memberOf, setMember } from "../src/own-member.ts"

test("members that an object inherits are not there", () => {
  for (const key of ["__proto__", "constructor", "toString"]) expect(memberOf({}, key)).toBeUndefined()
  expect(memberOf(JSON.parse('{"__proto__":1}') as Record<string, unknown>, "__proto__")).toBe(1)
})

test("a member of any name is set as the object's own", () => {
  const object: Record<string, unknown> = {}
  for (const key of ["a", "__proto__", "constructor"]) setMember(object, key, { polluted: true })
  expect(Object.keys(object)).toEqual(["a", "__proto__", "constructor"])
  expect(JSON.stringify(object)).toContain('"__proto__":{"polluted":true}')
  expect(Object.getPrototypeOf(object)).toBe(Object.prototype)
  expect(({} as Record<string, unknown>).polluted).toBeUndefined()
})

test("an object is empty without members, a list without items", () => {
  expect([{}, [], { a: undefined }, [0]].map(isEmptyObject)).toEqual([true, true, false, false])
})
