/**
 * Points in time on the command line, in every form in which a command prints one: RFC 3339, a time of this machine's time zone with or without its
 * date and zone, Unix seconds, `now`, or a duration before another point in time. All results are µs since the Unix epoch, the unit of recorded
 * events.
 *
 * What `formatLocalTime` or `formatInstant` prints is read as the same µs. A text without a time zone is in that of this machine, and {@link meaningOf}
 * says which moment that is. Months, milliseconds that look like seconds, and offsets in the future are refused.
 */
import { formatInstant, formatLocalTime, zoneName } from "../../local-time.ts"
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
interface Reference {
  /** µs since the Unix epoch; of a recording that has ended, its end. `now` and `end`. */
  readonly now: number
  /** µs since the Unix epoch: `10m` and `-10m` are ten minutes before it, and `03:12` is the last one before it. */
  readonly before: number
  /** µs since the Unix epoch: `start`. Default: 0, which is before everything that is recorded. */
  readonly start?: number
}

/** Reads a point in time. */
export const parseInstant = (text: string, reference: Reference): Reading<number> => {
  const { now, before, start = 0 } = reference
  const [, anchor, sign, length = ""] = /^(now|end|start)(?:([-+])(.+))?$/.exec(text) ?? []
  if (anchor !== undefined) {
    const anchored = anchor === "start" ? start : now
    const shift = sign === undefined ? 0 : parseDuration(length)
    if (shift === undefined) return refused(`after ${anchor} only a duration can follow, such as ${anchor}${sign}5m`)
    return within1970(sign === "+" ? anchored + shift : anchored - shift)
  }
  const duration = parseDuration(text.replace(/^-/, ""))
  if (duration !== undefined) return within1970(before - duration)
  if (text.startsWith("+")) return refused("the future has not been recorded; durations count back, so omit the +")
  if (/^-\d+(?:\.\d+)?$/.test(text)) return refused("a duration needs a unit, such as -10m or -2h")
  if (/^\d+(?:\.\d+)?$/.test(text)) return fromUnixSeconds(text)
  const [, exact] = /^.{1,60} \((\d{4}-[^ ()]+)\)$/.exec(text) ?? []
  return fromClock(exact ?? text.replace(/^about /, ""), reference)
}

const within1970 = (microseconds: number): Reading<number> => {
  if (microseconds < 0) return refused("it is before 1970")
  return microseconds >= lastSecond * second ? refused("it is after 2254") : value(microseconds)
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
  "must be a time such as 2026-11-21T10:00:00Z, 03:12:05 UTC, yesterday 03:12, 1795255200 (Unix seconds), now, end, now-5m, or a duration such as -10m or 1h30m"

const dayMs = 86_400_000

/**
 * `03:12`, `03:12:05.25 CET`, `yesterday 03:12`, `2026-11-21`, `2026-11-21 03:12:05 UTC`, RFC 3339. Without a day it is the last one before the
 * reference, so that it is in the past just after midnight too; `yesterday` and `today` are relative to now.
 */
const fromClock = (text: string, { now, before }: Reference): Reading<number> => {
  const [, day, time = ""] = /^(?:(today|yesterday|\d{4}-\d\d-\d\d)(?:[T ]|$))?(.*)$/i.exec(text) ?? []
  const match = /^(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,20}))?)?(?: ?([A-Z]{1,5}|(?:UTC|GMT)?[-+]\d\d:\d\d))?$/i.exec(
    time,
  )
  if (match === null && (day === undefined || time !== "")) return refused(forms)
  const [, hours = "0", minutes = "0", seconds = "0", fraction = "", zoneText] = match ?? []
  const zone = readZone(zoneText)
  if (zone === undefined) return refused("its time zone offset is out of range")
  if (Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 60)
    return refused("there is no such date or time of day")
  // Unix time has no number for a leap second; it is counted as the first second of the next minute.
  const isLeapSecond = seconds === "60"
  const ofDay = ((Number(hours) * 60 + Number(minutes)) * 60 + (isLeapSecond ? 59 : Number(seconds))) * 1000
  const rest = isLeapSecond ? second : microsecondsOf(fraction)
  const midnight = midnightOf(day?.toLowerCase(), zone, (day === undefined ? before : now) / 1000)
  if (midnight === undefined) return refused("there is no such date or time of day")
  const instantOn = (wall: number): number | undefined => {
    const unixMs = zone.unix(wall + ofDay)
    return unixMs === undefined ? undefined : unixMs * 1000 + rest
  }
  const found = instantOn(midnight)
  const isBefore = day === undefined && (found === undefined ? zone.isNamed : found > before)
  const last = isBefore ? instantOn(midnight - dayMs) : found
  return last === undefined ? refused(zone.refusal) : within1970(last)
}

/** A time zone. Wall time is ms since 1970 as if the clock showed UTC. */
interface Zone {
  /** The wall time at a moment in ms since the Unix epoch. */
  readonly wall: (unixMs: number) => number
  /** ms since the Unix epoch; the first, if the clocks were set back over the time. `undefined`: the zone has no such time. */
  readonly unix: (wall: number) => number | undefined
  /** It is the zone only in a part of the year, so the day before may have the time although this one has not. */
  readonly isNamed?: true
  /** Why there is no such time. */
  readonly refusal: string
}

const fixedZone = (offsetMinutes: number): Zone => ({
  wall: (unixMs) => unixMs + offsetMinutes * 60_000,
  unix: (wall) => wall - offsetMinutes * 60_000,
  refusal: "there is no such date or time of day",
})

const ownZone: Zone = {
  wall: (unixMs) => unixMs - new Date(unixMs).getTimezoneOffset() * 60_000,
  unix: (wall) => {
    const { year, month, day, ...time } = fieldsOf(wall)
    const date = new Date(year, month, day, time.hours, time.minutes, time.seconds)
    return date.getHours() === time.hours && date.getMinutes() === time.minutes ? date.getTime() : undefined
  },
  refusal: "there was no such time that day: the clocks were set forward",
}

/** This machine's zone, in the part of the year in which it has this name: CET or CEST. */
const namedZone = (name: string): Zone => ({
  wall: ownZone.wall,
  unix: (wall) => {
    const first = ownZone.unix(wall)
    if (first === undefined) return undefined
    const moments = [first, ...longestSetBack.map((minutes) => first + minutes * 60_000)]
    return moments.find((moment) => ownZone.wall(moment) === wall && zoneName(moment) === name)
  },
  isNamed: true,
  refusal: `${name} is not the time zone of this machine then; write an offset such as +01:00, or Z`,
})

/** `undefined`: its offset is out of range. */
const readZone = (text: string | undefined): Zone | undefined => {
  if (text === undefined) return ownZone
  const [, sign, hours, minutes] = /^(?:UTC|GMT)?([-+])(\d\d):(\d\d)$/i.exec(text) ?? []
  if (sign !== undefined) {
    const isReal = Number(hours) <= 23 && Number(minutes) <= 59
    return isReal ? fixedZone((sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes))) : undefined
  }
  const name = text.toUpperCase()
  return name === "Z" || name === "UTC" || name === "GMT" ? fixedZone(0) : namedZone(name)
}

/** Wall time at which a day begins: of the moment, of the day before, or of a date. `undefined`: there is no such date. */
const midnightOf = (day: string | undefined, zone: Zone, momentMs: number): number | undefined => {
  if (day === undefined || day === "today" || day === "yesterday") {
    const wall = zone.wall(momentMs)
    return Math.floor(wall / dayMs) * dayMs - (day === "yesterday" ? dayMs : 0)
  }
  const midnight = Date.parse(`${day}T00:00:00Z`)
  return !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(day) ? midnight : undefined
}

const fieldsOf = (wall: number) => {
  const date = new Date(wall)
  return {
    ...{ year: date.getUTCFullYear(), month: date.getUTCMonth(), day: date.getUTCDate() },
    ...{ hours: date.getUTCHours(), minutes: date.getUTCMinutes(), seconds: date.getUTCSeconds() },
  }
}

/** A moment as people say it, and exactly: `03:12:00 CET (2026-11-25T02:12:00Z)`. `now`: µs since the Unix epoch. */
export const describeInstant = (microseconds: number, now: number): string =>
  `${formatLocalTime(microseconds / 1000, now / 1000)} (${formatInstant(microseconds)})`

/** `means 2026-11-28T05:39:22Z`, for a text whose moment depends on this machine's time zone or on the day; otherwise `undefined`. */
export const meaningOf = (text: string, microseconds: number): string | undefined => {
  const isRelative = /^(?:(?:today|yesterday)(?: |$)|\d\d?:\d\d)/i.test(text)
  return isRelative || isWithoutZone(text)
    ? `means ${formatInstant(microseconds)}${which(text, microseconds)}`
    : undefined
}

/** The same only if there were two such moments, because the clocks were set back. */
export const ambiguityOf = (text: string, microseconds: number): string | undefined =>
  isAmbiguous(text, microseconds) ? meaningOf(text, microseconds) : undefined

const which = (text: string, microseconds: number): string =>
  isAmbiguous(text, microseconds) ? ", the first of two such moments: the clocks were set back" : ""

const isWithoutZone = (text: string): boolean =>
  /^(?:today|yesterday|\d{4}-\d\d-\d\d|\d\d?:\d\d)(?:[T :][\d:.,]*)?$/i.test(text)

const isAmbiguous = (text: string, microseconds: number): boolean => {
  if (!isWithoutZone(text)) return false
  const first = microseconds / 1000
  return longestSetBack.some((minutes) => ownZone.wall(first + minutes * 60_000) === ownZone.wall(first))
}

/** Minutes by which clocks are set back: an hour nearly everywhere, half an hour on Lord Howe Island, two hours at Troll. */
const longestSetBack = [30, 60, 120]
