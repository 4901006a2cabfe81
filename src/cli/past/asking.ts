/**
 * What all commands that ask about the past share: the places that are asked, what their answers lack, and how a command ends.
 *
 * Several data directories are one past: each is asked, and the answers are put together. Where two have the same object at a moment, that of the recording that
 * knows more recent changes counts.
 */
import { visibleInJson } from "../../text/index.ts"
import type { JsonObject } from "../../trace/index.ts"
import { oneOf, withDefault } from "../command-line/arguments.ts"
import type { CommandTerminal } from "../command-line/command.ts"
import { type ExitCode, exitCodes } from "../command-line/exit-codes.ts"
import type { OpenPlace } from "../export/connection/recorder-place.ts"
import { interruption } from "../terminal/terminal.ts"
import { faultOfPast, type OpenPast, openPast, type PastOptions } from "./past-places.ts"
import { ShortcomingLines } from "./shortcoming-lines.ts"

/** How changes are printed. */
export const outputOption = withDefault(
  "text",
  "-o FORMAT",
  "text, or json: one JSON object a line",
  oneOf("text", "json"),
)

/** What a question needs. */
export interface AskedPast {
  readonly places: ReadonlyArray<OpenPlace>
  readonly signal: AbortSignal
  /** µs since the Unix epoch: now, or the end of what is recorded in directories. */
  readonly moment: number
  readonly nowMs: number
  /** A line for people. */
  readonly say: (line: string) => void
  /** Notes what an answer lacks, which is said at the end. */
  readonly lacks: (end: JsonObject) => void
}

/** What a command can use while it asks. */
export interface Asking extends AskedPast {
  /** A line of the result, or several; what in it would control a terminal is written as JSON escapes it. */
  readonly print: (line: string) => void
}

/** Opens the places, runs the command, says what is missing and ends. `now`: µs since the Unix epoch. The exit code is 3 if anything is; a text is what is wrong with the command line. */
export const ask = async (
  options: PastOptions,
  terminal: CommandTerminal,
  now: () => number,
  run: (asking: Asking) => Promise<ExitCode | undefined>,
): Promise<ExitCode | string> => {
  const { standardOutput, say } = terminal
  const problem = faultOfPast(options)
  if (problem !== undefined) return problem
  using interrupted = interruption(terminal)
  let past: OpenPast | undefined
  const nowMs = now() / 1000
  const missing = new ShortcomingLines()
  try {
    past = await openPast(options, { terminal, say, signal: interrupted.signal })
    const asking: Asking = {
      ...{ places: past.places, signal: interrupted.signal, nowMs, say },
      moment: past.end ?? now(),
      print: (line) => void standardOutput.write(`${visibleInJson(line)}\n`),
      lacks: (end) => missing.note(end),
    }
    const code = await run(asking)
    for (const line of missing.lines(nowMs)) say(line)
    return code ?? (missing.isIncomplete ? exitCodes.incomplete : exitCodes.ok)
  } finally {
    await past?.close()
  }
}
