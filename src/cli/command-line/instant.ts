/**
 * Points in time on the command line: RFC 3339, Unix seconds, `now`, a time of day here, or a duration before another point in time. All
 * results are µs since the Unix epoch, the unit of recorded events.
 *
 * Ambiguous input is rejected rather than guessed: no dates without a time zone, no months, no milliseconds mistaken for seconds. A time of day is
 * in the time zone of this machine, and {@link describeInstant} says back which one that is.
 */
import { formatLocalTime } from "../../local-time.ts"
import { type Reading, refused, value } from "./arguments.ts"

const second = 1_000_000
const microsecondsPer: Readonly<Record<string, number>> = {
  us: 1,
  ms: 1_000,
  s: second,
  m: 60 * second,
  h: 3_600 * second,
  d: 86_400 * second,
  w: 604_800 * second,
}
/** 2^53 µs, in June 2255: later numbers of µs are not exact. A number of ms mistaken for seconds is far beyond it. */
const lastSecond = 9_007_199_254

/** `90s`, `1h30m`, `1.5h`, `250ms` as an integer number of µs. A sign is not part of a duration. */
export const parseDuration = (text: string): number | undefined => {
  if (!/^(?:\d{1,12}(?:\.\d{1,9})?(?:us|ms|[smhdw]))+$/.test(text)) return undefined
  let total = 0
  for (const [, amount = "", unit = ""] of text.matchAll(/([\d.]+)([a-z]+)/g))
    total += Number(amount) * (microsecondsPer[unit] ?? 0)
  return total <= lastSecond * second ? Math.round(total) : undefined
}

/** The current time, and the time that durations count back from. */
export interface Reference {
  /** µs since the Unix epoch. */
  readonly now: number
  /** µs since the Unix epoch: `10m` and `-10m` are ten minutes before it. */
  readonly before: number
}

/** Reads a point in time. */
export const parseInstant = (text: string, reference: Reference): Reading<number> => {
  if (text === "now") return value(reference.now)
  const duration = parseDuration(text.replace(/^-/, ""))
  if (duration !== undefined)
    return duration <= reference.before ? value(reference.before - duration) : refused("it is before 1970")
  if (text.startsWith("+")) return refused("the future has not been recorded; durations count back, so omit the +")
  if (/^-\d+(?:\.\d+)?$/.test(text)) return refused("a duration needs a unit, such as -10m or -2h")
  if (/^\d+(?:\.\d+)?$/.test(text)) return fromUnixSeconds(text)
  return fromTimeOfDay(text, reference) ?? fromDate(text)
}

/**
 * `03:12` is the last one before the reference, so that it is in the past just after midnight too; `yesterday 03:12` and `today 03:12` are of
 * the day before now, and of its own. `undefined` if the text is no time of day.
 */
const fromTimeOfDay = (text: string, { now, before }: Reference): Reading<number> | undefined => {
  const match = /^(?:(today|yesterday)[ T])?(\d\d?):(\d\d)(?::(\d\d))?$/i.exec(text)
  if (match === null) return undefined
  const [, day, hours = "", minutes = "", seconds = "0"] = match
  const time = [Number(hours), Number(minutes), Number(seconds)] as const
  if (time[0] > 23 || time[1] > 59 || time[2] > 59) return refused("there is no such time of day")
  const reference = new Date((day === undefined ? before : now) / 1000)
  const dayBefore = day?.toLowerCase() === "yesterday" ? 1 : 0
  const found = localTime(reference, dayBefore, time)
  const isAhead = day === undefined && found !== undefined && found * 1000 > before
  const moment = isAhead ? localTime(reference, 1, time) : found
  return moment === undefined
    ? refused("there was no such time that day: the clocks were set forward")
    : value(moment * 1000)
}

/** ms since the Unix epoch; `undefined` if the clocks were set forward over it. If they were set back over it, the first of both. */
const localTime = (
  reference: Date,
  daysBefore: number,
  [hours, minutes, seconds]: readonly [number, number, number],
): number | undefined => {
  const [year, month, day] = [reference.getFullYear(), reference.getMonth(), reference.getDate() - daysBefore]
  const date = new Date(year, month, day, hours, minutes, seconds)
  return date.getHours() === hours && date.getMinutes() === minutes ? date.getTime() : undefined
}

const fromUnixSeconds = (text: string): Reading<number> => {
  const [whole = "", fraction = ""] = text.split(".")
  const seconds = Number(whole)
  if (seconds >= lastSecond) return refused("it is too large for seconds since 1970; is it in milliseconds?")
  return value(seconds * second + microsecondsOf(fraction))
}

/** Digits after the decimal point as µs; further digits are cut off. */
const microsecondsOf = (fraction: string): number => Number(fraction.slice(0, 6).padEnd(6, "0"))

const forms =
  "must be a time such as 2026-11-21T10:00:00Z, 03:12, yesterday 03:12, 1795255200 (Unix seconds), now, or a duration such as -10m or 1h30m"

const fromDate = (text: string): Reading<number> => {
  const match = /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,20}))?)?([Zz]|[+-]\d\d:\d\d)?$/.exec(
    text,
  )
  if (match === null) return refused(forms)
  const [, year = "", month = "", day = "", hour, minute, seconds, fraction = "", zone] = match
  if (hour === undefined) return refused("it needs a time of day, such as T10:00:00Z")
  if (zone === undefined) return refused("it needs a time zone: append Z or an offset such as +01:00")
  const isLeapSecond = seconds === "60"
  const utc = Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    isLeapSecond ? 59 : Number(seconds),
  )
  const isReal =
    new Date(utc).toISOString().slice(0, 19) ===
    `${year}-${month}-${day}T${hour}:${minute}:${isLeapSecond ? "59" : seconds}`
  if (!isReal) return refused("there is no such date or time of day")
  const offset = offsetMinutes(zone)
  if (offset === undefined) return refused("its time zone offset is out of range")
  // Unix time has no number for a leap second; it is counted as the first second of the next minute.
  const unix = utc / 1000 - offset * 60 + (isLeapSecond ? 1 : 0)
  if (unix < 0) return refused("it is before 1970")
  return unix >= lastSecond
    ? refused("it is after 2254")
    : value(unix * second + (isLeapSecond ? 0 : microsecondsOf(fraction)))
}

const offsetMinutes = (zone: string): number | undefined => {
  if (zone === "Z" || zone === "z") return 0
  const hours = Number(zone.slice(1, 3))
  const minutes = Number(zone.slice(4, 6))
  return hours > 23 || minutes > 59 ? undefined : (zone.startsWith("-") ? -1 : 1) * (hours * 60 + minutes)
}

/** RFC 3339, with a fraction only if there is one: `2026-11-21T10:00:00.000001Z`. */
export const formatInstant = (microseconds: number): string => {
  const whole = new Date(Math.floor(microseconds / second) * 1000).toISOString().slice(0, 19)
  const fraction = microseconds % second
  return `${whole}${fraction === 0 ? "" : `.${String(fraction).padStart(6, "0").replace(/0+$/, "")}`}Z`
}

/** Both ends of a window, in RFC 3339. One that starts at 0 starts with the recording. */
export const formatWindow = (start: number, end: number): string =>
  `${start <= 0 ? "the beginning" : formatInstant(start)} to ${formatInstant(end)}`

/** A moment as people say it, and exactly: `03:12:00 CET (2026-11-25T02:12:00Z)`. `now`: µs since the Unix epoch. */
export const describeInstant = (microseconds: number, now: number): string =>
  `${formatLocalTime(microseconds / 1000, now / 1000)} (${formatInstant(microseconds)})`

/**
 * Says which moment was taken if a text is a time of day that there were two of, because the clocks were set back; otherwise `undefined`. `microseconds`: the
 * moment that was taken, µs since the Unix epoch, as is `now`.
 */
export const ambiguityOf = (text: string, microseconds: number, now: number): string | undefined =>
  isAmbiguous(text, microseconds)
    ? `there were two such moments, because the clocks were set back; taken is the first, ${describeInstant(microseconds, now)}`
    : undefined

const isAmbiguous = (text: string, microseconds: number): boolean => {
  if (!/^(?:(?:today|yesterday)[ T])?\d\d?:\d\d(?::\d\d)?$/i.test(text)) return false
  const first = new Date(microseconds / 1000)
  return longestSetBack.some((minutes) => {
    const later = new Date(first.getTime() + minutes * 60_000)
    return (
      later.getHours() === first.getHours() &&
      later.getMinutes() === first.getMinutes() &&
      later.getDate() === first.getDate()
    )
  })
}

/** Minutes by which clocks are set back: an hour nearly everywhere, half an hour on Lord Howe Island, two hours at Troll. */
const longestSetBack = [30, 60, 120]
