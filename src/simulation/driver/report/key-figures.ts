/** What is kept of the report of a repetition: key figures for the status, and a summary for the ConfigMap. */
import type { RepetitionReport } from "../../api/status.ts"
import type { ReplayReport } from "../../replay/replay-report.ts"

/** `url`: where the full report is. Pure. */
export const keyFigures = (report: ReplayReport, repetition: number, url: string | undefined): RepetitionReport => {
  const { seed, events, dispatchErrorMs, fidelity } = report
  const judged = fidelity === undefined || "unknown" in fidelity ? undefined : fidelity
  const objectsEqual = judged?.score.objectsEqual ?? undefined
  const recorded = judged?.pods?.created.recorded ?? 0
  return {
    repetition,
    ...(url !== undefined && { url }),
    // Without a comparison the objects that existed at the start are the ones that can be counted without counting any twice.
    objects: judged?.objects.total ?? seed.accepted,
    ...(objectsEqual !== undefined && { objectsEqual }),
    writesRefused: seed.refused + events.refused,
    ...(events.sent > 0 && { driftP99Ms: Math.round(dispatchErrorMs.p99 * 1000) / 1000 }),
    ...(recorded > 0 && { podsPaired: Math.min(1, (judged?.pods?.paired ?? 0) / recorded) }),
  }
}

/** Causes that a summary names; the full report has all. */
const mostCauses = 5
/** Characters of a sentence in a summary: its ConfigMap has room for a hundred summaries of some kB. */
const longestText = 300

/** The summary of one repetition as JSON, some kB at most. Pure. */
export const summaryOf = (report: ReplayReport, figures: RepetitionReport): string => {
  const { replay, speed, startedAt, run, stopped, seed, events, dispatchErrorMs, lagMs, lives, gaps } = report
  const { refused, skipped, warnings, fidelity } = report
  const causes = (all: ReplayReport["refused"]) =>
    all.slice(0, mostCauses).map((cause) => ({ ...cause, example: cause.example.slice(0, longestText) }))
  const judged =
    fidelity === undefined || "unknown" in fidelity
      ? fidelity
      : { score: fidelity.score, objects: fidelity.objects, states: fidelity.states }
  const summary = {
    ...figures,
    replay,
    startedAt,
    speed,
    run,
    stopped,
    seed,
    events,
    dispatchErrorMs,
    lagMs,
    lives,
    gaps,
    refused: causes(refused),
    skipped: causes(skipped),
    warnings: warnings.slice(0, mostCauses).map((text) => text.slice(0, longestText)),
    fidelity: judged,
  }
  return `${JSON.stringify(summary, undefined, 2)}\n`
}
