/** What is different between two traces, as lines for people. */
import { formatInstant } from "../../local-time.ts"
import type { ComparedName } from "../../trace/comparison/change-log.ts"
import type {
  ChangedObject,
  ComparedTraceFacts,
  DifferentChanges,
  TraceComparison,
} from "../../trace/comparison/compare-traces.ts"
import { differenceLines, objectName } from "../past/describe-change.ts"
import { formatCount } from "../terminal/quantities.ts"

/** Objects of each part that are shown. */
const mostShown = 50

/** Offsets that are shown for one object. */
const mostOffsets = 5

/** Lines without line breaks. */
export const traceDiffLines = (
  [first, second]: readonly [string, string],
  comparison: TraceComparison,
): ReadonlyArray<string> => {
  const { traces, onlyInFirst, onlyInSecond, changed, changes, times } = comparison
  return [
    `A  ${first}: ${traceText(traces[0])}`,
    `B  ${second}: ${traceText(traces[1])}`,
    ...part("only in A", onlyInFirst, (object) => [`  - ${nameOf(object)}`]),
    ...part("only in B", onlyInSecond, (object) => [`  + ${nameOf(object)}`]),
    ...part("different at the end", changed, changedLines),
    ...part("changed in only one trace", changes, (each) => [changesLine(each)]),
    ...(times.pairs === 0 ? [] : ["", ...timesLines(comparison)]),
  ]
}

const part = <Each>(
  title: string,
  list: ReadonlyArray<Each>,
  linesOf: (each: Each) => ReadonlyArray<string>,
): ReadonlyArray<string> => {
  if (list.length === 0) return []
  const more = list.length - mostShown
  return [
    "",
    `${formatCount(list.length, "object")} ${title}:`,
    ...list.slice(0, mostShown).flatMap(linesOf),
    ...(more > 0 ? [`  … and ${formatCount(more, "more object")}; -o json has all`] : []),
  ]
}

/** `1,234 objects, 5,678 changes, from 2026-11-21T10:00:00Z`. */
export const traceText = ({ objects, changes, start }: ComparedTraceFacts): string =>
  `${formatCount(objects, "object")}, ${formatCount(changes, "change")}${start === undefined ? "" : `, from ${formatInstant(start)}`}`

/** `apps/v1.Deployment shop/web`; an Event with what it says. */
export const nameOf = ({ says, ...object }: ComparedName): string =>
  says === undefined ? objectName(object) : `${objectName(object)} (${says})`

/** What became of the object, in words; empty for one that is changed field by field. */
export const endText = ({ type, differences }: ChangedObject): string => {
  if (type === "created") return "exists at the end of B only"
  if (type === "deleted") return "exists at the end of A only"
  if (differences === undefined) return "too many objects differ to show its fields: choose with -k or -n"
  return differences.length === 0 ? "lists have another order" : ""
}

const changedLines = (changed: ChangedObject): ReadonlyArray<string> => {
  const { object, differences = [], hasMoreDifferences = false } = changed
  const end = endText(changed)
  const fields = differences.map((each) => ({ ...each }))
  return [
    `  ${nameOf(object)}${end === "" ? "" : `: ${end}`}`,
    ...differenceLines({ differences: fields, hasMoreDifferences }).map((line) => `  ${line}`),
  ]
}

const changesLine = ({ object, onlyInFirst, onlyInSecond }: DifferentChanges): string => {
  const told = [
    ...(onlyInFirst.length > 0 ? [`${onlyInFirst.length} in A only (${offsetsText(onlyInFirst)})`] : []),
    ...(onlyInSecond.length > 0 ? [`${onlyInSecond.length} in B only (${offsetsText(onlyInSecond)})`] : []),
  ]
  return `  ${nameOf(object)}: ${told.join(", ")}`
}

/** `+1.5 s, +20 s, …` */
export const offsetsText = (offsets: ReadonlyArray<number>): string =>
  [
    ...offsets.slice(0, mostOffsets).map((offset) => `+${secondsText(offset)}`),
    ...(offsets.length > mostOffsets ? ["…"] : []),
  ].join(", ")

/** `1.5 s`, `0.000012 s`. */
export const secondsText = (micros: number): string => `${Number((micros / 1_000_000).toFixed(6))} s`

const timesLines = ({ times }: TraceComparison): ReadonlyArray<string> => [
  timesText(times),
  ...times.largest.map(
    ({ object, offset, shift }) =>
      `  ${secondsText(Math.abs(shift))} ${shift < 0 ? "earlier" : "later"} in B: ${nameOf(object)} at +${secondsText(offset)}`,
  ),
]

/** The distribution in one sentence. */
export const timesText = (times: TraceComparison["times"]): string => {
  const { pairs, earlier, later, median, percentile90, percentile99, maximum } = times
  const shifts = [
    `median ${secondsText(median)}`,
    ...[`90 % ${secondsText(percentile90)}`, `99 % ${secondsText(percentile99)}`, `largest ${secondsText(maximum)}`],
  ]
  return `${formatCount(pairs, "change")} in both, of which ${later} later in B and ${earlier} earlier; by how much: ${shifts.join(", ")}`
}
