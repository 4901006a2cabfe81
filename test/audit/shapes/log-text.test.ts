import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { LogTextReader, longestText, TextTooLong } from "../../../src/audit/shapes/log-text.ts"

interface Read {
  readonly line: number
  readonly text: string
  readonly isCut: boolean
}

const read = (log: string, chunkBytes = Number.POSITIVE_INFINITY): ReadonlyArray<Read> => {
  const reader = new LogTextReader()
  const bytes = Buffer.from(log)
  const texts: Read[] = []
  const take = (from: Iterable<{ line: number; bytes: Buffer; isCut: boolean }>): void => {
    for (const { line, bytes, isCut } of from) texts.push({ line, text: bytes.toString(), isCut })
  }
  for (let start = 0; start < bytes.length; start += chunkBytes)
    take(reader.push(bytes.subarray(start, start + chunkBytes)))
  take(reader.end())
  return texts
}

describe("lines", () => {
  test("each is a text with its number, and empty ones are passed over", () => {
    expect(read('{"a":1}\n\n \r\n{"b":2}\r\nx\n')).toEqual([
      { line: 1, text: '{"a":1}', isCut: false },
      { line: 4, text: '{"b":2}\r', isCut: false },
      { line: 5, text: "x", isCut: false },
    ])
  })

  test("the last one counts without its line feed, but may be cut", () => {
    expect(read('{"a":1}\n{"b":2}').at(-1)).toEqual({ line: 2, text: '{"b":2}', isCut: true })
    expect(read('{"a":1}\n{"b":').at(-1)).toEqual({ line: 2, text: '{"b":', isCut: true })
  })

  test("the mark with which Windows begins a text is none of it", () => {
    for (const chunkBytes of [1, 2, 100]) {
      expect(read('\ufeff{"a":1}\n{"b":2}\n', chunkBytes).map(({ text }) => text)).toEqual(['{"a":1}', '{"b":2}'])
      expect(read('\ufeff{"a":1}', chunkBytes)).toEqual([{ line: 1, text: '{"a":1}', isCut: true }])
      expect(read('\ufeff[\n{"a":1}\n]', chunkBytes)).toEqual([{ line: 2, text: '{"a":1}', isCut: false }])
    }
  })

  test("a damaged first line makes no document out of the others", () => {
    expect(read('{"a":\n{"b":2}\n').map(({ text }) => text)).toEqual(['{"a":', '{"b":2}'])
  })
})

describe("documents", () => {
  const elements = [{ a: '[{"' }, { b: [1, { c: "\\" }] }, { d: {} }]

  test.each([1, 2])("the elements of an array are texts (indented by %i)", (indent) => {
    const log = JSON.stringify([...elements, "x"], undefined, indent)
    const texts = read(log)
    expect(texts.map(({ text }) => JSON.parse(text))).toEqual([...elements, "x"])
    expect(texts.map(({ line }) => line)).toEqual([2, 5, 13, 16])
  })

  test("also if it has one on each line, and they may be damaged without damage to others", () => {
    const log = `[${JSON.stringify(elements[0])},\n{"b":"x\n{"c":1}\n{"d":2}]\n{"e":3}\n`
    expect(read(log).map(({ text }) => text)).toEqual([
      ...[JSON.stringify(elements[0]), '{"b":"x\n', '{"c":1}', '{"d":2}]', '{"e":3}'],
    ])
  })

  test("an object over several lines is one text, and another one may follow", () => {
    const log = `\n${JSON.stringify({ items: elements }, undefined, 4)}\n${JSON.stringify({ x: 1 }, undefined, 4)}\n`
    expect(read(log).map(({ text }) => JSON.parse(text))).toEqual([{ items: elements }, { x: 1 }])
    expect(read(log)[0]?.line).toBe(2)
  })

  test("a document with events may be longer than a text may be", () => {
    const event = `{"message":"${"x".repeat(1024 * 1024)}"},\n`
    const reader = new LogTextReader()
    let texts = [...reader.push(Buffer.from('{\n"events": [\n'))].length
    for (let bytes = 0; bytes <= longestText; bytes += event.length)
      for (const { bytes: text } of reader.push(Buffer.from(event))) {
        expect(text.length).toBe(event.length - 2)
        texts++
      }
    expect([...reader.push(Buffer.from("{}]}"))]).toHaveLength(1)
    expect(texts).toBeGreaterThan(60)
  })

  test("a line that is longer than any entry has its elements, also in a list of an object, and the lines after it are texts", () => {
    const element = `{"message":"${"x".repeat(1024 * 1024)}"}`
    const list = Array.from({ length: 20 }, () => element).join(",")
    for (const line of [`[${list}]`, `{"a":[],"records":[${list}],"b":{"c":[1]}}`]) {
      const texts = read(`\n${line}\n{"a":1}\n`, 100_000)
      expect(texts.map(({ text, line: number }) => `${number} ${text.slice(0, 10)}`)).toEqual([
        ...Array.from({ length: 20 }, () => '2 {"message"'.slice(0, 12)),
        '3 {"a":1}',
      ])
    }
  })

  test("one that ends before its end has a text that is cut", () => {
    expect(read('[\n{"a":1},\n{"b":')).toEqual([
      { line: 2, text: '{"a":1}', isCut: false },
      { line: 3, text: '{"b":', isCut: true },
    ])
  })

  test("an empty one has no texts", () => {
    expect(read("[\n]\n")).toEqual([])
    expect(read("[\n")).toEqual([])
    expect(read("")).toEqual([])
  })
})

test("the texts do not depend on how the log is cut into chunks", () => {
  const value = fc.jsonValue({ maxDepth: 3 })
  const log = fc.oneof(
    fc.array(value).map((values) => values.map((each) => `${JSON.stringify(each)}\n`).join("")),
    fc.array(fc.dictionary(fc.string(), value)).map((values) => JSON.stringify(values, undefined, 2)),
    fc.string(),
  )
  fc.assert(
    fc.property(log, fc.integer({ min: 1, max: 20 }), (text, chunkBytes) => {
      expect(read(text, chunkBytes)).toEqual(read(text))
    }),
  )
})

test("a line that would fill the memory is refused with its number", () => {
  const reader = new LogTextReader()
  const piece = Buffer.alloc(8 * 1024 * 1024, "x")
  expect([...reader.push(Buffer.from("{}\n"))]).toHaveLength(1)
  const push = (): void => {
    for (let bytes = 0; bytes <= longestText; bytes += piece.length) for (const _ of reader.push(piece));
  }
  expect(push).toThrow(TextTooLong)
  expect(push).toThrow(`line 2: longer than ${longestText} bytes`)
})
