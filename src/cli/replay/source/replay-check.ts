/** What can be known before a replay creates anything. */
import { systemClock } from "../../../clock.ts"
import { type ReplaySurvey, surveyReplay } from "../../../simulation/replay/replay-survey.ts"
import type { ReplayOrder } from "../replay-order.ts"
import type { ReplaySource } from "./replay-source.ts"

/** ms that reading may take before the replay starts. */
const checkMs = 1000

/**
 * Reads a trace once, for as long as {@link checkMs}; `undefined` for a pipe, which can be read only once. Damage that lies further back, and what
 * the cluster lacks for it, is found when the replay gets there. Rejects with the error of the source.
 */
export const surveySource = async (
  order: ReplayOrder,
  source: ReplaySource,
  signal: AbortSignal,
): Promise<ReplaySurvey | undefined> => {
  if (source.isPipe) return undefined
  const deadline = performance.now() + checkMs
  const window = { ...order.window, now: systemClock.wallMicros() }
  return surveyReplay({ ...order, items: await source.open(), window, signal }, () => performance.now() > deadline)
}
