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
import { UnknownWriters } from "./describe-change.ts"
import { faultOfPast, openPast, type PastOptions, usualLag } from "./past-places.ts"
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
  /** Whether no object is in two of them. */
  readonly isOne: boolean
  readonly signal: AbortSignal
  /** µs since the Unix epoch: now, or the end of what is recorded in directories. */
  readonly moment: number
  readonly nowMs: number
  /** A line for people. `isNothing`: it says that something does not exist, which may exist in another cluster. */
  readonly say: (line: string, isNothing?: boolean) => void
  /** Notes what an answer lacks, which is said at the end. */
  readonly lacks: (end: JsonObject) => void
  /** The question is asked of several clusters: kinds that this one does not know are said to be nothing. */
  readonly isOneOfMany?: boolean
}

/** What a command can use while it asks. */
export interface Asking extends AskedPast {
  /** A line of the result, or several; what in it would control a terminal is written as JSON escapes it. `time`: when that happened, µs since the Unix epoch. */
  readonly print: (line: string, time?: number) => void
  /** Collects the changes of which it is said at the end that nobody knows who made them. */
  readonly unknown: UnknownWriters
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
  const [unknown, nowMs] = [new UnknownWriters(), now() / 1000]
  const print = (line: string): void => void standardOutput.write(`${visibleInJson(line)}\n`)
  const opening = { terminal, say, signal: interrupted.signal }
  const { code, missing } = await askPlaces(options, opening, { nowMs, say, print, unknown }, run)
  if (unknown.note !== undefined) say(unknown.note)
  for (const line of missing.lines(nowMs)) say(line)
  return code ?? (missing.isIncomplete ? exitCodes.incomplete : exitCodes.ok)
}

/** Opens the places, runs the command and closes them: what it returns, and what the answers lack. Rejects as {@link openPast} and `run` do. */
export const askPlaces = async (
  options: PastOptions,
  opening: Parameters<typeof openPast>[1],
  asked: Pick<Asking, "nowMs" | "say" | "print" | "unknown" | "isOneOfMany">,
  run: (asking: Asking) => Promise<ExitCode | undefined>,
): Promise<{ readonly code: ExitCode | undefined; readonly missing: ShortcomingLines }> => {
  const past = await openPast(options, opening)
  try {
    const missing = new ShortcomingLines(past.absent, past.isOne ? past.places.length : 1)
    const now = Math.round(asked.nowMs * 1000)
    // Of several clusters, one that is recorded no more is asked up to the present too, and then lacks something.
    const isOld = asked.isOneOfMany === true && (past.end ?? now) < now - usualLag
    const code = await run({
      ...{
        ...asked,
        places: past.places,
        isOne: past.isOne,
        signal: opening.signal,
        lacks: (end) => missing.note(end),
      },
      moment: isOld ? now : (past.end ?? now),
    })
    return { code, missing }
  } finally {
    await past.close()
  }
}
