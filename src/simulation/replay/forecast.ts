/** What a replay would do, without doing it: reads the whole trace, counts, and asks the target what it lacks. */
import type { ApiClient } from "../../kube/client/api-client.ts"
import type { OutcomeCounts, ReplayReport } from "../report/replay-report.ts"
import { RecordedCluster, TargetLacks } from "./errors.ts"
import { type LackingOptions, lackingIn } from "./lacking.ts"
import type { ReplayOptions } from "./replay.ts"
import { refuseCluster } from "./replay-root.ts"
import { type KindForecast, type ReplaySurvey, type SurveyOptions, surveyReplay } from "./replay-survey.ts"

/** What `--dry-run` prints and writes as JSON. */
export interface ReplayForecast {
  readonly version: 1
  /** µs since the Unix epoch. */
  readonly trace: { readonly start: number; readonly end: number }
  /** ms that it takes at the requested speed; `null` at speed `max`. */
  readonly expectedMs: number | null
  readonly kinds: ReadonlyArray<KindForecast>
  readonly namespaces: ReadonlyArray<string>
  readonly gaps: number
  /** Kinds of which the trace says that it lacks something. */
  readonly incomplete: ReplayReport["incomplete"]
  readonly skipped: OutcomeCounts["skips"]
  /** For people: what may be different from what they expect, one sentence each. */
  readonly warnings: ReadonlyArray<string>
  /** One sentence for each thing that the target does not have or not allow. */
  readonly lacking: ReadonlyArray<string>
}

/** The options of the replay, as far as they decide what it would do. */
export type ForecastOptions = SurveyOptions &
  LackingOptions &
  Pick<ReplayOptions, "client" | "speed" | "intoRecordedCluster"> & {
    /** Makes the target serve custom kinds that the trace does not define, if it can. Default: it lacks them. */
    readonly serveKinds?: (kinds: ReadonlyMap<string, boolean>) => void
  }

/** Rejects with the error of the source, or with the ApiError of a request. */
export const forecastReplay = async (options: ForecastOptions): Promise<ReplayForecast> => {
  const { client, speed } = options
  const survey = await surveyReplay(options)
  const { header, start, end, gaps, tally, planner } = survey
  options.serveKinds?.(planner.undefinedKinds)
  const { refused, forbidden, unusable } = await lackingIn(client, survey, options)
  return {
    version: 1,
    trace: { start, end },
    expectedMs: speed === "max" ? null : (end - start) / 1000 / speed,
    kinds: tally.kinds,
    namespaces: [...tally.namespaces].toSorted(),
    gaps,
    incomplete: header?.incomplete ?? [],
    skipped: tally.skipped.skips,
    warnings: planner.warnings,
    lacking: [...(await wrongCluster(options, header?.clusterUid)), ...refused, ...forbidden, ...unusable],
  }
}

/** Rejects with TargetLacks if changes that were read will be refused for certain, and with the ApiError of a request. */
export const refuseLacking = async (
  client: ApiClient,
  survey: ReplaySurvey,
  options: LackingOptions,
): Promise<void> => {
  const { refused, forbidden } = await lackingIn(client, survey, options)
  if (refused.length + forbidden.length > 0) throw new TargetLacks({ refused, forbidden })
}

const wrongCluster = async (
  { client, intoRecordedCluster }: ForecastOptions,
  recorded: string | undefined,
): Promise<ReadonlyArray<string>> => {
  if (recorded === undefined || intoRecordedCluster) return []
  try {
    await refuseCluster(client, recorded)
    return []
  } catch (error) {
    if (error instanceof RecordedCluster)
      return ["it is the one that was recorded; --into-recorded-cluster allows that"]
    throw error
  }
}
