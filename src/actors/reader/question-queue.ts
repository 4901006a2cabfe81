/** Runs long queries one at a time, in order of arrival, with a bounded number waiting. */
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import { maximumWaiting, ReadingFailed } from "./definition.ts"

/** Runs a query when its turn comes; fails at once if {@link maximumWaiting} are waiting. An interrupted query leaves the queue. */
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
