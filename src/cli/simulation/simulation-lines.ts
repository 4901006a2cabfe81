/** Simulations for people: a line while one runs, what has come of it, and a table of several. */
import type { RepetitionReport, Simulation } from "../../simulation/index.ts"
import { alignedRows } from "../terminal/display-width.ts"
import { formatCount, formatDuration, formatInteger } from "../terminal/quantities.ts"

/** What a Simulation is doing, on one line. */
export const describeProgress = ({ spec, status }: Simulation): string => {
  const state = status?.state ?? "waiting for the controller"
  const { progress } = status ?? {}
  if (state !== "Running" && state !== "Paused") return [state, messageIn(status)].filter(Boolean).join(": ")
  if (progress === undefined) return state
  const { repetition, percent, eventsSent, eventsTotal, traceTime } = progress
  const of = spec.repetitions ?? 1
  const events = `${formatInteger(eventsSent)}${eventsTotal === undefined ? "" : ` of ${formatInteger(eventsTotal)}`} events`
  return [
    of > 1 ? `${state}, repetition ${repetition} of ${of}` : state,
    ...(percent === undefined ? [] : [`${percent} %`]),
    events,
    ...(traceTime === undefined ? [] : [traceTime]),
  ].join(", ")
}

/** The one condition that says why: what is wrong, or else what is being waited for. */
const messageIn = (status: Simulation["status"]): string | undefined => {
  const conditions = status?.conditions ?? []
  const degraded = conditions.find(({ type, status }) => type === "Degraded" && status === "True")
  return (degraded ?? conditions.find(({ type }) => type === "Ready"))?.message
}

/** Whether nothing more will happen: it has ended, and the controller has cleaned up. SimKube's controller has no conditions. */
export const hasEnded = ({ status }: Simulation): boolean =>
  (status?.state === "Finished" || status?.state === "Failed") &&
  status.conditions?.find(({ type }) => type === "Progressing")?.status !== "True"

/** Lines about a Simulation that has ended. */
export const describeEnd = (simulation: Simulation): ReadonlyArray<string> => {
  const { status } = simulation
  const { startTime, endTime, completedRuns, reports = [] } = status ?? {}
  const took = Date.parse(endTime ?? "") - Date.parse(startTime ?? "")
  const runs = formatCount(completedRuns ?? 0, "complete repetition")
  const failure = status?.state === "Failed" ? messageIn(status) : undefined
  return [
    `${status?.state ?? "unknown"}   ${runs}${Number.isNaN(took) ? "" : `, ${formatDuration(took)}`}`,
    ...(failure === undefined ? [] : [`reason     ${failure}`]),
    ...reports.map(describeReport),
  ]
}

const describeReport = (report: RepetitionReport): string => {
  const { repetition, objects, objectsEqual, writesRefused, driftP99Ms, podsPaired, url } = report
  return [
    `run ${repetition}`.padEnd(11) + formatCount(objects, "object"),
    ...(objectsEqual === undefined ? [] : [`${share(objectsEqual)} as recorded`]),
    `${formatCount(writesRefused, "write")} refused`,
    ...(driftP99Ms === undefined ? [] : [`p99 ${driftP99Ms.toFixed(1)} ms after due`]),
    ...(podsPaired === undefined ? [] : [`${share(podsPaired)} of the pods paired`]),
    ...(url === undefined ? [] : [url]),
  ].join(", ")
}

/** Rounded down: 100 % means all. */
const share = (part: number): string => `${(Math.floor(part * 1000) / 10).toFixed(1)} %`

type Row = ReadonlyArray<string>

/** A table as kubectl prints it: SimKube's columns in its order, and how far each is; `isWide`: with the key figures of the latest repetition. */
export const simulationTable = (simulations: ReadonlyArray<Simulation>, isWide: boolean): ReadonlyArray<string> => {
  const head = isWide ? [...columns, ...wideColumns] : columns
  return alignedRows([head, ...simulations.map((each) => rowOf(each, isWide))])
}

const columns: Row = ["NAME", "START TIME", "END TIME", "SPEED FACTOR", "COMPLETED", "TOTAL", "STATE", "PROGRESS"]
const wideColumns: Row = ["OBJECTS", "EQUAL", "REFUSED", "DRIFT P99", "PODS PAIRED", "REASON"]
const nothing = "-"

const rowOf = ({ metadata, spec, status }: Simulation, isWide: boolean): Row => {
  const shown = (value: string | number | null | undefined): string => (value == null ? nothing : String(value))
  const { percent } = status?.progress ?? {}
  const report = status?.reports?.at(-1)
  const row = [
    metadata.name,
    shown(status?.startTime),
    shown(status?.endTime),
    shown(spec.speed ?? 1),
    shown(status?.completedRuns),
    shown(spec.repetitions ?? 1),
    shown(status?.state),
    percent === undefined ? nothing : `${percent} %`,
  ]
  if (!isWide) return row
  return [
    ...row,
    shown(report?.objects),
    report?.objectsEqual === undefined ? nothing : share(report.objectsEqual),
    shown(report?.writesRefused),
    report?.driftP99Ms === undefined ? nothing : `${report.driftP99Ms.toFixed(1)} ms`,
    report?.podsPaired === undefined ? nothing : share(report.podsPaired),
    shown(status?.conditions?.find(({ type }) => type === "Ready")?.reason),
  ]
}
