import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { LineSplitter, TooLongError } from "../../../src/kube/scanner/line-splitter.ts"

import { rounds } from "../../harness/effort.ts"
import { cuts, pushInPieces } from "./pieces.ts"

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
