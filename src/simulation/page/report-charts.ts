/** The charts of a report: the trace and the cluster over time, and how late events were. */

import { type Html, html } from "../../page/html.ts"
import type { FidelityReport, Timeline } from "../fidelity/fidelity-report.ts"
import { type Chart, lineChart, type Series } from "./line-chart.ts"

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
export const overTime = ({ timeline, pods: times }: FidelityReport, traceMs: number | null): Html => {
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
export const lateness = ({ stepMs, lateMs }: Timeline): Html =>
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
