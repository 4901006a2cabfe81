/**
 * The reader: runs queries about the recording in its own thread, so that the main thread, which serves probes, reads no database, and
 * queries never delay recording.
 *
 * Each query opens the recording and closes it again: nothing is held between queries, no transaction, no replaced file, no cache, except of what was
 * found intact. Short queries run as they arrive. Long ones are split into slices of half a ms, so that short ones, and recording, can pass, and run one at a time in order of
 * arrival: all of them share a core, and running ten at once would only make each ten times as long. If the client has gone, its query is
 * interrupted. Answers that are streamed (answering.ts) take turns, because their clients take them at very different paces.
 */
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import { countWindow, KnownIntact, readCoverage, readPins, readRecordedSince } from "../../archive/index.ts"
import { messageOf } from "../../message-of.ts"
import { type ActorBody, cedeCore } from "../../runtime/index.ts"
import { compileFilters } from "../../trace/index.ts"
import { Answering } from "./answering.ts"
import {
  type CountQuestion,
  maximumWaiting,
  type ReaderConfig,
  type ReaderControl,
  ReadingFailed,
} from "./reader-interface.ts"

export const readerBody: ActorBody<ReaderConfig, ReaderControl, never> = ({ config: { directory } }) =>
  Effect.gen(function* () {
    const queue = yield* makeQuestionQueue
    const intact = new KnownIntact()
    const answering = yield* Effect.acquireRelease(
      Effect.sync(() => new Answering(directory, intact)),
      (running) => Effect.sync(() => running.stop()),
    )
    return {
      coverage: (window) => Effect.try({ try: () => readCoverage(directory, window, intact), catch: failed }),
      recordedSince: () => Effect.try({ try: () => readRecordedSince(directory), catch: failed }),
      pins: () => Effect.try({ try: () => readPins(directory), catch: failed }),
      count: (question) =>
        queue(Effect.tryPromise({ try: (signal) => count({ directory, intact }, question, signal), catch: failed })),
      askedKinds: (asked) =>
        Effect.tryPromise({ try: () => answering.askedKinds(asked), catch: (cause) => asFailure(cause) }),
      query: (question, stream) =>
        Effect.try({ try: () => answering.start(question, stream), catch: (cause) => asFailure(cause) }),
    }
  })

/** Runs a long query when its turn comes, one at a time in order of arrival; fails at once if {@link maximumWaiting} are waiting. An interrupted query leaves the queue. */
type QuestionQueue = <A>(question: Effect.Effect<A, ReadingFailed>) => Effect.Effect<A, ReadingFailed>

export const makeQuestionQueue: Effect.Effect<QuestionQueue> = Effect.sync(() => {
  const turn = Semaphore.makeUnsafe(1)
  let waiting = 0
  return (question) =>
    Effect.suspend(() => {
      if (waiting > maximumWaiting) {
        const message = `${maximumWaiting} queries are already waiting, which is the limit; try again`
        return Effect.fail(new ReadingFailed({ message, fault: "busy" }))
      }
      waiting++
      return turn.withPermit(question).pipe(
        Effect.ensuring(
          Effect.sync(() => {
            waiting--
          }),
        ),
      )
    })
})

const count = async (
  { directory, intact }: ReaderConfig & { readonly intact: KnownIntact },
  { cut, fromTime, untilTime, times = "happened", kinds, filters }: CountQuestion,
  signal: AbortSignal,
) => {
  const { needsNames, excludesName } = compileFilters(filters)
  const pause = async (): Promise<void> => {
    cedeCore()
    await new Promise((resolve) => setImmediate(resolve))
    signal.throwIfAborted()
  }
  const counts = await countWindow(
    directory,
    { cut, fromTime, untilTime, times },
    { kinds, intact, pause, ...(needsNames && { excludesName }) },
  )
  return Object.fromEntries(counts)
}

const asFailure = (cause: unknown): ReadingFailed => (cause instanceof ReadingFailed ? cause : failed(cause))

const failed = (cause: unknown): ReadingFailed => new ReadingFailed({ message: messageOf(cause), fault: "recording" })
