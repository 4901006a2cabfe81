/**
 * The reader for the rest of the process: spawned with the first query, stopped after {@link idleMs} without one. If it ends during a
 * query, the query is repeated once, which is safe because queries change nothing. Returns the result, or a refusal for the client.
 */
import * as Effect from "effect/Effect"
import * as FiberHandle from "effect/FiberHandle"
import {
  type Question as PastQuestion,
  type ReaderConfig,
  type ReaderControl,
  ReadingFailed,
  readerName,
} from "../../actors/index.ts"
import type { Clock } from "../../clock.ts"
import type { ActorSystem, CallError, StreamReceiver, Supervisor } from "../../runtime/index.ts"
import type { ExportRefusal } from "../http/body/http-answer.ts"
import { elapsed } from "../http/body/races.ts"

type Reader = Supervisor<ReaderConfig, ReaderControl, never>
type Question = Exclude<keyof ReaderControl & string, "query">

/** ms without a query after which its thread, some 10 MB, is released. A dashboard that refreshes each minute keeps it. */
export const idleMs = 90_000

/** ms that a query waits for a reader that is starting: on a machine that is busy that takes seconds, and one that cannot start fails at once. */
export const startMs = 60_000

/** ms for a result. Counts wait for one another. */
const deadlineMs: Readonly<Record<Question, number>> = {
  coverage: 30_000,
  recordedSince: 30_000,
  askedKinds: 30_000,
  pins: 30_000,
  count: 120_000,
}

export interface ReaderService {
  /** Fails with the refusal for the client. Interrupting it aborts the query in the reader as well. */
  ask<Q extends Question>(
    question: Q,
    payload: ReaderControl[Q]["payload"]["Type"],
  ): Effect.Effect<ReaderControl[Q]["success"]["Type"], ExportRefusal>
  /**
   * Begins to answer a question about the past: the answer goes to the receiver. Fails with the refusal for the client. The result gives it up. An answer that was
   * begun is not repeated.
   */
  query(question: PastQuestion, receiver: StreamReceiver): Effect.Effect<() => void, ExportRefusal>
  /** The current one, if any. */
  readonly reader: Reader | undefined
}

/** Accepts queries until the surrounding scope closes. */
export const makeReaderService = (system: ActorSystem, spawn: () => Reader, clock: Clock) =>
  Effect.gen(function* () {
    /** Runs one wait at a time, in the surrounding scope. */
    const wait = yield* FiberHandle.makeRuntime<never>()
    let reader: Reader | undefined
    /** Settles when the name of the stopped reader is free again. */
    let stopping: Promise<unknown> = Promise.resolve()
    let asking = 0

    const stopWhenIdle = elapsed(clock, idleMs).pipe(
      Effect.andThen(
        Effect.sync(() => {
          if (asking > 0 || reader === undefined || system.isStopping) return
          reader = undefined
          stopping = system.remove(readerName)
        }),
      ),
    )
    const noLongerAsking = (): void => {
      if (--asking === 0) wait(stopWhenIdle)
    }
    const running = Effect.gen(function* () {
      yield* Effect.promise(() => stopping)
      if (reader === undefined) {
        if (system.isStopping) return yield* Effect.fail(unavailable("the recorder is stopping"))
        reader = spawn()
      }
      yield* Effect.timeoutOrElse(reader.running(), { duration: startMs, orElse: () => Effect.void })
      return reader
    })
    const attempt = <Q extends Question>(question: Q, payload: ReaderControl[Q]["payload"]["Type"]) =>
      Effect.flatMap(running, (asked) => asked.call(question, payload, deadlineMs[question]))

    const service: ReaderService = {
      ask: (question, payload) =>
        Effect.suspend(() => {
          asking++
          return attempt(question, payload).pipe(
            Effect.catch((error) => (isGone(error) ? attempt(question, payload) : Effect.fail(error))),
            Effect.mapError(refusalOf),
            Effect.ensuring(Effect.sync(noLongerAsking)),
          )
        }),
      query: (question, receiver) =>
        Effect.suspend(() => {
          asking++
          let isOver = false
          const over = (): void => {
            if (isOver) return
            isOver = true
            noLongerAsking()
          }
          const ending: StreamReceiver = {
            frame: (payload) => receiver.frame(payload),
            end: (error, note) => {
              over()
              receiver.end(error, note)
            },
          }
          const opening = Effect.flatMap(running, (asked) => asked.stream("query", question, ending))
          return opening.pipe(
            Effect.catch((error) => (isGone(error) ? opening : Effect.fail(error))),
            Effect.mapError(refusalOf),
            Effect.map(({ close }) => () => {
              close()
              over()
            }),
            Effect.onError(() => Effect.sync(over)),
          )
        }),
      get reader() {
        return reader
      },
    }
    return service
  })

type Failure = ReadingFailed | CallError | ExportRefusal

const isGone = (error: Failure): boolean => "_tag" in error && error._tag === "ActorGone"

const unavailable = (message: string): ExportRefusal => ({ status: 503, message, retryAfterSeconds: 1 })

const refusalOf = (error: Failure): ExportRefusal => {
  if (!("_tag" in error)) return error
  if (!(error instanceof ReadingFailed)) return unavailable(`the recording cannot be read now: ${error.message}`)
  if (error.fault === "busy") return { status: 429, message: error.message, retryAfterSeconds: 1 }
  if (error.fault === "question") return { status: 400, message: error.message }
  if (error.fault === "gone") return { status: 410, message: error.message }
  if (error.fault === "not-recorded") return { status: 404, message: error.message }
  return { status: 500, message: `the recording cannot be read: ${error.message}` }
}
