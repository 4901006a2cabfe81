/** What `reel export` says when it is done: what was written, and what is missing from it. */

import { visible } from "../../recorder/configuration/quoted.ts"
import { type ExitCode, exitCodes } from "../command-line/exit-codes.ts"
import { formatInstant } from "../command-line/instant.ts"
import { formatBytes, formatCount } from "../terminal/quantities.ts"
import type { Terminal } from "../terminal/terminal.ts"
import type { ExportQuery, ExportShortcomings } from "./export-client.ts"
import { ExportCut } from "./export-errors.ts"
import { readForecast, renderForecast, verdictOf } from "./export-forecast.ts"

/** A trace that is where it was wanted. */
export interface WrittenTrace extends ExportShortcomings {
  /** In words, or a URL. */
  readonly place: string
  /** `undefined`: nobody counted them. */
  readonly events: number | undefined
  readonly bytes: number | undefined
}

const name = "reel export"

/** Says it on standard error; answers the exit code. */
export const report = (query: ExportQuery, written: WrittenTrace, { standardError }: Terminal): ExitCode => {
  const say = (line: string): unknown => standardError.write(`${line}\n`)
  const counts = [
    ...(written.events === undefined ? [] : [formatCount(written.events, "event")]),
    ...(written.bytes === undefined ? [] : [formatBytes(written.bytes)]),
    `${formatInstant(query.startTime)} to ${formatInstant(query.endTime)}`,
  ]
  say(`${written.place}: ${counts.join(", ")}`)
  const { incomplete, gaps, unknownOwners, leftOut } = written
  const isYoung = incomplete !== undefined && isYounger(query, incomplete)
  if (isYoung) say(`${name}: the recording is younger than the window: ${incomplete}`)
  else if (incomplete !== undefined)
    say(`${name}: the trace is incomplete: ${incomplete}. ${reasonOf(incomplete, query.recorder.readiness)}`)
  if (gaps > 0)
    say(
      `${name}: the trace is incomplete: it has ${formatCount(gaps, "gap")}, so changes are missing or may be; a trace in NDJSON says where and why`,
    )
  if (unknownOwners !== undefined)
    say(
      `${name}: owners are not known yet: ${unknownOwners}. What they own was taken for unowned; a longer --owner-timeout may help`,
    )
  // No reason for exit code 3: every export of this recording in this format lacks them.
  if (leftOut !== undefined)
    say(`${name}: SimKube's format has no place for ${leftOut}; --format ndjson has everything`)
  const isComplete = (incomplete === undefined || isYoung) && gaps === 0 && unknownOwners === undefined
  return isComplete ? exitCodes.ok : exitCodes.incomplete
}

/** Whether it lacks only what nobody has asked for: the usual window of a recording that is younger than that. */
const isYounger = (query: ExportQuery, incomplete: string): boolean =>
  query.isStartDefault && isBeforeRecording(incomplete)

/** Whether kinds lack only what came before their recording, which the recorder's readiness does not tell of. */
const isBeforeRecording = (incomplete: string): boolean =>
  incomplete.split(", ").every((kind) => /=(?:recorded-|unrecorded$)/.test(kind))

const reasonOf = (incomplete: string, readiness: string): string =>
  isBeforeRecording(incomplete)
    ? "The recording does not reach back that far; --start 0 asks for all of it"
    : `${readiness} says why`

const verdictCodes = { whole: exitCodes.ok, incomplete: exitCodes.incomplete, refused: exitCodes.failed }

/** Prints a forecast on standard output; answers the exit code that the export would have. Throws {@link ExportCut} if it is none. */
export const reportForecast = (answer: unknown, query: ExportQuery, { standardOutput }: Terminal): ExitCode => {
  const forecast = readForecast(answer)
  if (forecast === undefined)
    throw new ExportCut({ server: query.recorder.name, bytes: 0, reason: "the answer is not what a recorder says" })
  const incomplete = forecast.incomplete.join(", ")
  const isYoung = incomplete !== "" && isYounger(query, incomplete)
  const lines = [...renderForecast(forecast)]
  if (isYoung) lines.push("the recording is younger than the window")
  else if (incomplete !== "") lines.push(visible(`it would be incomplete: ${incomplete}`))
  for (const line of lines) standardOutput.write(`${line}\n`)
  return verdictCodes[verdictOf(forecast, isYoung)]
}
