import { type ApiClient, type ApiObject, kinds, type Metadata } from "../../kube/index.ts"
import { derivedNames, simulationLabel } from "../api/derived-names.ts"
import type { Simulation } from "../api/simulation.ts"
import { longestHistory, type RepetitionReport } from "../api/status.ts"
import type { ReplayReport } from "../report/replay-report.ts"
import { driverFieldManager } from "./driver-status.ts"

/**
 * Adds the summary of a repetition as `<repetition>.json`, and removes that of {@link longestHistory} repetitions before, because an object has room for
 * about 1 MiB. Each repetition manages its own: what others have written stays. Rejects with an ApiError.
 */
export const keepSummary = async (
  client: ApiClient,
  { apiVersion, kind, metadata: { name, uid = "" }, spec }: Simulation,
  repetition: number,
  summary: string,
): Promise<void> => {
  const place = { namespace: spec.driver.namespace, name: derivedNames(name).report }
  const apply = (manager: number, metadata: Metadata, data: object): Promise<ApiObject> =>
    client.apply(
      kinds.configMaps,
      place,
      { apiVersion: "v1", kind: "ConfigMap", metadata, data },
      { fieldManager: `${driverFieldManager}-${manager}`, force: true },
    )
  const labels = {
    [simulationLabel]: name,
    "app.kubernetes.io/name": place.name,
    "app.kubernetes.io/managed-by": "kubereel",
  }
  const ownerReferences = [{ apiVersion, kind, name, uid }]
  await apply(repetition, { ...place, labels, ownerReferences }, { [`${repetition}.json`]: summary })
  if (repetition > longestHistory) await apply(repetition - longestHistory, place, {})
}

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
