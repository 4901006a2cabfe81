import fc from "fast-check"
import { expect, test } from "vitest"
import { spaced } from "../../../src/apiserver/kinds/json-spacing.ts"

test("adds a space after every colon and comma outside strings", () => {
  expect(spaced('{"a":[1,2,{"b:c":"d,\\"e:"}],"f":null}')).toBe('{"a": [1, 2, {"b:c": "d,\\"e:"}], "f": null}')
})

test("changes no value, leaves one line, and adds nothing the second time", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const json = JSON.stringify(value)
      const once = spaced(json)
      expect(JSON.parse(once)).toEqual(JSON.parse(json))
      expect(once).not.toMatch(/[\r\n]/)
      expect(spaced(once)).toBe(once)
    }),
  )
})

test("can format a prefix apart from the rest", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const [prefix, rest] = ['{"type":"ADDED","object":', `${JSON.stringify(value)}}`]
      expect(spaced(prefix) + spaced(rest)).toBe(spaced(prefix + rest))
    }),
  )
})
