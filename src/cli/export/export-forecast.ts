/** The output of `reel export --dry-run`: the recorder's forecast of an export's contents. */

import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { formatWindow } from "../../local-time.ts"
import { visible } from "../../text/index.ts"
import { formatCount } from "../terminal/quantities.ts"
import { listed } from "./incompleteness.ts"
import { describeLate, Late } from "./late-sentences.ts"

const Range = Schema.Struct({ start: Schema.Number, end: Schema.Number })

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

const held = ({ objects, events }: { readonly objects: number; readonly events: number }): string =>
  `${formatCount(objects, "object")} at the start and ${formatCount(events, "event")}`

/** Filters that are not applied to the counts, so that they are upper bounds. */
const before = (filters: ReadonlyArray<string>): string =>
  filters.length === 0 ? "" : ` before ${filters.join(" and ")}`

const span = ({ start, end }: typeof Range.Type): string => formatWindow(start, end)
