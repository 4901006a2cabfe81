/** What becomes of the bytes that guests write: lines, and bounded ones. */

import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { GuestLog } from "../../../src/host/guest/guest-log.ts"

const noting = () => {
  const lines: string[] = []
  const log = new GuestLog((stream, line) => lines.push(`${stream} ${line}`))
  return { lines, log, write: (text: string) => log.write("stdout", Buffer.from(text)) }
}

describe("Lines", () => {
  test("are the same whatever the pieces in which they are written", () => {
    const parts = fc.array(fc.string({ unit: fc.constantFrom("a", "ü", "😀", "\n", "\r\n", "") }), { maxLength: 8 })
    fc.assert(
      fc.property(parts, fc.array(fc.integer({ min: 1, max: 5 })), (texts, sizes) => {
        const bytes = Buffer.from(texts.join(""))
        const [whole, pieces] = [noting(), noting()]
        whole.log.write("stdout", bytes)
        let at = 0
        for (let index = 0; at < bytes.length; index++) {
          const size = sizes[index] ?? 3
          pieces.log.write("stdout", bytes.subarray(at, at + size))
          at += size
        }
        for (const { log } of [whole, pieces]) log.flush()
        expect(pieces.lines).toEqual(whole.lines)
        const expected = bytes
          .toString()
          .replace(/\r\n|\n/g, "\n")
          .replace(/\n$/, "")
          .split("\n")
        expect(whole.lines).toEqual(bytes.length === 0 ? [] : expected.map((line) => `stdout ${line}`))
      }),
    )
  })

  test("of the two streams do not mix", () => {
    const { lines, log } = noting()
    log.write("stdout", Buffer.from("out"))
    log.write("stderr", Buffer.from("error\n"))
    log.write("stdout", Buffer.from("put\n"))
    expect(lines).toEqual(["stderr error", "stdout output"])
  })

  test("that are not UTF-8 are readable all the same", () => {
    const { lines, log } = noting()
    log.write("stderr", Buffer.from("a\xffb\n", "latin1"))
    expect(lines).toEqual(["stderr a\uFFFDb"])
  })

  test("without an end wait for it, across calls, until there will be none", () => {
    const { lines, log, write } = noting()
    write("half")
    log.endOfCall()
    expect(lines).toEqual([])
    log.flush()
    log.flush()
    expect(lines).toEqual(["stdout half"])
  })
})

describe("A guest that writes without end", () => {
  test("has long lines shortened, and told by how much", () => {
    const { lines, write } = noting()
    for (let piece = 0; piece < 10; piece++) write("x".repeat(1000))
    write("\nnext\n")
    expect(lines).toEqual([`stdout ${"x".repeat(8192)}… (1808 more bytes)`, "stdout next"])
  })

  test("has 500 lines in a call, and then a count of the rest", () => {
    const { lines, log, write } = noting()
    write("x\n".repeat(502))
    write("y\n")
    log.endOfCall()
    expect(lines).toHaveLength(501)
    expect(lines.at(-1)).toBe("stderr (3 more lines of this call were left out of the log)")
    write("next call\n")
    log.endOfCall()
    expect(lines.at(-1)).toBe("stdout next call")
  })

  test("has 256 KiB in a call", () => {
    const { lines, write } = noting()
    for (let line = 0; line < 100; line++) write(`${"x".repeat(8192)}\n`)
    expect(lines).toHaveLength(32)
  })
})
