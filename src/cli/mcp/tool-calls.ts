/**
 * Calls of tools: each opens the recordings as the other commands do, so that it sees what is recorded by then and presents the token that is valid then, asks, and
 * closes them.
 *
 * Guarantees: an answer says what it lacks, and what is wrong with a question, a recording or a connection is an answer too, marked as an error. Only defects reject.
 */

import { formatExactJson } from "../../trace/json/exact-json.ts"
import { isExportError } from "../export/export-errors.ts"
import { Misasked } from "../past/asking.ts"
import { openPast, type PastOptions } from "../past/past-places.ts"
import type { Terminal } from "../terminal/terminal.ts"
import { AnswerCompleteness } from "./answer-completeness.ts"
import { AnswerPage } from "./answer-page.ts"
import { CallTurns } from "./call-turns.ts"
import { fingerprintOf, readContinuation, writeContinuation } from "./continuation.ts"
import type { PastTool } from "./past-tool.ts"
import { TraceDirectories } from "./trace-directories.ts"

interface CallSurroundings {
  readonly terminal: Pick<Terminal, "environment">
  /** µs since the Unix epoch. */
  readonly now: () => number
}

/** The text of an answer; what went wrong if it is an error. */
export interface ToolAnswer {
  readonly text: string
  readonly isError: boolean
}

type Given = Readonly<Record<string, unknown>>

/** Answers calls until it is closed. */
export class ToolCalls {
  readonly #options: PastOptions
  readonly #surroundings: CallSurroundings
  readonly #traces: TraceDirectories
  readonly #turns = new CallTurns()

  constructor(options: PastOptions, surroundings: CallSurroundings) {
    this.#options = options
    this.#surroundings = surroundings
    this.#traces = new TraceDirectories(options.trace)
  }

  /** Rejects only for defects, and if the signal is aborted. */
  async answer(tool: PastTool, given: Given, signal: AbortSignal): Promise<ToolAnswer> {
    try {
      return { text: await this.#turns.inTurn(() => this.#ask(tool, given, signal), signal), isError: false }
    } catch (cause) {
      if (signal.aborted) throw signal.reason
      if (cause instanceof Misasked || isExportError(cause)) return { text: cause.message, isError: true }
      throw cause
    }
  }

  async #ask(tool: PastTool, given: Given, signal: AbortSignal): Promise<string> {
    const { limit, continue: next } = tool.pageOf(given)
    const question = fingerprintOf(tool.name, given)
    const place = next === undefined ? undefined : readContinuation(next, question)
    const page = new AnswerPage({ skip: place?.skip ?? 0, limit })
    const completeness = new AnswerCompleteness()
    const notes = new Set<string>()
    const say = (line: string): void => void notes.add(line)
    const directories = await this.#traces.all(signal)
    const options = { ...this.#options, dataDir: [...this.#options.dataDir, ...directories], trace: [] }
    const { terminal, now } = this.#surroundings
    const past = await openPast(options, { terminal, say, signal })
    try {
      const moment = place?.moment ?? past.end ?? now()
      await tool.answer(given, {
        ...{ places: past.places, signal, moment, nowMs: now() / 1000, say, page },
        lacks: (end) => completeness.note(end),
        leave: () => completeness.noteUnread(),
        noteIncomplete: () => completeness.noteIncomplete(),
      })
      if (page.hasShortened) say("items marked with … are shortened: ask for one object by name, or for a field of it")
      const facts = completeness.facts()
      if (facts.isComplete === null)
        say("what the answer lacks is not known, because it was not read to its end: ask for less time or fewer kinds")
      const isMore = page.further > 0
      const head = {
        ...facts,
        ...(notes.size > 0 && { notes: [...notes] }),
        ...(isMore &&
          tool.countsFurther && { [facts.isComplete === null ? "furtherAtLeast" : "further"]: page.further }),
        ...(isMore && { continue: writeContinuation({ skip: page.end, moment, question }) }),
      }
      return `${formatExactJson(head).slice(0, -1)},"items":${page.json()}}`
    } finally {
      await past.close()
    }
  }

  /** Removes what was made for traces. Call it after the last answer. */
  close(): Promise<void> {
    return this.#traces.close()
  }
}
