/** What a trace that was written lacks of the one that it was made of, in words that several commands print. */
import { visible } from "../../text/index.ts"
import type { LeftOut } from "../../trace/formats/format.ts"
import { formatCount, formatRecorded } from "../terminal/quantities.ts"

/** Changes that were left out because they change nothing for a replay. */
export const describeUnchanged = (count: number): string =>
  `skipped ${formatCount(count, "change")} that ${count === 1 ? "does" : "do"} not affect a replay, such as changes of status`

/** Whether readers of the output can see that the trace is incomplete, or it is not. */
export const saysItsGaps = ({ gaps, incomplete }: LeftOut): boolean => gaps === 0 && incomplete === 0

/** One line for each category of content that the output format cannot represent. */
export const describeLeftOut = (
  { gaps, incomplete, objects, unchanged, warnings }: LeftOut,
  to: string,
): ReadonlyArray<string> => {
  const lines: string[] = []
  if (gaps > 0)
    lines.push(`the trace is incomplete: it has ${formatCount(gaps, "gap")}, which the ${to} format cannot represent`)
  if (incomplete > 0)
    lines.push(
      `the trace is incomplete: ${incomplete === 1 ? "1 kind was" : `${incomplete} kinds were`} not being watched when it was exported, or not recorded yet at the start of its window`,
    )
  if (objects.size > 0) {
    const kinds = [...objects].map(([gvk, count]) => `${gvk} (${formatRecorded(count)})`)
    lines.push(`the ${to} format cannot represent ${kinds.join(", ")}`)
  }
  if (unchanged > 0) lines.push(describeUnchanged(unchanged))
  lines.push(...warnings)
  // Kinds are those of the trace, which may contain control sequences.
  return lines.map((line) => withoutEndlessWords(visible(line)))
}

/** A damaged trace may have names of any length. Kubernetes' own have at most 253 characters, and a kind a group of as many. */
const withoutEndlessWords = (line: string): string => line.replaceAll(/\S{321,}/g, (word) => `${word.slice(0, 320)}…`)
