/** What the columns of tables show: makers of columns, and times as Kubernetes shows them to people. */

import { type LabelSelectorObject, selectorText } from "../../kube/offline.ts"
import * as json from "../kinds/json-member.ts"
import type { JsonObject } from "../kinds/resources.ts"

export type Cell = string | number | boolean | null

/** The cell of an object in one column. `now` in ms since the Unix epoch. */
export type Column = (object: JsonObject, now: number) => Cell

const at = (path: string): ReadonlyArray<string> => path.split(".")

/** A string; `otherwise` for an empty or absent one. */
export const text = (path: string, otherwise = ""): Column => {
  const keys = at(path)
  return (object) => json.text(object, ...keys) || otherwise
}

/** A number, 0 by default. */
export const number = (path: string): Column => {
  const keys = at(path)
  return (object) => json.number(object, ...keys)
}

/** A string, a number or a boolean as text; `otherwise` if it is absent. */
export const scalar = (path: string, otherwise: string): Column => {
  const keys = at(path)
  return (object) => json.scalar(object, ...keys) ?? otherwise
}

/** The length of a list. */
export const count = (path: string): Column => {
  const keys = at(path)
  return (object) => json.list(object, ...keys).length
}

/** Whether a member is `true`. */
export const isTrue = (path: string): Column => {
  const keys = at(path)
  return (object) => json.member(object, ...keys) === true
}

/** `app=web,tier=front`, or `<none>`. */
export const labels = (path: string): Column => {
  const keys = at(path)
  return (object) => {
    const pairs = json.entries(object, ...keys).map(([key, value]) => `${key}=${String(value)}`)
    return pairs.length === 0 ? "<none>" : pairs.sort().join(",")
  }
}

/**
 * A label selector as apimachinery writes it. `empty` for one that selects everything. Stored objects have been
 * validated.
 */
export const selector = (path: string, empty = "<none>", unreadable = "<error>"): Column => {
  const keys = at(path)
  return (object) => {
    const found = selectorText((json.member(object, ...keys) ?? undefined) as LabelSelectorObject | undefined)
    return found === undefined ? unreadable : found || empty
  }
}

/** Names and images of the containers of a Pod's spec. */
export const containers = (path: string): readonly [names: Column, images: Column] => {
  const keys = at(`${path}.containers`)
  const listed =
    (key: string): Column =>
    (object) =>
      texts(json.list(object, ...keys), key).join(",")
  return [listed("name"), listed("image")]
}

/** A member of each item. */
export const texts = (items: ReadonlyArray<unknown>, key: string): ReadonlyArray<string> =>
  items.map((item) => json.text(item, key))

/** The first three, and how many more of `total` there are. */
export const firstOf = (items: ReadonlyArray<string>, total = items.length): string => {
  const first = items.slice(0, 3).join(",")
  return items.length > 3 ? `${first} + ${total - 3} more...` : first
}

export const name: Column = text("metadata.name")

/** Time since an object was created. */
export const age: Column = (object, now) => since(json.member(object, "metadata", "creationTimestamp"), now)

/** Whether there is a condition of this type that is `True`. */
export const hasCondition = (object: unknown, type: string): boolean => {
  const found = json.list(object, "status", "conditions").find((condition) => json.text(condition, "type") === type)
  return json.text(found, "status") === "True"
}

/** In seconds. */
const minute = 60
const hour = 60 * minute
const hoursOfDay = 24

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
  if (hours < 2 * hoursOfDay) return `${hours}h`
  const days = Math.floor(hours / hoursOfDay)
  if (hours < 8 * hoursOfDay) return pair(days, "d", hours % hoursOfDay, "h")
  if (hours < 365 * 2 * hoursOfDay) return `${days}d`
  const years = Math.floor(days / 365)
  return hours < 365 * 8 * hoursOfDay ? pair(years, "y", days % 365, "d") : `${years}y`
}

const pair = (large: number, unit: string, small: number, smallUnit: string): string =>
  small === 0 ? `${large}${unit}` : `${large}${unit}${small}${smallUnit}`

/** Time since an RFC 3339 timestamp; `<unknown>` without one. `now` in ms since the Unix epoch. */
export const since = (timestamp: unknown, now: number): string => {
  const time = typeof timestamp === "string" ? Date.parse(timestamp) : Number.NaN
  return Number.isNaN(time) ? "<unknown>" : humanDuration(now - time)
}
