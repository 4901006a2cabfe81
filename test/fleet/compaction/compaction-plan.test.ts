/** Which ranges are compacted together: few of them, and each byte is written few times. */
import { expect, test } from "vitest"
import { atOnce, joinedWith, overdue, rangesOf } from "../../../src/fleet/compaction/compaction-plan.ts"

const object = (bytes: number, fromTime = 1, isWhole = true) => ({
  ...{ key: "k", from: 1, through: 1, sha256: "", isWhole, bytes, gaps: 0, fromTime, toTime: fromTime },
})

const MiB = 1024 * 1024

test.each([
  ["of one size", (_hour: number) => MiB],
  ["that grow smaller", (hour: number) => MiB - 100 * hour],
  ["of all sizes", (hour: number) => ((hour * 7919) % 2000) * 1024 + 1000],
])("hours %s of a year become few ranges, and a byte is written again at most once for each doubling", (_, sizeOf) => {
  let ranges = rangesOf([])
  let [written, total, mostSmall] = [0, 0, 0]
  for (let hour = 0; hour < 8760; hour++) {
    const joined = joinedWith(ranges, sizeOf(hour))
    const bytes = sizeOf(hour) + ranges.slice(ranges.length - joined).reduce((sum, range) => sum + range.bytes, 0)
    total += sizeOf(hour)
    written += bytes
    ranges = rangesOf([...ranges.slice(0, ranges.length - joined).flatMap(({ objects }) => objects), object(bytes)])
    mostSmall = Math.max(mostSmall, ranges.filter((range) => range.bytes < 128 * MiB).length)
  }
  expect(ranges.length).toBeLessThanOrEqual(Math.ceil(total / MiB / 128) + 10)
  expect(mostSmall).toBeLessThanOrEqual(11)
  expect(written / total).toBeLessThan(8)
})

test("partial objects are of the range that the whole one ends", () => {
  const ranges = rangesOf([object(5, 0, false), object(6, 0, false), object(7), object(8)])
  expect(ranges.map(({ bytes, objects }) => [bytes, objects.length])).toEqual([
    [18, 3],
    [8, 1],
  ])
})

test("what is older is dropped once it is a tenth of what is kept", () => {
  const ranges = rangesOf([object(1, 1000), object(1, 1300), object(1, 1900)])
  const at = (nowMicros: number, keptFrom = 0) => overdue(ranges, keptFrom, { nowMicros, keepMicros: 500 })
  expect([at(1400), at(1549), at(1550), at(1800), at(1801), at(2500)]).toEqual([0, 0, 1, 1, 2, 3])
  // Blocks that are young in part stay, and are not looked at each time.
  expect([at(1840, 1300), at(1850, 1300)]).toEqual([0, 2])
})

test("few ranges are copied at once to drop what is old, and one of any size", () => {
  const days = (...sizes: ReadonlyArray<number>) => rangesOf(sizes.map((size) => object(size * MiB)))
  expect(atOnce(days(...Array<number>(400).fill(256)))).toBe(1)
  expect([atOnce(days(100, 256, 256)), atOnce(days(500, 1)), atOnce(days(1, 1)), atOnce([])]).toEqual([2, 1, 2, 0])
})
