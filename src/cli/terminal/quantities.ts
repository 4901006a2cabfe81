/** Numbers and moments for people; numbers are formatted the same on every machine: no locale, decimal units. */
import { formatInstant, formatLocalTime } from "../../local-time.ts"

/** `1,234`: an integer with commas. */
export const formatInteger = (number: number): string => String(Math.round(number)).replace(/\B(?=(?:\d{3})+$)/g, ",")

/** `1 event`, `1,234 events`. */
export const formatCount = (number: number, noun: string): string =>
  `${formatInteger(number)} ${noun}${number === 1 ? "" : "s"}`

/** What a recording has: objects that existed when it began, and changes. `1 object or change`, `12 objects and changes`. */
export const formatRecorded = (number: number): string =>
  `${formatInteger(number)} ${number === 1 ? "object or change" : "objects and changes"}`

const byteUnits = ["kB", "MB", "GB", "TB"] as const

/** `512 B`, `3.4 MB`: at most three digits; 1 kB is 1000 B. */
export const formatBytes = (bytes: number): string => {
  if (bytes < 1000) return `${bytes} B`
  let amount = bytes / 1000
  let unit = 0
  while (amount >= 999.5 && unit < byteUnits.length - 1) {
    amount /= 1000
    unit++
  }
  return `${amount < 9.95 ? amount.toFixed(1) : Math.round(amount)} ${byteUnits[unit]}`
}

/** `850 ms`, `12 s`, `3 m 05 s`, `2 h 07 m`, `3 d 04 h`: at most two units. */
export const formatDuration = (milliseconds: number): string => {
  if (milliseconds < 1000) return `${Math.max(0, Math.round(milliseconds))} ms`
  const seconds = Math.floor(milliseconds / 1000)
  if (seconds < 60) return `${seconds} s`
  const [minutes, hours, days] = [Math.floor(seconds / 60), Math.floor(seconds / 3600), Math.floor(seconds / 86_400)]
  const two = (number: number): string => String(number).padStart(2, "0")
  if (minutes < 60) return `${minutes} m ${two(seconds % 60)} s`
  return hours < 24 ? `${hours} h ${two(minutes % 60)} m` : `${days} d ${two(hours % 24)} h`
}

// Moments of a trace in words. Traces that others wrote have times that are no date; then the number is shown.

const isDate = (micros: number): boolean => Number.isSafeInteger(micros) && micros >= 0

/** `03:12:00 CET`, in the time zone of this machine. `micros`: µs since the Unix epoch. `nowMs`: decides whether there is a date. */
export const localMoment = (micros: number, nowMs: number): string =>
  isDate(micros) ? formatLocalTime(micros / 1000, nowMs) : `${micros} µs`

/** RFC 3339. */
export const instantText = (micros: number): string => (isDate(micros) ? formatInstant(micros) : `${micros} µs`)
