/** What an import says at its end: what was written, and what the logs did not have, by kind and reason. */
import type { ImportSummary } from "../../audit/import-order.ts"
import { describeLosses } from "../../audit/lives/losses.ts"
import { describeRedacted } from "../../kube/redaction/redacted-values.ts"
import type { TraceFormatName } from "../../trace/formats/names.ts"
import { formatBytes, formatCount, formatInteger } from "../terminal/quantities.ts"
import { describeLeftOut } from "../trace/left-out.ts"

/** Whether the trace lacks something that happened. What was not written while the logs were made is not counted. */
export const isIncomplete = ({ gaps, sent, unknown, leftOut }: ImportSummary): boolean =>
  gaps > 0 || sent.size > 0 || unknown.count > 0 || leftOut.gaps > 0

/** The first line follows the name of the trace; the others are sentences. */
export const reportLines = (summary: ImportSummary, format: TraceFormatName): ReadonlyArray<string> => {
  const { changes, gaps, bytes, writes, texts, repetitions, found, unseenDeletions, superseded, late, leftOut } =
    summary
  const withGaps = gaps === 0 ? "" : ` and ${formatCount(gaps, "gap")}`
  const lines = [
    `${formatCount(changes, "change")}${withGaps}, ${formatBytes(bytes)}, out of ${formatCount(writes, "write")} in ${formatCount(texts, "entry").replace(/entrys$/, "entries")}`,
  ]
  for (const [gvk, reasons] of summary.losses) lines.push(`${gvk}: no objects for ${describeLosses(reasons)}`)
  for (const [gvk, count] of summary.sent)
    lines.push(
      `${gvk}: ${formatCount(count, "state")} as sent by clients, without what the server filled in, which level RequestResponse logs`,
    )
  lines.push(
    `objects that were not written while the logs were made are not in the trace${found === 0 ? "" : `; ${formatInteger(found)} that existed before ${found === 1 ? "appears" : "appear"} with the first change`}`,
  )
  if (repetitions > 0) lines.push(`${formatCount(repetitions, "write")} left out that the logs have twice`)
  if (unseenDeletions > 0)
    lines.push(`${formatCount(unseenDeletions, "deletion")} left out of objects that the logs had not shown before`)
  if (superseded > 0)
    lines.push(`${formatCount(superseded, "change")} left out that the logs have after a newer one of the same object`)
  if (late > 0)
    lines.push(`${formatCount(late, "change")} more than 5 s out of order: they have the time of the one before`)
  if (summary.redacted.length > 0) lines.push(`values replaced: ${describeRedacted(summary.redacted)}`)
  lines.push(...unknownLines(summary))
  return [...lines, ...describeLeftOut(leftOut, format)]
}

/** The same for programs. */
export const reportJson = (
  place: string,
  { losses, sent, unknown, leftOut, ...summary }: ImportSummary,
  format: TraceFormatName,
): object => ({
  ...{ trace: place, format, bytes: summary.bytes, entries: summary.texts },
  ...{ writes: summary.writes, repeatedWrites: summary.repetitions, changes: summary.changes, gaps: summary.gaps },
  lost: [...losses].flatMap(([kind, reasons]) => [...reasons].map(([reason, changes]) => ({ kind, reason, changes }))),
  asSent: [...sent].map(([kind, states]) => ({ kind, states })),
  ...{ foundObjects: summary.found, unseenDeletions: summary.unseenDeletions },
  ...{ supersededChanges: summary.superseded, lateChanges: summary.late },
  redacted: summary.redacted,
  unknownEntries: unknown,
  leftOut: { ...leftOut, objects: [...leftOut.objects].map(([kind, count]) => ({ kind, count })) },
  isComplete: !isIncomplete({ ...summary, losses, sent, unknown, leftOut }),
})

/** The first few by place. */
const unknownLines = ({ unknown }: ImportSummary): ReadonlyArray<string> => {
  const shown = unknown.first.map(({ log, line, found }) => `${log}:${line}: no audit entry: ${found}`)
  const rest = unknown.count - shown.length
  return rest > 0 ? [...shown, `and ${formatInteger(rest)} more`] : shown
}
