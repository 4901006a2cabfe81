/** The moments that `reel serve` is asked for, on its command line and in paths. */
import type { AskedMoment } from "../../serve/index.ts"
import { type Reading, refused, value } from "../command-line/arguments.ts"
import { ambiguityOf, parseInstant } from "../command-line/instant.ts"

/** µs since the Unix epoch. */
export interface ServedRange {
  readonly begin: number
  readonly end: number
}

/**
 * `start`, `end`, or a time as everywhere on the command line; durations and times of day count back from the end. `range`: of when the server was
 * started, so that a moment stays the same however long it runs.
 */
export const readServedMoment = (text: string, { begin, end }: ServedRange): Reading<number> => {
  if (text === "start") return value(begin)
  if (text === "end") return value(end)
  const reading = parseInstant(text, { now: end, before: end })
  return reading._tag === "Refused" ? refused(`${reading.reason}; or start, or end`) : reading
}

/** The same for a path below `/at/`, with a remark if there were two such moments; a text: what is wrong with it. */
export const readMomentInPath = (text: string, range: ServedRange): AskedMoment | string => {
  const reading = readServedMoment(text, range)
  if (reading._tag === "Refused") return reading.reason
  return { time: reading.value, remark: ambiguityOf(text, reading.value, range.end) }
}
