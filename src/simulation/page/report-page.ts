/**
 * The report of one replay as a page: how close it came, pods, punctuality and refusals in numbers and as charts. Single objects are in
 * report-objects.ts.
 */

import { type Html, html } from "../../page/html.ts"
import type { FidelityReport, PodFidelity, Timeline } from "../report/fidelity-report.ts"
import type { Cause, ReplayReport, Spread } from "../report/replay-report.ts"
import { type Chart, lineChart, type Series } from "./line-chart.ts"
import { objects, worst } from "./report-objects.ts"
import { simulationPage } from "./simulation-page.ts"
import { formatCount, formatInstant, formatMs, formatPlace, formatShare, formatSpeed } from "./words.ts"

// The charts of a report: the trace and the cluster over time, and how late events were.

/** The trace and the cluster in one chart. */
const both = (
  title: string,
  stepMs: number,
  recorded: ReadonlyArray<number> | null | undefined,
  replayed: ReadonlyArray<number> | null | undefined,
): Chart => {
  const series: Series[] = []
  if (recorded !== null && recorded !== undefined)
    series.push({ label: "trace", values: recorded, colour: "recorded", isDashed: true })
  if (replayed !== null && replayed !== undefined)
    series.push({ label: "cluster", values: replayed, colour: "replayed" })
  return { title, unit: "", stepMs, series, form: "steps" }
}

const phases = ["Pending", "Running", "Succeeded", "Failed", "Unknown"]

/** Pods by phase, objects by kind, and nodes. `traceMs`: real ms that the trace takes; `null`: not known. */
const overTime = ({ timeline, pods: times }: FidelityReport, traceMs: number | null): Html => {
  const { stepMs, points, pods, nodes, objects } = timeline
  const none = new Array<number>(points).fill(0)
  // After its end the trace says nothing, while the cluster settles.
  const last = traceMs === null ? points : Math.ceil(traceMs / stepMs)
  const until = (values: ReadonlyArray<number> | null | undefined) => values?.slice(0, Math.max(1, last))
  const present = (phase: string): boolean =>
    [pods.recorded, pods.replayed].some((side) => side?.[phase]?.some((count) => count > 0) === true)
  const ofPhase = (side: Timeline["pods"]["recorded"], phase: string) => (side === null ? null : (side[phase] ?? none))
  // Of lives only this one is known.
  const inTrace = (phase: string) =>
    times?.recordedFrom === "lives" && phase !== "Running" ? null : until(ofPhase(pods.recorded, phase))
  const charts = [
    ...phases
      .filter(present)
      .map((phase) => both(`Pods: ${phase}`, stepMs, inTrace(phase), ofPhase(pods.replayed, phase))),
    ...Object.keys(objects.recorded).map((gvk) =>
      both(`Objects: ${gvk}`, stepMs, until(objects.recorded[gvk]), objects.replayed[gvk]),
    ),
    ...(nodes.recorded === null && nodes.replayed === null
      ? []
      : [both("Nodes", stepMs, until(nodes.recorded), nodes.replayed)]),
  ]
  return html`<h2>Trace and cluster over time</h2>
<p class="note">Real time since the first moment of the trace. The trace is drawn where it was due. Pods are those in namespaces of the replay; of the other kinds, what the replay writes.</p>
<div class="charts">${charts.map(lineChart)}</div>`
}

/** How late events were, by the time at which they were due: sent, answered, observed. */
const lateness = ({ stepMs, lateMs }: Timeline): Html =>
  lineChart({
    title: "Latest event of each moment, after due",
    unit: "ms",
    stepMs,
    form: "points",
    isWide: true,
    series: [
      { label: "observed", values: lateMs.observed, colour: "run-0" },
      { label: "answered", values: lateMs.answered, colour: "run-1" },
      { label: "sent", values: lateMs.sent, colour: "run-3" },
    ],
  })

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
${known !== undefined && html`<div class="charts">${lateness(known.timeline)}</div><h3>In numbers</h3>`}
${spreads(report, known)}
${refused(report.refused)}
${skipped(report.skipped)}
${known !== undefined && worst(known)}
${known !== undefined && objects(known)}
</main>`
  return simulationPage(`Replay ${report.replay}`, body)
}

const heading = ({ replay, speed, startedAt, trace, run, stopped }: ReplayReport): Html => html`<header>
<h1>Replay ${replay}</h1>
<p class="quiet">Trace from ${formatInstant(trace.start)} to ${formatInstant(trace.end)}, at speed ${formatSpeed(speed)}, in ${formatMs(run.durationMs)}. Started ${startedAt}.</p>
${stopped !== null && html`<p class="bad">It ended early: ${stopped}</p>`}
${run.delayedMs > 0 && html`<p class="warn">The schedule was delayed by ${formatMs(run.delayedMs)}, because the cluster could not keep up.</p>`}
</header>`

const tiles = ({ events, seed, lagMs, gaps }: ReplayReport, fidelity: FidelityReport | undefined): Html => {
  const refusals = events.refused + seed.refused
  return html`<div class="tiles">
${
  fidelity !== undefined && [
    shareTile(
      "Objects equal",
      fidelity.score.objectsEqual,
      `${formatCount(fidelity.objects.equal)} of ${formatCount(fidelity.objects.total)} had every state of the trace`,
    ),
    shareTile(
      "States in order",
      fidelity.score.statesInOrder,
      `of ${formatCount(fidelity.states.total)} states and deletions`,
    ),
    shareTile(
      "Gaps kept",
      fidelity.score.gapsWithin,
      `within ${fidelity.tolerance.ms} ms or ${fidelity.tolerance.share * 100} %`,
    ),
    shareTile("On time", fidelity.score.onTime, `within ${fidelity.tolerance.ms} ms of due, neither early nor late`),
    shareTile("Pods", fidelity.score.pods, "of those of the trace and of the cluster are in both"),
    tile("Observed", formatMs(fidelity.observedMs?.p99), "after due, 99th percentile", ""),
  ]
}
${fidelity === undefined && tile("Answered", formatMs(lagMs.p99), "after due, 99th percentile", "")}
${tile("Events", formatCount(events.accepted), `accepted of ${formatCount(events.total)}; ${formatCount(events.skipped)} skipped`, "")}
${tile("Refused", formatCount(refusals), refusals === 0 ? "the cluster took everything" : "see below", refusals === 0 ? "good" : "bad")}
${gaps > 0 && tile("Gaps in the trace", formatCount(gaps), "what happened in them is not replayed", "warn")}
</div>`
}

const tile = (label: string, value: string, note: string, colour: string): Html =>
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
  return html`${shown.length > 0 && html`<p>States: ${shown.join(", ")}.</p>`}
${extra > 0 && html`<p class="warn">${formatCount(extra)} objects that the trace does not have: ${extraObjects.map(({ gvk, namespace, name }) => `${gvk} ${formatPlace(namespace, name)}`).join(", ")}${extra > extraObjects.length && ", …"}.</p>`}
${recording.unmeasured.map(({ gvk, reason }) => html`<p class="warn">Not measured: ${gvk}: ${reason}</p>`)}
${!recording.isSettled && html`<p class="warn">The cluster still changed when the recording ended, ${formatMs(recording.settlingMs)} after the last response.</p>`}`
}

const spreadHead = html`<thead><tr><th scope="col"></th><th scope="col" class="number">p50</th><th scope="col" class="number">p95</th><th scope="col" class="number">p99</th><th scope="col" class="number">at most</th></tr></thead>`

const spreadRow = (label: string, spread: Spread | null | undefined): Html =>
  html`<tr><th scope="row">${label}</th>${[spread?.p50, spread?.p95, spread?.p99, spread?.max].map((ms) => html`<td class="number">${formatMs(ms)}</td>`)}</tr>`

const spreads = (
  { dispatchErrorMs, lagMs }: ReplayReport,
  fidelity: FidelityReport | undefined,
): Html => html`<div class="table"><table>
${spreadHead}<tbody>
${spreadRow("sent after due", dispatchErrorMs)}
${spreadRow("answered after due", lagMs)}
${
  fidelity !== undefined && [
    spreadRow("observed after due", fidelity.observedMs),
    spreadRow("gap between events: difference from the plan", fidelity.gaps?.errorMs),
  ]
}
</tbody></table></div>`

const pods = ({
  recordedFrom,
  created,
  neverStarted,
  paired,
  worst,
  unasked,
  ...times
}: PodFidelity): Html => html`<h2>Pods</h2>
<p class="note">${formatCount(created.replayed)} were created during the run${
  created.recorded === null
    ? "; the trace has no pods."
    : `, ${formatCount(created.recorded)} ${recordedFrom === "lives" ? "started " : ""}in the trace; ${formatCount(paired)} of those have a counterpart, the pod of the same owner with the same number. Times of the trace are divided by the speed.`
}${
  recordedFrom === "lives" &&
  " The trace has no Pods, only when they started and ended, in whole seconds: how long they were pending is not known."
}</p>
${unasked > 0 && html`<p class="warn">The API server did not tell the webhook of ${formatCount(unasked)} pods: they did not get recorded lives.</p>`}
${neverStarted.replayed > 0 && html`<p class="warn">${formatCount(neverStarted.replayed)} of them never started to run${neverStarted.recorded !== null && `, ${formatCount(neverStarted.recorded)} in the trace`}; these are in no time below.</p>`}
<div class="table"><table>${spreadHead}<tbody>
${spreadRow("pending, in the trace", times.pendingMs.recorded)}
${spreadRow("pending, in the cluster", times.pendingMs.replayed)}
${spreadRow("pending: difference of counterparts", times.pendingDifferenceMs)}
${spreadRow("running, in the trace", times.runningMs.recorded)}
${spreadRow("running, in the cluster", times.runningMs.replayed)}
${spreadRow("running: difference of counterparts", times.runningDifferenceMs)}
</tbody></table></div>
${
  worst.length > 0 &&
  html`<details><summary>The pods that differ most</summary><div class="table"><table><thead><tr><th scope="col">owner</th><th scope="col">in the trace</th><th scope="col">in the cluster</th><th scope="col" class="number">pending</th><th scope="col" class="number">running</th></tr></thead><tbody>
${worst.map(
  ({
    owner,
    pod,
    pendingMs,
    runningMs,
  }) => html`<tr><td>${owner}</td><td class="code">${pod.recorded}</td><td class="code">${pod.replayed}</td><td class="number">${change(pendingMs)}</td><td class="number">${change(runningMs)}</td></tr>
`,
)}</tbody></table></div></details>`
}`

const change = ({ recorded, replayed }: PodFidelity["worst"][number]["pendingMs"]): string =>
  `${formatMs(recorded)} → ${formatMs(replayed)}`

const mostCauses = 50

const refused = (all: ReadonlyArray<Cause>): Html =>
  html`<h2>Refused</h2>${all.length === 0 ? html`<p class="quiet">Nothing was refused.</p>` : causes(all)}`

const skipped = (all: ReadonlyArray<Cause>): Html | undefined =>
  all.length === 0
    ? undefined
    : html`<h2>Skipped</h2><details><summary>What the replay left out, and why</summary>${causes(all)}</details>`

const causes = (all: ReadonlyArray<Cause>): Html => {
  const hasExamples = all.some(({ example }) => example !== "")
  const row = ({ gvk, reason, count, example }: Cause): Html =>
    html`<tr><td class="number">${formatCount(count)}</td><td>${gvk}</td><td>${reason}</td>${hasExamples && html`<td class="code">${example}</td>`}</tr>
`
  return html`<div class="table"><table><thead><tr><th scope="col" class="number">count</th><th scope="col">kind</th><th scope="col">reason</th>${hasExamples && html`<th scope="col">the first</th>`}</tr></thead><tbody>
${all.slice(0, mostCauses).map(row)}</tbody></table></div>${all.length > mostCauses && html`<p class="note">${formatCount(all.length - mostCauses)} more causes are in the JSON report.</p>`}`
}
