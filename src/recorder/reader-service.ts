/**
 * The reader as the rest of the process asks it: spawned with the first question, stopped when nobody has asked for {@link idleMs}, and
 * asked again, once, when it ends with a question: a question changes nothing. What it says is an answer or a refusal for the client.
 */
import * as Effect from "effect/Effect"
import * as FiberHandle from "effect/FiberHandle"
import { readerName } from "../actors/names.ts"
import { type ReaderConfig, type ReaderControl, ReadingFailed } from "../actors/reader/definition.ts"
import type { Clock } from "../clock.ts"
import type { ActorSystem } from "../runtime/actor-system.ts"
import type { CallError } from "../runtime/errors.ts"
import type { Supervisor } from "../runtime/supervisor.ts"
import type { ExportRefusal } from "./export/request.ts"
import { elapsed } from "./races.ts"

type Reader = Supervisor<ReaderConfig, ReaderControl, never>
type Question = keyof ReaderControl & string

/** ms without a question after which its thread, some 10 MB, is given back. A dashboard that asks each minute keeps it. */
export const idleMs = 90_000

/** ms that a question waits for a reader that is starting. */
const startMs = 5000

/** ms for an answer. Counts wait for one another. */
const deadlineMs: Readonly<Record<Question, number>> = { coverage: 30_000, recordedSince: 30_000, count: 120_000 }

export interface ReaderService {
  /** Fails with what its client is to be told. Interrupted, the question is given up in the reader as well. */
  ask<Q extends Question>(
    question: Q,
    payload: ReaderControl[Q]["payload"]["Type"],
  ): Effect.Effect<ReaderControl[Q]["success"]["Type"], ExportRefusal>
  /** The present one, if there is one. */
  readonly reader: Reader | undefined
}

/** Questions are answered until the surrounding scope closes. */
export const makeReaderService = (system: ActorSystem, spawn: () => Reader, clock: Clock) =>
  Effect.gen(function* () {
    const idle = yield* FiberHandle.make()
    let reader: Reader | undefined
    /** Its name is free again when this settles. */
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
            Effect.ensuring(Effect.suspend(() => (--asking === 0 ? FiberHandle.run(idle, stopWhenIdle) : Effect.void))),
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
  return { status: 500, message: `the recording cannot be read: ${error.message}` }
}
