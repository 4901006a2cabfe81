/** What the columns of tables show: makers of columns, and times as Kubernetes shows them to people. */

import { type LabelSelectorObject, selectorText } from "../../kube/offline.ts"
import * as json from "../kinds/json-member.ts"
import type { JsonObject } from "../kinds/resources.ts"

export type Cell = string | number | boolean | null

/** The cell of an object in one column. `now` in ms since the Unix epoch. */
export type Column = (object: JsonObject, now: number) => Cell

/** Makes a column of a path, and of what stands for an absent value. */
type Maker = (keys: ReadonlyArray<string>, otherwise: string | undefined) => Column

/** The columns that `columns.json` makes of a path. */
const makers: Readonly<Record<string, Maker>> = {
  /** A string. */
  text:
    (keys, otherwise = "") =>
    (object) =>
      json.text(object, ...keys) || otherwise,
  number: (keys, otherwise) => (object) => {
    const value = json.member(object, ...keys)
    return typeof value === "number" ? value : (otherwise ?? 0)
  },
  /** A string, a number or a boolean as text. */
  scalar:
    (keys, otherwise = "") =>
    (object) =>
      json.scalar(object, ...keys) ?? otherwise,
  /** The length of a list. */
  count: (keys) => (object) => json.list(object, ...keys).length,
  flag: (keys) => (object) => json.member(object, ...keys) === true,
  /** `app=web,tier=front`. */
  labels: (keys) => (object) => {
    const pairs = json.entries(object, ...keys).map(([key, value]) => `${key}=${String(value)}`)
    return pairs.sort().join(",") || "<none>"
  },
  selector: (keys) => selector(keys),
  /** Names and images of the containers of a Pod's spec. */
  names: (keys) => (object) => texts(json.list(object, ...keys, "containers"), "name").join(","),
  images: (keys) => (object) => texts(json.list(object, ...keys, "containers"), "image").join(","),
}

/**
 * The column of a cell as `columns.json` writes it: the name of one of `named`, or a way to show values, the path of one
 * and what stands for an absent one.
 */
export const columnOf = (cell: string, named: Readonly<Record<string, Column>>): Column => {
  const [kind = "", path = "", otherwise] = cell.split(" ")
  const column = named[kind] ?? makers[kind]?.(path.split("."), otherwise)
  if (column === undefined) throw new Error(`columns.json names no cell: ${cell}`)
  return column
}

/**
 * A label selector as apimachinery writes it. `empty` for one that selects everything. Stored objects have been
 * validated.
 */
const selector =
  (keys: ReadonlyArray<string>, empty = "<none>", unreadable = "<error>"): Column =>
  (object) => {
    const given: LabelSelectorObject | undefined = json.record(object, ...keys)
    const found = selectorText(given)
    return found === undefined ? unreadable : found || empty
  }

export const deploymentSelector = selector(["spec", "selector"], "", "<invalid>")
export const podSelector = selector(["spec", "podSelector"], "<none>", "<none>")

/** A member of each item. */
export const texts = (items: ReadonlyArray<unknown>, key: string): ReadonlyArray<string> =>
  items.map((item) => json.text(item, key))

/** The first three, and how many more of `total` there are. */
export const firstOf = (items: ReadonlyArray<string>, total = items.length): string => {
  const first = items.slice(0, 3).join(",")
  return items.length > 3 ? `${first} + ${total - 3} more...` : first
}

export const name: Column = (object) => json.text(object, "metadata", "name")

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
