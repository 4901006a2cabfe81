import fc from "fast-check"
import { expect, test } from "vitest"
import { Candidates, findSlowly, type Places } from "../../../src/kube/redaction/candidates.ts"
import { JsonBytes } from "../../../src/kube/scanner/json/json-bytes.ts"
import { threadScan } from "../../../src/kube/scanner/simd/simd-scan.ts"
import { rounds } from "../../harness/effort.ts"

const listed = (places: Places): ReadonlyArray<number> =>
  Array.from({ length: places.count }, (_, index) => places.at(index))

const pieces = fc.array(
  fc.oneof(
    fc.constantFrom('"env', '"env"', '"ann', '"annotations"', '\\"env', "\\u00", "\\u0065", '"', "\\", "e", "n"),
    fc.constantFrom(
      '"com',
      '"command"',
      '"arg',
      '"args"',
      '"htt',
      '"httpHeaders"',
      "://",
      ":\\/\\/",
      ":\\//",
      ":/\\/",
      ":",
      "/",
      "@",
    ),
    fc.string({ maxLength: 20 }),
  ),
  { maxLength: 30 },
)

test("the search with SIMD finds the places that the search without it finds, and nothing outside of the span", () => {
  fc.assert(
    fc.property(pieces, fc.nat({ max: 40 }), fc.nat({ max: 40 }), (texts, before, after) => {
      const text = Buffer.from(texts.join(""))
      const bytes = Buffer.concat([Buffer.alloc(before, '"env"'), text, Buffer.alloc(after, 'nv"env"')])
      const end = before + text.length
      const count = threadScan?.findCandidates(bytes, before, end) ?? -1
      const found = Array.from(threadScan?.positions.subarray(0, count) ?? [])
      expect(found).toEqual(Array.from(findSlowly(bytes, before, end)))
    }),
    { numRuns: rounds(2000) },
  )
})

test("finds keys beyond the memory of the search with SIMD", () => {
  const text = Buffer.from(`{"a":"${"b".repeat(1_100_000)}","env":[1]}`)
  const json = new JsonBytes()
  json.load(text, text.length)
  const candidates = new Candidates()
  expect(candidates.search(json, 0, text.length)).toBe(true)
  expect(listed(candidates.env)).toEqual([text.length - 4])
})

test.each([
  ['{"args":[]}', [8], [], []],
  ['{"command" : 1,"arg":2,"commands":3}', [13], [], []],
  ['{"httpHeaders":[]}', [], [15], []],
  ['{"a":"https://u@b","b":"http://c/","c":"d:\\/\\/e@f"}', [], [], [11, 41]],
  ['{"a":"http:\\//u@b","b":"http:/\\/u@c"}', [], [], [10, 28]],
  ['{"a":"http://b c@d"}', [], [], []],
])("finds command lines, headers and addresses with a user in %s", (text, words, headers, addresses) => {
  const bytes = Buffer.from(text)
  const json = new JsonBytes()
  json.load(bytes, bytes.length)
  const candidates = new Candidates()
  candidates.search(json, 0, bytes.length)
  const { arguments: found } = candidates
  expect([listed(found), listed(candidates.headers), listed(candidates.addresses)]).toEqual([words, headers, addresses])
})

test.each([
  ['{"\\u0065nv":1}', true],
  ['{"a":"\\u003a\\u002F"}', true],
  ['{"a":"\\u0026\\u003c\\u0000"}', false],
])("reports letters, quotes, colons and slashes that are spelled as escape sequences: %s", (text, isOdd) => {
  const bytes = Buffer.from(text)
  const json = new JsonBytes()
  json.load(bytes, bytes.length)
  const candidates = new Candidates()
  candidates.search(json, 0, bytes.length)
  expect(candidates.isOddlySpelled).toBe(isOdd)
})

test.each([
  ['{"env":1}', [7], []],
  ['{"env" : 1}', [9], []],
  ['{"annotations":{}}', [], [15]],
  ['{"annotation":{},"environment":1,"a":"env"}', [], []],
  ['{"a":"\\"env\\":"}', [], []],
])("in %s", (text, env, annotations) => {
  const bytes = Buffer.from(text)
  const json = new JsonBytes()
  json.load(bytes, bytes.length)
  const candidates = new Candidates()
  candidates.search(json, 0, bytes.length)
  expect([listed(candidates.env), listed(candidates.annotations)]).toEqual([env, annotations])
})
