import fc from "fast-check"
import { expect, test } from "vitest"
import { ChangeTally, changeAnnotation, type Measured } from "../../../bench/hosting/change-stamp.ts"
import { measuredIn } from "../../../bench/hosting/counting-guest.ts"

/** As the guest computes it. */
const bucketOf = (micros: number): number => {
  if (micros < 64) return micros
  const octave = Math.floor(Math.log2(micros)) - 6
  return (octave + 1) * 64 + Math.floor(micros / 2 ** octave) - 64
}

test("a latency is read back from its bucket, at most a 64th too long and never too short", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 60_000_000 }), fc.integer({ min: 1, max: 9999 }), (micros, count) => {
      const [[read, changes] = []] = measuredIn(`measured ${bucketOf(micros)}:${count}`)?.latencies ?? []
      expect(changes).toBe(count)
      expect(read).toBeGreaterThanOrEqual(micros)
      expect(read).toBeLessThanOrEqual(micros * (1 + 1 / 64))
    }),
  )
})

test("a mark without changes before it is read as none, another line as nothing", () => {
  expect(measuredIn("measured")).toEqual({ latencies: [] })
  expect(measuredIn("synced")).toBeUndefined()
})

test("a tally tells at a mark what came since the last one, and takes an object without a stamp for no change", () => {
  const told: Measured[] = []
  const tally = new ChangeTally((measured) => told.push(measured))
  const stamped = (stamp: string) => ({ metadata: { annotations: { [changeAnnotation]: stamp } } })
  tally.entered({ metadata: {} })
  tally.entered(stamped(String(Date.now() * 1000 - 5_000_000)))
  tally.entered(stamped("00"))
  tally.entered(stamped("01"))
  expect(told.map(({ latencies }) => latencies.length)).toEqual([1, 0])
  expect(told[0]?.latencies[0]?.[0]).toBeGreaterThanOrEqual(4_999_000)
})
