/**
 * Calls of tools: each opens the recordings as the other commands do, so that it sees what is recorded by then and presents the token that is valid then, asks, and
 * closes them.
 *
 * Guarantees: an answer says what it lacks, and what is wrong with a question, a recording or a connection is an answer too, marked as an error. Only defects reject.
 */

import { createHash } from "node:crypto"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { formatExactJson } from "../../trace/index.ts"
import { Misasked } from "../command-line/exit-codes.ts"
import { isExportError } from "../export/connection/export-errors.ts"
import { openPast, type PastOptions } from "../past/past-places.ts"
import { traceDirectory } from "../past/trace-place.ts"
import type { Terminal } from "../terminal/terminal.ts"
import { AnswerCompleteness, AnswerPage } from "./answer-page.ts"
import type { PastTool } from "./past-tool.ts"

// The traces that a server is asked about, each as a recording in a temporary directory: made with the first question, and kept until the server ends.

/** Makes the directories once, however many questions wait for them. */
class TraceDirectories {
  readonly #paths: ReadonlyArray<string>
  readonly #abort = new AbortController()
  #making: Promise<ReadonlyArray<string>> | undefined
  readonly #removals: (() => Promise<void>)[] = []

  constructor(paths: ReadonlyArray<string>) {
    this.#paths = paths
  }

  /** Rejects as {@link traceDirectory} does; the next call then tries again. A caller that is aborted leaves the others waiting. */
  async all(signal: AbortSignal): Promise<ReadonlyArray<string>> {
    if (this.#paths.length === 0) return []
    this.#making ??= this.#make().catch((cause: unknown) => {
      this.#making = undefined
      throw cause
    })
    const making = this.#making
    return new Promise((resolve, reject) => {
      const leave = (): void => reject(signal.reason)
      if (signal.aborted) leave()
      signal.addEventListener("abort", leave, { once: true })
      making.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave))
    })
  }

  async #make(): Promise<ReadonlyArray<string>> {
    await this.#remove()
    const directories: string[] = []
    for (const path of this.#paths) {
      const { directory, close } = await traceDirectory(path, this.#abort.signal)
      this.#removals.push(close)
      directories.push(directory)
    }
    return directories
  }

  async #remove(): Promise<void> {
    for (const remove of this.#removals.splice(0)) await remove()
  }

  /** Stops what is being made, and removes what was. */
  async close(): Promise<void> {
    this.#abort.abort()
    await this.#making?.then(undefined, () => undefined)
    await this.#remove()
  }
}

// Where the next page of an answer begins, as a text that assistants give back unread.

const Continuation = Schema.Struct({
  /** Items of all pages before. */
  skip: Schema.Number,
  /** µs since the Unix epoch: what `now` was for the first page, so that all pages are of the same time. */
  moment: Schema.Number,
  /** Fingerprint of the question. */
  question: Schema.String,
})

const Text = Schema.fromJsonString(Continuation)

/** A question by its tool and its parameters, apart from those that concern pages. */
const fingerprintOf = (tool: string, given: Readonly<Record<string, unknown>>): string => {
  const { limit: _, continue: __, ...others } = given
  const members = Object.entries(others).sort(([one], [other]) => (one < other ? -1 : 1))
  return createHash("sha256")
    .update(JSON.stringify([tool, members]))
    .digest("base64url")
    .slice(0, 12)
}

const writeContinuation = (continuation: typeof Continuation.Type): string =>
  Buffer.from(Schema.encodeSync(Text)(continuation)).toString("base64url")

/** @throws Misasked for a text that is none, or is of another question */
const readContinuation = (text: string, question: string): typeof Continuation.Type => {
  const reading = Schema.decodeUnknownResult(Text)(Buffer.from(text, "base64url").toString("utf8"))
  if (Result.isFailure(reading) || !isWhole(reading.success.skip) || !isWhole(reading.success.moment))
    throw new Misasked("continue is not what an answer of this server had: leave it out to begin anew")
  if (reading.success.question !== question)
    throw new Misasked("continue is of another question: repeat all parameters of the first page, or leave it out")
  return reading.success
}

const isWhole = (value: number): boolean => Number.isSafeInteger(value) && value >= 0

// A few calls at a time, because each opens the recordings for itself; the others wait in order, and not without limit.

const atOnce = 4
const mostWaiting = 64

/** Gives turns to calls. */
class CallTurns {
  #running = 0
  readonly #waiting: (() => void)[] = []

  /**
   * Runs when it is its turn. Rejects with Misasked if too many wait, with the signal's reason if it is aborted while it waits, and as `run` does.
   */
  async inTurn<T>(run: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#waiting.length >= mostWaiting)
      throw new Misasked(`${mostWaiting} calls wait already: ask again when some are answered`)
    if (this.#running >= atOnce) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#running++
    try {
      signal.throwIfAborted()
      return await run()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}

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
    const notes = new Set<string>()
    const say = (line: string): void => void notes.add(line)
    const directories = await this.#traces.all(signal)
    const options = { ...this.#options, dataDir: [...this.#options.dataDir, ...directories], trace: [] }
    const { terminal, now } = this.#surroundings
    const past = await openPast(options, { terminal, say, signal })
    const completeness = new AnswerCompleteness(past.isOne ? past.places.length : 1)
    try {
      for (const each of past.absent) {
        say(`the shard ${each} has no stream yet`)
        completeness.noteIncomplete()
      }
      const moment = place?.moment ?? past.end ?? now()
      await tool.answer(given, {
        ...{ places: past.places, isOne: past.isOne, signal, moment, nowMs: now() / 1000, say, page },
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
