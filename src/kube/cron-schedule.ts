/**
 * Cron schedules as CronJobs accept them (robfig/cron v3, ParseStandard). Our own parser: libraries differ from
 * robfig's rules.
 */

import { parseDuration } from "./duration.ts"

export interface CronSchedule {
  /** The first time after `afterMs` (ms since the epoch); `undefined` if there is none within five years. */
  next(afterMs: number): number | undefined
}

interface ScheduleProblem {
  readonly problem: string
}

interface Fields {
  readonly minutes: ReadonlySet<number>
  readonly hours: ReadonlySet<number>
  readonly days: ReadonlySet<number>
  readonly months: ReadonlySet<number>
  readonly weekdays: ReadonlySet<number>
  /** If a day field has `*`, both day fields must match, otherwise either of them. */
  readonly daysAreStar: boolean
}

const descriptors: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
}

const monthNames = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
const dayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

/** `timeZone`: an IANA name; default UTC (the real controller uses the zone of its machine). */
export const parseSchedule = (text: string, timeZone = "UTC"): CronSchedule | ScheduleProblem => {
  // A CronJob sets its time zone in a field.
  if (text.includes("TZ")) return { problem: "cannot use TZ or CRON_TZ in schedule, use timeZone field instead" }
  const zone = wallClockOf(timeZone)
  if (zone === undefined) return { problem: `unknown time zone ${timeZone}` }
  const every = /^@every (.+)$/.exec(text.trim())
  if (every !== null) {
    const ms = parseDuration(every[1] ?? "")
    if (ms === undefined) return { problem: `failed to parse duration ${text}` }
    const period = Math.max(1000, Math.floor(ms / 1000) * 1000)
    return { next: (afterMs) => Math.floor(afterMs / 1000) * 1000 + period }
  }
  const expanded = text.startsWith("@") ? descriptors[text.trim()] : text.trim()
  if (expanded === undefined) return { problem: `unrecognized descriptor: ${text}` }
  const parts = expanded.split(/\s+/)
  if (parts.length !== 5) return { problem: `expected exactly 5 fields, found ${parts.length}: [${parts.join(" ")}]` }
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = parts
  const minutes = parseField(minute, 0, 59)
  const hours = parseField(hour, 0, 23)
  const days = parseField(day, 1, 31)
  const months = parseField(month, 1, 12, monthNames, 1)
  const weekdays = parseField(weekday, 0, 6, dayNames, 0)
  if ("problem" in minutes) return minutes
  if ("problem" in hours) return hours
  if ("problem" in days) return days
  if ("problem" in months) return months
  if ("problem" in weekdays) return weekdays
  const daysAreStar = isStar(day) || isStar(weekday)
  return { next: (afterMs) => search({ minutes, hours, days, months, weekdays, daysAreStar }, zone, afterMs) }
}

/** robfig treats `*` and `?` with step 1 like a plain star. */
const isStar = (field: string): boolean => field.split(",").some((part) => /^[*?](\/1)?$/.test(part))

const parseField = (
  text: string,
  least: number,
  most: number,
  names: ReadonlyArray<string> = [],
  firstName = 0,
): ReadonlySet<number> | ScheduleProblem => {
  const values = new Set<number>()
  const read = (token: string): number => {
    const named = names.indexOf(token.toLowerCase())
    return named >= 0 ? named + firstName : /^\d{1,4}$/.test(token) ? Number(token) : Number.NaN
  }
  for (const part of text.split(",")) {
    const match = /^(?:([*?])|([^-/]+)(?:-([^-/]+))?)(?:\/(\d{1,4}))?$/.exec(part)
    if (match === null) return { problem: `failed to parse ${part}` }
    const [, star, first = "", last, stepText] = match
    const step = Number(stepText ?? 1)
    const start = star === undefined ? read(first) : least
    // A single number with a step means a range to the maximum: `5/15` is `5-59/15`.
    const end =
      star !== undefined || (last === undefined && stepText !== undefined)
        ? most
        : last === undefined
          ? start
          : read(last)
    if (Number.isNaN(start) || Number.isNaN(end)) return { problem: `failed to parse ${part}` }
    if (start < least) return { problem: `beginning of range (${start}) below minimum (${least}): ${part}` }
    if (end > most) return { problem: `end of range (${end}) above maximum (${most}): ${part}` }
    if (start > end) return { problem: `beginning of range (${start}) beyond end of range (${end}): ${part}` }
    if (step === 0) return { problem: `step of range should be a positive number: ${part}` }
    for (let value = start; value <= end; value += step) values.add(value)
  }
  return values
}

interface WallClock {
  readonly month: number
  readonly day: number
  readonly weekday: number
  readonly hour: number
  readonly minute: number
}

type ReadWallClock = (ms: number) => WallClock

const minuteMs = 60_000
const horizonMs = 5 * 366 * 86_400_000

const search = (fields: Fields, read: ReadWallClock, afterMs: number): number | undefined => {
  const end = afterMs + horizonMs
  let ms = (Math.floor(afterMs / minuteMs) + 1) * minuteMs
  while (ms <= end) {
    const { month, day, weekday, hour, minute } = read(ms)
    const dayMatches = fields.daysAreStar
      ? fields.days.has(day) && fields.weekdays.has(weekday)
      : fields.days.has(day) || fields.weekdays.has(weekday)
    if (!fields.months.has(month) || !dayMatches) {
      // Advances only to an hour before midnight, so that a clock change does not skip the first hours of a day.
      ms += (hour < 22 ? (22 - hour) * 60 : 60) * minuteMs - minute * minuteMs
    } else if (!fields.hours.has(hour)) ms += (60 - minute) * minuteMs
    else if (!fields.minutes.has(minute)) ms += minuteMs
    else return ms
  }
  return undefined
}

const wallClockOf = (timeZone: string): ReadWallClock | undefined => {
  if (timeZone === "UTC" || timeZone === "Etc/UTC") {
    return (ms) => {
      const date = new Date(ms)
      return {
        month: date.getUTCMonth() + 1,
        day: date.getUTCDate(),
        weekday: date.getUTCDay(),
        hour: date.getUTCHours(),
        minute: date.getUTCMinutes(),
      }
    }
  }
  try {
    const format = new Intl.DateTimeFormat("en-US", {
      timeZone,
      hourCycle: "h23",
      month: "numeric",
      day: "numeric",
      weekday: "short",
      hour: "numeric",
      minute: "numeric",
    })
    return (ms) => {
      const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]))
      const number = (name: Intl.DateTimeFormatPartTypes): number => Number(parts.get(name))
      const weekday = dayNames.indexOf((parts.get("weekday") ?? "").toLowerCase())
      return { month: number("month"), day: number("day"), weekday, hour: number("hour"), minute: number("minute") }
    }
  } catch (error) {
    // Only RangeError is expected: the zone does not exist.
    if (error instanceof RangeError) return undefined
    throw error
  }
}
