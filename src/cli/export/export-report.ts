/** The final report of `reel export`: what was written, and what is missing from it. */
import { formatLocalTime, formatWindow } from "../../local-time.ts"
import { visible } from "../../text/index.ts"
import { type ExitCode, exitCodes } from "../command-line/exit-codes.ts"
import { describeUnchanged } from "../command-line/written-trace.ts"
import { formatBytes, formatCount } from "../terminal/quantities.ts"
import type { Terminal } from "../terminal/terminal.ts"
import { ExportCut } from "./connection/export-errors.ts"
import type { ExportQuery, ExportShortcomings } from "./export-client.ts"
import { readForecast, renderForecast, verdictOf } from "./export-forecast.ts"
import { describeIncompleteness, listed } from "./incompleteness.ts"
import { describeLateHeader } from "./late-sentences.ts"

/**
 * What says that a trace is whole: the checksum that recorders send, or HTTP alone, because a proxy has removed the
 * checksum, or because the server does not say that it is a recorder of kubereel.
 */
export type Proof = "checksum" | "checksum-removed" | "unknown-server"

/** A trace that was written to its destination. */
interface WrittenTrace extends ExportShortcomings {
  /** A path, "standard output", or a URL. */
  readonly place: string
  readonly bytes: number | undefined
  /** Changes left out because they change nothing for a replay. */
  readonly unchanged: number
  /** Absent if the recorder has written the trace. */
  readonly proof?: Proof
}

const name = "reel export"

const unprovenBecause: Readonly<Record<Proof, string | undefined>> = {
  checksum: undefined,
  "checksum-removed": "the trace came without its checksum, which a proxy has removed",
  "unknown-server":
    "the trace came without a checksum, from a server that does not say that it is a recorder of kubereel",
}

/** Prints the report on standard error and returns the exit code. */
export const report = (
  query: ExportQuery,
  written: WrittenTrace,
  { standardError }: Terminal,
  nowMs: number,
): ExitCode => {
  const say = (line: string): unknown => standardError.write(`${line}\n`)
  const counts = [
    ...(written.bytes === undefined ? [] : [formatBytes(written.bytes)]),
    formatWindow(query.startTime, query.endTime),
  ]
  say(`${written.place}: ${counts.join(", ")}`)
  if (written.unchanged > 0) say(`${name}: ${describeUnchanged(written.unchanged)}`)
  const unproven = written.proof === undefined ? undefined : unprovenBecause[written.proof]
  if (unproven !== undefined) say(`${name}: ${unproven}: that it is whole is known from HTTP alone`)
  const { incomplete, future, gaps, late, unknownOwners, redacted, leftOut, warnings } = written
  if (incomplete !== undefined) {
    const sentences = describeIncompleteness(incomplete, nowMs, (until) => endsEarly(query, until))
    say(`${name}: the trace is incomplete: ${sentences.join("; ")}. ${reasonOf(query, incomplete, nowMs)}`)
  }
  if (future !== undefined) say(`${name}: ${describeFuture(future, query.endTime / 1000, nowMs)}`)
  if (gaps > 0)
    say(
      `${name}: the trace is incomplete: it has ${formatCount(gaps, "gap")}, so changes may be missing; a trace in NDJSON shows where and why`,
    )
  // Not a reason for exit code 3: nothing is missing.
  if (late !== undefined) for (const sentence of describeLateHeader(late, nowMs)) say(`${name}: ${visible(sentence)}`)
  if (unknownOwners !== undefined)
    say(
      `${name}: some owners are not known${query.recorder.offline === undefined ? " yet" : ""}: ${unknownOwners}. Their objects were treated as unowned; ${adviceOnOwners(query)}`,
    )
  // Not a reason for exit code 3: every export of this recording in this format lacks them.
  if (leftOut !== undefined)
    say(
      `${name}: SimKube's format cannot represent ${listed(leftOut.split(", "))}; --format ndjson includes everything`,
    )
  if (redacted !== undefined) say(`${name}: values replaced in the recording: ${visible(redacted)}`)
  for (const warning of warnings?.split("; ") ?? []) say(`${name}: ${warning}`)
  const isComplete = incomplete === undefined && gaps === 0 && unknownOwners === undefined && !lacksLog(query)
  return isComplete ? exitCodes.ok : exitCodes.incomplete
}

/** `future`: by the recorder's clock, which may differ from ours. */
const describeFuture = (future: string, endMs: number, nowMs: number): string => {
  const reached = Date.parse(future.split("/", 1)[0] ?? "")
  const until = Number.isNaN(reached) ? "when it was written" : formatLocalTime(reached, nowMs)
  return `the window ends at ${formatLocalTime(endMs, nowMs)}, which is in the future; the trace has what happened until ${until}`
}

/** Whether the kinds lack only the time before they were recorded, which the recorder's readiness does not show. */
const isBeforeRecording = (query: ExportQuery, incomplete: string): boolean =>
  incomplete
    .split(", ")
    .every((kind) => /=(?:recorded-|unrecorded$)/.test(kind) && !endsEarly(query, kind.split("/").at(-1) ?? ""))

/** Whether a kind of a recording without recorder was recorded only until before the window's end. `until`: RFC 3339, if there is one. */
const endsEarly = ({ recorder: { offline }, endTime }: ExportQuery, until: string): boolean =>
  offline !== undefined && (endTime > offline.knownUntil || Date.parse(until) < Math.floor(endTime / 1000))

const reasonOf = (query: ExportQuery, incomplete: string, nowMs: number): string => {
  if (isBeforeRecording(query, incomplete))
    return "The recording does not reach back that far; --start 0 exports all of it"
  const { readiness, offline } = query.recorder
  if (offline === undefined || query.endTime <= offline.knownUntil) return `For the reason see ${readiness}`
  const end = `The window reaches beyond the end of the recording at ${formatLocalTime(offline.knownUntil / 1000, nowMs)}`
  return offline.isWritten ? `${end}; a recorder is running, which knows more: --server` : end
}

const adviceOnOwners = ({ recorder }: ExportQuery): string =>
  recorder.offline === undefined
    ? "a longer --owner-timeout may help"
    : "a replay may create some of them twice. Only a recorder looks owners up: export from one with --server, or record their kinds"

const lacksLog = ({ recorder }: ExportQuery): boolean => recorder.offline?.lacksLog === true

const verdictCodes = { whole: exitCodes.ok, incomplete: exitCodes.incomplete, refused: exitCodes.failed }

/** Prints a forecast on standard output and returns the exit code that the export would have. Throws {@link ExportCut} if the response is not a forecast. */
export const reportForecast = (
  answer: unknown,
  query: ExportQuery,
  { standardOutput }: Terminal,
  nowMs: number,
): ExitCode => {
  const forecast = readForecast(answer)
  if (forecast === undefined)
    throw new ExportCut({ server: query.recorder.name, bytes: 0, reason: "the response is not a recorder's forecast" })
  const incomplete = forecast.incomplete.join(", ")
  const lines = [...renderForecast(forecast, nowMs)]
  if (incomplete !== "")
    lines.push(
      `it would be incomplete: ${describeIncompleteness(incomplete, nowMs, (until) => endsEarly(query, until)).join("; ")}`,
    )
  if (forecast.future !== undefined && forecast.future !== "")
    lines.push(describeFuture(forecast.future, query.endTime / 1000, nowMs))
  for (const line of lines) standardOutput.write(`${line}\n`)
  const verdict = verdictOf(forecast, query.require !== undefined)
  return verdictCodes[verdict === "whole" && lacksLog(query) ? "incomplete" : verdict]
}
