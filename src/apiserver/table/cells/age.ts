/** Durations as Kubernetes shows them to people: two or three significant digits. Ages are by the server's clock. */

import { member } from "../../kinds/json-member.ts"

const minute = 60
const hour = 60 * minute
const day = 24

/** `5m10s` for 310,000 ms. Up to two seconds into the future count as now, more is `<invalid>`. */
export const humanDuration = (milliseconds: number): string => {
  const seconds = Math.trunc(milliseconds / 1000)
  if (seconds < -1) return "<invalid>"
  if (seconds < 0) return "0s"
  if (seconds < 2 * minute) return `${seconds}s`
  const minutes = Math.floor(seconds / minute)
  if (minutes < 10) return pair(minutes, "m", seconds % minute, "s")
  if (minutes < 3 * 60) return `${minutes}m`
  const hours = Math.floor(seconds / hour)
  if (hours < 8) return pair(hours, "h", minutes % 60, "m")
  if (hours < 2 * day) return `${hours}h`
  const days = Math.floor(hours / day)
  if (hours < 8 * day) return pair(days, "d", hours % day, "h")
  if (hours < 365 * 2 * day) return `${days}d`
  const years = Math.floor(days / 365)
  return hours < 365 * 8 * day ? pair(years, "y", days % 365, "d") : `${years}y`
}

const pair = (large: number, unit: string, small: number, smallUnit: string): string =>
  small === 0 ? `${large}${unit}` : `${large}${unit}${small}${smallUnit}`

/** Time since an RFC 3339 timestamp; `<unknown>` without one. `now` in ms since the Unix epoch. */
export const since = (timestamp: unknown, now: number): string => {
  const time = typeof timestamp === "string" ? Date.parse(timestamp) : Number.NaN
  return Number.isNaN(time) ? "<unknown>" : humanDuration(now - time)
}

/** Time since an object was created. */
export const ageOf = (object: unknown, now: number): string =>
  since(member(object, "metadata", "creationTimestamp"), now)
