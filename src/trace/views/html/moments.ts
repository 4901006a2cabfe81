/** How a page writes times: UTC by the clock, offsets from the start of the trace, and how long something took. All are µs. */

/** From when to when a page goes, in µs since the Unix epoch. */
export interface Span {
  readonly start: number
  /** After `start`. */
  readonly end: number
}

const DAY_SECONDS = 86_400

/** The end of year 9999. */
const LATEST_MS = 253_402_300_799_999

/** `2025-11-21T00:00:00.000Z`; the nearest that a calendar has for times that no trace has. */
export const isoText = (micros: number): string =>
  new Date(Math.min(LATEST_MS, Math.max(0, micros / 1000))).toISOString()

/** `2025-11-21`. */
export const dateText = (micros: number): string => isoText(micros).slice(0, 10)

/** Whether times of a page need their dates. */
export const hasSeveralDays = ({ start, end }: Span): boolean => dateText(start) !== dateText(end)

/** `03:12:05.250`; on a page of several days `11-21 03:12:05.250`. */
export const clockText = (micros: number, span: Span): string =>
  isoText(micros)
    .slice(hasSeveralDays(span) ? 5 : 11, 23)
    .replace("T", " ")

/** `+1.250 s`, `+12:05`, `+3:12:05`, `+6 d 3:12:05`. */
export const offsetText = (micros: number): string => {
  const seconds = Math.max(0, micros) / 1_000_000
  if (seconds < 60) return `+${seconds.toFixed(3)} s`
  const days = Math.floor(seconds / DAY_SECONDS)
  const [hours, minutes, rest] = [
    Math.floor(seconds / 3600) % 24,
    Math.floor(seconds / 60) % 60,
    Math.floor(seconds) % 60,
  ]
  const clock = [...(days + hours > 0 ? [hours] : []), minutes, rest].map((part, index) =>
    index === 0 ? String(part) : String(part).padStart(2, "0"),
  )
  return `+${days > 0 ? `${days} d ` : ""}${clock.join(":")}`
}

/** `0.25 s`, `12.5 s`, `12 min 5 s`, `3 h 12 min`, `6 d 3 h`. */
export const durationText = (micros: number): string => {
  const seconds = Math.max(0, micros) / 1_000_000
  if (seconds < 60) return `${Number(seconds.toFixed(seconds < 1 ? 3 : 1))} s`
  const [size, unit, smaller, part] = units.find(([each]) => seconds >= each) ?? ([60, "min", 1, "s"] as const)
  const rest = Math.floor((seconds % size) / smaller)
  return `${Math.floor(seconds / size)} ${unit}${rest === 0 ? "" : ` ${rest} ${part}`}`
}

const units = [
  [DAY_SECONDS, "d", 3600, "h"],
  [3600, "h", 60, "min"],
  [60, "min", 1, "s"],
] as const

/** `Running, 03:12:05.250 to 03:12:09.250 (4 s)`. */
export const lastedText = (what: string, begin: number, end: number, span: Span): string =>
  `${what}, ${clockText(begin, span)} to ${clockText(end, span)} (${durationText(end - begin)})`
