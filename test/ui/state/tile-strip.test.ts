/** Tiles that grow, and tiles that are seen through another window. */

import fc from "fast-check"
import { expect, test } from "vitest"
import { marks, tones } from "../../../src/timeline/index.ts"
import { appended, tileOf as drawnTile, resample } from "../../../src/ui/state/tile-strip.ts"

const tileOf = (from: number, columns: ReadonlyArray<number>, micros = 10, changes = 0) =>
  drawnTile({ from, to: from + columns.length * micros }, { columns: Uint8Array.from(columns), changes })

const columns = fc.array(fc.nat({ max: 127 }), { minLength: 1, maxLength: 40 })

test("a tile seen through its own window is itself, and through one that is moved by columns moved", () => {
  fc.assert(
    fc.property(columns, fc.integer({ min: -50, max: 50 }), (bytes, by) => {
      const into = new Uint8Array(bytes.length)
      const from = 1_700_000_000_000_000
      resample(tileOf(from, bytes), { from: from + by * 10, to: from + (by + bytes.length) * 10 }, into)
      expect([...into]).toEqual(bytes.map((_, index) => bytes[index + by] ?? 255))
    }),
  )
})

test("no change and nothing bad is lost when several columns become one", () => {
  fc.assert(
    fc.property(columns, fc.integer({ min: 1, max: 7 }), (bytes, several) => {
      const width = Math.ceil(bytes.length / several)
      const into = new Uint8Array(width)
      resample(tileOf(0, bytes), { from: 0, to: width * several * 10 }, into)
      const sticky = marks.changed | marks.gap | marks.late | marks.wasBad
      for (const [index, value] of into.entries()) {
        if (value === 255) continue
        const covered = bytes.slice(index * several, (index + 1) * several)
        for (const each of covered) expect(value & each & sticky).toBe(each & sticky)
      }
    }),
  )
})

test("what a tile does not reach is said not to be known", () => {
  const into = new Uint8Array(6)
  resample(tileOf(100, [tones.good, tones.bad]), { from: 80, to: 140 }, into)
  expect([...into]).toEqual([255, 255, tones.good, tones.bad, 255, 255])
})

test("a tile that grows by pieces is the tile of the whole", () => {
  fc.assert(
    fc.property(columns, columns, fc.integer({ min: 1, max: 60 }), (one, other, most) => {
      const grown = appended(tileOf(0, one, 10, 2), tileOf(one.length * 10, other, 10, 3), most)
      const kept = [...one, ...other].slice(-most)
      expect([...grown.columns]).toEqual(kept)
      expect(grown.from).toBe((one.length + other.length - kept.length) * 10)
    }),
  )
})

test("later columns of another scale, or after a hole, begin a tile of their own", () => {
  const later = tileOf(500, [tones.good])
  expect(appended(tileOf(0, [tones.bad]), later, 10)).toBe(later)
  const finer = tileOf(10, [tones.good], 5)
  expect(appended(tileOf(0, [tones.bad]), finer, 10)).toBe(finer)
})

test("a tile that grows counts the changes of its columns, and of none that it has dropped", () => {
  const changed = tones.good | marks.changed
  const burst = tileOf(0, [changed, tones.good, tones.good, changed], 10, 1000)
  let tile = burst
  for (let column = 4; column < 6; column++) tile = appended(tile, tileOf(column * 10, [changed], 10, 1), 4)
  expect(tile.changes).toBe(502)
  for (let column = 6; column < 40; column++) tile = appended(tile, tileOf(column * 10, [changed], 10, 1), 4)
  expect(tile.changes).toBe(4)
})

test("the columns of an answer together have its changes", () => {
  fc.assert(
    fc.property(columns, fc.nat({ max: 5000 }), (bytes, changes) => {
      const { counts } = tileOf(0, bytes, 10, changes)
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(changes)
    }),
  )
})
