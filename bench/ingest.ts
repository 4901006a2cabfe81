/**
 * Scenario *ingest*: changes of Deployments as fast as they are read (docs/reference/architecture.md#budgets), then latencies at steady
 * paces (latency.ts).
 *
 * A round is null reader, recorder, informer and, if one is given, the peer, each in its own process with its own generator, one after
 * another; ratios are taken within a round. Each subject first takes a tenth as many changes unmeasured, because the budget is for a warm
 * recorder and not for V8's compilers; what they compile later is in the figures.
 */

import { describeWorkload } from "./load/workload.ts"
import { cpuOf, type IngestRun, type IngestSubject, measureIngest, paceOf, warmUpOf } from "./measuring/ingest-run.ts"
import { measureLatency } from "./measuring/latency.ts"
import { quotients } from "./report/ratios.ts"
import { median } from "./report/statistics.ts"
import type { Measure } from "./report/table.ts"
import { inRounds, type Scenario, type ScenarioReport, type ScenarioSettings } from "./scenario.ts"
import { startInformer, startNullReader } from "./subjects/counting-subject.ts"
import { startPeer } from "./subjects/peer-subject.ts"
import { startRecorder } from "./subjects/recorder-subject.ts"

/** ms for all rounds at full speed. */
const limitMs = 170_000
/** s of a run at a given rate. */
const secondsAtPace = 10

type Runs = Readonly<Record<"nullReader" | "ours" | "informer" | "peer", Array<IngestRun>>>

export const ours: IngestSubject = { name: "ours", start: startRecorder, isOfDeployments: false }
export const informer: IngestSubject = { name: "informer", start: startInformer, isOfDeployments: true }
const nullReader: IngestSubject = { name: "null reader", start: startNullReader, isOfDeployments: true }

export const ingest: Scenario = {
  name: "ingest",
  description: "changes of Deployments as fast as they are read: CPU per event, events per second, socket to commit",
  takes: ["rate", "heartbeatShare", "objectBytes", "objects", "pods"],
  takesPeer: true,
  run: async (settings) => {
    const events = settings.events ?? usualEvents(settings)
    const runs: Runs = { nullReader: [], ours: [], informer: [], peer: [] }
    const isProfiled = settings.profileDirectory !== undefined
    const { peer } = settings
    const wanted = settings.rounds ?? (settings.isQuick || isProfiled ? 1 : 5)
    const rounds = await inRounds(wanted, limitMs, async (round) => {
      if (!isProfiled) runs.nullReader.push(await measureIngest(nullReader, round, events, settings))
      runs.ours.push(await measureIngest(ours, round, events, settings))
      if (isProfiled) return
      runs.informer.push(await measureIngest(informer, round, events, settings))
      if (peer === undefined) return
      const subject = { name: "peer", start: startPeer(peer), isOfDeployments: false }
      runs.peer.push(await measureIngest(subject, round, events, settings))
    })
    const atFullSpeed = report(runs, events, rounds, settings)
    if (isProfiled) return atFullSpeed
    const latency = await measureLatency(settings)
    return {
      measures: [...atFullSpeed.measures, ...latency.measures],
      notes: [...atFullSpeed.notes, ...latency.notes],
      curves: latency.curves ?? [],
    }
  },
}

/** Fewer events of large objects, so that a run takes as long. */
const usualEvents = ({ isQuick, workload: { rate, objectBytes } }: ScenarioSettings): number => {
  const usual = isQuick ? 50_000 : 300_000
  const paced = rate === undefined ? usual : Math.ceil(rate * (isQuick ? 2 : secondsAtPace))
  const sized = objectBytes === undefined ? usual : Math.ceil((usual * 2900) / Math.max(2900, objectBytes))
  return Math.min(usual, paced, sized)
}

const report = (runs: Runs, events: number, rounds: number, { workload, peer }: ScenarioSettings): ScenarioReport => {
  const row = (
    name: string,
    unit: string,
    digits: number,
    value: (run: IngestRun) => number,
    more: Pick<Measure, "must" | "aim" | "hasRatios"> = {},
  ): Measure => ({
    name,
    unit,
    digits,
    ours: runs.ours.map(value),
    nullReader: runs.nullReader.map(value),
    informer: runs.informer.map(value),
    peer: runs.peer.map(value),
    ...more,
  })
  const ownRow = (name: string, unit: string, digits: number, value: (run: IngestRun) => number): Measure => ({
    name,
    unit,
    digits,
    ours: runs.ours.map(value),
  })
  const ceiling = runs.nullReader.map(paceOf)
  const share = (of: ReadonlyArray<IngestRun>): ReadonlyArray<number> => quotients(of.map(paceOf), ceiling)
  // Budgets are for the scenario's own workload.
  const budget = <Budget>(of: Budget): Budget | Record<string, never> => (Object.keys(workload).length === 0 ? of : {})
  const measures: ReadonlyArray<Measure> = [
    row("CPU per event, whole process", "µs", 2, cpuOf, {
      ...budget({ must: { relation: "at most", value: 10 }, aim: { relation: "at most", value: 7 } } as const),
    }),
    ...["watchers", "store", "main", "V8", "other"].map((group) =>
      ownRow(`– of it ${group}`, "µs", 2, (run) => ((run.threadSeconds.get(group) ?? 0) / run.events) * 1e6),
    ),
    row("sustained", "events/s", 0, paceOf),
    {
      name: "share of the null reader's pace",
      unit: "",
      digits: 2,
      ours: share(runs.ours),
      informer: share(runs.informer),
      peer: share(runs.peer),
      hasRatios: false,
      // Two thirds, as in the documentation; 0.67 would require more.
      ...budget({ must: { relation: "at least", value: 0.667 }, aim: { relation: "at least", value: 0.75 } } as const),
    },
    row("busiest thread: on a CPU", "%", 0, (run) => run.busiest.running * 100, { hasRatios: false }),
    row("– ready, but others were", "%", 0, (run) => run.busiest.waiting * 100, { hasRatios: false }),
    row("the generator's CPU per event", "µs", 2, (run) => (run.generatorCpuSeconds / run.events) * 1e6, {
      hasRatios: false,
    }),
    row("last change sent → taken (ours: committed)", "ms", 0, (run) => run.behindMs, { hasRatios: false }),
    ownRow("longest wait of a frame in the store", "ms", 0, (run) => run.waitMs),
    ownRow("longest commit", "ms", 0, (run) => run.commitMs),
    ownRow("recording, log included", "bytes/event", 0, (run) => run.storedBytesPerEvent),
    row("largest resident memory", "MB", 0, (run) => run.peakBytes / 1e6),
  ]
  const informerRatio = median(quotients(runs.informer.map(cpuOf), runs.ours.map(cpuOf)))
  const peerRatio = median(quotients(runs.peer.map(cpuOf), runs.ours.map(cpuOf)))
  const workloadText = describeWorkload(workload)
  return {
    measures,
    notes: [
      `${events.toLocaleString("en")} events for each subject after ${warmUpOf(events).toLocaleString("en")} unmeasured ones; ` +
        `${rounds} ${rounds === 1 ? "round" : "rounds"} of null reader, ours, informer${peer === undefined ? "" : ", peer"} in turn.` +
        (workloadText === "" ? "" : ` Not the workload of the budgets: ${workloadText}.`),
      ...(Number.isNaN(informerRatio)
        ? []
        : [`The informer takes ${informerRatio.toFixed(1)} times our CPU (median of the rounds).`]),
      ...(Number.isNaN(peerRatio)
        ? []
        : [`The peer, \`${peer}\`, takes ${peerRatio.toFixed(1)} times our CPU (median of the rounds).`]),
      "Where the busiest thread was ready for long while others ran, the machine was short of CPUs: by our own threads and the generator, or by other people's work. CPU per event rises with that, and the pace falls.",
      ...(peer === undefined
        ? [
            "“At most ¼ of SimKube in the same run” needs its tracer as `--peer` and is not in this table: then the ratio of CPU per event must be 4 at least.",
          ]
        : []),
    ],
  }
}
