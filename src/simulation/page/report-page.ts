/** The report of one replay as a page that runs nothing: how close it came, pods over time, punctuality, refusals, and single objects. */
import { type Html, html, page } from "../../page/index.ts"
import { describeDifference } from "../fidelity/object-details.ts"
import type {
  FidelityReport,
  FieldDifference,
  ObjectDetail,
  PodFidelity,
  StateDetail,
} from "../report/fidelity-report.ts"
import type { Cause, ReplayReport, Spread } from "../report/replay-report.ts"

/** What the pages of replays have beside the common style. */
const style = `
:root { --recorded: #7a8494; --replayed: #1f6feb; }
@media (prefers-color-scheme: dark) { :root { --recorded: #8b96a6; --replayed: #5aa2ff; } }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(170px, 1fr)); gap: 12px; margin: 20px 0 8px; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 14px 16px; }
.tile b { display: block; font-size: 26px; line-height: 1.2; font-weight: 650; font-variant-numeric: tabular-nums; }
.tile span { color: var(--quiet); font-size: 13px; }
.tile .label { color: var(--text); font-weight: 600; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr)); gap: 12px; }
.chart { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px; }
.chart svg { display: block; width: 100%; height: 140px; }
.chart path { fill: none; stroke: var(--replayed); stroke-width: 2; vector-effect: non-scaling-stroke; }
.chart path.trace { stroke: var(--recorded); stroke-dasharray: 5 4; }
tr.group th { padding-top: 18px; font-weight: 650; }
td.best { font-weight: 650; }
details.object { background: var(--card); border: 1px solid var(--line); border-radius: 8px; margin: 0 0 6px; }
details.object > summary { padding: 8px 14px; }
details.object > .table { margin: 0; border-width: 1px 0 0; border-radius: 0 0 8px 8px; }
.badge { font-size: 12px; font-weight: 600; border: 1px solid; border-radius: 999px; padding: 0 8px; white-space: nowrap; }
ul.differences { margin: 0; padding: 0 0 0 16px; }
`

/** `body` must not have inline styles: the policy ignores them. */
export const simulationPage = (title: string, body: Html): string => page({ title, style }, body)

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

/** One file, some hundred kB at most: lists are cut, as in the report. */
export const reportPage = (report: ReplayReport): string => {
  const { fidelity } = report
  const known = fidelity === undefined || "unknown" in fidelity ? undefined : fidelity
  const why = fidelity === undefined ? "The cluster was not recorded." : "unknown" in fidelity ? fidelity.unknown : ""
  const body = html`<main>
${heading(report)}
${tiles(report, known)}
${known === undefined ? html`<p class="note">Not compared with the trace: ${why}</p>` : notes(known)}
${known !== undefined && overTime(known, report.run.expectedMs)}
${known !== undefined && known.pods !== null && pods(known.pods)}
<h2>Punctuality</h2>
${table(
  ["", ...spreadColumns],
  [
    spreadRow("sent after due", report.dispatchErrorMs),
    spreadRow("answered after due", report.lagMs),
    ...(known === undefined
      ? []
      : [
          spreadRow("observed after due", known.observedMs),
          spreadRow("gap between events: difference from the plan", known.gaps?.errorMs),
        ]),
  ],
)}
<h2>Refused</h2>${report.refused.length === 0 ? html`<p class="quiet">Nothing was refused.</p>` : causes(report.refused)}
${
  report.skipped.length > 0 &&
  html`<h2>Skipped</h2><details><summary>What the replay left out, and why</summary>${causes(report.skipped)}</details>`
}
${known !== undefined && worst(known)}
${known !== undefined && objects(known)}
</main>`
  return simulationPage(`Replay ${report.replay}`, body)
}

/** The head of a column; `number`: of numbers, which are to the right. */
type Column = string | { readonly number: string }

const table = (columns: ReadonlyArray<Column>, rows: ReadonlyArray<ReadonlyArray<string | Html>>): Html => {
  const alignment = columns.map((column) => (typeof column === "string" ? "" : "number"))
  const heads = columns.map((column, index) => {
    const text = typeof column === "string" ? column : column.number
    return html`<th scope="col" class="${alignment[index]}">${text}</th>`
  })
  const body = rows.map(
    (cells) => html`<tr>${cells.map((cell, index) => html`<td class="${alignment[index]}">${cell}</td>`)}</tr>
`,
  )
  return html`<div class="table"><table><thead><tr>${heads}</tr></thead><tbody>
${body}</tbody></table></div>`
}

const spreadColumns: ReadonlyArray<Column> = ["p50", "p95", "p99", "at most"].map((number) => ({ number }))

const spreadRow = (label: string, spread: Spread | null | undefined): ReadonlyArray<string> => [
  label,
  ...[spread?.p50, spread?.p95, spread?.p99, spread?.max].map(formatMs),
]

const heading = ({ replay, speed, startedAt, trace, run, stopped }: ReplayReport): Html => html`<header>
<h1>Replay ${replay}</h1>
<p class="quiet">Trace from ${formatInstant(trace.start)} to ${formatInstant(trace.end)}, at speed ${speed === "max" ? "max" : `${speed}×`}, in ${formatMs(run.durationMs)}. Started ${startedAt}.</p>
${stopped !== null && html`<p class="bad">It ended early: ${stopped}</p>`}
${run.delayedMs > 0 && html`<p class="warn">The schedule was delayed by ${formatMs(run.delayedMs)}, because the cluster could not keep up.</p>`}
</header>`

const tiles = ({ events, seed, lagMs, gaps }: ReplayReport, fidelity: FidelityReport | undefined): Html => {
  const refusals = events.refused + seed.refused
  return html`<div class="tiles">
${fidelity === undefined ? tile("Answered", formatMs(lagMs.p99), "after due, 99th percentile") : fidelityTiles(fidelity)}
${tile("Events", formatCount(events.accepted), `accepted of ${formatCount(events.total)}; ${formatCount(events.skipped)} skipped`)}
${tile("Refused", formatCount(refusals), refusals === 0 ? "the cluster took everything" : "see below", refusals === 0 ? "good" : "bad")}
${gaps > 0 && tile("Gaps in the trace", formatCount(gaps), "what happened in them is not replayed", "warn")}
</div>`
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

const tile = (label: string, value: string, note: string, colour = ""): Html =>
  html`<div class="tile"><span class="label">${label}</span><b class="${colour}">${value}</b><span>${note}</span></div>`

const shareTile = (label: string, share: number | null, note: string): Html =>
  tile(label, formatShare(share), note, share === null ? "" : share === 1 ? "good" : share >= 0.95 ? "warn" : "bad")

const notes = ({ recording, states, extraObjects, objects: { extra } }: FidelityReport): Html => {
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
  return html`${shown.length > 0 && html`<p>States: ${shown.join(", ")}.</p>`}
${extra > 0 && html`<p class="warn">${formatCount(extra)} objects that the trace does not have: ${named}${extra > extraObjects.length && ", …"}.</p>`}
${recording.unmeasured.map(({ gvk, reason }) => html`<p class="warn">Not measured: ${gvk}: ${reason}</p>`)}
${!recording.isSettled && html`<p class="warn">The cluster still changed when the recording ended, ${formatMs(recording.settlingMs)} after the last response.</p>`}`
}

/** Pods by phase and objects by kind. `traceMs`: real ms that the trace takes; `null`: not known. */
const overTime = ({ timeline, pods: times }: FidelityReport, traceMs: number | null): Html => {
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
  return html`<h2>Trace and cluster over time</h2>
<p class="note">${formatMs(points * stepMs)} of real time since the first moment of the trace. Dashed: the trace, where it was due; solid: the cluster. Pods are those in namespaces of the replay; of the other kinds, what the replay writes.</p>
<div class="charts">${charts.map(([title, trace, cluster]) => chart(title, trace?.slice(0, last), cluster, points))}</div>`
}

/** Numbers that hold until the next, as a drawing without scripts. */
const chart = (title: string, trace: Counts | undefined, cluster: Counts | undefined, points: number): Html => {
  const most = (counts: Counts | undefined): number | undefined =>
    counts?.reduce((one, other) => Math.max(one, other), 0)
  const top = Math.max(1, most(trace) ?? 0, most(cluster) ?? 0)
  const line = (counts: Counts | undefined, colour: string) =>
    counts !== undefined &&
    html`<path class="${colour}" d="${counts.map((count, index) => `${index === 0 ? "M0 " : "V"}${top - count}H${index + 1}`).join("")}"/>`
  const peaks = [["trace", most(trace)] as const, ["cluster", most(cluster)] as const]
    .flatMap(([label, peak]) => (peak === undefined ? [] : [`${label}: at most ${formatCount(peak)}`]))
    .join(", ")
  return html`<figure class="chart"><figcaption>${title} <span class="quiet">${peaks}</span></figcaption>
<svg viewBox="0 ${-top / 20} ${points} ${top * 1.1}" preserveAspectRatio="none" role="img" aria-label="${title}. ${peaks}">${line(trace, "trace")}${line(cluster, "cluster")}</svg></figure>`
}

type Counts = ReadonlyArray<number>

const pods = ({ recordedFrom, created, neverStarted, paired, worst, unasked, ...times }: PodFidelity): Html => {
  const isOfLives = recordedFrom === "lives"
  const inTrace =
    created.recorded === null
      ? "; the trace has no pods."
      : `, ${formatCount(created.recorded)} ${isOfLives ? "started " : ""}in the trace; ${formatCount(paired)} of those have a counterpart, the pod of the same owner with the same number. Times of the trace are divided by the speed.`
  const pair = ({ recorded, replayed }: PodFidelity["worst"][number]["pendingMs"]): string =>
    `${formatMs(recorded)} → ${formatMs(replayed)}`
  return html`<h2>Pods</h2>
<p class="note">${formatCount(created.replayed)} were created during the run${inTrace}${
    isOfLives &&
    " The trace has no Pods, only when they started and ended, in whole seconds: how long they were pending is not known."
  }</p>
${unasked > 0 && html`<p class="warn">The API server did not tell the webhook of ${formatCount(unasked)} pods: they did not get recorded lives.</p>`}
${neverStarted.replayed > 0 && html`<p class="warn">${formatCount(neverStarted.replayed)} of them never started to run${neverStarted.recorded !== null && `, ${formatCount(neverStarted.recorded)} in the trace`}; these are in no time below.</p>`}
${table(
  ["", ...spreadColumns],
  [
    spreadRow("pending, in the trace", times.pendingMs.recorded),
    spreadRow("pending, in the cluster", times.pendingMs.replayed),
    spreadRow("pending: difference of counterparts", times.pendingDifferenceMs),
    spreadRow("running, in the trace", times.runningMs.recorded),
    spreadRow("running, in the cluster", times.runningMs.replayed),
    spreadRow("running: difference of counterparts", times.runningDifferenceMs),
  ],
)}
${
  worst.length > 0 &&
  html`<details><summary>The pods that differ most</summary>${table(
    ["owner", "in the trace", "in the cluster", { number: "pending" }, { number: "running" }],
    worst.map(({ owner, pod, pendingMs, runningMs }) => [
      owner,
      pod.recorded,
      pod.replayed,
      pair(pendingMs),
      pair(runningMs),
    ]),
  )}</details>`
}`
}

const mostCauses = 50

const causes = (all: ReadonlyArray<Cause>): Html =>
  html`${table(
    [{ number: "count" }, "kind", "reason", "the first"],
    all.slice(0, mostCauses).map(({ gvk, reason, count, example }) => [formatCount(count), gvk, reason, example]),
  )}${all.length > mostCauses && html`<p class="note">${formatCount(all.length - mostCauses)} more causes are in the JSON report.</p>`}`

/** The writes that went wrong, or were the latest, with their reasons. */
const worst = ({ worst: all }: FidelityReport): Html => html`<h2>The ten worst</h2>
${
  all.length === 0
    ? html`<p class="quiet">Nothing was late or different.</p>`
    : table(
        ["object", "in the trace at", "result", { number: "observed after due" }, "reason"],
        all.map(({ gvk, namespace, name, time, verb, result, observedMs, reason }) => [
          `${gvk} ${formatPlace(namespace, name)}`,
          formatInstant(time).slice(11, 23),
          html`${badge(result)}${verb === "delete" && " deletion"}`,
          formatMs(observedMs),
          reason,
        ]),
      )
}`

const colours = {
  equal: "good",
  different: "bad",
  early: "bad",
  missing: "bad",
  refused: "bad",
  unwritten: "bad",
  skipped: "quiet",
  unmeasured: "warn",
} as const

const badge = (result: StateDetail["result"]): Html => html`<span class="badge ${colours[result]}">${result}</span>`

/** Each object that the report has in detail, to be opened: its states, and how they differ. */
const objects = ({ details, objects: { total } }: FidelityReport): Html => html`<h2>Objects</h2>
<p class="note">${formatCount(details.length)} of ${formatCount(total)}: those with differences first, then the latest. Times are after the first moment of the trace; + is after due.</p>
${details.map(object)}`

const stateColumns: ReadonlyArray<Column> = [
  ...["in the trace at", ""],
  ...["due", "sent", "answered", "observed"].map((number) => ({ number })),
  "result",
]

const object = ({ gvk, namespace, name, isEqual, total, states, extra }: ObjectDetail): Html => {
  const others = extra.map(({ at, reason, differences }) => [
    ...["", "elsewhere", "", "", "", formatMs(at)],
    html`<span class="badge bad">extra</span> ${reason}${list(differences)}`,
  ])
  return html`<details class="object">
<summary><span class="badge ${isEqual ? "good" : "bad"}">${isEqual ? "equal" : "different"}</span> <span class="quiet">${gvk}</span> ${formatPlace(namespace, name)} <span class="quiet">${formatCount(total)} ${total === 1 ? "state" : "states"}</span></summary>
${table(stateColumns, [...states.map(stateRow), ...others])}${
  states.length < total && html`<p class="note">${formatCount(total - states.length)} more states are not shown.</p>`
}</details>
`
}

const stateRow = (state: StateDetail): ReadonlyArray<string | Html> => {
  const { time, verb, result, isInOrder, due, sent, answered, observed, reason, differences } = state
  const after = (ms: number | null): string => (ms === null || due === null ? "–" : `+${formatMs(ms - due)}`)
  return [
    formatInstant(time).slice(11, 23),
    due === null ? "at the start" : verb,
    formatMs(due),
    ...[sent, answered, observed].map(after),
    html`${badge(result)}${!isInOrder && html` <span class="badge bad">out of order</span>`} ${reason}${list(differences)}`,
  ]
}

const list = (differences: ReadonlyArray<FieldDifference>): Html | undefined =>
  differences.length === 0
    ? undefined
    : html`<ul class="differences">${differences.map((each) => html`<li><code>${describeDifference(each)}</code></li>`)}</ul>`
