import fc from "fast-check"
import { expect, onTestFinished, test } from "vitest"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { readCoverage } from "../../../src/archive/reading/recorded-coverage.ts"
import { readRecordedSince } from "../../../src/archive/reading/recorded-since.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { encodeFrame, gapAt, type SampleEvent, START } from "../sample-frames.ts"

const kinds = ["v1.Pod", "v1.Node"] as const

const change = (number: number, time: number): SampleEvent => ({
  action: "applied",
  number,
  time: START + time,
  version: time,
  object: `{"time":${time},"filler":"${"x".repeat(100)}"}`,
})

const openWriter = (directory: string, blockBytes: number): ArchiveWriter => {
  const writer = ArchiveWriter.open(directory, { limits: { blockBytes, blocksPerCheckpoint: 3 } })
  onTestFinished(() => writer.close())
  return writer
}

test("any window counts exactly the events received in it, for any division into blocks", () => {
  const frame = fc.record({ kind: fc.nat(1), waits: fc.array(fc.nat(5), { minLength: 1, maxLength: 8 }) })
  const moment = fc.integer({ min: -3, max: 260 })
  fc.assert(
    fc.property(
      fc.array(frame, { minLength: 1, maxLength: 25 }),
      fc.array(fc.tuple(moment, moment), { minLength: 5, maxLength: 5 }),
      fc.integer({ min: 200, max: 4000 }),
      (frames, windows, blockBytes) => {
        const directory = temporaryDirectory()
        const writer = openWriter(directory, blockBytes)
        const times: [number[], number[]] = [[], []]
        const clocks = [0, 0]
        for (const [index, { kind, waits }] of frames.entries()) {
          const known = times[kind as 0 | 1]
          const events = waits.map((wait) => {
            clocks[kind] = (clocks[kind] ?? 0) + wait
            return change(1, clocks[kind])
          })
          const gvk = kinds[kind as 0 | 1]
          const isFirst = known.length === 0
          known.push(...events.map(({ time }) => time))
          writer.append(`watcher/${kind}`, 1, index + 1, encodeFrame({ gvk, events, newObjects: isFirst ? [1] : [] }))
          writer.commit()
        }
        for (const [one, other] of windows) {
          const [fromTime, untilTime] = [START + Math.min(one, other), START + Math.max(one, other)]
          const coverage = readCoverage(directory, { fromTime, untilTime })
          for (const { gvk, events } of coverage.kinds) {
            const known = times[kinds.indexOf(gvk as (typeof kinds)[number]) as 0 | 1]
            expect(events).toBe(known.filter((time) => time >= fromTime && time < untilTime).length)
          }
        }
      },
    ),
    { numRuns: 20 },
  )
})

test("a kind is complete from its first list on, and has the gaps that overlap the window", () => {
  const directory = temporaryDirectory()
  const writer = openWriter(directory, 3000)
  const [gvk] = kinds
  const at = (frame: Parameters<typeof encodeFrame>[0], number: number): void => {
    writer.append("watcher/0", 1, number, encodeFrame(frame))
    writer.commit()
  }
  const whole = { fromTime: START, untilTime: START + 1000 }
  const kind = (window = whole) => readCoverage(directory, window).kinds.find((each) => each.gvk === gvk)
  at({ gvk, events: [change(1, 10)], newObjects: [1] }, 1)
  expect(kind()).toMatchObject({ events: 1, since: undefined, completeTime: 0 })
  at({ gvk, events: [change(1, 20)], completeThrough: "20" }, 2)
  expect(kind()).toMatchObject({ events: 2, since: START + 20, completeTime: START + 20, gaps: [] })
  const gap = gapAt(START + 30)
  at({ gvk, gaps: [gap] }, 3)
  expect(kind()?.gaps).toMatchObject([{ fromTime: gap.fromTime, toTime: gap.toTime }])
  expect(kind({ fromTime: gap.toTime + 1, untilTime: gap.toTime + 2 })?.gaps).toEqual([])
})

test("the first list of a later history is not the first of the recording", () => {
  const directory = temporaryDirectory()
  const writer = openWriter(directory, 3000)
  const [gvk] = kinds
  const first = { gvk, events: [change(1, 10)], newObjects: [1], completeThrough: "10" }
  writer.append("watcher/0", 1, 1, encodeFrame(first))
  writer.append("watcher/0", 1, 2, encodeFrame({ gvk, epoch: 1, events: [change(1, 20)] }))
  writer.commit()
  const [kind] = readCoverage(directory, { fromTime: START, untilTime: START + 100 }).kinds
  expect(kind).toMatchObject({ events: 2, since: START + 10, completeTime: START + 10 })
})

test("a kind without objects is recorded since its first list, however often it is confirmed, also by a later writer", () => {
  const directory = temporaryDirectory()
  const [gvk] = kinds
  let now = START
  const open = () => ArchiveWriter.open(directory, { now: () => now })
  const confirm = (writer: ArchiveWriter, incarnation: number, number: number, version: string): void => {
    now += 1000
    writer.append("watcher/0", incarnation, number, encodeFrame({ gvk, completeThrough: version }))
    writer.commit()
  }
  let writer = open()
  confirm(writer, 1, 1, "10")
  confirm(writer, 1, 2, "20")
  writer.close()
  writer = open()
  onTestFinished(() => writer.close())
  confirm(writer, 2, 1, "30")
  expect(readRecordedSince(directory)).toEqual([
    { gvk, namespace: "", since: START + 1000, removedThrough: 0, completeTime: START + 3000 },
  ])
  expect(readCoverage(directory, { fromTime: START, untilTime: now }).kinds).toMatchObject([
    { since: START + 1000, completeTime: START + 3000 },
  ])
})
