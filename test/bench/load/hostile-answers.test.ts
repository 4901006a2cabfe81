/** What the hostile API server of the benchmarks sends. */
import { expect, test } from "vitest"
import { sendHostileLine } from "../../../bench/load/hostile-answers.ts"

test("an ERROR of 60 MB is one whole line of JSON", async () => {
  const ends: string[] = []
  let [bytes, newlines] = [0, 0]
  await sendHostileLine("error-lines", async (piece) => {
    const text = Buffer.from(piece)
    bytes += text.length
    if (text.includes("\n")) newlines++
    if (text.length < 1000) ends.push(text.toString())
    return true
  })
  expect(bytes).toBeGreaterThan(60e6)
  expect(newlines).toBe(1)
  expect(JSON.parse(ends.join(""))).toMatchObject({ type: "ERROR", object: { kind: "Status" } })
})

test("a line without an end goes on until its reader has gone", async () => {
  let pieces = 0
  await sendHostileLine("endless-lines", async (piece) => {
    expect(Buffer.from(piece).includes("\n")).toBe(false)
    return ++pieces < 100
  })
  expect(pieces).toBe(100)
})
