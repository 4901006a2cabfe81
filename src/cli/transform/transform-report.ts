/** What a program did to a trace: for people a row for each command, with examples of a trial; for programs JSON. */

import { formatLocalTime } from "../../local-time.ts"
import type { JsonValue } from "../../trace/json/exact-json.ts"
import type { TransformSample } from "../../trace/transform/object-batch.ts"
import type { TransformCounts } from "../../trace/transform/transformed-items.ts"
import { differenceLines } from "../past/describe-change.ts"
import { alignedRows } from "../terminal/display-width.ts"
import { formatCount, formatInteger } from "../terminal/quantities.ts"
import type { WrittenProgram } from "./written-program.ts"

/** Characters of a command that are shown: the rest is in the program. */
const shownOfCommand = 72

/** The line in which a command begins, from 1. */
const lineOf = (text: string, at: number): number => text.slice(0, at).split("\n").length

const commandText = ({ text, program }: WrittenProgram, statement: number): string => {
  const from = program[statement]?.at ?? 0
  const written = text
    .slice(from, program[statement + 1]?.at ?? text.length)
    .replaceAll(/"(?:[^"\\]|\\.)*"|#[^\n]*/gs, (part) => (part.startsWith("#") ? "" : part))
    .replaceAll(/\s+/g, " ")
    .trim()
  return written.length > shownOfCommand ? `${written.slice(0, shownOfCommand - 1)}…` : written
}

/** One line: how much of the trace is different. */
export const summaryLine = ({ objects, changed, dropped, inserted }: TransformCounts): string => {
  const parts = [
    `${formatInteger(changed)} changed`,
    `${formatInteger(dropped)} removed`,
    ...(inserted > 0 ? [`${formatInteger(inserted)} inserted`] : []),
  ]
  return `${formatCount(objects, "state")} of objects, ${parts.join(", ")}`
}

/** A row for each command, and what could not be done. */
export const commandTable = (written: WrittenProgram, { statements }: TransformCounts): ReadonlyArray<string> => [
  ...alignedRows([
    ["LINE", "COMMAND", "MATCHED", "CHANGED", "DELETED"],
    ...statements.map((count, statement) => {
      const matched = count.kept + count.changed + count.deleted + count.lacking + count.placeless
      return [
        String(lineOf(written.text, written.program[statement]?.at ?? 0)),
        commandText(written, statement),
        ...(written.program[statement]?.type === "insert"
          ? ["–", "–", "–"]
          : [matched, count.changed, count.deleted].map(formatInteger)),
      ]
    }),
  ]),
  ...statements.flatMap(({ lacking, placeless }, statement) => {
    const line = `line ${lineOf(written.text, written.program[statement]?.at ?? 0)}`
    return [
      ...(lacking > 0
        ? [`${line}: ${formatCount(lacking, "state")} without the value to assign stay as they are`]
        : []),
      ...(placeless > 0
        ? [
            `${line}: ${formatCount(placeless, "state")} without a place for the field stay as they are: a parent is no object, or the list is too short`,
          ]
        : []),
    ]
  }),
]

/** Examples of what each command does, field by field. */
export const sampleLines = (
  written: WrittenProgram,
  { samples }: TransformCounts,
  nowMs: number,
): ReadonlyArray<string> =>
  written.program.flatMap((command, statement) => {
    const own = samples.filter((sample) => sample.statement === statement)
    if (own.length === 0) return []
    return [
      "",
      `line ${lineOf(written.text, command.at)}: ${commandText(written, statement)}`,
      ...own.flatMap((sample) => linesOf(sample, nowMs)),
    ]
  })

/** Differences of an example that are shown. */
const shownDifferences = 10

const linesOf = ({ time, subject, differences }: TransformSample, nowMs: number): ReadonlyArray<string> => {
  const head = `  ${formatLocalTime(time / 1000, nowMs)}  ${subject}`
  if (differences.length === 0) return [`${head} is deleted`]
  const shown = differences.slice(0, shownDifferences) as unknown as JsonValue
  return [
    head,
    ...differenceLines({ differences: shown, hasMoreDifferences: differences.length > shownDifferences }).map(
      (line) => `  ${line}`,
    ),
  ]
}

/** The same for programs. */
export const reportJson = (
  written: WrittenProgram,
  { objects, changed, dropped, inserted, statements, samples }: TransformCounts,
): object => ({
  ...{ states: objects, changed, removed: dropped, inserted },
  commands: statements.map(({ kept, lacking, placeless, ...count }, statement) => ({
    line: lineOf(written.text, written.program[statement]?.at ?? 0),
    command: commandText(written, statement),
    matched: kept + count.changed + count.deleted + lacking + placeless,
    ...count,
    withoutValue: lacking,
    withoutPlace: placeless,
    samples: samples
      .filter((sample) => sample.statement === statement)
      .map(({ subject, time, differences }) => ({ subject, time, differences })),
  })),
})
