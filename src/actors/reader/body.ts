/**
 * The reader: answers questions about the recording in a thread of its own, so that the main thread, which answers probes, reads no
 * database, and a question never waits in the way of recording.
 *
 * Each question opens the recording for itself and closes it: between questions nothing is held, no transaction, no file that was
 * replaced meanwhile, no cache. Short questions are answered as they come. Long ones take turns of some ms, so that short ones pass
 * them, and go one at a time in the order in which they came: all of them take the same core, and ten at once would only make each
 * ten times as long. One whose client has gone is interrupted.
 */
import * as Effect from "effect/Effect"
import { readCoverage } from "../../archive/reading/recorded-coverage.ts"
import { readRecordedSince } from "../../archive/reading/recorded-since.ts"
import { countWindow } from "../../archive/reading/window-counts.ts"
import { messageOf } from "../../message-of.ts"
import type { ActorBody } from "../../runtime/actor.ts"
import { compileFilters } from "../../trace/selection/filters.ts"
import { type CountQuestion, type ReaderConfig, type ReaderControl, ReadingFailed } from "./definition.ts"
import { makeQuestionQueue } from "./question-queue.ts"

export const readerBody: ActorBody<ReaderConfig, ReaderControl, never> = ({ config: { directory } }) =>
  Effect.map(makeQuestionQueue, (queue) => ({
    coverage: (window) => Effect.try({ try: () => readCoverage(directory, window), catch: failed }),
    recordedSince: () => Effect.try({ try: () => readRecordedSince(directory), catch: failed }),
    count: (question) =>
      queue(Effect.tryPromise({ try: (signal) => count(directory, question, signal), catch: failed })),
  }))

const count = async (
  directory: string,
  { cut, fromTime, untilTime, kinds, filters }: CountQuestion,
  signal: AbortSignal,
) => {
  const { needsNames, excludesName } = compileFilters(filters)
  const pause = async (): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve))
    signal.throwIfAborted()
  }
  const counts = await countWindow(
    directory,
    { cut, fromTime, untilTime },
    { kinds, pause, ...(needsNames && { excludesName }) },
  )
  return Object.fromEntries(counts)
}

const failed = (cause: unknown): ReadingFailed => new ReadingFailed({ message: messageOf(cause), fault: "recording" })
