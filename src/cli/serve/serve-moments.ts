/** The moments that `reel serve` is asked for, on its command line and in paths. */
import type { AskedMoment } from "../../serve/index.ts"
import type { Reading } from "../command-line/arguments.ts"
import { ambiguityOf, parseInstant } from "../command-line/instant.ts"

/** µs since the Unix epoch. */
export interface ServedRange {
  readonly begin: number
  readonly end: number
}

/**
 * A time as everywhere on the command line; durations and times of day count back from the end. `range`: of when the server was started, so that a
 * moment stays the same however long it runs.
 */
export const readServedMoment = (text: string, { begin, end }: ServedRange): Reading<number> =>
  parseInstant(text, { now: end, before: end, start: begin })

/** The same for a path below `/at/`, with a remark if there were two such moments; a text: what is wrong with it. */
export const readMomentInPath = (text: string, range: ServedRange): AskedMoment | string => {
  const reading = readServedMoment(text, range)
  if (reading._tag === "Refused") return reading.reason
  return { time: reading.value, remark: remarkOn(text, reading.value) }
}

const remarkOn = (text: string, microseconds: number): string | undefined => {
  const ambiguity = ambiguityOf(text, microseconds)
  return ambiguity === undefined ? undefined : `${text} ${ambiguity}`
}
