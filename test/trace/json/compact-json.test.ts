import fc from "fast-check"
import { expect, test } from "vitest"
import { compactJson } from "../../../src/trace/json/compact-json.ts"
import { formatExactJson } from "../../../src/trace/json/exact-json.ts"
import { jsonValue } from "../json-values.ts"

const compact = (text: string): string => Buffer.from(compactJson(Buffer.from(text))).toString()

test("JSON on one line is passed on unchanged, white space included", () => {
  const bytes = Buffer.from('{ "a" : "b \\n c" }')
  expect(compactJson(bytes)).toBe(bytes)
})

test("indented JSON loses only the white space outside strings", () => {
  expect(compact('{\r\n\t"a": [1, 2.0],\n  "b c": "d \\" e\\\\",\n  "f": "\\n"\n}\n')).toBe(
    '{"a":[1,2.0],"b c":"d \\" e\\\\","f":"\\n"}',
  )
  fc.assert(
    fc.property(jsonValue, fc.constantFrom("\n", "\r\n", "\n\t "), (value, space) => {
      const text = formatExactJson(value)
      const spread = text.replaceAll(
        /("(?:[^"\\]|\\.)*")|([[\]{},:])/g,
        (_, string, mark) => string ?? space + mark + space,
      )
      expect(compact(`${space}${spread}${space}`)).toBe(text)
    }),
  )
})

test("a line break inside a string, which JSON forbids, is escaped", () => {
  expect(compact('{"a":"b\nc\rd"}')).toBe('{"a":"b\\nc\\rd"}')
})

test("whatever the bytes, no line break remains", () => {
  const bytes = fc.array(fc.constantFrom(10, 13, 34, 92, 32, 65), { maxLength: 30 })
  fc.assert(
    fc.property(bytes, (list) => {
      const result = compactJson(Uint8Array.from(list))
      expect(result.includes(10) || result.includes(13)).toBe(false)
    }),
  )
})
