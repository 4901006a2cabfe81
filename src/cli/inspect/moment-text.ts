/** Moments of a trace in words. Traces that others wrote have times that are no date; then the number is shown. */
import { formatInstant, formatLocalTime } from "../../local-time.ts"

const isDate = (micros: number): boolean => Number.isSafeInteger(micros) && micros >= 0

/** `03:12:00 CET`, in the time zone of this machine. `micros`: µs since the Unix epoch. `nowMs`: decides whether there is a date. */
export const localMoment = (micros: number, nowMs: number): string =>
  isDate(micros) ? formatLocalTime(micros / 1000, nowMs) : `${micros} µs`

/** RFC 3339. */
export const instantText = (micros: number): string => (isDate(micros) ? formatInstant(micros) : `${micros} µs`)
