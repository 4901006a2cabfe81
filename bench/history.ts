/**
 * Scenario *history*: questions about the past of a recording of some size, in the thread that reads it.
 *
 * The recording is written directly (load/recorded-past.ts). A question opens the recording, as the reader does for each, knows what the ones before found intact, and takes the whole answer. Moments are spread over the
 * recording.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { changeSteps, KnownIntact, QueriedRecording, stateSteps } from "../src/archive/index.ts"
import { isComplete, type Shortcomings } from "../src/archive/queries/shortcomings.ts"
import { deployments, gvkOf } from "./load/bench-kinds.ts"
import { hotObject, page, type RecordedPast, recordPast, start, stepMicros } from "./load/recorded-past.ts"
import { inRounds, type Scenario, type ScenarioReport, type ScenarioSettings } from "./scenario.ts"

const gvk = gvkOf(deployments)
/** ms for all rounds. */
const limitMs = 170_000
/** Questions of each sort in a round. */
const questions = 5

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
      const recorded = recordPast(directory, events)
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

const ask = (
  { directory, events, objects, hot }: RecordedPast,
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
  measured(names.recent, (recording) => sized(stateSteps(recording, { gvk, time, order: "change", limit: page })), page)
  measured(names.named, (recording) => sized(stateSteps(recording, { gvk, time, limit: page })), page)
  measured(
    names.hot,
    (recording) => sizedChanges(changeSteps(recording, { kinds: [gvk], name: hotObject.name, from: 0 })),
    hot,
  )
  if (question > 0) return
  const pace = measured(
    "whole state",
    (recording) => sized(stateSteps(recording, { gvk, time, order: "change" })),
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

function* sized(items: ReturnType<typeof stateSteps>): Generator<{ readonly bytes: number }, Shortcomings, void> {
  for (;;) {
    const next = items.next()
    if (next.done === true) return next.value
    if (next.value !== undefined) yield { bytes: next.value.object.length }
  }
}

function* sizedChanges(
  items: ReturnType<typeof changeSteps>,
): Generator<{ readonly bytes: number }, Shortcomings, void> {
  for (;;) {
    const next = items.next()
    if (next.done === true) return next.value
    if (next.value !== undefined) yield { bytes: next.value.event.object.length }
  }
}

const report = (
  { events, objects, hot }: RecordedPast,
  bytes: number,
  values: Values,
  rounds: number,
): ScenarioReport => {
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
