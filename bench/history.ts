/**
 * Scenario *history*: questions about the past of a recording of some size, in the thread that reads it.
 *
 * The recording is written directly, without a server: changes of Deployments of 2.9 kB, committed as a store commits. Every object changes at random; one of them has
 * a hundredth of the changes, at most 1,000. A question opens the recording, as the reader does for each, knows what the ones before found intact, and takes the whole answer. Moments are spread over the
 * recording.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ArchiveWriter } from "../src/archive/archive-writer.ts"
import { KnownIntact } from "../src/archive/damage/known-intact.ts"
import { changes } from "../src/archive/queries/changes.ts"
import { QueriedRecording } from "../src/archive/queries/queried-recording.ts"
import { isComplete, type Shortcomings } from "../src/archive/queries/shortcomings.ts"
import { stateAt } from "../src/archive/queries/state-at.ts"
import { FrameEvent } from "../src/wire/frame-event.ts"
import { APPLIED, ObservationsBuilder } from "../src/wire/observations.ts"
import { deployments, gvkOf } from "./load/bench-kinds.ts"
import { objectText } from "./load/bench-objects.ts"
import { firstVersion, ObjectTemplate } from "./load/object-template.ts"
import { inRounds, type Scenario, type ScenarioReport, type ScenarioSettings } from "./scenario.ts"

const gvk = gvkOf(deployments)
/** µs since the Unix epoch, and between two changes. */
const start = 1_763_700_000_000_000
const stepMicros = 1000
/** A store's frames and commits: 64 KiB, and a commit for each MiB. */
const frameBytes = 64 * 1024
const framesPerCommit = 16
/** ms for all rounds. */
const limitMs = 170_000
/** Questions of each sort in a round. */
const questions = 5
/** Objects of a state that are asked for. */
const page = 500

interface Recorded {
  readonly directory: string
  readonly events: number
  readonly objects: number
  /** Changes of the object that changes most, number 1. */
  readonly hot: number
}

/** By name of the measure, its values. */
type Values = Map<string, number[]>

export const history: Scenario = {
  name: "history",
  description: "state at a moment, history of an object and whole states, of 100,000 events; with --events of more",
  takes: [],
  takesPeer: false,
  run: async (settings) => {
    const events = settings.events ?? (settings.isQuick ? 10_000 : 100_000)
    const directory = mkdtempSync(join(tmpdir(), "kubereel-bench-history-"))
    try {
      const recorded = record(directory, events)
      const bytes = statSync(join(directory, "recording.db")).size
      settings.tell(`${events.toLocaleString("en")} events in ${(bytes / 1e6).toFixed(1)} MB`)
      const values: Values = new Map()
      const intact = new KnownIntact()
      const rounds = await inRounds(settings.rounds ?? (settings.isQuick ? 1 : 3), limitMs, async () => {
        for (let question = 0; question < questions; question++) ask(recorded, { question, intact }, values, settings)
      })
      return report(recorded, bytes, values, rounds)
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  },
}

/** Numbers below a limit, the same in every run. */
const randomness = (): ((limit: number) => number) => {
  let state = 1
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
}

export const record = (directory: string, events: number): Recorded => {
  const objects = Math.max(page, Math.floor(events / 100))
  const hotEvery = Math.max(100, Math.ceil(events / 1000))
  const writer = ArchiveWriter.open(directory, { now: () => start })
  const template = new ObjectTemplate(objectText(deployments, 0))
  const bytes = Buffer.alloc(template.bytes.length)
  const slab = Buffer.alloc(frameBytes + 64 * 1024)
  const builder = new ObservationsBuilder(gvk)
  const event = new FrameEvent()
  const random = randomness()
  const seen = new Uint8Array(objects + 1)
  let [frame, hot] = [0, 0]
  for (let next = 0; next < events; ) {
    builder.begin(slab, 0)
    for (let used = 0; used < frameBytes - 2 * bytes.length && next < events; used += bytes.length, next++) {
      const isListed = next < objects
      const number = isListed ? next + 1 : next % hotEvery === 0 ? 1 : 2 + random(objects - 1)
      if (number === 1) hot++
      const version = firstVersion + next
      template.copyTo(bytes, 0, number, version)
      if (seen[number] === 0) {
        seen[number] = 1
        // What the object itself says.
        const { uid, name } = JSON.parse(bytes.toString()).metadata
        builder.addObject({ number, uid, namespace: `namespace-${number % 50}`, name })
      }
      Object.assign(event, {
        ...{
          action: APPLIED,
          objectNumber: number,
          timeMicros: start + next * stepMicros,
          version: BigInt(version),
          bytes,
        },
        // As random as those of a recorder.
        ...{ fingerprintLow: random(2 ** 32), fingerprintHigh: random(2 ** 32), end: bytes.length },
      })
      if (!builder.append(event)) throw new Error("the frame is full")
    }
    builder.completeThrough(String(firstVersion + next - 1))
    frame++
    writer.append("watcher/bench", 1, frame, Buffer.from(slab.subarray(0, builder.finish())))
    if (frame % framesPerCommit > 0) continue
    writer.commit()
    // A recorder's store merges blocks in pauses.
    while (writer.retention.step(() => false));
  }
  writer.commit()
  writer.close()
  return { directory, events, objects, hot }
}

const ask = (
  { directory, events, objects, hot }: Recorded,
  { question, intact }: { readonly question: number; readonly intact: KnownIntact },
  values: Values,
  { tell }: ScenarioSettings,
): void => {
  const time = start + Math.floor(objects + ((events - objects) * (question + 1)) / questions - 1) * stepMicros
  const measured = (
    name: string,
    answer: (recording: QueriedRecording) => Generator<{ readonly bytes: number }, Shortcomings, void>,
    wanted: number,
  ): number => {
    const before = performance.now()
    const recording = QueriedRecording.open(directory, { intact })
    let [count, bytes] = [0, 0]
    try {
      const items = answer(recording)
      for (;;) {
        const next = items.next()
        if (next.done === true) {
          if (!isComplete(next.value) || count !== wanted)
            throw new Error(`${name}: ${count} items instead of ${wanted}, ${JSON.stringify(next.value)}`)
          break
        }
        count++
        bytes += next.value.bytes
      }
    } finally {
      recording.close()
    }
    const milliseconds = performance.now() - before
    values.set(name, [...(values.get(name) ?? []), milliseconds])
    tell(`${name}: ${milliseconds.toFixed(1)} ms`)
    return bytes / 1e6 / (milliseconds / 1000)
  }
  measured(names.recent, (recording) => sized(stateAt(recording, { gvk, time, order: "change", limit: page })), page)
  measured(names.named, (recording) => sized(stateAt(recording, { gvk, time, limit: page })), page)
  measured(
    names.hot,
    (recording) => sizedChanges(changes(recording, { kinds: [gvk], name: "web-000001", from: 0 })),
    hot,
  )
  if (question > 0) return
  const pace = measured(
    "whole state",
    (recording) => sized(stateAt(recording, { gvk, time, order: "change" })),
    objects,
  )
  values.set(names.whole, [...(values.get(names.whole) ?? []), pace])
}

const names = {
  recent: "state: 500 objects, the latest changes first",
  named: "state: 500 objects in the order of names",
  hot: "history of one object",
  whole: "whole state, streamed",
} as const

function* sized(items: ReturnType<typeof stateAt>): Generator<{ readonly bytes: number }, Shortcomings, void> {
  for (;;) {
    const next = items.next()
    if (next.done === true) return next.value
    yield { bytes: next.value.object.length }
  }
}

function* sizedChanges(items: ReturnType<typeof changes>): Generator<{ readonly bytes: number }, Shortcomings, void> {
  for (;;) {
    const next = items.next()
    if (next.done === true) return next.value
    yield { bytes: next.value.event.object.length }
  }
}

const report = ({ events, objects, hot }: Recorded, bytes: number, values: Values, rounds: number): ScenarioReport => {
  const isSmall = events <= 100_000
  const of = (name: string): ReadonlyArray<number> => values.get(name) ?? []
  const limit = (small: number, large: number) => ({ relation: "at most", value: isSmall ? small : large }) as const
  return {
    measures: [
      { name: names.recent, unit: "ms", digits: 1, ours: of(names.recent), must: limit(20, 200), aim: limit(9, 50) },
      { name: names.named, unit: "ms", digits: 1, ours: of(names.named), must: limit(20, 200), aim: limit(9, 50) },
      {
        name: `${names.hot}, ${hot.toLocaleString("en")} changes`,
        unit: "ms",
        digits: 1,
        ours: of(names.hot),
        must: limit(20, 300),
        aim: limit(9, 60),
      },
      { name: names.whole, unit: "MB/s", digits: 0, ours: of(names.whole), must: { relation: "at least", value: 100 } },
      {
        name: "on disk",
        unit: "bytes/event",
        digits: 1,
        ours: [bytes / events],
        must: { relation: "at most", value: 30 },
        aim: { relation: "at most", value: 12 },
      },
    ],
    notes: [
      `${events.toLocaleString("en")} changes of ${objects.toLocaleString("en")} Deployments of ${deployments.lineBytes.toLocaleString("en")} bytes; ${rounds} ${rounds === 1 ? "round" : "rounds"} of ${questions} moments. Each question opens the recording and closes it again.`,
    ],
  }
}
