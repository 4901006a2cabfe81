import { describe, expect, test } from "vitest"
import { arrivals, driftMs, stretchPercent } from "../../../bench/replaying/lateness.ts"
import type { TimedChange } from "../../../bench/replaying/replay-workload.ts"
import type { ReceivedWrite } from "../../../bench/serving/sandbox-process.ts"

const startedAt = 1_000_000_000
const name = (index: number): string => `web-${index}`

/** A change every 100 ms, of three objects in rotation. */
const changes: ReadonlyArray<TimedChange> = Array.from({ length: 30 }, (_, change) => ({
  atMs: change * 100,
  index: change % 3,
}))

/** Each received as late as told, ms. */
const received = (lateMs: (change: number) => number, speed = 1): ReadonlyArray<ReceivedWrite> =>
  changes
    .map(({ atMs, index }, change): ReceivedWrite => [name(index), startedAt + (atMs / speed + lateMs(change)) * 1000])
    .toSorted(([, left], [, right]) => left - right)

const arrived = (lateMs: (change: number) => number, speed = 1) =>
  arrivals({ changes, speed, startedAt }, received(lateMs, speed), name)

describe("arrivals", () => {
  test("are late by the time from due to reception, at any speed, each write with the change it is of", () => {
    // Every third is so late that writes of other objects are received before it.
    const lateMs = (change: number): number => (change % 3 === 0 ? 150 : 2)
    expect(arrived(lateMs).map((arrival) => arrival.lateMs)).toEqual(changes.map((_, change) => lateMs(change)))
    expect(arrived(() => 2, 10)).toEqual(changes.map(({ atMs }) => ({ dueMs: atMs / 10, lateMs: 2 })))
  })

  test("are not told of a write that was lost, or received before it was due", () => {
    const writes = received(() => 1)
    expect(() => arrivals({ changes, speed: 1, startedAt }, writes.slice(1), name)).toThrow(/was not received/)
    expect(() => arrived((change) => (change === 7 ? -20 : 1))).toThrow(/web-1 was received 20 ms before it was due/)
    const early = received((change) => (change === 7 ? -20 : 1))
    expect(arrivals({ changes, speed: 1, startedAt, isStartVague: true }, early, name)[7]?.lateMs).toBe(-20)
  })
})

test("drift is what lateness grows by, not lateness itself", () => {
  expect(driftMs(arrived(() => 40))).toBe(0)
  expect(driftMs(arrived((change) => change))).toBe(20)
  expect(driftMs(arrived((change) => change).slice(0, 6))).toBe(3)
})

test("a run is stretched by the growth of lateness between its first and its last write", () => {
  expect(stretchPercent(arrived(() => 40))).toBe(0)
  expect(stretchPercent(arrived((change) => change))).toBeCloseTo(1)
  expect(stretchPercent([])).toBeNaN()
})
