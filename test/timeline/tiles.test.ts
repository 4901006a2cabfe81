import fc from "fast-check"
import { expect, test } from "vitest"
import { columnOf, marks, type TileRange, type Tone, tileOf, tones } from "../../src/timeline/index.ts"

/** Microsecond by microsecond. */
const naive = (
  window: { from: number; to: number; width: number },
  before: Tone,
  changes: ReadonlyArray<{ time: number; tone: Tone }>,
  ranges: ReadonlyArray<TileRange>,
): number[] => {
  const columns = new Array<number>(window.width).fill(0)
  let tone = before
  const entered = new Map<number, Tone>()
  for (let time = window.from; time <= window.to; time++) {
    const column = columnOf(window, time)
    if (!entered.has(column)) entered.set(column, tone)
    let drawn = columns[column] as number
    if (entered.get(column) === tones.bad) drawn |= marks.wasBad
    for (const change of changes)
      if (change.time === time) {
        tone = change.tone
        drawn |= marks.changed | (tone === tones.bad ? marks.wasBad : 0)
      }
    const within = ranges.filter(({ from, to }) => from <= time && time <= to)
    if (within.some(({ type }) => type === "late")) drawn |= marks.late
    if (within.some(({ type }) => type !== "late")) drawn |= marks.gap
    const isUnknown = within.some(({ type }) => type === "unrecorded")
    columns[column] = (drawn & ~7) | (isUnknown ? tones.unknown : tone)
  }
  return columns
}

const tone = fc.constantFrom(...Object.values(tones).filter((each) => each !== tones.unknown))

test("a tile has the tone at each column's end, and what happened within it", () => {
  const window = fc
    .tuple(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 60 }), fc.integer({ min: 1, max: 61 }))
    .map(([from, length, width]) => ({ from, to: from + length, width: Math.min(width, length + 1) }))
  const change = fc.record({ time: fc.integer({ min: 0, max: 90 }), tone })
  const range = fc.record({
    type: fc.constantFrom("gap" as const, "late" as const, "unrecorded" as const),
    from: fc.integer({ min: 0, max: 90 }),
    to: fc.integer({ min: 0, max: 90 }),
  })
  fc.assert(
    fc.property(window, tone, fc.array(change, { maxLength: 12 }), fc.array(range, { maxLength: 4 }), (...given) => {
      const [asked, before, unordered, ranges] = given
      const changes = unordered.toSorted((one, other) => one.time - other.time)
      expect([...tileOf(asked, before, changes, ranges)]).toEqual(naive(asked, before, changes, ranges))
    }),
  )
})

test("more columns than microseconds: what happened is in the column of its moment", () => {
  const columns = tileOf({ from: 10, to: 11, width: 8 }, tones.absent, [{ time: 11, tone: tones.good }])
  expect([...columns]).toEqual([0, 0, 0, 0, tones.good | marks.changed, 3, 3, 3])
})
