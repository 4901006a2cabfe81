/** Columns of which not every state was looked at are told apart from those of which all were: in the drawing, and in words. */
import { expect, test } from "vitest"
import { marks, tones } from "../../../src/timeline/index.ts"
import { paintRow, paintTable } from "../../../src/ui/timeline/paint.ts"
import { toneText } from "../../../src/ui/timeline/tone-text.ts"

const palette = { plain: 1, good: 2, waiting: 3, bad: 4, over: 5, changed: 6, hatch: 7, late: 8 }

const coloursOf = (value: number): ReadonlySet<number> => {
  const pixels = new Uint32Array(8 * 24)
  paintRow(paintTable(palette, 24), new Uint8Array(8).fill(value), { pixels, width: 8, top: 0, scale: 1 })
  return new Set(pixels)
}

const textOf = (value: number): string =>
  toneText({ from: 0, micros: 1, columns: Uint8Array.of(value), counts: Uint32Array.of(9), changes: 9 }, 0)

test("a good column of which states were passed over is neither drawn nor described as a good one", () => {
  const good = tones.good | marks.changed
  expect(coloursOf(good).has(palette.hatch)).toBe(false)
  expect(coloursOf(good | marks.unseen).has(palette.hatch)).toBe(true)
  expect(textOf(good)).toBe("fine")
  expect(textOf(good | marks.unseen)).toMatch(/^fine, one of several states: .*zoom in/)
})

test("what was seen to be bad is drawn as such, whatever else was not looked at", () => {
  const blip = tones.good | marks.changed | marks.wasBad
  expect(coloursOf(blip | marks.unseen)).toEqual(coloursOf(blip))
  expect(textOf(blip | marks.unseen)).toBe("fine")
})

test("what is not known yet is no column that a tile can have", () => {
  expect(coloursOf(255)).toEqual(new Set([0, palette.hatch]))
  expect(Object.values(marks).reduce((sum, mark) => sum | mark, 0) | Math.max(...Object.values(tones))).toBeLessThan(
    255,
  )
})
