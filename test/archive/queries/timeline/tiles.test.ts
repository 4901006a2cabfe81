/** Tiles of objects with a status: those that a look at every state gives, and a bounded number of changes is held at once. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { ArchiveWriter, QueriedRecording } from "../../../../src/archive/index.ts"
import { laneId } from "../../../../src/archive/queries/timeline/lane-directory.ts"
import { mostBetween, revisionsOf } from "../../../../src/archive/queries/timeline/revisions.ts"
import { tileSteps } from "../../../../src/archive/queries/timeline/tiles.ts"
import { TimelineCache } from "../../../../src/archive/queries/timeline/timeline-cache.ts"
import { columnOf, healthOf, marks, partsOf, type Tone, tileOf, tones } from "../../../../src/timeline/index.ts"
import { temporaryDirectory } from "../../../harness/temporary-directory.ts"
import { encodeFrame, type SampleEvent, START } from "../../sample-frames.ts"

const pods = "v1.Pod"
const leases = "coordination.k8s.io/v1.Lease"

interface Change {
  readonly number: number
  readonly time: number
  /** `undefined`: it was deleted. */
  readonly status: object | undefined
}

const running = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] }
const crashing = {
  phase: "Running",
  conditions: [{ type: "Ready", status: "False" }],
  containerStatuses: [{ name: "main", restartCount: 1, state: { waiting: { reason: "CrashLoopBackOff" } } }],
}
const waiting = { phase: "Pending", containerStatuses: [{ name: "main", state: { waiting: {} } }] }

/** Records changes of one kind, `perFrame` of them in a frame. */
const record = (gvk: string, changes: ReadonlyArray<Change>, perFrame: number): QueriedRecording => {
  const directory = temporaryDirectory()
  let [time, frames] = [START, 0]
  const writer = ArchiveWriter.open(directory, { now: () => time, limits: { blocksPerCheckpoint: 3 } })
  const known = new Set<number>()
  writer.append("watcher", 1, ++frames, encodeFrame({ gvk, completeThrough: "1" }))
  for (let at = 0; at < changes.length; at += perFrame) {
    const part = changes.slice(at, at + perFrame)
    const events = part.map(({ number, time: moment, status }, index): SampleEvent => {
      const action = status === undefined ? "deleted" : "applied"
      return { action, number, time: moment, version: at + index + 2, object: JSON.stringify({ status }) }
    })
    const newObjects = [...new Set(part.map(({ number }) => number))].filter((number) => !known.has(number))
    for (const number of newObjects) known.add(number)
    time = part.at(-1)?.time ?? time
    writer.append("watcher", 1, ++frames, encodeFrame({ gvk, newObjects, events, completeThrough: `${at + perFrame}` }))
    writer.commit()
  }
  writer.close()
  return QueriedRecording.open(directory)
}

const drawn = (recording: QueriedRecording, question: Parameters<typeof tileSteps>[2]) => {
  const tiles = new Map<string, number[]>()
  for (const tile of tileSteps(recording, new TimelineCache(), question))
    if (tile !== undefined) tiles.set(`${tile.lane} ${tile.part?.id ?? ""}`, [...tile.columns, tile.changes])
  return tiles
}

const objects = [1, 2, 4]
const anyChange = fc.record({
  number: fc.constantFrom(...objects),
  delay: fc.constantFrom(0, 1, 40),
  status: fc.constantFrom(running, crashing, waiting, undefined),
})

test("tiles are those that a look at every state gives", () => {
  const window = fc.record({ from: fc.nat(400), length: fc.nat(400), width: fc.integer({ min: 1, max: 30 }) })
  fc.assert(
    fc.property(fc.array(anyChange, { minLength: 1, maxLength: 40 }), window, (steps, { from, length, width }) => {
      let time = START
      const changes = steps.map(({ delay, ...step }): Change => {
        time += delay
        return { ...step, time }
      })
      const recording = record(pods, changes, 3)
      const question = { from: START + from, to: START + from + length, width, withParts: true }
      const [kind] = recording.kinds
      const ranges = [
        { type: "unrecorded", from: recording.knownUntil(pods) + 1, to: Number.MAX_SAFE_INTEGER },
        { type: "unrecorded", from: 0, to: START - 1 },
      ] as const
      const expected = new Map<string, number[]>()
      for (const number of objects.filter((each) => changes.some((change) => change.number === each))) {
        const own = changes.filter((change) => change.number === number)
        const lane = laneId(kind ?? { id: 0 }, number)
        const within = own.filter((change) => change.time >= question.from && change.time <= question.to)
        const before = own.findLast((change) => change.time < question.from)
        const draw = (
          id: string,
          toneIn: (status: object | undefined) => Tone,
          textIn?: (status?: object) => string,
        ) => {
          const seen = [before, ...within].map((change) => [toneIn(change?.status), textIn?.(change?.status)].join(" "))
          const told = within.filter((_, index) => textIn === undefined || seen[index] !== seen[index + 1])
          const tile = tileOf(
            question,
            toneIn(before?.status),
            told.map((change) => ({ time: change.time, tone: toneIn(change.status) })),
            ranges,
          )
          expected.set(`${lane} ${id}`, [...tile, told.length])
        }
        draw("", (status) => (status === undefined ? tones.absent : healthOf(pods, { status }).tone))
        const states = [before, ...within].flatMap((change) => (change?.status === undefined ? [] : [change.status]))
        for (const id of new Set(states.flatMap((status) => partsOf(pods, { status }).map(({ part }) => part.id)))) {
          const partOf = (status?: object) => partsOf(pods, { status }).find(({ part }) => part.id === id)
          draw(
            id,
            (status) => partOf(status)?.tone ?? tones.absent,
            (status) => partOf(status)?.text ?? "",
          )
        }
      }
      expect(
        drawn(recording, { ...question, lanes: objects.map((number) => laneId(kind ?? { id: 0 }, number)) }),
      ).toEqual(expected)
      recording.close()
    }),
    { numRuns: 40 },
  )
})

const held = (recording: QueriedRecording, window: { from: number; to: number; width: number }, onlyLast: boolean) => {
  const [kind] = recording.kinds
  if (kind === undefined) throw new Error("nothing is recorded")
  const steps = revisionsOf(recording, new TimelineCache(), kind, { numbers: new Set(objects), window, onlyLast })
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return [...value.values()]
  }
}

test("of a Lease that is renewed every two seconds, a column holds one change", () => {
  const second = 1_000_000
  const renewals = Array.from({ length: 6000 }, (_, at): Change => {
    return { number: objects[at % 3] ?? 1, time: START + at * second, status: {} }
  })
  const recording = record(leases, renewals, 500)
  const window = { from: START + second, to: START + 6000 * second, width: 50 }
  for (const changes of held(recording, window, true)) {
    expect(changes.sequences).toHaveLength(50)
    expect(changes.columns).toEqual(Array.from({ length: 50 }, (_, column) => column))
    expect(changes.count).toBeGreaterThan(1990)
  }
  const tiles = drawn(recording, { ...window, lanes: ["1.1", "1.2", "1.4"], withParts: false })
  for (const tile of tiles.values()) expect(tile.slice(0, 49)).toEqual(new Array(49).fill(tones.plain | marks.changed))
  recording.close()
})

test("of more changes than are looked at, those of the first lanes are; columns of the others say that something was not", () => {
  const perLane = Math.ceil(mostBetween / 2)
  const blips = Array.from({ length: perLane * 3 }, (_, at): Change => {
    // Bad for a moment in each hundred, and never at the end of a column.
    return { number: objects[at % 3] ?? 1, time: START + at, status: at % 300 < 3 ? crashing : running }
  })
  const recording = record(pods, blips, 1000)
  const window = { from: START, to: START + perLane * 3 - 1, width: 100 }
  const changes = held(recording, window, false)
  const states = changes.reduce((sum, { sequences }) => sum + sequences.length, 0)
  expect(states).toBeLessThanOrEqual(mostBetween + 3 * window.width)
  expect(changes.map(({ count }) => count)).toEqual([perLane, perLane, perLane])
  const rows = [...drawn(recording, { ...window, lanes: ["1.1", "1.2", "1.4"], withParts: false }).values()]
  const [first, , last] = rows.map((row) => row.slice(0, window.width))
  expect(new Set(first)).toEqual(new Set([tones.good | marks.changed | marks.wasBad]))
  expect(new Set(last)).toEqual(new Set([tones.good | marks.changed | marks.unseen]))
  expect(columnOf(window, window.to)).toBe(99)
  recording.close()
})
