/** Parts of a recording: whatever is recorded when, they are everything, each event is in one of them, and none has too many. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { type CountedRecording, type Part, RecordingParts } from "../../../src/cli/inspect/recording-parts.ts"

const { signal } = new AbortController()

const recordingOf = (times: ReadonlyArray<number>, given: Partial<CountedRecording> = {}): CountedRecording => ({
  ...{ start: 0, since: Math.min(1000, ...times), end: () => 1001, isGrowing: false, mostEvents: 10 },
  count: async (start, end) => times.filter((time) => start <= time && time < end).length,
  ...given,
})

/** All parts, from the last to the first. */
const partsOf = async (parts: RecordingParts): Promise<ReadonlyArray<Part>> => {
  const found = [await parts.next("last", signal)]
  while (found.at(-1)?.isFirst === false) found.push(await parts.next("earlier", signal))
  return found
}

const times = fc.array(fc.oneof(fc.nat(1000), fc.constantFrom(300, 301)), { maxLength: 80 })

test("parts follow on one another from the end to the beginning, with at most so many events unless one moment has more", async () => {
  await fc.assert(
    fc.asyncProperty(times, async (recorded) => {
      const all = await partsOf(new RecordingParts(recordingOf(recorded)))
      expect([all[0]?.isLast, all[0]?.end, all.at(-1)?.start]).toEqual([true, 1001, 0])
      for (const [index, { start, end, events }] of all.entries()) {
        const within = recorded.filter((time) => start <= time && time < end)
        expect(events).toBe(recorded.length)
        if (within.length > 10) expect(new Set(within).size).toBe(1)
        if (index > 0) expect(end).toBe(all[index - 1]?.start)
      }
    }),
  )
})

test("later parts lead back to the end", async () => {
  await fc.assert(
    fc.asyncProperty(times, async (recorded) => {
      const parts = new RecordingParts(recordingOf(recorded))
      let part = (await partsOf(parts)).at(-1)
      while (part?.isLast === false) {
        const { end }: Part = part
        part = await parts.next("later", signal)
        expect(part.start).toBe(end)
        expect(part.end).toBeGreaterThan(part.start)
      }
      expect(part?.end).toBe(1001)
    }),
  )
})

test("a long recording is counted a few times, not once for each moment", async () => {
  let counts = 0
  const count = async (start: number, end: number): Promise<number> => {
    counts++
    return Math.floor((end - start) / 10)
  }
  const long = { count, since: 0, end: () => 1e15, mostEvents: 200_000 }
  const { start } = await new RecordingParts(recordingOf([], long)).next("last", signal)
  expect(Math.floor((1e15 - start) / 10)).toBeGreaterThanOrEqual(100_000)
  expect(counts).toBeLessThan(40)
})

test("the last part of a recording that grows has what came meanwhile", async () => {
  let end = 1001
  const parts = new RecordingParts(recordingOf([1, 1500], { end: () => end, isGrowing: true }))
  expect(await parts.next("last", signal)).toMatchObject({ end: 1001, events: 1, isGrowing: true })
  end = 2000
  expect(await parts.next("last", signal)).toMatchObject({ end: 2000, events: 2, isLast: true })
})

test("nothing before the time that was asked for is read", async () => {
  const parts = new RecordingParts(recordingOf([1, 2, 600], { start: 500, since: 1 }))
  expect(await parts.next("last", signal)).toMatchObject({ start: 500, isFirst: true, events: 1 })
})
