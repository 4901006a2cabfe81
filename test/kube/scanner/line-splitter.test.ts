import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  freeBytes,
  LineBudget,
  LineSplitter,
  LinesTooLargeError,
  TooLongError,
} from "../../../src/kube/scanner/line-splitter.ts"
import { ListScanner } from "../../../src/kube/scanner/list-scanner.ts"
import { rounds } from "../../harness/effort.ts"
import { cuts, pushInPieces } from "./pieces.ts"

const mebibyte = 1024 * 1024
const chunk = Buffer.alloc(mebibyte, "x")
const lineEnd = Buffer.from("\n")

const threads = (limit: number) => {
  const memory = LineBudget.memory()
  const reader = (slot: number) => {
    let lines = 0
    const splitter = new LineSplitter(() => lines++, { budget: new LineBudget(memory, slot, limit) })
    return {
      /** Mebibytes of one line. */
      read: (count: number) => {
        for (let each = 0; each < count; each++) splitter.push(chunk, 0, chunk.length)
      },
      end: () => splitter.push(lineEnd, 0, 1),
      lines: () => lines,
    }
  }
  return { memory, reader }
}

describe("a budget for large lines", () => {
  test("is for all threads together: the one that asks for more than is left is refused, the others go on", () => {
    const { reader } = threads(6 * mebibyte)
    const [first, second] = [reader(0), reader(1)]
    first.read(8)
    expect(() => second.read(3)).toThrow(LinesTooLargeError)
    first.end()
    second.read(8)
    second.end()
    expect([first.lines(), second.lines()]).toEqual([1, 1])
  })

  test("is not needed for lines of ordinary size, whatever the others have taken", () => {
    const { reader } = threads(6 * mebibyte)
    reader(0).read(8)
    const ordinary = reader(1)
    for (let line = 1; line <= 5; line++) {
      ordinary.read(freeBytes / mebibyte)
      ordinary.end()
      expect(ordinary.lines()).toBe(line)
    }
  })

  test("gets back what a line took, when the line ends, is too long, or its reader is given another stream", () => {
    const memory = LineBudget.memory()
    const budget = new LineBudget(memory, 3, 20 * mebibyte)
    const isUntouched = (): boolean => new Int32Array(memory).every((taken) => taken === 0)
    const splitter = new LineSplitter(() => undefined, { budget })
    const push = (count: number): void => {
      for (let each = 0; each < count; each++) splitter.push(chunk, 0, chunk.length)
    }
    push(5)
    expect(isUntouched()).toBe(false)
    splitter.push(lineEnd, 0, 1)
    expect(isUntouched()).toBe(true)
    expect(() => push(20)).toThrow("more than 16777216 bytes")
    expect(isUntouched()).toBe(true)
    push(5)
    splitter.reset()
    expect(isUntouched()).toBe(true)
  })

  test("gets back all of it, whatever the sizes of the pieces of a line", () => {
    const memory = LineBudget.memory()
    const splitter = new LineSplitter(() => undefined, { budget: new LineBudget(memory, 0, 32 * mebibyte) })
    for (const piece of [65_431, 40_123, 99_999, 524_287]) {
      for (let length = 0; length < 9 * mebibyte; length += piece) splitter.push(chunk, 0, piece)
      splitter.push(lineEnd, 0, 1)
      expect(new Int32Array(memory)[0]).toBe(0)
    }
  })

  test("gets back what a thread had taken that died, when its successor starts", () => {
    const { memory, reader } = threads(6 * mebibyte)
    reader(0).read(8)
    const other = new LineBudget(memory, 1, 6 * mebibyte)
    expect(other.take(mebibyte)).toBe(false)
    reader(0)
    expect(other.take(6 * mebibyte)).toBe(true)
    expect(other.take(1)).toBe(false)
    other.give(6 * mebibyte)
    expect(other.take(1)).toBe(true)
  })

  test("holds for the items of lists", () => {
    const memory = LineBudget.memory()
    const budget = new LineBudget(memory, 0, mebibyte)
    const list = new ListScanner(() => undefined, { budget })
    const start = Buffer.from('{"items":[{"data":"')
    list.push(start, 0, start.length)
    expect(() => {
      for (let each = 0; each < 4; each++) list.push(chunk, 0, chunk.length)
    }).toThrow(LinesTooLargeError)
  })

  test("large lines are passed on whole, one after the other, with small ones between them", () => {
    const seen: string[] = []
    const splitter = new LineSplitter((bytes, start, end) => seen.push(bytes.toString("latin1", start, end)), {
      budget: new LineBudget(LineBudget.memory(), 0, 32 * mebibyte),
    })
    const lines = [5_000_000, 10, 1_100_000, 3_000_000, 0, 20_000].map((length, index) =>
      Array.from({ length: Math.ceil(length / 8) }, (_, at) => `${index}${String(at).padStart(7, "0")}`).join(""),
    )
    const text = Buffer.from(`${lines.join("\n")}\n`)
    for (let at = 0; at < text.length; at += 65_536) splitter.push(text, at, Math.min(text.length, at + 65_536))
    expect(seen).toEqual(lines.filter((line) => line !== ""))
    expect(splitter.pendingBytes).toBe(0)
  })
})

const line = fc.oneof(
  { weight: 4, arbitrary: fc.stringMatching(/^[a-z{}"ä😀\r ]{1,20}$/u).filter((text) => !text.endsWith("\r")) },
  { weight: 1, arbitrary: fc.constant("") },
  { weight: 1, arbitrary: fc.integer({ min: 100, max: 20_000 }).map((length) => "x".repeat(length)) },
)

const collect = (longest?: number) => {
  const lines: string[] = []
  const splitter = new LineSplitter(
    (bytes, start, end) => lines.push(bytes.toString("utf8", start, end)),
    longest === undefined ? {} : { longest },
  )
  return { lines, splitter }
}

describe("a line splitter", () => {
  test("delivers every line once and in order, wherever the chunks end", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(line, fc.constantFrom("\n", "\r\n")), { maxLength: 12 }),
        line,
        cuts,
        (whole, rest, where) => {
          const bytes = Buffer.from(whole.map(([text, end]) => text + end).join("") + rest)
          const { lines, splitter } = collect()
          pushInPieces(bytes, where, splitter)
          expect(lines).toEqual(whole.map(([text]) => text).filter((text) => text !== ""))
          expect(splitter.pendingBytes).toBe(Buffer.byteLength(rest))
        },
      ),
      { numRuns: rounds(200) },
    )
  })

  test("passes on a line that is whole in a chunk in place", () => {
    const chunk = Buffer.from("xxa\nbc\r\nd")
    const seen: Array<readonly [same: boolean, start: number, end: number]> = []
    const splitter = new LineSplitter((bytes, start, end) => seen.push([bytes === chunk, start, end]))
    splitter.push(chunk, 2, chunk.length)
    splitter.push(Buffer.from("e\n"), 0, 2)
    expect(seen).toEqual([
      [true, 2, 3],
      [true, 4, 6],
      [false, 0, 2],
    ])
  })

  test("ignores a line feed after the end of the chunk", () => {
    const { lines, splitter } = collect()
    splitter.push(Buffer.from("ab\ncd\n"), 0, 2)
    expect(lines).toEqual([])
    expect(splitter.pendingBytes).toBe(2)
  })

  test("rejects a line that is too long, in one chunk or in many, and works again after a reset", () => {
    const { lines, splitter } = collect(10)
    splitter.push(Buffer.from("0123456789\n"), 0, 11)
    const push = (text: string) => splitter.push(Buffer.from(text), 0, text.length)
    push("0123456789")
    expect(() => push("0")).toThrow(new TooLongError({ limit: 10 }))
    splitter.reset()
    expect(() => push("01234567890")).toThrow(TooLongError)
    splitter.reset()
    push("abc\n")
    expect(lines).toEqual(["0123456789", "abc"])
  })

  test("forgets the unfinished line at a reset", () => {
    const { lines, splitter } = collect()
    splitter.push(Buffer.from("abc"), 0, 3)
    splitter.reset()
    splitter.push(Buffer.from("def\n"), 0, 4)
    expect(lines).toEqual(["def"])
  })

  test("assembles a line of 8 MiB from chunks of 16 KiB, and releases the memory", () => {
    const { lines, splitter } = collect()
    const chunk = Buffer.alloc(16 * 1024, "y")
    for (let sent = 0; sent < 8 * 1024 * 1024; sent += chunk.length) splitter.push(chunk, 0, chunk.length)
    expect(splitter.pendingBytes).toBe(8 * 1024 * 1024)
    splitter.push(Buffer.from("\n"), 0, 1)
    expect(lines[0]?.length).toBe(8 * 1024 * 1024)
    expect(splitter.pendingBytes).toBe(0)
  })
})
