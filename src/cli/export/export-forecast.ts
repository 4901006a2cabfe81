/** The output of `reel export --dry-run`: the recorder's forecast of an export's contents. */

import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { formatLocalTime, formatWindow } from "../../local-time.ts"
import type { Across, LateFacts } from "../../recorder/index.ts"
import { visible } from "../../text/index.ts"
import { formatCount } from "../terminal/quantities.ts"
import { listed } from "./incompleteness.ts"

const Range = Schema.Struct({ start: Schema.Number, end: Schema.Number })

/** Changes that were received later than they happened, as a recorder describes them. */
export const Late = Schema.Struct({
  ...Range.fields,
  receivedStart: Schema.Number,
  receivedEnd: Schema.Number,
  namespace: Schema.String,
  events: Schema.Number,
  cause: Schema.Literals(["stopped", "disconnected", "delayed"]),
  across: Schema.optionalKey(Schema.Literals(["start", "end", "start+end"])),
})

/** The part of the recorder's response that is printed; it may contain more. */
const Forecast = Schema.Struct({
  window: Range,
  kinds: Schema.Array(
    Schema.Struct({
      gvk: Schema.String,
      state: Schema.String,
      detail: Schema.String,
      events: Schema.Number,
      objects: Schema.Number,
      ranges: Schema.Array(Range),
      gaps: Schema.Array(Schema.Struct({ ...Range.fields, namespace: Schema.String, reason: Schema.String })),
      /** Absent in the response of an earlier recorder. */
      late: Schema.optionalKey(Schema.Array(Late)),
    }),
  ),
  countedBefore: Schema.Array(Schema.String),
  incomplete: Schema.Array(Schema.String),
  future: Schema.optionalKey(Schema.String),
  leftOut: Schema.Array(Schema.String),
  unknownOwners: Schema.Struct({ count: Schema.Number, first: Schema.Array(Schema.String) }),
  refusals: Schema.Array(Schema.String),
})
type Forecast = typeof Forecast.Type

/** `undefined` if the response is not that of a kubereel recorder. */
export const readForecast = (answer: unknown): Forecast | undefined => {
  const reading = Schema.decodeUnknownResult(Forecast)(answer)
  return Result.isSuccess(reading) ? reading.success : undefined
}

/** Whether the export would be complete, incomplete, or refused. `isRequired`: it is refused if something is missing, which is then the reason. */
export const verdictOf = (
  { refusals, kinds, incomplete, unknownOwners }: Forecast,
  isRequired: boolean,
): "whole" | "incomplete" | "refused" => {
  const gaps = kinds.reduce((sum, kind) => sum + kind.gaps.length, 0)
  if (refusals.length > 0) return isRequired && gaps + incomplete.length > 0 ? "incomplete" : "refused"
  return gaps + incomplete.length + unknownOwners.count === 0 ? "whole" : "incomplete"
}

/** The forecast in lines, without line breaks at their ends. */
export const renderForecast = (forecast: Forecast, nowMs: number): ReadonlyArray<string> => {
  const { window, kinds, countedBefore, leftOut, unknownOwners, refusals } = forecast
  const total = kinds.reduce(
    (sum, { objects, events }) => ({ objects: sum.objects + objects, events: sum.events + events }),
    {
      objects: 0,
      events: 0,
    },
  )
  const lines = [`${held(total)}${before(countedBefore)}, ${span(window)}`]
  for (const { gvk, state, detail, objects, events, ranges, gaps, late = [] } of kinds) {
    const [first, last] = [ranges[0], ranges.at(-1)]
    const recorded =
      first === undefined || last === undefined
        ? "nothing recorded"
        : `recorded ${span({ start: first.start, end: last.end })}`
    const reason = state === "watching" || detail === "" ? "" : ` (${detail})`
    lines.push(`  ${gvk}: ${held({ objects, events })}, ${recorded}, ${state}${reason}`)
    for (const gap of gaps)
      lines.push(`    gap ${span(gap)}${gap.namespace === "" ? "" : ` in namespace ${gap.namespace}`}: ${gap.reason}`)
    for (const range of late) lines.push(`    ${describeLate(gvk, range, nowMs)}`)
  }
  if (leftOut.length > 0) lines.push(`this format cannot represent ${listed(leftOut)}`)
  if (unknownOwners.count > 0)
    lines.push(`${formatCount(unknownOwners.count, "unknown owner")}: ${unknownOwners.first.join(", ")}`)
  for (const refusal of refusals) lines.push(`it would be rejected: ${refusal}`)
  return lines.map(visible)
}

/** One line about changes of a kind that were received late. */
export const describeLate = (
  gvk: string,
  { start, end, receivedStart, receivedEnd, across, ...facts }: typeof Late.Type,
  nowMs: number,
): string => {
  const times = { happened: [start, end], received: [receivedStart, receivedEnd] } as const
  return `late ${describeLateFacts({ gvk, ...facts, ...times, across }, nowMs)}`
}

const held = ({ objects, events }: { readonly objects: number; readonly events: number }): string =>
  `${formatCount(objects, "object")} at the start and ${formatCount(events, "event")}`

/** Filters that are not applied to the counts, so that they are upper bounds. */
const before = (filters: ReadonlyArray<string>): string =>
  filters.length === 0 ? "" : ` before ${filters.join(" and ")}`

const span = ({ start, end }: typeof Range.Type): string => formatWindow(start, end)

// Changes that were received later than they happened, in sentences for people: from a recorder's header, or from a recording itself.

/**
 * One sentence for each part of the header `Kubereel-Late`, with times of this machine. What a newer recorder writes in another form is
 * shown as it is.
 */
export const describeLateHeader = (header: string, nowMs: number): ReadonlyArray<string> =>
  header.split(", ").map((part) => {
    const facts = readPart(part)
    if (facts !== undefined) return describeLateFacts(facts, nowMs)
    return /^\d+ more$/.test(part) ? `${part} ranges of changes were received late` : `received late: ${part}`
  })

/** `v1.Pod: 37 changes between 18:10:00 CET and 18:10:24 CET were received at 18:10:24 CET, because …; their times are estimates`. */
export const describeLateFacts = (facts: LateFacts, nowMs: number): string => {
  const { gvk, namespace, events, happened, received, cause, across } = facts
  const isOne = events === 1
  const place = namespace === "" ? gvk : `${gvk} in namespace ${namespace}`
  const [from, to] = happened.map((micros) => formatLocalTime(micros / 1000, nowMs))
  const estimates = isOne ? "its time is an estimate" : "their times are estimates"
  const edge = across === undefined ? "" : ` and may lie ${beyond[across]} the window`
  return `${place}: ${formatCount(events, "change")} between ${from} and ${to} ${isOne ? "was" : "were"} received ${during(received, nowMs)}, because ${reasons[cause]}; ${estimates}${edge}`
}

const beyond: Readonly<Record<Across, string>> = {
  start: "before",
  end: "after",
  "start+end": "before or after",
}

const reasons: Readonly<Record<LateFacts["cause"], string>> = {
  stopped: "the recorder was not running",
  disconnected: "the recorder had no connection to the API server",
  delayed: "the API server's stream was silent or behind",
}

const during = ([from, to]: readonly [number, number], nowMs: number): string => {
  const [first, last] = [formatLocalTime(from / 1000, nowMs), formatLocalTime(to / 1000, nowMs)]
  return first === last ? `at ${first}` : `between ${first} and ${last}`
}

const interval = /^([^/]+)\/([^/]+)$/

/** `undefined` if it is not of the form that `describeLate` writes. */
const readPart = (part: string): LateFacts | undefined => {
  const [what = "", ...rest] = part.split("; ")
  const named = /^(\S+?)(?: in (\S+))?=(\d+)$/.exec(what)
  const given = new Map(rest.map((each) => [each.slice(0, each.indexOf("=")), each.slice(each.indexOf("=") + 1)]))
  const happened = readInterval(given.get("happened"))
  const received = readInterval(given.get("received"))
  const cause = keyOf(reasons, given.get("cause"))
  if (named === null || happened === undefined || received === undefined || cause === undefined) return undefined
  const [, gvk = "", namespace = "", events] = named
  const across = keyOf(beyond, given.get("across"))
  return { gvk, namespace, events: Number(events), happened, received, cause, across }
}

const keyOf = <Key extends string>(table: Readonly<Record<Key, string>>, text: string | undefined): Key | undefined =>
  text !== undefined && Object.hasOwn(table, text) ? (text as Key) : undefined

/** µs since the Unix epoch; parts of a ms are of no interest to people. */
const readInterval = (text: string | undefined): readonly [number, number] | undefined => {
  const [, from = "", to = ""] = interval.exec(text ?? "") ?? []
  const times = [Date.parse(from) * 1000, Date.parse(to) * 1000] as const
  return times.some(Number.isNaN) ? undefined : times
}
