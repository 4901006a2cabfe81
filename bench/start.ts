/**
 * Scenario *start*: the cost of listing and recording 100,000 Pods (docs/reference/architecture.md#budgets), as one stream and in pages
 * from a server that does not support streaming lists.
 *
 * From the start of the process: every figure includes loading the program. MB are 10^6 bytes.
 */
import { baseKinds, gvkOf } from "./load/bench-kinds.ts"
import { generatorOptionsOf } from "./load/workload.ts"
import { type ListMemory, listOnce } from "./measuring/list-memory.ts"
import type { Bound, Measure } from "./report/table.ts"
import { inRounds, type Scenario, type ScenarioReport } from "./scenario.ts"
import { startInformer } from "./subjects/counting-subject.ts"
import { startPeer } from "./subjects/peer-subject.ts"
import { startRecorder } from "./subjects/recorder-subject.ts"

const usualPods = 100_000
const limitMs = 170_000
const megabyte = 1e6

const atMost = (value: number): Bound => ({ relation: "at most", value })

interface Runs {
  readonly streamed: Array<ListMemory>
  readonly paged: Array<ListMemory>
  readonly informer: Array<ListMemory>
  readonly peer: Array<ListMemory>
}

export const start: Scenario = {
  name: "start",
  description: "a start with 100,000 Pods: time until ready, CPU, peak memory",
  takes: ["objectBytes", "objects", "pods"],
  takesPeer: true,
  run: async (settings) => {
    const count = settings.workload.pods ?? (settings.isQuick ? 10_000 : usualPods)
    const names = baseKinds.map(gvkOf)
    const cluster = generatorOptionsOf({ ...settings.workload, pods: count })
    const old = { ...cluster, isStreamingListKnown: false }
    const runs: Runs = { streamed: [], paged: [], informer: [], peer: [] }
    const isProfiled = settings.profileDirectory !== undefined
    const wanted = settings.rounds ?? (settings.isQuick || isProfiled ? 1 : 3)
    const rounds = await inRounds(wanted, limitMs, async (round) => {
      const what = `round ${round}: ${count.toLocaleString("en")} Pods`
      runs.streamed.push(await listOnce(`${what}, streamed`, startRecorder, cluster, names, settings))
      runs.paged.push(await listOnce(`${what}, in pages`, startRecorder, old, names, settings))
      if (isProfiled) return
      runs.informer.push(await listOnce(`${what}, informers`, startInformer, cluster, names, settings))
      if (settings.peer === undefined) return
      runs.peer.push(await listOnce(`${what}, peer`, startPeer(settings.peer), cluster, names, settings))
    })
    const isOfTheBudgets = count === usualPods && Object.keys({ ...settings.workload, pods: count }).length === 1
    return report(runs, count, rounds, isOfTheBudgets)
  },
}

const report = (
  { streamed, paged, informer, peer }: Runs,
  count: number,
  rounds: number,
  isOfTheBudgets: boolean,
): ScenarioReport => {
  const rows = (
    name: string,
    unit: string,
    digits: number,
    value: (run: ListMemory) => number,
    bounds: Pick<Measure, "must" | "aim">,
  ): ReadonlyArray<Measure> => {
    // The informers list in one page, and the peer in its own way: both are compared with either way of ours.
    const others = { informer: informer.map(value), peer: peer.map(value) }
    const more = { unit, digits, ...others, ...(isOfTheBudgets && bounds) }
    return [
      { name: `${name}, streamed`, ours: streamed.map(value), ...more },
      { name: `${name}, in pages`, ours: paged.map(value), ...more },
    ]
  }
  return {
    measures: [
      ...rows("ready after", "s", 1, (run) => run.readySeconds, {}),
      ...rows("CPU until ready", "s", 1, (run) => run.cpuSeconds, { must: atMost(6), aim: atMost(5) }),
      ...rows("peak", "MB", 0, (run) => run.peakBytes / megabyte, { must: atMost(450), aim: atMost(350) }),
      ...rows("seconds later", "MB", 0, (run) => run.settledBytes / megabyte, {}),
    ],
    notes: [
      `${count.toLocaleString("en")} Pods of 4.3 kB beside Deployments and ReplicaSets, from the start of the process until everything is recorded and committed; ${rounds} ${rounds === 1 ? "round" : "rounds"}. The informers keep what they list and ask for all of it in one page, as the library does unless told otherwise.`,
    ],
  }
}
