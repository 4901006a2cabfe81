/**
 * Part of scenario *queries*: a recorder continues a recording with a long past and takes in events at a steady rate, for a while without a question. Then ten
 * clients ask about the past, each the next question as soon as it has the answer to the one before.
 */
import { get } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { deployments, gvkOf } from "../load/bench-kinds.ts"
import { BenchCluster } from "../load/generator-process.ts"
import { hotObject, page, type RecordedPast, recordPast, start, stepMicros } from "../load/recorded-past.ts"
import { SteadyLoad, type StretchLatency, sharedMs } from "../load/steady-load.ts"
import { generatorOptionsOf } from "../load/workload.ts"
import { PeakMemory } from "../processes/peak-memory.ts"
import type { ScenarioSettings } from "../scenario.ts"
import { startRecorder } from "../subjects/recorder-subject.ts"

const patienceMs = 120_000
/** s of the load before anything is measured, in which V8 compiles. */
const settlingSeconds = 5
/** Not among the generator's kinds, so a recorder that continues the recording leaves these objects as they are. */
const pastKind = "apps/v1.DaemonSet"
/** Each has an address of its own: a recorder gives one client half of its places, which are eight. */
export const clients = 10
const addressOf = (client: number): string => `127.0.0.${client + 2}`
/** ms after which a client without a place asks again. */
const noPlaceMs = 50
/** Characters of an answer's end to keep. */
const endLength = 4096

export const queriesSizes = {
  full: { seconds: 15 },
  quick: { seconds: 2 },
} as const

export interface QueriesRun {
  readonly before: StretchLatency
  readonly during: StretchLatency
  /** ms of each answer, by the sort of its question. */
  readonly answersMs: ReadonlyMap<Question["name"], ReadonlyArray<number>>
  /** Answers a second. */
  readonly pace: number
  /** Bytes by which resident memory grew, at its peak. */
  readonly growthBefore: number
  readonly growthDuring: number
}

const questionNames = [
  ...(["500 objects at a moment", "history of an object", "changes in a second"] as const),
  ...(["lanes of 15 minutes", "40 tiles of 15 minutes"] as const),
] as const

/** One sort of question. `place` is where in the past, from 0 to 1. */
interface Question {
  readonly name: (typeof questionNames)[number]
  readonly path: (past: RecordedPast, place: number) => string
}

const momentOf = ({ events, objects }: RecordedPast, place: number): number =>
  start + Math.floor(objects + (events - objects - 1) * place) * stepMicros

const questions: ReadonlyArray<Question> = [
  {
    name: "500 objects at a moment",
    path: (past, place) => `/v1/objects?kind=${pastKind}&limit=${page}&at=${momentOf(past, place)}`,
  },
  {
    name: "history of an object",
    path: (past) =>
      `/v1/changes?kind=${pastKind}&namespace=${hotObject.namespace}&name=${hotObject.name}&to=${momentOf(past, 1)}`,
  },
  {
    name: "changes in a second",
    path: (past, place) => {
      const from = momentOf(past, place)
      return `/v1/changes?kind=${pastKind}&from=${from}&to=${from + 1_000_000}`
    },
  },
  {
    name: "lanes of 15 minutes",
    path: (past, place) => `/v1/lanes?kind=${pastKind}&${quarterAt(past, place)}`,
  },
  {
    name: "40 tiles of 15 minutes",
    // The past's kind is the first of the recording.
    path: (past, place) => {
      const lanes = Array.from({ length: 40 }, (_, lane) => `lane=1.${1 + lane}`)
      return `/v1/tiles?${quarterAt(past, place)}&width=1500&${lanes.join("&")}`
    },
  },
]

/** The quarter of an hour that ends somewhere in the past. */
const quarterAt = (past: RecordedPast, place: number): string => {
  const to = momentOf(past, place)
  return `from=${Math.max(start, to - 900_000_000)}&to=${to}`
}

export const runQueries = async (
  events: number,
  perSecond: number,
  { isQuick, profileDirectory }: Pick<ScenarioSettings, "isQuick" | "profileDirectory">,
): Promise<QueriesRun> => {
  const { seconds } = isQuick ? queriesSizes.quick : queriesSizes.full
  await using cluster = await BenchCluster.start(generatorOptionsOf({}))
  let past: RecordedPast | undefined
  const fill = (directory: string): void => {
    past = recordPast(directory, events, pastKind)
  }
  await using subject = await startRecorder(cluster, { kinds: [gvkOf(deployments)], profileDirectory, fill })
  if (past === undefined) throw new Error("the recording was not filled")
  const recorded = past
  await cluster.during(subject.listed(patienceMs))
  using steady = new SteadyLoad(cluster, subject, perSecond)
  const answersMs = new Map<Question["name"], Array<number>>(questions.map(({ name }) => [name, []]))
  const asking = (async () => {
    await sleep(settlingSeconds * 1000)
    const calm = new PeakMemory(subject.pid)
    const beforeMs = sharedMs()
    await sleep(seconds * 1000)
    const growthBefore = calm.growth()
    const busy = new PeakMemory(subject.pid)
    const askedMs = sharedMs()
    const endMs = askedMs + seconds * 1000
    await Promise.all(
      Array.from({ length: clients }, async (_, client) => {
        // At least one question each, whatever it takes.
        for (let turn = client; turn === client || sharedMs() < endMs; turn++) {
          const question = questions[turn % questions.length]
          if (question === undefined) throw new Error("no question")
          const from = sharedMs()
          await answered(`${subject.server}${question.path(recorded, ((turn * 7) % 97) / 97)}`, addressOf(client))
          answersMs.get(question.name)?.push(sharedMs() - from)
        }
      }),
    )
    return { beforeMs, askedMs, endedMs: sharedMs(), growthBefore, growthDuring: busy.growth() }
  })()
  const arriving = steady.during(settlingSeconds + 2 * seconds)
  const [{ beforeMs, askedMs, endedMs, ...growth }] = await cluster.during(Promise.all([asking, arriving]))
  const load = await steady.end()
  const count = [...answersMs.values()].reduce((sum, { length }) => sum + length, 0)
  return {
    ...growth,
    answersMs,
    pace: (count * 1000) / (endedMs - askedMs),
    before: load.latency(beforeMs, askedMs),
    during: load.latency(askedMs, endedMs),
  }
}

/** Reads the whole answer, and asks again while the recorder has no place. Fails unless it is an answer. */
const answered = async (url: string, localAddress: string): Promise<void> => {
  for (;;) {
    const { status, end } = await asked(url, localAddress)
    if (status === 200 && end.includes('"type":"end"')) return
    if (status !== 429) throw new Error(`${url}: ${status} ${end.slice(-500)}`)
    await sleep(noPlaceMs)
  }
}

/** The status, and the end of the answer. */
const asked = (url: string, localAddress: string): Promise<{ readonly status: number; readonly end: string }> =>
  new Promise((resolve, reject) => {
    const question = get(url, { localAddress, headers: { accept: "application/x-ndjson" } }, (response) => {
      let end = ""
      response.setEncoding("utf8")
      response.on("data", (piece: string) => {
        end = (end + piece).slice(-endLength)
      })
      response.on("end", () => resolve({ status: response.statusCode ?? 0, end }))
      response.on("error", reject)
    })
    question.on("error", reject)
  })
