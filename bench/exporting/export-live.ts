/**
 * Part of scenario *export*: an export of 100,000 events while 5,000 a second arrive. Measures its duration, the recorder's memory, the
 * effect on ingest, and whether the trace contains exactly the events of its cut.
 *
 * Exactly: everything received before the request was written must be in it, nothing received after the head of the response may be, and in
 * between there is no hole; the header of NDJSON names the cut itself, and then it is one number. The trace is counted by a reader that
 * shares no code with the recorder (export-trace-count.ts), the times of receipt are read from the recording.
 */

import type { Workload } from "../load/workload.ts"
import type { RecordedChange } from "../measuring/commit-watch.ts"
import type { Measure } from "../report/table.ts"
import { inRounds, type ScenarioReport, type ScenarioSettings } from "../scenario.ts"
import type { TakenExport } from "./export-client-process.ts"
import {
  atMost,
  exportUnderLoad,
  type LoadedRun,
  listedObjects,
  listedOfKind,
  loadMeasures,
  megabyte,
  perSecond,
} from "./export-load.ts"
import type { TraceCount, TraceFormat } from "./export-trace-count.ts"

const formats = ["ndjson", "simkube"] as const

/**
 * Formats with a time budget: it is for a trace of 110 MB, which objects of 2.9 kB give in SimKube's format; as NDJSON they give three
 * times as much.
 */
const sizes: ReadonlyArray<{
  readonly name: string
  readonly workload: Workload
  readonly judged: ReadonlyArray<TraceFormat>
}> = [
  { name: "1.1 kB", workload: { objectBytes: 1100 }, judged: formats },
  { name: "2.9 kB", workload: {}, judged: ["simkube"] },
]
/** s of the load from the request on: twice the allowed duration. */
const loadedSeconds = 4
const limitMs = 130_000
/** µs: the recorder's clock has whole milliseconds, and events follow within one. */
const clockMicros = 1000

/** The differences between a trace and the events of its cut. */
export interface CutFault {
  /** Events of the cut missing from the trace. */
  readonly missing: number
  /** Events that are not of the cut, or occur twice, or after a later one of the same object. */
  readonly surplus: number
}

type LiveRun = LoadedRun<TakenExport> & {
  readonly fault: CutFault
  readonly exported: number
  /** ms from the request to the receipt of the last change in the trace. */
  readonly cutMs: number
}

/**
 * Compares a trace with the recording. `changes` are its Deployments in the order of their sequence numbers; numbers of changes increase
 * with them.
 */
export const cutFault = (
  count: TraceCount,
  changes: ReadonlyArray<RecordedChange>,
  { askedMicros, headMicros }: Pick<TakenExport, "askedMicros" | "headMicros">,
): CutFault => {
  const last = (events: ReadonlyArray<RecordedChange>): number => Math.max(0, events.at(-1)?.number ?? 0)
  const before = last(changes.filter(({ receivedMicros }) => receivedMicros < askedMicros - clockMicros))
  const after = last(changes.filter(({ receivedMicros }) => receivedMicros <= headMicros + clockMicros))
  const { cut } = count
  const ofCut = cut === undefined ? undefined : last(changes.filter(({ sequence }) => sequence <= cut))
  const least = Math.max(before, ofCut ?? 0)
  const most = Math.min(after, ofCut ?? after)
  const holes = count.last - count.changes
  const listed = listedOfKind - count.listed
  const others = listedObjects - listedOfKind - count.others
  return {
    missing: Math.max(0, least - count.last) + holes + Math.max(0, listed) + Math.max(0, others),
    surplus:
      Math.max(0, count.last - most) +
      count.repeated +
      count.disordered +
      count.unasked +
      Math.max(0, -listed) +
      Math.max(0, -others),
  }
}

export const measureLive = async (events: number, settings: ScenarioSettings): Promise<ScenarioReport> => {
  const { isQuick, profileDirectory, tell } = settings
  const isProfiled = profileDirectory !== undefined
  // A profile is for the cluster's usual objects.
  const measured = isProfiled ? sizes.slice(-1) : sizes
  const runs = new Map(
    measured.flatMap((size) => formats.map((format) => [nameOf(size.name, format), [] as Array<LiveRun>])),
  )
  const wanted = settings.rounds ?? (isQuick || isProfiled ? 1 : 3)
  const rounds = await inRounds(wanted, limitMs, async (round) => {
    for (const { name, workload } of measured) {
      for (const format of formats) {
        const run = await exportUnderLoad(
          { format, workload, events, seconds: isQuick ? loadedSeconds / 2 : loadedSeconds },
          settings,
          ({ client }) => client.take(),
          async (client, answer, { changes }) => {
            const count = await client.count()
            const exported = count.changes + count.listed + count.others
            const last = changes.find(({ number }) => number === count.last)
            const cutMs = ((last?.receivedMicros ?? Number.NaN) - answer.askedMicros) / 1000
            return { exported, cutMs, fault: cutFault(count, changes, answer) }
          },
        )
        runs.get(nameOf(name, format))?.push(run)
        tell(`round ${round}: ${describe(nameOf(name, format), run)}`)
      }
    }
  })
  return {
    measures: measured.flatMap(({ name, judged }) =>
      formats.flatMap((format) =>
        measuresOf(nameOf(name, format), runs.get(nameOf(name, format)) ?? [], judged.includes(format)),
      ),
    ),
    notes: [
      `While ${perSecond.toLocaleString("en")} events/s arrive: the recorder as a whole, exporter not yet started; ${rounds} ${rounds === 1 ? "round" : "rounds"}. ` +
        `Exported: ${[...runs].map(([name, [run]]) => `${run?.exported.toLocaleString("en")} events, ${Math.round((run?.answer.bytes ?? 0) / megabyte)} MB (${name})`).join("; ")}.`,
      "Due → received, committed: from the moment an event is due by the generator's schedule until the recorder has read it, and until a reader of the database finds it committed, of events due before and during the export. The store gathers for up to 30 ms before it commits.",
    ],
  }
}

const nameOf = (size: string, format: TraceFormat): string =>
  `${size} as ${format}, ${perSecond.toLocaleString("en")}/s arriving`

const secondsOf = ({ answer: { askedMs, endedMs } }: LiveRun): number => (endedMs - askedMs) / 1000

const describe = (name: string, run: LiveRun): string => {
  const { before, during, fault, peakGrowth, exported } = run
  const pair = (of: (stretch: typeof before) => number): string =>
    `${of(before).toFixed(1)} → ${of(during).toFixed(1)} ms`
  return (
    `${name}: ${exported.toLocaleString("en")} events in ${secondsOf(run).toFixed(2)} s, +${Math.round(peakGrowth / megabyte)} MB, ` +
    `${fault.missing} missing, ${fault.surplus} too many; p99 received ${pair(({ receivedMs }) => receivedMs)}, ` +
    `committed ${pair(({ committedMs }) => committedMs)}`
  )
}

const measuresOf = (name: string, runs: ReadonlyArray<LiveRun>, isBudgeted: boolean): ReadonlyArray<Measure> => [
  {
    name: `${name}: time`,
    unit: "s",
    digits: 2,
    ours: runs.map(secondsOf),
    ...(isBudgeted && { must: atMost(2), aim: atMost(1.2) }),
  },
  {
    name: `${name}: events of the cut missing`,
    unit: "",
    digits: 0,
    ours: runs.map(({ fault }) => fault.missing),
    must: atMost(0),
  },
  {
    name: `${name}: events not of the cut`,
    unit: "",
    digits: 0,
    ours: runs.map(({ fault }) => fault.surplus),
    must: atMost(0),
  },
  { name: "– last event received after the request", unit: "ms", digits: 0, ours: runs.map(({ cutMs }) => cutMs) },
  ...loadMeasures(name, runs),
]
