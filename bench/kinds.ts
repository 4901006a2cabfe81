/**
 * Scenario *kinds*: what a further kind costs (docs/reference/architecture.md#budgets): up to 8, each in a worker of its own, memory some seconds
 * after the lists and CPU until they are complete; each figure is from a separate recorder, and the cost of a kind is the slope of a line through
 * all of them. And recorders of 20 and 150 kinds, which share workers: memory without changes and under a light load, and receipt.
 */
import { baseKinds, gvkOf } from "./load/bench-kinds.ts"
import { generatorOptionsOf, kindsOf } from "./load/workload.ts"
import { type ListMemory, listOnce } from "./measuring/list-memory.ts"
import { lightRate, type ManyKinds, measureManyKinds } from "./measuring/many-kinds.ts"
import { slope } from "./report/statistics.ts"
import type { Measure } from "./report/table.ts"
import { inRounds, type Scenario, type ScenarioReport, type ScenarioSettings } from "./scenario.ts"
import { startPeer } from "./subjects/peer-subject.ts"
import { startRecorder } from "./subjects/recorder-subject.ts"
import type { StartSubject } from "./subjects/subject.ts"

/** Beyond them, kinds share workers. */
const usualMost = 8
const manyKinds: ReadonlyArray<number> = [20, 150]
const limitMs = 170_000
const megabyte = 1e6

const atMost = (must: number, aim?: number) => ({
  must: { relation: "at most", value: must } as const,
  ...(aim !== undefined && { aim: { relation: "at most", value: aim } as const }),
})
const budget = atMost(18, 14)
/** Resident memory of so many kinds, MB. */
const manyBudgets: ReadonlyMap<number, Pick<Measure, "must" | "aim">> = new Map([
  [20, atMost(400)],
  [150, atMost(500, 350)],
])

/** A start with each number of kinds. */
type Round = ReadonlyMap<number, ListMemory>

export const kinds: Scenario = {
  name: "kinds",
  description: "what a further kind costs, and 20 and 150 kinds: memory, CPU, receipt",
  takes: ["kinds", "objects"],
  takesPeer: true,
  run: async (settings) => {
    const counts = countsUntil(settings.workload.kinds ?? (settings.isQuick ? 8 : usualMost))
    const ours: Array<Round> = []
    const peer: Array<Round> = []
    const many = new Map(manyKinds.map((count) => [count, [] as Array<ManyKinds>]))
    const wanted = settings.rounds ?? (settings.isQuick || settings.profileDirectory !== undefined ? 1 : 3)
    const rounds = await inRounds(wanted, limitMs, async (round) => {
      ours.push(await startWithEach(`round ${round}: ours`, startRecorder, counts, settings))
      // With a given number of kinds, only these are measured.
      for (const [count, runs] of settings.workload.kinds === undefined ? many : []) {
        const run = await measureManyKinds(count, settings.workload, settings)
        runs.push(run)
        settings.tell(`round ${round}: ours: ${describeMany(count, run)}`)
      }
      if (settings.peer === undefined || settings.profileDirectory !== undefined) return
      peer.push(await startWithEach(`round ${round}: peer`, startPeer(settings.peer), counts, settings))
    })
    const { measures, notes, ...rest } = report({ ours, peer }, counts, rounds, settings.workload.objects === undefined)
    return { ...rest, measures: [...measures, ...[...many].flatMap(manyMeasures)], notes: [...notes, manyNote] }
  },
}

/** 1, 2, 4, … and `most`. */
export const countsUntil = (most: number): ReadonlyArray<number> => {
  const counts: Array<number> = []
  for (let count = 1; count < most; count *= 2) counts.push(count)
  return [...counts, most]
}

const describeMany = (count: number, { readySeconds, idle, loaded, receivedMs, threads }: ManyKinds): string =>
  `${count} kinds: ready after ${readySeconds.toFixed(1)} s, ${Math.round(idle.resident / megabyte)} MB, ` +
  `${Math.round(loaded.resident / megabyte)} MB at ${lightRate} events/s, received p99 ${receivedMs.toFixed(1)} ms, ${threads} threads`

const manyNote = `20 and 150 kinds share workers; one of them changes ${lightRate} times a second for 10 s. From the moment a change was due until it was received, or committed.`

const manyMeasures = ([count, runs]: readonly [number, ReadonlyArray<ManyKinds>]): ReadonlyArray<Measure> => {
  if (runs.length === 0) return []
  const row = (
    name: string,
    unit: string,
    digits: number,
    value: (run: ManyKinds) => number,
    more: Pick<Measure, "must" | "aim"> = {},
  ): Measure => ({ name, unit, digits, ours: runs.map(value), ...more })
  const budgets = manyBudgets.get(count) ?? {}
  const load = `at ${lightRate} events/s`
  return [
    row(`${count} kinds: resident`, "MB", 0, ({ idle }) => idle.resident / megabyte, budgets),
    row("– proportional (PSS)", "MB", 0, ({ idle }) => idle.proportional / megabyte),
    row(`– resident ${load}`, "MB", 0, ({ loaded }) => loaded.resident / megabyte, budgets),
    row(`– received ${load}, p99`, "ms", 1, ({ receivedMs }) => receivedMs),
    row(`– committed ${load}, p99`, "ms", 1, ({ committedMs }) => committedMs),
    row("– ready after", "s", 1, ({ readySeconds }) => readySeconds),
    row("– threads", "", 0, ({ threads }) => threads),
  ]
}

const startWithEach = async (
  what: string,
  start: StartSubject,
  counts: ReadonlyArray<number>,
  settings: ScenarioSettings,
): Promise<Round> => {
  const round = new Map<number, ListMemory>()
  for (const count of counts) {
    // The cluster has all kinds each time; only the number of followed ones differs.
    const most = Math.max(...counts)
    const options = generatorOptionsOf({ ...settings.workload, kinds: most })
    const names = kindsOf({ kinds: count }).map(gvkOf)
    round.set(count, await listOnce(`${what}, ${count} kinds`, start, options, names, settings))
  }
  return round
}

const report = (
  { ours, peer }: Readonly<Record<"ours" | "peer", ReadonlyArray<Round>>>,
  counts: ReadonlyArray<number>,
  rounds: number,
  isOfTheBudgets: boolean,
): ScenarioReport => {
  const memoryOf = (run: ListMemory): number => run.settledBytes / megabyte
  const cpuOf = (run: ListMemory): number => run.cpuSeconds * 1000
  const at = (count: number, value: (run: ListMemory) => number) => (round: Round) => {
    const run = round.get(count)
    return run === undefined ? Number.NaN : value(run)
  }
  // The base kinds have a hundred times as many objects, so only the increase over them is the cost of a kind.
  const further = counts.filter((count) => count >= baseKinds.length)
  const perKind = (value: (run: ListMemory) => number) => (round: Round) =>
    slope(further.map((count) => ({ x: count, y: at(count, value)(round) })))
  const row = (
    name: string,
    unit: string,
    digits: number,
    value: (round: Round) => number,
    more: Pick<Measure, "must" | "aim"> = {},
  ): Measure => ({ name, unit, digits, ours: ours.map(value), peer: peer.map(value), ...more })
  const most = counts.at(-1) ?? 1
  const slopes: ReadonlyArray<Measure> =
    further.length < 2
      ? []
      : [
          row("each further kind: memory", "MB", 1, perKind(memoryOf), isOfTheBudgets ? budget : {}),
          row("each further kind: CPU until ready", "ms", 0, perKind(cpuOf)),
        ]
  return {
    measures: [
      ...slopes,
      ...counts.map((count) =>
        row(`${count} ${count === 1 ? "kind" : "kinds"}, after the lists`, "MB", 0, at(count, memoryOf)),
      ),
      ...counts.map((count) =>
        row(`${count} ${count === 1 ? "kind" : "kinds"}, CPU until ready`, "ms", 0, at(count, cpuOf)),
      ),
      row(
        `${most} kinds, ready after`,
        "s",
        1,
        at(most, (run) => run.readySeconds),
      ),
    ],
    curves: [
      { title: "after the lists", yTitle: "MB", value: memoryOf },
      { title: "CPU until ready", yTitle: "ms", value: cpuOf },
    ].map(({ title, yTitle, value }) => ({
      title,
      xTitle: "kinds",
      yTitle,
      points: [
        { series: "ours", of: ours },
        { series: "peer", of: peer },
      ].flatMap(({ series, of }) =>
        of.flatMap((round) => [...round].map(([count, run]) => ({ series, x: count, y: value(run) }))),
      ),
    })),
    notes: [
      `Deployments, ReplicaSets and Pods first, then custom resources with 10 objects each; ${rounds} ${rounds === 1 ? "round" : "rounds"}. Each further kind: slope over the recorders of ${further.join(", ")} kinds, which differ in custom resources alone.`,
    ],
  }
}
