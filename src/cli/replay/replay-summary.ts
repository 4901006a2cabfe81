/** A replay for people: one line while it runs, a summary at the end. */
import { formatInstant } from "../../local-time.ts"
import type { Cause, ReplayForecast, ReplayProgress, ReplayReport } from "../../simulation/index.ts"
import { alignedRows } from "../terminal/display-width.ts"
import { formatCount, formatDuration, formatInteger } from "../terminal/quantities.ts"
import { describeFidelity, spread } from "./fidelity-summary.ts"

export const describeReplayProgress = (progress: ReplayProgress): string => {
  const { phase, position, elapsedMs, accepted, refused, pending, lagMs, isPaused, speed } = progress
  if (phase === "cleaning up") return `cleaning up: ${formatCount(pending, "object")} left`
  const counts = `${formatInteger(accepted)} accepted${refused === 0 ? "" : `, ${formatInteger(refused)} refused`}`
  if (phase === "seeding") return `creating the state at the start: ${counts}`
  if (phase === "settling") return `waiting until the cluster has settled: ${counts}`
  const moment = new Date(position / 1000).toISOString().slice(0, 19)
  const pace = isPaused ? ", paused" : speed === 1 ? "" : `, speed ${speed}`
  const lag = lagMs >= 1000 ? `, ${formatDuration(lagMs)} late` : ""
  return `${moment}Z, ${formatDuration(elapsedMs)}${pace}: ${counts}, ${formatInteger(pending)} waiting${lag}`
}

/** Precedes the progress of one of several repetitions. */
export const describeRepetition = (number: number, of: number): string => {
  if (of === 1) return ""
  return `repetition ${number}${of === Number.POSITIVE_INFINITY ? "" : ` of ${of}`}, `
}

/** Lines of at most some 100 columns. */
export const describeReplay = (report: ReplayReport): ReadonlyArray<string> => {
  const { seed, events, run, stopped, gaps, dispatchErrorMs, lagMs } = report
  const lines = [
    `seed       ${formatCount(seed.total, "object")}: ${outcomes(seed)}; ${formatDuration(seed.durationMs)}`,
    `events     ${formatCount(events.total, "event")}: ${outcomes(events)}`,
    `run        ${formatDuration(run.durationMs)}${expected(run)}`,
  ]
  if (run.pausedMs > 0) lines.push(`paused     ${formatDuration(run.pausedMs)}`)
  if (run.delayedMs > 0)
    lines.push(`delayed    ${formatDuration(run.delayedMs)}, because the cluster could not keep up`)
  if (events.sent > 0)
    lines.push(`sent       ${spread(dispatchErrorMs)} after due`, `answered   ${spread(lagMs)} after due`)
  const { lives } = report
  if (lives !== undefined && lives.recorded + lives.created > 0)
    lines.push(
      `lives      ${formatCount(lives.told, "pod")} got that of a recorded pod; ${formatInteger(lives.recorded)} in the trace`,
    )
  if (lives !== undefined && lives.unasked !== null) lines.push(`lives      ${lives.unasked}`)
  if (report.fidelity !== undefined) lines.push(...describeFidelity(report.fidelity, stopped !== null))
  if (gaps > 0) lines.push(`gaps       ${formatCount(gaps, "gap")} in the trace: what happened in them is not replayed`)
  lines.push(...describeIncomplete(report))
  lines.push(...report.refused.slice(0, mostShown).map((cause) => `refused    ${describeCause(cause)}`))
  lines.push(...more(report.refused, "refused"))
  lines.push(...report.skipped.slice(0, mostShown).map((cause) => `skipped    ${describeCause(cause)}`))
  lines.push(...more(report.skipped, "skipped"))
  lines.push(...report.warnings.map((warning) => `warning    ${warning}`))
  if (stopped !== null) lines.push(`stopped    ${stopped}`)
  return lines
}

/** What a replay would do. */
export const describeForecast = (forecast: ReplayForecast): ReadonlyArray<string> => {
  const { trace, expectedMs, kinds, namespaces, gaps, skipped, warnings, lacking } = forecast
  const [from, to] = [trace.start, trace.end].map(formatInstant)
  const rows = kinds.map(
    ({ gvk, objects, applies, deletions }) =>
      [gvk, ...[objects, applies, deletions].map((count) => formatInteger(count))] as const,
  )
  const lines = [
    `from ${from} to ${to}: ${expectedMs === null ? "as fast as the cluster can" : formatDuration(expectedMs)}`,
    `namespaces: ${namespaces.length === 0 ? "none" : namespaces.join(", ")}`,
    ...alignedRows([["kind", "at the start", "applied", "deleted"], ...rows]),
    ...skipped.slice(0, mostShown).map((cause) => `skipped  ${describeCause(cause)}`),
  ]
  if (gaps > 0) lines.push(`gaps     ${formatCount(gaps, "gap")} in the trace: what happened in them is not replayed`)
  lines.push(...warnings.map((warning) => `warning  ${warning}`))
  lines.push(...describeIncomplete(forecast))
  return [...lines, ...lacking.map((each) => `lacking  the cluster: ${each}`)]
}

const describeIncomplete = ({ incomplete }: Pick<ReplayReport, "incomplete">): ReadonlyArray<string> =>
  incomplete.map(({ gvk, namespace, state }) => {
    const place = namespace === undefined ? "" : ` in namespace ${namespace}`
    return `incomplete ${gvk}${place} in the trace: ${state}`
  })

const mostShown = 10

const more = (all: ReadonlyArray<Cause>, word: string): ReadonlyArray<string> =>
  all.length > mostShown ? [`${word.padEnd(11)}${all.length - mostShown} more causes; --report FILE has all`] : []

const outcomes = ({ accepted, refused, skipped }: ReplayReport["events"]): string =>
  `${formatInteger(accepted)} accepted, ${formatInteger(refused)} refused, ${formatInteger(skipped)} skipped`

const expected = ({ durationMs, expectedMs, pausedMs }: ReplayReport["run"]): string => {
  if (expectedMs === null) return ""
  return `, ${(durationMs - pausedMs - expectedMs).toFixed(0)} ms longer than the trace at this speed`
}

const describeCause = ({ gvk, reason, count, example }: Cause): string =>
  `${formatInteger(count)} ${gvk}: ${reason}${example === "" ? "" : `: ${example}`}`
