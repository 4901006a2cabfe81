/** The report of one replay as a page: how close it came, pods over time, punctuality, refusals, and single objects. */
import {
  type Block,
  type DocumentChart,
  type DocumentColumn,
  documentPage,
  type Mood,
  type PageDocument,
  type Phrase,
  type Phrases,
} from "../../page/index.ts"
import { describeDifference } from "../fidelity/object-details.ts"
import type {
  FidelityReport,
  FieldDifference,
  ObjectDetail,
  PodFidelity,
  StateDetail,
} from "../report/fidelity-report.ts"
import type { Cause, ReplayReport, Spread } from "../report/replay-report.ts"

/** `1 234`. */
export const formatCount = (count: number): string => String(Math.round(count)).replace(/\B(?=(?:\d{3})+$)/g, " ")

/** `0.4 ms`, `12 ms`, `1.42 s`, `3 m 05 s`; `–` if there is none. */
export const formatMs = (ms: number | null | undefined): string => {
  if (ms === null || ms === undefined) return "–"
  if (Math.abs(ms) < 10) return `${ms.toFixed(1)} ms`
  if (Math.abs(ms) < 1000) return `${ms.toFixed(0)} ms`
  if (Math.abs(ms) < 60_000) return `${(ms / 1000).toFixed(2)} s`
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)} m ${String(seconds % 60).padStart(2, "0")} s`
}

/** `99.9 %`; 100 % only if it is all. */
export const formatShare = (share: number | null): string =>
  share === null ? "–" : `${share === 1 ? "100" : (Math.floor(share * 1000) / 10).toFixed(1)} %`

/** µs since the Unix epoch as UTC with ms. */
export const formatInstant = (micros: number): string =>
  new Date(micros / 1000).toISOString().replace("T", " ").replace("Z", " UTC")

const formatPlace = (namespace: string, name: string): string => (namespace === "" ? name : `${namespace}/${name}`)

/** One file, some hundred kB and the page's own script. @throws PageNotBuilt */
export const reportPage = (report: ReplayReport): string => documentPage(reportDocument(report))

/** What is on the page. Lists are cut, as in the report. */
export const reportDocument = (report: ReplayReport): PageDocument => {
  const { fidelity, replay, refused, skipped } = report
  const known = fidelity === undefined || "unknown" in fidelity ? undefined : fidelity
  const why = fidelity === undefined ? "The cluster was not recorded." : "unknown" in fidelity ? fidelity.unknown : ""
  return {
    title: `Replay ${replay}`,
    blocks: [
      ...heading(report),
      tiles(report, known),
      ...(known === undefined ? [quiet(`Not compared with the trace: ${why}`)] : notes(known)),
      ...(known === undefined ? [] : overTime(known, report.run.expectedMs)),
      ...(known === undefined || known.pods === null ? [] : pods(known.pods)),
      title("Punctuality"),
      punctuality(report, known),
      title("Refused"),
      ...(refused.length === 0 ? [quiet("Nothing was refused.")] : causes(refused)),
      ...(skipped.length === 0 ? [] : [title("Skipped"), fold("What the replay left out, and why", causes(skipped))]),
      ...(known === undefined ? [] : [...worst(known), ...objects(known)]),
    ],
  }
}

const title = (text: string): Block => ({ type: "heading", text })
const text = (phrases: Phrases): Block => ({ type: "text", text: phrases })
const moody = (mood: Mood, said: string): Block => text({ text: said, mood })
const quiet = (said: string): Block => moody("quiet", said)
const fold = (summary: Phrases, blocks: ReadonlyArray<Block>): Block => ({ type: "fold", summary, blocks })

/** The head of a column; `number`: of numbers, which are to the right. */
type Column = string | { readonly number: string }

const table = (columns: ReadonlyArray<Column>, rows: ReadonlyArray<ReadonlyArray<Phrases>>): Block => ({
  type: "table",
  columns: columns.map(
    (column): DocumentColumn =>
      typeof column === "string" ? { label: column } : { label: column.number, isNumber: true },
  ),
  rows,
})

const spreadColumns: ReadonlyArray<Column> = ["p50", "p95", "p99", "at most"].map((number) => ({ number }))

const spreadRow = (label: string, spread: Spread | null | undefined): ReadonlyArray<string> => [
  label,
  ...[spread?.p50, spread?.p95, spread?.p99, spread?.max].map(formatMs),
]

const punctuality = ({ dispatchErrorMs, lagMs }: ReplayReport, known: FidelityReport | undefined): Block =>
  table(
    ["", ...spreadColumns],
    [
      spreadRow("sent after due", dispatchErrorMs),
      spreadRow("answered after due", lagMs),
      ...(known === undefined
        ? []
        : [
            spreadRow("observed after due", known.observedMs),
            spreadRow("gap between events: difference from the plan", known.gaps?.errorMs),
          ]),
    ],
  )

const heading = ({ speed, startedAt, trace, run, stopped }: ReplayReport): ReadonlyArray<Block> => [
  quiet(
    `Trace from ${formatInstant(trace.start)} to ${formatInstant(trace.end)}, at speed ${speed === "max" ? "max" : `${speed}×`}, in ${formatMs(run.durationMs)}. Started ${startedAt}.`,
  ),
  ...(stopped === null ? [] : [moody("bad", `It ended early: ${stopped}`)]),
  ...(run.delayedMs > 0
    ? [moody("warn", `The schedule was delayed by ${formatMs(run.delayedMs)}, because the cluster could not keep up.`)]
    : []),
]

type Tile = Extract<Block, { type: "tiles" }>["tiles"][number]

const tiles = ({ events, seed, lagMs, gaps }: ReplayReport, fidelity: FidelityReport | undefined): Block => {
  const refusals = events.refused + seed.refused
  return {
    type: "tiles",
    tiles: [
      ...(fidelity === undefined
        ? [tile("Answered", formatMs(lagMs.p99), "after due, 99th percentile")]
        : fidelityTiles(fidelity)),
      tile(
        "Events",
        formatCount(events.accepted),
        `accepted of ${formatCount(events.total)}; ${formatCount(events.skipped)} skipped`,
      ),
      refusals === 0
        ? tile("Refused", "0", "the cluster took everything", "good")
        : tile("Refused", formatCount(refusals), "see below", "bad"),
      ...(gaps > 0
        ? [tile("Gaps in the trace", formatCount(gaps), "what happened in them is not replayed", "warn")]
        : []),
    ],
  }
}

const fidelityTiles = ({ score, objects, states, tolerance: { ms, share }, observedMs }: FidelityReport) => {
  const ofObjects = `${formatCount(objects.equal)} of ${formatCount(objects.total)} had every state of the trace`
  return [
    shareTile("Objects equal", score.objectsEqual, ofObjects),
    shareTile("States in order", score.statesInOrder, `of ${formatCount(states.total)} states and deletions`),
    shareTile("Gaps kept", score.gapsWithin, `within ${ms} ms or ${share * 100} %`),
    shareTile("On time", score.onTime, `within ${ms} ms of due, neither early nor late`),
    shareTile("Pods", score.pods, "of those of the trace and of the cluster are in both"),
    tile("Observed", formatMs(observedMs?.p99), "after due, 99th percentile"),
  ]
}

const tile = (label: string, value: string, note: string, mood?: Mood): Tile => ({
  ...{ label, value, note },
  ...(mood && { mood }),
})

const shareTile = (label: string, share: number | null, note: string): Tile =>
  tile(
    label,
    formatShare(share),
    note,
    share === null ? undefined : share === 1 ? "good" : share >= 0.95 ? "warn" : "bad",
  )

const notes = ({ recording, states, extraObjects, objects: { extra } }: FidelityReport): ReadonlyArray<Block> => {
  const wrong = [
    [states.different, "different from what was applied"],
    [states.early, "deleted before it was due"],
    [states.missing, "never observed"],
    [states.unwritten, "not written"],
    [states.unmeasured, "not recorded"],
    [states.outOfOrder, "out of order"],
    [states.extra, "changed by something else in the cluster"],
  ] as const
  const shown = wrong.flatMap(([count, what]) => (count === 0 ? [] : [`${formatCount(count)} ${what}`]))
  const named = extraObjects.map(({ gvk, namespace, name }) => `${gvk} ${formatPlace(namespace, name)}`).join(", ")
  const warnings = [
    ...(extra > 0
      ? [
          `${formatCount(extra)} objects that the trace does not have: ${named}${extra > extraObjects.length ? ", …" : ""}.`,
        ]
      : []),
    ...recording.unmeasured.map(({ gvk, reason }) => `Not measured: ${gvk}: ${reason}`),
    ...(recording.isSettled
      ? []
      : [
          `The cluster still changed when the recording ended, ${formatMs(recording.settlingMs)} after the last response.`,
        ]),
  ]
  return [
    ...(shown.length > 0 ? [text(`States: ${shown.join(", ")}.`)] : []),
    ...warnings.map((said) => moody("warn", said)),
  ]
}

/** Pods by phase and objects by kind. `traceMs`: real ms that the trace takes; `null`: not known. */
const overTime = ({ timeline, pods: times }: FidelityReport, traceMs: number | null): ReadonlyArray<Block> => {
  const { stepMs, points, pods, objects } = timeline
  // After its end the trace says nothing, while the cluster settles.
  const last = traceMs === null ? points : Math.max(1, Math.ceil(traceMs / stepMs))
  const phases = [...new Set([pods.recorded, pods.replayed].flatMap((side) => Object.keys(side ?? {})))].toSorted()
  // Of lives only this phase is known.
  const inTrace = (phase: string) =>
    times?.recordedFrom === "lives" && phase !== "Running" ? undefined : pods.recorded
  const charts = [
    ...phases.map((phase) => [`Pods: ${phase}`, inTrace(phase)?.[phase], pods.replayed?.[phase]] as const),
    ...Object.entries(objects.recorded).map(
      ([gvk, counts]) => [`Objects: ${gvk}`, counts, objects.replayed[gvk]] as const,
    ),
  ]
  return [
    title("Trace and cluster over time"),
    quiet(
      `${formatMs(points * stepMs)} of real time since the first moment of the trace. Dashed: the trace, where it was due; solid: the cluster. Pods are those in namespaces of the replay; of the other kinds, what the replay writes.`,
    ),
    {
      type: "charts",
      charts: charts.map(([name, trace, cluster]) => chart(name, trace?.slice(0, last), cluster, points)),
    },
  ]
}

const chart = (name: string, trace: Counts | undefined, cluster: Counts | undefined, points: number): DocumentChart => {
  const lines = [["trace", trace] as const, ["cluster", cluster] as const].flatMap(([line, values]) =>
    values === undefined ? [] : [{ name: line, values, isDashed: line === "trace" }],
  )
  const peaks = lines.map(
    ({ name: line, values }) =>
      `${line}: at most ${formatCount(values.reduce((one, other) => Math.max(one, other), 0))}`,
  )
  return { title: name, note: peaks.join(", "), points, lines }
}

type Counts = ReadonlyArray<number>

const pods = ({
  recordedFrom,
  created,
  neverStarted,
  paired,
  worst: worstPods,
  unasked,
  ...times
}: PodFidelity): ReadonlyArray<Block> => {
  const isOfLives = recordedFrom === "lives"
  const inTrace =
    created.recorded === null
      ? "; the trace has no pods."
      : `, ${formatCount(created.recorded)} ${isOfLives ? "started " : ""}in the trace; ${formatCount(paired)} of those have a counterpart, the pod of the same owner with the same number. Times of the trace are divided by the speed.`
  const ofLives = isOfLives
    ? " The trace has no Pods, only when they started and ended, in whole seconds: how long they were pending is not known."
    : ""
  const pair = ({ recorded, replayed }: PodFidelity["worst"][number]["pendingMs"]): string =>
    `${formatMs(recorded)} → ${formatMs(replayed)}`
  const warnings = [
    ...(unasked > 0
      ? [`The API server did not tell the webhook of ${formatCount(unasked)} pods: they did not get recorded lives.`]
      : []),
    ...(neverStarted.replayed > 0
      ? [
          `${formatCount(neverStarted.replayed)} of them never started to run${neverStarted.recorded === null ? "" : `, ${formatCount(neverStarted.recorded)} in the trace`}; these are in no time below.`,
        ]
      : []),
  ]
  const rows = worstPods.map(({ owner, pod, pendingMs, runningMs }) => [
    ...[owner, pod.recorded, pod.replayed],
    ...[pair(pendingMs), pair(runningMs)],
  ])
  const columns: ReadonlyArray<Column> = [
    "owner",
    "in the trace",
    "in the cluster",
    { number: "pending" },
    { number: "running" },
  ]
  return [
    title("Pods"),
    quiet(`${formatCount(created.replayed)} were created during the run${inTrace}${ofLives}`),
    ...warnings.map((said) => moody("warn", said)),
    table(
      ["", ...spreadColumns],
      [
        spreadRow("pending, in the trace", times.pendingMs.recorded),
        spreadRow("pending, in the cluster", times.pendingMs.replayed),
        spreadRow("pending: difference of counterparts", times.pendingDifferenceMs),
        spreadRow("running, in the trace", times.runningMs.recorded),
        spreadRow("running, in the cluster", times.runningMs.replayed),
        spreadRow("running: difference of counterparts", times.runningDifferenceMs),
      ],
    ),
    ...(rows.length > 0 ? [fold("The pods that differ most", [table(columns, rows)])] : []),
  ]
}

const mostCauses = 50

const causes = (all: ReadonlyArray<Cause>): ReadonlyArray<Block> => [
  table(
    [{ number: "count" }, "kind", "reason", "the first"],
    all.slice(0, mostCauses).map(({ gvk, reason, count, example }) => [formatCount(count), gvk, reason, example]),
  ),
  ...(all.length > mostCauses
    ? [quiet(`${formatCount(all.length - mostCauses)} more causes are in the JSON report.`)]
    : []),
]

/** The writes that went wrong, or were the latest, with their reasons. */
const worst = ({ worst: all }: FidelityReport): ReadonlyArray<Block> => [
  title("The ten worst"),
  all.length === 0
    ? quiet("Nothing was late or different.")
    : table(
        ["object", "in the trace at", "result", { number: "observed after due" }, "reason"],
        all.map(({ gvk, namespace, name, time, verb, result, observedMs, reason }) => [
          `${gvk} ${formatPlace(namespace, name)}`,
          formatInstant(time).slice(11, 23),
          [badge(result), verb === "delete" ? " deletion" : ""],
          formatMs(observedMs),
          reason,
        ]),
      ),
]

const moods = {
  equal: "good",
  different: "bad",
  early: "bad",
  missing: "bad",
  refused: "bad",
  unwritten: "bad",
  skipped: "quiet",
  unmeasured: "warn",
} as const

const badge = (result: StateDetail["result"]): Phrase => ({ text: result, mood: moods[result], form: "badge" })

const badgeOf = (said: string, isGood: boolean): Phrase => ({
  text: said,
  mood: isGood ? "good" : "bad",
  form: "badge",
})

/** Each object that the report has in detail, to be opened: its states, and how they differ. */
const objects = ({ details, objects: { total } }: FidelityReport): ReadonlyArray<Block> => [
  title("Objects"),
  quiet(
    `${formatCount(details.length)} of ${formatCount(total)}: those with differences first, then the latest. Times are after the first moment of the trace; + is after due.`,
  ),
  ...details.map(object),
]

const stateColumns: ReadonlyArray<Column> = [
  ...["in the trace at", ""],
  ...["due", "sent", "answered", "observed"].map((number) => ({ number })),
  "result",
]

const object = ({ gvk, namespace, name, isEqual, total, states, extra }: ObjectDetail): Block => {
  const others = extra.map(({ at, reason, differences }) => [
    ...["", "elsewhere", "", "", "", formatMs(at)],
    [badgeOf("extra", false), ` ${reason}`, ...list(differences)],
  ])
  const summary: Phrases = [
    badgeOf(isEqual ? "equal" : "different", isEqual),
    { text: ` ${gvk} `, mood: "quiet" },
    formatPlace(namespace, name),
    { text: ` ${formatCount(total)} ${total === 1 ? "state" : "states"}`, mood: "quiet" },
  ]
  return fold(summary, [
    table(stateColumns, [...states.map(stateRow), ...others]),
    ...(states.length < total ? [quiet(`${formatCount(total - states.length)} more states are not shown.`)] : []),
  ])
}

const stateRow = (state: StateDetail): ReadonlyArray<Phrases> => {
  const { time, verb, result, isInOrder, due, sent, answered, observed, reason, differences } = state
  const after = (ms: number | null): string => (ms === null || due === null ? "–" : `+${formatMs(ms - due)}`)
  return [
    formatInstant(time).slice(11, 23),
    due === null ? "at the start" : verb,
    formatMs(due),
    ...[sent, answered, observed].map(after),
    [badge(result), " ", ...(isInOrder ? [] : [badgeOf("out of order", false)]), ` ${reason}`, ...list(differences)],
  ]
}

const list = (differences: ReadonlyArray<FieldDifference>): ReadonlyArray<Phrase> =>
  differences.map((each) => ({ text: describeDifference(each), form: "code" }))
