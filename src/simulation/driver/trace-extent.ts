/** What is known of a trace before it is replayed: whether the cluster can take it, and how much it is. */
import { refuseLacking } from "../replay/forecast.ts"
import { type SurveyOptions, surveyReplay } from "../replay/replay-survey.ts"
import type { DriverSetting, DriverTrace } from "./driver-setting.ts"

/** The part of a trace that is replayed. */
export interface TraceExtent {
  /** µs since the Unix epoch. */
  readonly start: number
  /** µs since the Unix epoch; `undefined`: not known, because the trace is long and does not say. */
  readonly end: number | undefined
  /** Events that will be sent; `undefined`: not known. */
  readonly events: number | undefined
}

/** ms that reading may take before the replay starts. */
const readMs = 1000

/**
 * Reads the trace for at most a second. Rejects with TargetLacks if the cluster cannot take what was read, with the error of the source, and with an ApiError.
 * Without permissions the message names them, before anything is created.
 */
export const extentOf = async (
  { clients, clock, isPartial }: Pick<DriverSetting, "clients" | "clock" | "isPartial">,
  trace: DriverTrace,
  options: Omit<SurveyOptions, "items">,
): Promise<TraceExtent> => {
  const deadline = clock.monotonicMs() + readMs
  const reading = new AbortController()
  let isCut = false
  try {
    const survey = await surveyReplay({ ...options, items: await trace.open(reading.signal) }, () => {
      isCut = clock.monotonicMs() > deadline
      return isCut
    })
    if (!isPartial) await refuseLacking(clients.replay, survey, { name: options.name, followsLives: false })
    const { start, header, tally } = survey
    const { duration } = options.window
    const stated = header?.window?.end
    const most = duration === undefined ? Number.POSITIVE_INFINITY : start + duration
    const end = isCut ? Math.min(stated ?? Number.POSITIVE_INFINITY, most) : survey.end
    const events = tally.kinds.reduce((sum, { applies, deletions }) => sum + applies + deletions, 0)
    return { start, end: Number.isFinite(end) ? end : undefined, events: isCut ? undefined : events }
  } finally {
    reading.abort()
  }
}
